"""Axes of made-up arguments to roles: does a size follow the data of a call, or the model?

In: what was found in the source, and what the entries' calls showed. Out: an `AxisJudgement` for each axis. In order:

1. **Provenance**: a size that is an axis of an nn.Parameter, an argument of a constructor or an attribute of a config,
   or that a call forced to be equal to one, is the model's; the other axes of a module's inputs are the data's.
2. **Callers**: what an inner function takes is judged where its callers, which were swept too, make it.
3. **Names and positions**, by the same table of hints as `check`: these never clear a finding.
4. **Tests**: a size of which the project's tests and examples give several is the data's.
5. Otherwise the role is unknown, and the user is asked.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from triton_doctor.scan_caches import emptying_scan_caches
from triton_doctor.static.python.ir import Attr, Call, Const, Name, Subscript
from triton_doctor.static.variability.hints.axis_context import Toward
from triton_doctor.static.variability.hints.name_words import names_heads
from triton_doctor.static.variability.notes.axis_meanings import meaning_of_word
from triton_doctor.static.variability.queries.kernel_hints import interpreter_of
from triton_doctor.static.variability.queries.parameters import parameters
from triton_doctor.static.variability.values.lattice import UNKNOWN, Variability
from triton_doctor.static.variability.values.values import ProgramPoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from triton_doctor.explore import model
    from triton_doctor.explore.entries import Found
    from triton_doctor.explore.model import Axis, EntryOutcome, Place, Provenance, Role, SweepEntry
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.variability.values.lattice import AbstractNumber

_OF_MODEL: Mapping[str, str] = {
    "parameter": "is an axis of the parameter {}",
    "constructor": "is set by the constructor: {}",
    "config": "is set by a config: {}",
}
# The end of a symbol that the tool made: `x_0`, `lengths_0_2`.
_NUMBERED = re.compile(r"(?:_\d+)+$")
_NOTHING: tuple[Role, str] = ("unknown", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisJudgement:
    """The role of an axis, how it is known, and a clause that says why: "`T` is ...".

    `is_certain` if nothing in the judgement rests on a name or a position: only then may it clear a finding.
    """

    role: Role
    provenance: Provenance
    why: str
    is_certain: bool = False


_UNKNOWN = AxisJudgement(role="unknown", provenance="unknown", why="is not known to be fixed by the model")


class Judgements:
    """The judgements of all axes of the calls of `outcomes`, each made on access."""

    def __init__(self, found: Found, outcomes: Sequence[EntryOutcome]) -> None:
        """Index what entries pass to each other."""
        self._found = found
        self._entries = {entry.key: entry for entry in found.entries}
        self._calls = {outcome.entry: outcome.calls for outcome in outcomes}
        # What is passed as each place of an inner entry: (caller, number of its call, axes that it follows there).
        self._passed: defaultdict[tuple[str, Place], list[tuple[str, int, tuple[str, ...]]]] = defaultdict(list)
        for outcome in outcomes:
            for number, call in enumerate(outcome.calls):
                for inner in call.inner:
                    self._passed[inner.entry, inner.place].append((outcome.entry, number, inner.follows))
        self._known: dict[tuple[str, int, str], AxisJudgement] = {}

    def of_axis(self, entry: str, number: int, axis: str) -> AxisJudgement:
        """Return the judgement of the axis called `axis` in call `number` of `entry`."""
        key = (entry, number, axis)
        if key not in self._known:
            self._known[key] = _UNKNOWN  # for functions that call each other
            found = next((own for own in self._calls[entry][number].axes if own.name == axis), None)
            if found is not None:
                self._known[key] = self._judge(self._entries.get(entry), self._calls[entry][number], found)
        return self._known[key]

    def of_move(self, entry: str, number: int, move: model.Move) -> AxisJudgement:
        """Return the judgement of a part of a key: the data's if one of the axes that it follows is.

        Where that is not certain, `check` knows more: what the kernel and the grid do with it.
        """
        judged = _together([self.of_axis(entry, number, axis) for axis in move.follows])
        if judged.is_certain:
            return judged
        role, why = self._checked.get((self._found.relative(move.kernel_path), move.kernel_line, move.name), _NOTHING)
        if role in ("unknown", judged.role):
            return judged
        return AxisJudgement(role=role, provenance="name", why=f"is {_SIDES[role]}, as `check` reads it: {why}")

    @cached_property
    def _checked(self) -> Mapping[tuple[str, int, str], tuple[Role, str]]:
        """Return the role that `check` gives each parameter and the reason, by file, line of the kernel and name."""
        found: dict[tuple[str, int, str], tuple[Role, str]] = {}
        for parameter in parameters(self._found.graph.project):
            kernel, source = parameter.kernel, parameter.worst
            role = "unknown" if source is None or parameter.undecided is not None else _role_of(source.number)
            path = kernel.path.removeprefix(self._found.prefix)
            found[path, kernel.line, parameter.param.name] = role, _spell_hints(source.number, role) if source else ""
        return found

    def _judge(self, entry: SweepEntry | None, call: model.MadeUpCall, axis: Axis) -> AxisJudgement:
        of_model = _of_model(axis)
        if of_model is not None:
            return of_model
        passed = _together([caller for place in axis.places for caller in self._of_callers(entry, place)])
        named = self._by_names(entry, axis)
        is_public = entry is not None and entry.kind == "function" and not entry.is_private
        if is_public and passed.role == "model" and named.role == "data":
            return named  # others may call it with what its callers here fix
        if passed.role != "unknown":
            return passed
        if entry is not None and entry.kind == "module" and named.role != "model" and _is_beside_model(call, axis):
            shown = spell_places(axis.places)
            return AxisJudgement(
                role="data",
                provenance="input",
                why=f"is {shown}, an input beside sizes that the module fixes",
                is_certain=True,
            )
        if named.role == "unknown" and any(provenance == "test" for provenance, _ in axis.tied_to):
            return AxisJudgement(role="data", provenance="test", why="has several sizes in the project's own tests")
        return named

    def _of_callers(self, entry: SweepEntry | None, place: Place) -> Iterator[AxisJudgement]:
        """Yield what the callers of `entry` pass as `place`, each judged there."""
        if entry is None:
            return
        for caller, number, follows in self._passed.get((entry.key, place), ()):
            name = caller.partition(":")[2]
            if not follows:
                why = f"is a constant where `{name}` calls it"
                yield AxisJudgement(role="model", provenance="caller", why=why, is_certain=True)
                continue
            judged = _together([self.of_axis(caller, number, axis) for axis in follows])
            if judged.role != "unknown":
                yield AxisJudgement(
                    role=judged.role,
                    provenance="caller",
                    why=f"is made by `{name}` of `{'`, `'.join(follows)}`, which {judged.why}",
                    is_certain=judged.is_certain,
                )

    def _by_names(self, entry: SweepEntry | None, axis: Axis) -> AxisJudgement:
        """Return the judgement by the table of hints, for each place, and by the name that the source gives it."""
        sides: list[tuple[Role, str, Provenance]] = []
        for place in axis.places if entry is not None else ():
            number = self._number(entry, place)
            role = _role_of(number)
            if role != "unknown":
                sides.append((role, _why(number, role, place), "name" if _rests_on_name(number) else "position"))
        for name in _names_of(axis):
            meaning = _meaning(name)
            if meaning is not None:
                role = "data" if meaning else "model"
                sides.append((role, f"is called `{name}`, which names {_SIDES[role]}", "name"))
        roles = {role for role, _, _ in sides}
        if len(roles) != 1:
            return _UNKNOWN
        role, why, provenance = sides[0]
        return AxisJudgement(role=role, provenance=provenance, why=why)

    def _number(self, entry: SweepEntry | None, place: Place) -> AbstractNumber:
        """Return what `check` says of a place in the function that the entry enters."""
        at = self._found.entered(entry) if entry is not None else None
        if at is None:
            return UNKNOWN
        module, function = self._found.graph.modules[at[0]], self._found.graph.functions[at]
        if function.param(place.argument) is None:
            return UNKNOWN
        interpreter = interpreter_of(self._found.graph.project)
        point = ProgramPoint(interpreter.frame(module, function), 0, line=function.line)
        expr: Expr = Name(place.argument)
        if place.axis is not None:
            expr = Subscript(Attr(expr, "shape"), Const(place.axis))
        try:
            number = interpreter.number(expr, point)
            if place.axis == 0 and _role_of(number) == "unknown":
                whole = interpreter.number(Call(Attr(Name(place.argument), "numel"), (), ()), point)
                return whole if _role_of(whole) == "data" and self._is_flat(entry, place) else number
        except RecursionError:
            return UNKNOWN
        return number

    def _is_flat(self, entry: SweepEntry | None, place: Place) -> bool:
        """Return whether the tensor at `place` has one axis in each call of the entry."""
        places = [
            each
            for call in (self._calls.get(entry.key, ()) if entry is not None else ())
            for axis in call.axes
            for each in axis.places
            if each.argument == place.argument
        ]
        return all(item.axis == 0 for item in places)


@emptying_scan_caches()
def judge(found: Found, outcomes: Sequence[EntryOutcome]) -> Judgements:
    """Return the judgements of all axes of `outcomes`, all made."""
    judgements = Judgements(found, outcomes)
    for outcome in outcomes:
        for number, call in enumerate(outcome.calls):
            for axis in call.axes:
                judgements.of_axis(outcome.entry, number, axis.name)
    return judgements


_SIDES: Mapping[Role, str] = {"data": "a size of the data", "model": "a size of the model", "unknown": "neither"}


def _of_model(axis: Axis) -> AxisJudgement | None:
    """Return that the model fixes `axis`, if it is nothing but the model's, or was forced to equal a size of it."""
    for provenance, what in axis.tied_to:
        if provenance in _OF_MODEL:
            why = _OF_MODEL[provenance].format(f"`{what.removeprefix('init.')}`")
            return AxisJudgement(role="model", provenance=provenance, why=why, is_certain=True)
    kinds = {_kind_of_place(place) for place in axis.places}
    if len(kinds) == 1 and (kind := kinds.pop()) is not None:
        why = _OF_MODEL[kind].format(spell_places(axis.places))
        return AxisJudgement(role="model", provenance=kind, why=why, is_certain=True)
    return None


def _kind_of_place(place: Place) -> Provenance | None:
    return "constructor" if place.argument.startswith("init.") else None


def _is_beside_model(call: model.MadeUpCall, axis: Axis) -> bool:
    """Return whether each tensor of `axis` has another axis that is certainly the model's."""
    of_model = {
        place.argument
        for other in call.axes
        if other.name != axis.name and _of_model(other) is not None
        for place in other.places
        if place.axis is not None
    }
    return bool(axis.places) and all(place.axis is not None and place.argument in of_model for place in axis.places)


def _together(judged: Iterable[AxisJudgement]) -> AxisJudgement:
    """Return the judgement of what follows several sizes: the data's if one is, the model's if all are."""
    every = list(judged)
    for role in ("data", "unknown", "model"):
        of_role = [each for each in every if each.role == role]
        if of_role:
            best = max(of_role, key=lambda item: item.is_certain)
            if role == "model" and not all(each.is_certain for each in of_role):
                best = next(each for each in of_role if not each.is_certain)
            return best
    return _UNKNOWN


def _role_of(number: AbstractNumber) -> Role:
    match number.decide():
        case Variability.PER_CALL | Variability.LOGARITHMIC:
            return "data"
        case Variability.PER_MODEL | Variability.FIXED:
            return "model"
        case _:
            return "unknown"


def _rests_on_name(number: AbstractNumber) -> bool:
    return any("name" in applied.hint.name or applied.hint.in_words for applied in number.hints)


def _why(number: AbstractNumber, role: Role, place: Place) -> str:
    return f"is {spell_places((place,))}: {_spell_hints(number, role)}"


def _spell_hints(number: AbstractNumber, role: Role) -> str:
    """Return what the strongest hint toward `role` says."""
    side = Toward.DATA if role == "data" else Toward.MODEL
    hints = [item.hint for item in number.hints if item.hint.toward is side]
    best = max(hints, key=lambda hint: (hint.weight, hint.name), default=None)
    return best.says if best is not None else f"it follows {_SIDES[role]}"


def _names_of(axis: Axis) -> Iterator[str]:
    """Yield the names that the source gives to the size: of the axis, if it is no number of it, or of an integer."""
    of_axes = [place.argument.replace(".", "_") for place in axis.places if place.axis is not None]
    if not any(_NUMBERED.sub("", axis.name) == _NUMBERED.sub("", name) for name in of_axes):
        yield _NUMBERED.sub("", axis.name)
    for place in axis.places:
        if place.axis is None:
            yield next(part for part in reversed(place.argument.split(".")) if not part.isdigit())


def _meaning(name: str) -> bool | None:
    """Return whether the name of an axis names the data; None if unknown. `KV_H` means what `H_KV` does."""
    turned = "_".join(reversed(name.split("_")))
    if names_heads(name) or names_heads(turned):
        return False
    meaning = meaning_of_word(name)
    return meaning if meaning is not None else False if meaning_of_word(turned) is False else None


def spell_places(places: Sequence[Place], arguments: Mapping[str, str] | None = None) -> str:
    """Return "axis 1 of `q`", "the argument `n`" or "the length of `rows`": the first of several places, axes first.

    `arguments` are the texts of the call.
    """
    place = min(places, key=lambda each: each.axis is None)
    shown = place.argument.removeprefix("init.")
    owner, _, last = shown.rpartition(".")
    item = f"an item of `{owner}`" if last.isdigit() else f"`{shown}`"
    if place.axis is not None:
        is_list = (arguments or {}).get(place.argument, "").startswith("[")
        return f"the length of {item}" if is_list else f"axis {place.axis} of {item}"
    return (
        f"the constructor's {item}"
        if shown != place.argument
        else item
        if owner and last.isdigit()
        else f"the argument {item}"
    )
