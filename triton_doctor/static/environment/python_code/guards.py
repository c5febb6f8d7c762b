"""Conditions: whether one holds in an ordinary run, or is a switch that somebody has to throw."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from triton_doctor.static.environment.python_code.names import Bindings

_DEEPEST = 6
_GPU_PRESENT = frozenset({"torch.cuda.is_available", "torch.xpu.is_available", "torch.version.cuda"})
_VERSIONS = frozenset({"__version__", "version_info"})


def holds(test: ast.expr, names: Bindings, variable: str | None = None, depth: int = _DEEPEST) -> bool | None:
    """True if `test` holds in an ordinary run, False if it does not, None if a switch decides.

    Ordinary is: run as a program, on a machine with a GPU, where `variable`, the one about to be set, is not set.
    """
    if depth == 0:
        return None
    match test:
        case ast.Constant(value=value):
            return bool(value)
        case ast.UnaryOp(op=ast.Not(), operand=ast.expr() as operand):
            return _without_gpu(_opposite(holds(operand, names, variable, depth - 1)), operand, names)
        case ast.BoolOp(op=ast.And(), values=values):
            return _all([holds(value, names, variable, depth - 1) for value in values])
        case ast.BoolOp(op=ast.Or(), values=values):
            return _opposite(_all([_opposite(holds(value, names, variable, depth - 1)) for value in values]))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _compared(left, op, right, names, variable)
        case ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"):
            return False
        case ast.Name() | ast.Attribute() if (assigned := names.value(test)) is not None:
            return holds(assigned, names, variable, depth - 1)
        case _ if _reads(test, names) is not None:
            return False if _reads(test, names) == variable else None
        case ast.Call() | ast.Attribute() if names.full_name(_callee(test)) in _GPU_PRESENT:
            return True
        case _:
            return None


def is_switch(test: ast.expr) -> bool:
    """Whether `test` is no more than a flag: names, attributes, `not`, `and`, `or`, and reads of the environment."""
    match test:
        case ast.Name() | ast.Attribute():
            return True
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return is_switch(operand)
        case ast.BoolOp(values=values):
            return all(is_switch(value) for value in values)
        case ast.Call(func=ast.Attribute(attr="get" | "getenv" | "is_available") | ast.Name(id="getenv")):
            return True
        case ast.Compare(left=left, comparators=[ast.Constant()]):
            return is_switch(left)
        case _:
            return False


def _callee(test: ast.expr) -> ast.expr:
    return test.func if isinstance(test, ast.Call) else test


def _opposite(value: bool | None) -> bool | None:
    return None if value is None else not value


def _all(values: list[bool | None]) -> bool | None:
    if False in values:
        return False
    return None if None in values else True


def _without_gpu(value: bool | None, operand: ast.expr, names: Bindings) -> bool | None:
    """A missing GPU is no impossibility but the usual switch to interpreter mode."""
    resolved = names.value(operand) or operand
    return None if names.full_name(_callee(resolved)) in _GPU_PRESENT else value


def _compared(left: ast.expr, op: ast.cmpop, right: ast.expr, names: Bindings, variable: str | None) -> bool | None:
    if isinstance(left, ast.Name) and left.id == "__name__":
        return isinstance(op, ast.Eq)
    if any(isinstance(node, ast.Attribute) and node.attr in _VERSIONS for node in (*ast.walk(left), *ast.walk(right))):
        return True
    if names.full_name(left) == "sys.platform" and isinstance(right, ast.Constant):
        return isinstance(op, ast.Eq) == str(right.value).startswith("linux")
    if isinstance(op, ast.In | ast.NotIn) and names.full_name(right) in {"os.environ", "environ"}:
        key = left.value if isinstance(left, ast.Constant) else getattr(names.value(left), "value", None)
        return isinstance(op, ast.NotIn) if key == variable else None
    if _reads(left, names) is not None and _reads(left, names) == variable:
        # Not set yet: its value is None, or the default, whatever that is compared with.
        return isinstance(op, ast.NotEq | ast.NotIn) or (isinstance(op, ast.Is) and _is_none(right))
    return None


def _is_none(expr: ast.expr) -> bool:
    return isinstance(expr, ast.Constant) and expr.value is None


def _reads(expr: ast.expr, names: Bindings) -> str | None:
    """The variable that `expr` reads from the environment: `os.environ.get("X", ...)`, `int(os.getenv("X"))`."""
    match expr:
        case ast.Call(func=ast.Name(id="int" | "bool" | "str"), args=[inner]):
            return _reads(inner, names)
        case ast.Call(func=ast.Attribute(value=inner, attr="lower" | "strip" | "upper"), args=[]):
            return _reads(inner, names)
        case ast.Call(func=func, args=[key, *_]) if names.full_name(func) in {
            "os.environ.get",
            "os.getenv",
            "environ.get",
            "getenv",
        }:
            value = key if isinstance(key, ast.Constant) else names.value(key)
            return str(value.value) if isinstance(value, ast.Constant) else ""
        case ast.Subscript(value=base, slice=ast.Constant(value=str(key))) if names.full_name(base) == "os.environ":
            return key
        case _:
            return None
