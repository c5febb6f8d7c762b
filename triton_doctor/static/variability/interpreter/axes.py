"""Axes and strides of tensors, resolved through callers if the function itself does not decide."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from triton_doctor.static.variability.hints.axis_context import Toward
from triton_doctor.static.variability.hints.hints import ATTRIBUTE, LAST_AXIS, UNPACKED, WEIGHT, weights
from triton_doctor.static.variability.interpreter import layouts
from triton_doctor.static.variability.interpreter.shared_axes import checked_sizes
from triton_doctor.static.variability.values import tensors, views
from triton_doctor.static.variability.values.dims import Dim, DimProduct, RemainingDims
from triton_doctor.static.variability.values.lattice import UNKNOWN, AbstractNumber, Variability, data_margin, join
from triton_doctor.static.variability.values.values import SymbolicValue

if TYPE_CHECKING:
    from collections.abc import Callable

    from triton_doctor.static.python.function import Function, HostParam
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.values.dims import DimFactor
    from triton_doctor.static.variability.values.values import CallFrame, Tensor


def axis(interpreter: Interpreter, value: Tensor | SymbolicValue, position: int, frame: CallFrame) -> AbstractNumber:
    """Return `value.shape[position]`."""
    own = tensors.axis_at(value, position)
    if own.kind is not Variability.UNKNOWN:
        return own
    if isinstance(value, SymbolicValue):
        known = _prefer_callers(own, partial(interpreter.caller_arguments.axis, value, position, frame))
        return _join_checked_axes(interpreter, known, value, position, frame)
    return resolve_through_callers(interpreter, own, frame)


def stride(interpreter: Interpreter, value: Tensor | SymbolicValue, position: int, frame: CallFrame) -> AbstractNumber:
    """Return `value.stride(position)`."""
    own = layouts.stride(interpreter, value, position, frame)
    if not isinstance(value, SymbolicValue):
        return resolve_through_callers(interpreter, own, frame)
    if own.kind is Variability.UNKNOWN and not own.undecided_dims:
        asked = interpreter.caller_arguments.stride(value, position, frame)
        if asked is None or asked.decide() is Variability.UNKNOWN:
            return layouts.presumed_stride(interpreter, value, position, frame) or own
        return asked
    return own


def rest(
    interpreter: Interpreter, value: Tensor | SymbolicValue, front: int, back: int, frame: CallFrame
) -> AbstractNumber | None:
    """Return the product of the axes of `value` without the first `front` and the last `back`.

    None if it has too few.
    """
    bare = views.expose(value, front, back)
    if bare is None:
        return None
    factors = [*bare.front, *([bare.open] if bare.open is not None else []), *bare.back]
    return resolve_through_callers(interpreter, tensors.product(factors[front : len(factors) - back]), frame)


def resolve_through_callers(interpreter: Interpreter, own: AbstractNumber, frame: CallFrame) -> AbstractNumber:
    """Return a product of axes of arguments, resolved through callers if the function does not decide it."""
    size = own.size
    if own.kind is not Variability.UNKNOWN or size is None or size.under:
        return own
    if len(size.over) == 1:
        return _prefer_callers(own, partial(_query_callers, interpreter, size.over[0], frame))
    known = [
        _prefer_callers(tensors.of_size(DimProduct((factor,))), partial(_query_callers, interpreter, factor, frame))
        for factor in size.over
    ]
    if all(number.kind is Variability.UNKNOWN for number in known):
        return own
    return join(known)._replace(size=size)


def _query_callers(interpreter: Interpreter, factor: DimFactor, frame: CallFrame) -> AbstractNumber | None:
    """Return the callers' value for an axis of an argument, or for the product of some."""
    root = factor.root
    module = interpreter.project.modules.get(root.path)
    function = module.functions.get(root.function) if module is not None else None
    if function is None or root.item or function.param(root.name) is None:
        return None
    symbol = SymbolicValue(root, UNKNOWN, function)
    if isinstance(factor, Dim):
        asked = interpreter.caller_arguments.axis(symbol, factor.position, frame)
        own = tensors.axis_of_root(root, factor.position) if asked is None else asked
        shared = _join_checked_axes(interpreter, own, symbol, factor.position, frame)
        return shared if shared is not own else asked
    return interpreter.caller_arguments.rest(symbol, factor.front, factor.back, frame)


def _join_checked_axes(
    interpreter: Interpreter, known: AbstractNumber, symbol: SymbolicValue, position: int, frame: CallFrame
) -> AbstractNumber:
    """Return an axis of an argument, joined with axes that the function's checks require to be equal.

    An axis equal to a data axis of another argument is no weight's, whatever its tensor is called.
    """
    function, is_weight = symbol.origin, _is_taken_for_weight(known)
    if function is None or symbol.held is not None or not (is_weight or known.decide() is Variability.UNKNOWN):
        return known
    for beside in interpreter.checks.of(function):
        other = beside.beside(symbol.root.name, position, symbol.root.rank)
        param = next(
            (parameter for parameter in function.params if other is not None and parameter.name == other.tensor), None
        )
        if param is None or other is None or other.position is None:
            continue
        asker = ("shared", symbol.root.name, position)
        found = _axis_of(interpreter, function, param, other.position, asker, frame)
        if found is None or (is_weight and found.decide() is not Variability.PER_CALL):
            continue
        if is_weight or found.kind is not Variability.UNKNOWN:
            return found._replace(size=known.size)
        known = known.add_hints(found.hints)
    return known


def _is_taken_for_weight(known: AbstractNumber) -> bool:
    """Return whether only the name of the tensor makes its axis PER_MODEL."""
    rows = {hint.hint.name for hint in known.hints}
    return rows == {WEIGHT} and known.decide() is Variability.PER_MODEL


def checked_size(
    interpreter: Interpreter, known: AbstractNumber, symbol: SymbolicValue, frame: CallFrame
) -> AbstractNumber:
    """Return a number argument, joined with the axis that the function's checks require it to equal."""
    function = symbol.origin
    if function is None or symbol.held is not None or known.decide() is not Variability.UNKNOWN:
        return known
    for name, other in checked_sizes(function):
        param = next(
            (parameter for parameter in function.params if name == symbol.root.name and parameter.name == other.tensor),
            None,
        )
        if param is not None and other.position is not None:
            found = _axis_of(interpreter, function, param, other.position, ("size", symbol.root.name), frame)
            if found is not None and found.decide() is not Variability.UNKNOWN:
                return found.fix_decision()._replace(size=None, literals=known.literals)
            known = known if found is None else known.add_hints(found.hints)
    return known


def _axis_of(
    interpreter: Interpreter,
    function: Function,
    param: HostParam,
    position: int,
    asker: tuple[str | int, ...],
    frame: CallFrame,
) -> AbstractNumber | None:
    """Return an axis of another argument of `function`; None if the same `asker` is evaluating it already."""
    inner = interpreter.frame(interpreter.project.names.home(function), function, frame.depth)
    tensor = interpreter.caller_arguments.argument(param, inner)
    return interpreter.evaluations.guard(
        (id(function), *asker), partial(axis, interpreter, tensor, position, inner), None
    )


def _prefer_callers(own: AbstractNumber, query: Callable[[], AbstractNumber | None]) -> AbstractNumber:
    """Return an axis of an argument: what callers know outranks hints in the function itself."""
    decided = own.decide()
    if decided is Variability.PER_MODEL:
        asked = query()
        if asked is None or asked.only_shown or asked.decide() is Variability.UNKNOWN:
            return own
        if _is_rest(own) and _rests_on_hints(asked) and not _is_kept(asked):
            return own
        return asked.fix_decision()._replace(size=own.size)
    if decided not in (Variability.UNKNOWN, Variability.PER_CALL):
        return own
    asked = query()
    if asked is None:
        return own
    known = asked.decide()
    if known is Variability.UNKNOWN and not asked.one_for_some_caller:
        # Hints from callers add to those of the function.
        return own.add_hints(asked.hints) if decided is Variability.UNKNOWN else own
    if asked.only_shown and decided is Variability.PER_CALL:
        return own
    if known is Variability.PER_MODEL and _rests_on_hints(asked) and _is_weaker(asked, own):
        return own
    return asked._replace(size=own.size)


def _is_clearer(own: AbstractNumber, asked: AbstractNumber) -> bool:
    """Return whether the author wrote that an axis follows the data, and callers have only a weaker hint against it.

    Names that a shape is unpacked into count as written against no more than the position of an axis.
    """
    if (
        own.decide() is not Variability.PER_CALL
        or data_margin(own) <= weights(asked.hints).model
        or asked.one_for_some_caller
    ):
        return False
    is_position = {hint.hint.name for hint in asked.hints} == {LAST_AXIS}
    return any(
        hint.hint.toward is Toward.DATA and (hint.hint.in_words or (is_position and hint.hint.name == UNPACKED))
        for hint in own.hints
    )


def _is_weaker(asked: AbstractNumber, own: AbstractNumber) -> bool:
    """Return whether what the function itself knows outranks that callers' hints say that a size is the model's."""
    return _is_clearer(own, asked) or (_is_rest(own) and not _is_kept(asked))


def _is_rest(own: AbstractNumber) -> bool:
    """Return whether a number contains a product of axes that are not known one by one."""
    return own.size is not None and any(isinstance(factor, RemainingDims) for factor in own.size.over)


def _is_kept(asked: AbstractNumber) -> bool:
    """Return whether it is a size of a tensor that an object keeps."""
    return any(hint.hint.name == ATTRIBUTE for hint in asked.hints)


def _rests_on_hints(asked: AbstractNumber) -> bool:
    """Return whether only hints decide a number."""
    return asked.kind is Variability.UNKNOWN or bool(asked.terms)
