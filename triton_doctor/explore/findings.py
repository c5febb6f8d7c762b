"""Outcomes of all entries to what they say of each kernel: which parts of its key follow what.

A part of a key may have moved in the sweeps of several entries. An entry that others call is judged where these, which
make its arguments, were swept: what moved the part there outweighs what moved it with arguments made up for the inner
entry.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from triton_doctor.explore.axis_roles import AxisJudgement, Judgements, judge, spell_places
from triton_doctor.runtime.lines import write_line
from triton_doctor.runtime.sweep_event import SweepEvent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from triton_doctor.explore.entries import Found
    from triton_doctor.explore.model import Axis, EntryOutcome, MadeUpCall, Move

KernelPlace = tuple[str, str]
_GROWTHS = ("bounded", "log2", "unknown", "unbounded")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenMove:
    """A part of a key that moved in call `number` of an entry, and what its axes are taken for."""

    entry: str
    number: int
    move: Move
    call: MadeUpCall
    judged: AxisJudgement

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Return the axes that it follows."""
        return tuple(axis for axis in self.call.axes if axis.name in self.move.follows)

    @property
    def origin(self) -> str:
        """Return what it follows, as places of arguments: "axis 1 of `q`"."""
        return (
            " and ".join(dict.fromkeys(spell_places(axis.places, self.call.arguments) for axis in self.axes))
            or "no axis alone"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SweptPart:
    """A part of a kernel's key over all entries: its sightings, those that decide first; none where it never moved."""

    kind: str
    name: str
    judged: AxisJudgement
    sightings: tuple[SeenMove, ...]
    values: int
    points: int
    seen_in: tuple[str, ...]

    @property
    def growth(self) -> str:
        """Return how its values grow, at worst."""
        growths = (sighting.move.growth for sighting in self.sightings if sighting.judged.role == self.judged.role)
        return max(growths, key=_GROWTHS.index, default="bounded")


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFindings:
    """A kernel that was launched, with the parts of its key. `is_covered` if all that reaches it was swept whole."""

    path: str
    line: int
    name: str
    module: str
    entries: tuple[str, ...]
    parts: tuple[SweptPart, ...]
    is_covered: bool


class Findings:
    """What the outcomes of `found` say, kernel by kernel."""

    def __init__(self, found: Found, outcomes: Sequence[EntryOutcome]) -> None:
        """Decide for each varied axis of each entry whether it follows data or the model."""
        self.found = found
        self.outcomes = tuple(outcomes)
        self.judgements: Judgements = judge(found, outcomes)
        self._by_entry = {outcome.entry: outcome for outcome in outcomes}
        self._entries = {entry.key: entry for entry in found.entries}
        self._launching: defaultdict[KernelPlace, list[str]] = defaultdict(list)
        for outcome in outcomes:
            for _, name, path, _ in outcome.kernels:
                self._launching[found.relative(path), name].append(outcome.entry)

    @cached_property
    def reached(self) -> tuple[int, int]:
        """Return how many of the kernels that the project launches were launched, and how many there are."""
        launched = self.found.launched
        return sum((item.path, item.name) in self._launching for item in launched), len(launched)

    @cached_property
    def missed(self) -> tuple[str, ...]:
        """Return the keys of the kernels that the project launches and no entry did."""
        return tuple(item.key for item in self.found.launched if (item.path, item.name) not in self._launching)

    @cached_property
    def kernels(self) -> tuple[KernelFindings, ...]:
        """Return the kernels that were launched, by path and line."""
        names = {
            (self.found.relative(path), name): (module, line)
            for outcome in self.outcomes
            for module, name, path, line in outcome.kernels
        }
        parts = self._parts()
        kernels = (
            KernelFindings(
                path=path,
                line=line,
                name=name,
                module=module,
                entries=tuple(self._launching[path, name]),
                parts=tuple(parts.get((path, name), ())),
                is_covered=self._is_covered(path, name),
            )
            for (path, name), (module, line) in names.items()
        )
        return tuple(sorted(kernels, key=lambda item: (item.path, item.line)))

    def recording(self) -> Iterator[str]:
        """Yield the lines of a recording: the events of each outcome, and what all together say of its kernels."""
        events = {(kernel.path, kernel.name): [*self._events(kernel)] for kernel in self.kernels}
        for outcome in self.outcomes:
            own = [
                event
                for _, name, path, _ in outcome.kernels
                for event in events.get((self.found.relative(path), name), ())
            ]
            if not own or not outcome.recording:
                continue
            *lines, end = outcome.recording
            yield from lines
            at_ns = int(json.loads(end)["at_ns"])
            yield from (write_line(replace(event, at_ns=at_ns)) for event in own)
            yield end

    def _parts(self) -> dict[KernelPlace, list[SweptPart]]:
        sightings: defaultdict[tuple[KernelPlace, str, str], list[SeenMove]] = defaultdict(list)
        seen: defaultdict[tuple[KernelPlace, str, str], dict[str, int]] = defaultdict(dict)
        for outcome in self.outcomes:
            places = {
                f"{module}:{name}": (self.found.relative(path), name) for module, name, path, _ in outcome.kernels
            }
            for number, call in enumerate(outcome.calls):
                points = sum(axis.ran for axis in call.axes)
                for kernel, kind, name in call.unmoved:
                    if kernel in places:
                        seen[places[kernel], kind, name][outcome.entry] = points
                for move in call.moves:
                    key = ((self.found.relative(move.kernel_path), move.kernel), move.part, move.name)
                    seen[key][outcome.entry] = points
                    judged = self.judgements.of_move(outcome.entry, number, move)
                    sightings[key].append(
                        SeenMove(entry=outcome.entry, number=number, move=move, call=call, judged=judged)
                    )
        parts: defaultdict[KernelPlace, list[SweptPart]] = defaultdict(list)
        for (place, kind, name), points_of in seen.items():
            parts[place].append(self._part(kind, name, sightings[place, kind, name], points_of))
        return parts

    def _part(self, kind: str, name: str, every: Sequence[SeenMove], points: Mapping[str, int]) -> SweptPart:
        kept = self._without_called(every)
        order = ("data", "unknown", "model")
        kept.sort(
            key=lambda sighting: (
                order.index(sighting.judged.role),
                not sighting.judged.is_certain,
                not sighting.move.formula,
                len(sighting.axes),
            )
        )
        judged = kept[0].judged if kept else AxisJudgement(role="unknown", provenance="unknown", why="it never moved")
        if judged.role == "model":
            judged = next((item.judged for item in kept if not item.judged.is_certain), judged)
        return SweptPart(
            kind=kind,
            name=name,
            judged=judged,
            sightings=tuple(kept),
            values=max((len(each.move.values) for each in kept if each.judged.role == judged.role), default=1),
            points=sum(points.values()),
            seen_in=tuple(points),
        )

    def _without_called(self, every: Sequence[SeenMove]) -> list[SeenMove]:
        """Return the sightings without those of entries of which a caller saw the same part move, and is judged."""
        judged = {item.entry for item in every if item.judged.role != "unknown"}
        return [
            each
            for each in every
            if not (self._callers(each.entry) & judged)
            or (
                each.judged.role == "data"
                and each.judged.provenance in ("name", "position")
                and not self._is_private(each)
            )
        ]

    def _is_private(self, move: SeenMove) -> bool:
        entry = self._entries.get(move.entry)
        return entry is None or entry.is_private or entry.kind != "function"

    def _callers(self, entry: str) -> set[str]:
        """Return the entries that call `entry`, directly or not, without itself."""
        pending, found = [entry], set[str]()
        while pending:
            at = self._entries.get(pending.pop())
            new = set(at.callers if at is not None else ()) - found - {entry}
            found |= new
            pending += new
        return found

    def _is_covered(self, path: str, name: str) -> bool:
        """Return whether all entries that reach the kernel ran without failing, with each axis varied."""
        key = f"{path}:{name}"
        if not self.found.is_whole or any(key in item.launches for item in self.found.left_out):
            return False
        reaching = [
            entry for entry in self.found.entries if key in entry.kernels or entry.key in self._launching[path, name]
        ]
        return bool(reaching) and all(
            (entry.is_private and entry.callers) or self._is_whole(self._by_entry.get(entry.key)) for entry in reaching
        )

    def _is_whole(self, outcome: EntryOutcome | None) -> bool:
        return (
            outcome is not None
            and outcome.status == "complete"
            and not outcome.stand_ins
            and bool(outcome.calls)
            and all(not call.error and not call.is_cut for call in outcome.calls)
            and all(axis.ran > 1 for call in outcome.calls for axis in call.axes)
        )

    def _events(self, kernel: KernelFindings) -> Iterator[SweepEvent]:
        for part in kernel.parts:
            first = part.sightings[0] if part.sightings else None
            yield SweepEvent(
                function=kernel.name,
                module=kernel.module,
                part=part.kind,
                name=part.name,
                values=part.values,
                points=part.points,
                follows=first.move.follows if first is not None else (),
                formula=first.move.formula if first is not None else "",
                growth=part.growth,
                per_model=part.judged.role == "model",
                at_ns=0,
                entry=first.entry if first is not None else part.seen_in[0],
                origin=first.origin if first is not None else "",
                role=part.judged.role,
                why=part.judged.why,
                is_certain=part.judged.is_certain,
                is_covered=kernel.is_covered,
            )
