"""Calls the function dry at one point and returns the cache keys of its kernels there.

Each call has caches of its own, so that what an earlier point made is made again: a point shows all variants that it
needs. Of a kernel that tunes itself, which config wins is not known without a GPU: what differs between the configs of
a round is left out.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.event import AutotuneEvent, CompileEvent
from triton_doctor.runtime.sweep_event import CONSTEXPR, INTEGER, OPTION, TUNING_KEY, TYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from triton_doctor.runtime.dry.sweep.size_formulas import Value
    from triton_doctor.runtime.event import CompileKey, Event, KernelName, LaunchSite

INTEGERS = ("i1", "i8", "i16", "i32", "i64", "u1", "u8", "u16", "u32", "u64")
LONGEST_ERROR = 160


@dataclass(frozen=True, slots=True, order=True)
class ProbedPart:
    """One part of a kernel's key: its kind, and the name of the parameter or option."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbedVariant:
    """The key of one launch. `integers` are the arguments whose classes are part of the key."""

    kernel: KernelName
    site: LaunchSite | None
    parts: tuple[tuple[ProbedPart, Value], ...]
    integers: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The result at one point. `launches` excludes those of autotuning; `error` is what the call raised.

    Where only the backward of its result raised, the forward is complete, and shows what it needs.
    """

    variants: tuple[ProbedVariant, ...] = ()
    launches: int = 0
    events: tuple[Event, ...] = ()
    error: str = ""
    is_complete: bool = True


def observe(function: Callable[..., object], sizes: Mapping[str, int]) -> Observation:
    """Call `function` with `sizes`, run backward on the result, and return what was observed. Needs a dry run."""
    from triton_doctor.runtime.dry.dry_process import record_from_start
    from triton_doctor.runtime.dry.sweep.wrappers import Wrappers

    error, is_complete = "", False
    with Wrappers(), record_from_start() as recording:
        try:
            result = function(**sizes)
            is_complete = True
            differentiate(result)
        except DoctorError:
            raise
        except (Exception, SystemExit) as raised:
            text = " ".join(str(raised).split())
            error = f"{'backward: ' if is_complete else ''}{type(raised).__name__}: {text}"[:LONGEST_ERROR]
    events = tuple(recording.events)
    return Observation(
        variants=tuple(dict.fromkeys(read_variants(events))),
        launches=sum(recording.launches.values()) - sum(tuning.trials or 0 for tuning in recording.tunings),
        events=events,
        error=error,
        is_complete=is_complete,
    )


def differentiate(result: object) -> None:
    """Run backward from the first tensor of `result` that requires a gradient and has none yet."""
    import torch

    for each in result if isinstance(result, tuple | list) else (result,):
        if isinstance(each, torch.Tensor) and each.requires_grad and each.grad_fn is not None:
            each.sum().backward()
            return


def read_variants(events: Iterable[Event]) -> Iterator[ProbedVariant]:
    """Yield the variants that launches in `events` needed; for autotuning, what all configs have in common."""
    trials: defaultdict[KernelName, list[CompileEvent]] = defaultdict(list)
    for event in events:
        match event:
            case CompileEvent(tuning=True):
                trials[event.kernel].append(event)
            case CompileEvent():
                yield _variant(event, dict(_parts(event.key)))
            case AutotuneEvent():
                tried = trials.pop(event.kernel, [])
                key = {
                    ProbedPart(TUNING_KEY, name): value for name, value in event.key if not name.startswith("dtype ")
                }
                if tried:
                    yield _variant(tried[0], _common([dict(_parts(trial.key)) for trial in tried]) | key)
            case _:
                continue
    for tried in trials.values():
        yield _variant(tried[0], _common([dict(_parts(trial.key)) for trial in tried]))


def _variant(event: CompileEvent, parts: Mapping[ProbedPart, Value]) -> ProbedVariant:
    integers = tuple((name, value) for name, value in event.values if type(value) is int)
    return ProbedVariant(kernel=event.kernel, site=event.launch_site, parts=tuple(parts.items()), integers=integers)


def _parts(key: CompileKey) -> Iterator[tuple[ProbedPart, Value]]:
    classes = dict(key.attributes)
    for name, value in key.constants:
        yield ProbedPart(CONSTEXPR, name), value
    for name, kind in key.signature:
        if kind in INTEGERS:
            yield ProbedPart(INTEGER, name), f"{kind}{classes.get(name, '')}"
        elif kind != "constexpr":
            yield ProbedPart(TYPE, name), f"{kind}{classes.get(name, '')}"
    for name, value in key.options:
        yield ProbedPart(OPTION, name), value


def _common(trials: list[dict[ProbedPart, Value]]) -> dict[ProbedPart, Value]:
    first, *others = trials
    return {part: value for part, value in first.items() if all(other.get(part, ...) == value for other in others)}
