"""Observations and what they follow, to a Sweep: variants by kernel, parts that moved, one recording of all."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError, reason_of
from triton_doctor.runtime.dry.sweep.attribution import in_order
from triton_doctor.runtime.dry.sweep.swept import Moved, Sweep, SweptKernel, by_growth
from triton_doctor.runtime.event import AutotuneEvent, CompileEvent, EndEvent, GuessEvent, LaunchesEvent, WarningEvent
from triton_doctor.runtime.lines import write_line
from triton_doctor.runtime.recording import Recording
from triton_doctor.runtime.sweep_event import SweepEvent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from triton_doctor.runtime.dry.sweep.attribution import Attribution
    from triton_doctor.runtime.dry.sweep.dimensions import Dimension, Point
    from triton_doctor.runtime.dry.sweep.observation import Observation, ProbedPart
    from triton_doctor.runtime.dry.sweep.size_formulas import Value
    from triton_doctor.runtime.event import Event, Header, KernelName, LaunchSite


def summarize(
    dimensions: tuple[Dimension, ...],
    observations: Mapping[Point, Observation],
    attribution: Attribution,
    found: tuple[Point, ...],
    *,
    header: Header,
    took_s: float,
) -> Sweep:
    """Combine all observations in one Sweep. `found` are the points that a random search added."""
    names = {variant.kernel: None for seen in observations.values() for variant in seen.variants}
    kernels = tuple(_kernel(name, dimensions, observations, attribution) for name in names)
    recording = merge_observations(observations.values(), header)
    *events, end = recording.events
    recording.events = [
        *events,
        *(_event(moved, kernel, end.at_ns) for kernel in kernels for moved in kernel.moved),
        end,
    ]
    return Sweep(
        dimensions=dimensions,
        points=tuple(observations),
        kernels=kernels,
        stopped=tuple((point, seen.error) for point, seen in observations.items() if seen.error),
        found=found,
        guesses=recording.guesses,
        launches=sum(seen.launches for seen in observations.values()),
        took_s=took_s,
        recording=recording,
    )


def _kernel(
    name: KernelName,
    dimensions: Sequence[Dimension],
    observations: Mapping[Point, Observation],
    attribution: Attribution,
) -> SweptKernel:
    sites: dict[LaunchSite, None] = {}
    variants: set[object] = set()
    models: defaultdict[Point, set[object]] = defaultdict(set)
    values: defaultdict[ProbedPart, dict[object, Value]] = defaultdict(dict)
    rounds: set[object] = set()
    points = tried = 0
    for point, seen in observations.items():
        own = [variant for variant in seen.variants if variant.kernel == name]
        points += bool(own)
        for variant in own:
            key = tuple((part, type(value), value) for part, value in variant.parts)
            variants.add(key)
            models[tuple(size for dimension, size in zip(dimensions, point, strict=True) if dimension.is_fixed)].add(
                key
            )
            sites |= {} if variant.site is None else {variant.site: None}
            for part, value in variant.parts:
                values[part][type(value), value] = value
        for event in seen.events:
            if isinstance(event, AutotuneEvent) and event.kernel == name and event.key not in rounds:
                rounds.add(event.key)
                tried += len(event.timings_ms)
    fixed = {dimension.name for dimension in dimensions if dimension.is_fixed}
    moved = [
        Moved(
            kernel=name, part=part, values=in_order(values[part].values()), explanation=explanation, is_fixed=is_fixed
        )
        for owner, part in attribution.moving
        if owner == name and len(values[part]) > 1
        for explanation in [attribution.explain(name, part)]
        for is_fixed in [bool(explanation.follows) and fixed.issuperset(explanation.follows)]
    ]
    return SweptKernel(
        name=name,
        sites=tuple(sites),
        points=points,
        condition=attribution.find_condition(name),
        variants=len(variants),
        per_model=max(map(len, models.values()), default=0),
        rounds=len(rounds),
        tried=tried,
        moved=tuple(sorted(moved, key=by_growth)),
    )


def _event(moved: Moved, kernel: SweptKernel, at_ns: int) -> SweepEvent:
    explanation = moved.explanation
    return SweepEvent(
        function=kernel.name.name,
        module=kernel.name.module,
        part=moved.part.kind,
        name=moved.part.name,
        values=len(moved.values),
        points=kernel.points,
        follows=explanation.follows,
        formula="" if explanation.formula is None else str(explanation.formula),
        growth=explanation.growth.value,
        per_model=moved.is_fixed,
        at_ns=at_ns,
    )


def merge_observations(observations: Iterable[Observation], header: Header) -> Recording:
    """Merge all points to one recording, as if one process had run them: each key compiles once."""
    events: list[Event] = []
    known: set[object] = set()
    launches: defaultdict[KernelName, int] = defaultdict(int)
    at_ns = header.started_at_ns
    for seen in observations:
        for event in seen.events:
            at_ns = max(at_ns, event.at_ns)
            match event:
                case CompileEvent():
                    key: object = (event.kernel, event.key, tuple(map(type, dict(event.key.constants).values())))
                case AutotuneEvent():
                    key = event.kernel, event.key
                case WarningEvent():
                    key = event.kind, event.message, event.kernel
                case GuessEvent():
                    key = event.question, event.site
                case LaunchesEvent():
                    for kernel, count in event.launches:
                        launches[kernel] += count
                    continue
                case EndEvent():
                    continue
                case _:
                    key = event
            if key not in known:
                known.add(key)
                events.append(event)
    events.append(LaunchesEvent(launches=tuple(sorted(launches.items())), at_ns=at_ns))
    events.append(EndEvent(wall_us=(at_ns - header.started_at_ns) // 1000, at_ns=at_ns))
    return Recording(headers=[header], events=events)


def write_recording(recording: Recording, path: Path) -> None:
    """Write `recording`, of one process, to a file. Raises DoctorError if that fails."""
    lines = [write_line(event) for event in (recording.headers[0], *recording.events)]
    try:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        raise DoctorError(
            f"cannot write {path}: {reason_of(error)}", hint="name a file in a folder of yours"
        ) from error
