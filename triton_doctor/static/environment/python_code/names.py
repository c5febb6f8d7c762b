"""The meaning of names at a step of a program: imports and assignments, in its function or outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.python.ir import Attr, Call, Const, Expr, Name, TupleExpr, Unpacked, dotted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from triton_doctor.static.python.imports import Imports
    from triton_doctor.static.python.trace import Routine


class Names:
    """The names visible in `routine`: its own, those of enclosing functions, then the module's."""

    def __init__(self, routine: Routine, imports: Imports, given: Mapping[str, Expr] | None = None) -> None:
        """`given` are the values of loop targets."""
        self._routine = routine
        self._imports = imports
        self._given = given or {}

    def bound(self, given: Mapping[str, Expr]) -> Names:
        """Return these names with further loop targets `given`."""
        return Names(self._routine, self._imports, {**self._given, **given})

    def is_param(self, name: str) -> bool:
        """Return whether `name` is a parameter."""
        routine: Routine | None = self._routine
        while routine is not None and name not in routine.params:
            routine = routine.outer
        return routine is not None and name not in self._given

    def values(self, expr: Expr) -> Sequence[Expr]:
        """Return everything assigned to the name `expr` or to a field of a class; empty if unknown."""
        name = dotted(expr)
        if name is None:
            return ()
        if name in self._given:
            return (self._given[name],)
        routine = self._routine
        while routine.outer is not None:
            if values := routine.values(name):
                return list(map(unpacked, values))
            routine = routine.outer
        return () if self.is_param(name.partition(".")[0]) else list(map(unpacked, routine.values(name)))

    def value(self, expr: Expr) -> Expr | None:
        """Return the only expression that the name `expr` stands for; None if there are several or none."""
        values = self.values(expr)
        return values[0] if len(values) == 1 and values[0] is not expr else None

    def full_name(self, expr: Expr, depth: int = 4) -> str | None:
        """Return `triton.knobs.runtime` whatever name it was imported or assigned as; None if not dotted."""
        match expr:
            case Call(Name("__import__"), (Const(str(module)), *_), _):
                return module
            case Name(name):
                imported = self._imports.names.get(name)
                if imported is not None and not imported.level:
                    return self._imports.expand(name)
                value = self.value(expr) if depth else None
                known = self.full_name(value, depth - 1) if isinstance(value, Name | Attr | Call) else None
                return known or name
            case Attr(base, name):
                owner = self.full_name(base, depth)
                return f"{owner}.{name}" if owner else None
            case _:
                return None


def unpacked(value: Expr) -> Expr:
    """Return the item that unpacking a display yields; `value` itself for anything else."""
    match value:
        case Unpacked(source, int(position), size, False):
            match unpacked(source):
                case TupleExpr(items) if len(items) == size:
                    return items[position]
    return value
