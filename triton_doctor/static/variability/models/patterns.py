"""einops: `rearrange(x, "b t h d -> (b t) h d")`, whose pattern gives each axis of the result."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.static.python.ir import Const
from triton_doctor.static.variability.values import tensors, views
from triton_doctor.static.variability.values.lattice import UNKNOWN, AbstractNumber
from triton_doctor.static.variability.values.values import SymbolicValue, Tensor, Union, either

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from triton_doctor.static.python.ir import Call
    from triton_doctor.static.variability.values.evaluator import Evaluator
    from triton_doctor.static.variability.values.values import ProgramPoint, Value

_FUNCTIONS = frozenset({"rearrange", "reduce", "repeat"})
_OPEN = "..."
_GROUP = re.compile(r"\.\.\.|\(([^()]*)\)|(\w+)")


def is_pattern_call(name: str, call: Call) -> bool:
    """Return whether a call of `name` has a pattern; `torch.reduce` and `x.repeat` have none."""
    match call.args:
        case (_, Const(str(pattern)), *_):
            return name in _FUNCTIONS and "->" in pattern
        case _:
            return False


def rearranged(evaluator: Evaluator, call: Call, point: ProgramPoint) -> Value | None:
    """Return the result of a call with a pattern; None for other arguments or an open group.

    Of a tensor that one of several assignments leaves unknown, the pattern still gives the axes of one item.
    """
    value = evaluator.value(call.args[0], point)
    assert isinstance(call.args[1], Const)
    before, _, after = str(call.args[1].value).partition("->")
    if "(..." in before.replace(" ", ""):
        return None
    lengths = {name: evaluator.number(size, point) for name, size in call.keywords if name is not None}
    groups = _groups(before), _groups(after)
    options = value.options if isinstance(value, Union) else (value,)
    found = [
        _rearranged(evaluator, option, *groups, {**lengths}, point)
        for option in options
        if isinstance(option, Tensor | SymbolicValue)
    ]
    known = [size for size in found if size is not None]
    if not known or len(known) < len(found):
        return None
    if len(found) < len(options) and [_OPEN] not in groups[1]:
        known.append(Tensor(front=tuple(_length(group, lengths, None) for group in groups[1])))
    return either(known)


def _rearranged(
    evaluator: Evaluator,
    value: Tensor | SymbolicValue,
    before: Sequence[Sequence[str]],
    after: Sequence[Sequence[str]],
    lengths: dict[str, AbstractNumber],
    point: ProgramPoint,
) -> Tensor | None:
    """Return `value` with the axes `before` as those `after`; None for an open group."""
    open_axes = _name_axes(evaluator, value, before, lengths, point)
    front: list[AbstractNumber] = []
    back: list[AbstractNumber] = []
    row = front
    for group in after:
        if list(group) == [_OPEN]:
            if open_axes is None:
                return None
            row = back
        else:
            row.append(_length(group, lengths, open_axes))
    is_open = row is back
    return Tensor(front=tuple(front), back=tuple(back), open=open_axes if is_open else None)


def _groups(side: str) -> list[list[str]]:
    """Return the axes on one side of a pattern, each as the names it is composed of; empty for an axis of one item."""
    found = []
    for group in _GROUP.finditer(side):
        names = (group[1] or "").split() if group[0].startswith("(") else [group[0]]
        found.append([name for name in names if name != "1"])
    return found


def _name_axes(
    evaluator: Evaluator,
    value: Tensor | SymbolicValue,
    groups: Sequence[Sequence[str]],
    lengths: dict[str, AbstractNumber],
    point: ProgramPoint,
) -> AbstractNumber | None:
    """Add the lengths of the axes named in `groups` to `lengths`; return the product of the open axes."""
    count = len(groups)
    at_open = next((at for at, group in enumerate(groups) if list(group) == [_OPEN]), None)
    rest: AbstractNumber | None = None
    whole: Tensor | SymbolicValue = value
    if at_open is None:
        whole = views.of_rank(value, count)
    else:
        bare = views.expose(value, at_open, count - at_open - 1)
        if bare is not None and bare.open is not None:
            rest, whole = bare.open, bare
        elif bare is not None:
            inner = bare.front[at_open : len(bare.front) - (count - at_open - 1)]
            rest, whole = tensors.product(inner), bare
    for at, group in enumerate(groups):
        if at == at_open:
            continue
        position = at if at_open is None or at < at_open else at - count
        axis = evaluator.axis(whole, position, point.frame)
        unknown = [name for name in group if name not in lengths]
        if len(unknown) == 1:
            others = [lengths[name] for name in group if name in lengths]
            lengths[unknown[0]] = tensors.left(axis, others) if others else axis
    return rest


def _length(
    group: Sequence[str], lengths: Mapping[str, AbstractNumber], open_axes: AbstractNumber | None
) -> AbstractNumber:
    factors = [(open_axes or UNKNOWN) if name == _OPEN else lengths.get(name, UNKNOWN) for name in group]
    return tensors.product(factors)
