"""Values from outside the analysed code: declared by the user, read from tensor data, or unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.python.printing import spell
from triton_doctor.static.variability.hints.name_words import names_data, names_model
from triton_doctor.static.variability.values.dims import Origin
from triton_doctor.static.variability.values.lattice import UNKNOWN, AbstractNumber, Note, Variability
from triton_doctor.static.variability.values.values import SymbolicValue, UnfollowedCall

if TYPE_CHECKING:
    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.ir import Call, Expr
    from triton_doctor.static.variability.values.values import CallFrame, ProgramPoint


def declared(project: Project, name: str, frame: CallFrame) -> AbstractNumber:
    """Return the value of a name whose variability the user declared."""
    kind = Variability[project.declared[name].upper()]
    text = f"`{name}` is declared {kind.label.replace('_', '-')} in the settings"
    return AbstractNumber(kind=kind, trail=(Note(frame.module.path, frame.function.line, text),))


def from_data(base: Expr, name: str | None, point: ProgramPoint) -> AbstractNumber:
    """Return `base.name()`, or `base` itself, as a number that the data of a tensor decides."""
    frame = point.frame
    call = f".{name}()" if name is not None else ""
    note = Note(frame.module.path, frame.function.line, f"`{{}}{call}` is read from the data of a tensor", base)
    return AbstractNumber(kind=Variability.PER_CALL, from_data=True, trail=(note,))


def is_optional_number(symbol: SymbolicValue) -> bool:
    """Return whether it is an argument with a default that is no length by name, or is named as a setting."""
    if symbol.origin is None or names_data(symbol.root.name):
        return False
    if names_model(symbol.root.name):
        return True
    return any(param.name == symbol.root.name and param.default is not None for param in symbol.origin.params)


def out_of_sight(call: Call, point: ProgramPoint) -> SymbolicValue:
    """Return the result of a call that is not followed, as a symbolic value."""
    frame = point.frame
    root = Origin(frame.module.path, frame.function.qualname, spell(call), frame.function.line, None, False)
    return SymbolicValue(root=root, number=UNKNOWN, made=UnfollowedCall(call, point))
