"""Names to values: by assignments, parameters and outer scopes, with the hints of the name itself."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from triton_doctor.static.project.limits import MOST_DEPTH
from triton_doctor.static.python.ir import Attr, Call, Const, Name, Subscript, TupleExpr, Unpacked
from triton_doctor.static.python.printing import spell
from triton_doctor.static.python.reaching_definitions import ReachingDefinitions, flags_at, reaching_definitions
from triton_doctor.static.variability.hints.name_words import names_bucket, names_weight
from triton_doctor.static.variability.interpreter.arguments import parameter
from triton_doctor.static.variability.interpreter.caller_arguments import find_excluded_callers
from triton_doctor.static.variability.interpreter.guards import apply_bounds
from triton_doctor.static.variability.models.host_tensors import unless_written
from triton_doctor.static.variability.models.origins import declared
from triton_doctor.static.variability.models.sequences import filled
from triton_doctor.static.variability.notes.named_sizes import hint_from_binding
from triton_doctor.static.variability.notes.shape_notes import may_note_assigned, note_assigned
from triton_doctor.static.variability.values.dims import Origin
from triton_doctor.static.variability.values.lattice import FIXED, UNKNOWN, AbstractNumber, Note
from triton_doctor.static.variability.values.values import (
    CallFrame,
    ProgramPoint,
    SymbolicValue,
    Tensor,
    Value,
    either,
    end_of,
    forget_items,
    least_certain,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from triton_doctor.static.python.function import Binding, BranchArm
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter


def name_value(interpreter: Interpreter, name: str, point: ProgramPoint) -> Value:
    """Return the value of a name at `point`: assigned, a parameter, or from an enclosing scope."""
    if point.local is not None and name in point.local:
        return point.local[name]
    frame = point.frame
    if name in interpreter.project.declared:
        return declared(interpreter.project, name, frame)
    found = reaching_definitions(frame.function, name, point.order, point.arms)
    if found.bindings and not (found.certain and len(found.bindings) == 1):
        found = interpreter.tests.narrowed(found, name, point)
    contents = frame.function.text.contents
    if name in contents.globals:
        return forget_items(_outer(interpreter, name, frame))  # any code may set it
    if not found.bindings:
        value = _passed(interpreter, name, point)
        if value is None:
            return _outer(interpreter, name, frame)
    else:
        value = _defined(interpreter, name, found, point)
        if value is None:
            return _outer(interpreter, name, frame) if not found.certain else UNKNOWN
    # What forward checked holds for what backward takes out of `ctx`.
    is_bounded = contents.limits or point.frame.function.name == "backward"
    return apply_bounds(interpreter, value, name, point) if is_bounded else value


def _defined(interpreter: Interpreter, name: str, found: ReachingDefinitions, point: ProgramPoint) -> Value | None:
    """Return the union of the assignments `found` and the value before them; None if all depend on themselves."""
    frame = point.frame
    flags = flags_at(frame.function, point.arms) if point.arms else ()
    if found.certain and len(found.bindings) == 1:
        return _bound(interpreter, found.bindings[0], frame, flags)
    values = [value for binding in found.bindings if (value := _bound(interpreter, binding, frame, flags)) is not None]
    if len(values) > 1 and are_layouts(
        [binding.value for binding in found.bindings if not _is_itself(name, binding.value)]
    ):
        values = [least_certain(interpreter.as_number(value, frame) for value in values)]
    if not found.certain:
        passed = _passed(interpreter, name, point)
        if passed is not None:
            values.append(passed)
    return either(values) if values else None


def _bound(interpreter: Interpreter, binding: Binding, frame: CallFrame, flags: tuple[BranchArm, ...]) -> Value | None:
    """Return the value of one assignment, given the arms `flags`; None if it depends on itself, as in a loop."""
    if flags:
        flags = tuple(arm for arm in flags if arm not in binding.arms)
    key = (binding.name, binding.order, *flags)
    known = frame.values.get(key)
    if known is not None:
        return known
    active = (id(frame), binding.name, binding.order)
    point = ProgramPoint(frame, binding.order, (*binding.arms, *flags), line=binding.line)
    value = interpreter.evaluations.guard(active, partial(_assigned, interpreter, binding, point), None)
    if value is None:
        return None
    value = _named(value, binding, frame)
    frame.values[key] = value
    return value


def _assigned(interpreter: Interpreter, binding: Binding, point: ProgramPoint) -> Value:
    """Return the value that `binding` assigns at `point`; a list includes the items added later."""
    value = filled(interpreter, binding, point)
    return interpreter.value(binding.value, point) if value is None else value


def _passed(interpreter: Interpreter, name: str, point: ProgramPoint) -> Value | None:
    """Return the argument `name` at `point`; None if there is no such parameter."""
    frame = point.frame
    key = (name, -1)
    known = frame.values.get(key)
    if known is None:
        for param in frame.function.params:
            if param.name == name:
                known = frame.values[key] = parameter(interpreter, param, frame)
                break
    if point.arms and isinstance(known, SymbolicValue) and known.origin is frame.function:
        excluded_callers = find_excluded_callers(interpreter, frame, point.arms)
        return known._replace(excluded_callers=excluded_callers) if excluded_callers else known
    return known


def _outer(interpreter: Interpreter, name: str, frame: CallFrame) -> Value:
    """Return a name of an enclosing function or the top level: any of its assignments may be in force."""
    function, module = frame.function, frame.module
    if function.parent is not None:
        outer = module.functions.get(function.parent)
        if outer is not None and frame.depth < MOST_DEPTH:
            inner = end_of(interpreter.frame(module, outer, frame.depth + 1))
            if outer.binds(name):
                return name_value(interpreter, name, inner)
            return _outer(interpreter, name, inner.frame)
    imported = module.imports.get(name)
    if imported is not None and imported.member is not None:
        return _global_elsewhere(interpreter, name, frame)
    return _symbol(name, frame, FIXED if function.name == "<module>" else UNKNOWN)


def _global_elsewhere(interpreter: Interpreter, name: str, frame: CallFrame) -> Value:
    found = interpreter.project.names.defining(frame.module, name)
    if found is None or frame.depth >= MOST_DEPTH:
        return _symbol(name, frame, FIXED)
    module, own = found
    if own not in module.top.bindings:
        return _symbol(name, frame, FIXED)
    return name_value(interpreter, own, end_of(interpreter.frame(module, module.top, frame.depth + 1)))


def _symbol(name: str, frame: CallFrame, number: AbstractNumber, *, line: int | None = None) -> SymbolicValue:
    root = Origin(
        frame.module.path,
        frame.function.qualname,
        name,
        line if line is not None else frame.function.line,
        None,
        names_weight(name),
    )
    return SymbolicValue(root=root, number=number)


def _is_itself(name: str, value: Expr) -> bool:
    """Return whether `name = value` changes nothing: `batch, heads = len(offsets) - 1, heads`."""
    match value:
        case Unpacked(TupleExpr(items), int(position), _, False):
            return position < len(items) and items[position] == Name(name)
        case _:
            return value == Name(name)


def are_layouts(options: Iterable[Expr]) -> bool:
    """Return whether each option is another axis of the same shape: `B, H, T` here, `B, T, H` there."""
    axes = set()
    for option in options:
        match option:
            case Unpacked(of, position, _, _) | Subscript(of, Const(int(position))):
                axes.add((spell(of), position))
            case _:
                return False
    return len(axes) > 1 and len({of for of, _ in axes}) == 1


def _named(value: Value, binding: Binding, frame: CallFrame) -> Value:
    """Return the value bound to a name, with the step in its path and the hints of the name."""
    if isinstance(binding.value, Name | Const):
        return value
    if not isinstance(binding.value, Unpacked) and may_note_assigned(frame.function):
        value = note_assigned(value, binding, frame)
    if isinstance(value, AbstractNumber):
        step = Note(frame.module.path, binding.line, f"`{binding.name}` is `{{}}`", binding.value)
        if names_bucket(binding.name):
            kept = UNKNOWN._replace(is_integer=value.is_integer, literals=value.literals, trail=value.trail)
            return kept.with_step(step)
        return hint_from_binding(value, binding, frame).with_step(step)
    if isinstance(value, Tensor):
        return unless_written(value, binding.name, frame.function)
    if isinstance(value, SymbolicValue) and isinstance(binding.value, Call) and value.origin is None:
        is_weight = value.root.weight or _remains_weight(binding)
        return value._replace(root=value.root.bound_to(binding.name, binding.line, is_weight=is_weight))
    return value


def _remains_weight(binding: Binding) -> bool:
    """Return whether it is a method's result that keeps a weight's name: `weight = weight.to_local()`."""
    match binding.value:
        case Call(Attr(Name(base), _)):
            return base == binding.name and names_weight(base)
        case _:
            return False
