"""Conditions: does one hold in an ordinary run, or is it a switch?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.python.ir import (
    Attr,
    Call,
    Compare,
    Conditional,
    Const,
    Expr,
    Name,
    Opaque,
    Subscript,
    every_part,
)

if TYPE_CHECKING:
    from triton_doctor.static.environment.python_code.names import Names

_DEEPEST = 6
ENVIRONMENTS = frozenset({"os.environ", "os.environb", "environ"})
READERS = frozenset({"os.environ.get", "os.getenv", "environ.get", "getenv"})
_GPU_PRESENT = frozenset({"torch.cuda.is_available", "torch.xpu.is_available", "torch.version.cuda"})
_VERSIONS = frozenset({"__version__", "version_info"})


def holds(test: Expr, names: Names, variable: str | None = None, depth: int = _DEEPEST) -> bool | None:
    """Return True if `test` holds in an ordinary run, False if it does not, None if a switch decides.

    In an ordinary run the file runs as a program on a machine with a GPU, and `variable`, which is about to be set, is
    unset.
    """
    if depth == 0:
        return None
    match test:
        case Const(value):
            return bool(value)
        case Compare("not", (operand,)):
            # A missing GPU is not treated as impossible: it is the usual switch to interpreter mode.
            if _asks_for_gpu(names.value(operand) or operand, names):
                return None
            return _opposite(holds(operand, names, variable, depth - 1))
        case Conditional(None, options, operator):
            # `and` is false if one option is, `or` true if one option is.
            truths = {holds(option, names, variable, depth - 1) for option in options}
            decisive = operator == "or"
            return decisive if decisive in truths else None if None in truths else not decisive
        case Compare(operator, (left, right)):
            return _compared(left, operator, right, names, variable)
        case Name("TYPE_CHECKING") | Attr(_, "TYPE_CHECKING"):
            return False
        case Name() | Attr() if (assigned := names.value(test)) is not None:
            return holds(assigned, names, variable, depth - 1)
        case Opaque("ExceptHandler", (Name("KeyError"),)):
            return True
        case _ if (read := _variable_read(test, names)) is not None:
            return False if read == variable else None
        case _:
            return True if _asks_for_gpu(test, names) else None


def is_switch(test: Expr) -> bool:
    """Return whether `test` is only a flag: names, attributes, `not`, `and`, `or`, and reads of the environment."""
    match test:
        case Name() | Attr() | Call(Attr(_, "get" | "getenv" | "is_available") | Name("getenv")):
            return True
        case Compare("not", operands) | Conditional(None, operands):
            return all(map(is_switch, operands))
        case Compare(_, (left, Const())):
            return is_switch(left)
        case _:
            return False


def _asks_for_gpu(test: Expr, names: Names) -> bool:
    return names.full_name(test.func if isinstance(test, Call) else test) in _GPU_PRESENT


def _opposite(value: bool | None) -> bool | None:
    return None if value is None else not value


def _compared(left: Expr, operator: str, right: Expr, names: Names, variable: str | None) -> bool | None:
    if left == Name("__name__"):
        return operator == "=="
    if any(isinstance(part, Attr) and part.name in _VERSIONS for side in (left, right) for part in every_part(side)):
        return True
    if names.full_name(left) == "sys.platform" and isinstance(right, Const):
        return (operator == "==") == str(right.value).startswith("linux")
    if operator in {"in", "not in"} and names.full_name(right) in ENVIRONMENTS:
        key = left if isinstance(left, Const) else names.value(left)
        return operator == "not in" if key == Const(variable) else None
    if variable is not None and _variable_read(left, names) == variable:
        # The variable is unset, so its value is None or the default.
        return operator in {"!=", "not in"} or (operator == "is" and right == Const(None))
    return None


def _variable_read(expr: Expr, names: Names) -> str | None:
    """Return the variable that `expr` reads: `os.environ.get("X", ...)`, `int(os.getenv("X"))`.

    Empty if it reads one whose name is not known; None if it reads none.
    """
    match expr:
        case Call(Name("int" | "bool" | "str"), (inner,), _) | Call(Attr(inner, "lower" | "strip" | "upper"), ()):
            return _variable_read(inner, names)
        case Call(func, (key, *_)) if names.full_name(func) in READERS:
            value = key if isinstance(key, Const) else names.value(key)
            return str(value.value) if isinstance(value, Const) else ""
        case Subscript(base, Const(str(name))) if names.full_name(base) == "os.environ":
            return name
        case _:
            return None
