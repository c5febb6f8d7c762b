"""Tests in host functions: the main guard, flags, and blocks that a test expects to fail."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from triton_doctor.static.python.function import BranchArm


def is_main_guard(test: ast.expr | None) -> bool:
    """Return whether `test` is `__name__ == "__main__"`."""
    match test:
        case ast.Compare(left=ast.Name(id="__name__"), ops=[ast.Eq()], comparators=[ast.Constant(value="__main__")]):
            return True
        case _:
            return False


def expects_error(context: ast.expr) -> bool:
    """Return whether `context` is `pytest.raises(...)` or `self.assertRaises(...)`."""
    func = context.func if isinstance(context, ast.Call) else None
    name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
    return name in {"raises", "assertRaises", "assertRaisesRegex"}


def catches_compile_error(handler: ast.ExceptHandler) -> bool:
    """Return whether `handler` catches what Triton raises for a kernel that does not compile."""
    return handler.type is not None and any(
        "Compilation" in name or "CompileTime" in name
        for part in ast.walk(handler.type)
        for name in (
            [part.id] if isinstance(part, ast.Name) else [part.attr] if isinstance(part, ast.Attribute) else []
        )
    )


# Suffix of the flag for a test of None, such as `mask is None`.
_IS_NONE = " is None"


def none_flag(name: str) -> str:
    """Return the flag for "`name` is None"."""
    return name + _IS_NONE


def name_in_flag(flag: str) -> str | None:
    """Return the name that the flag `flag` compares with None; None for any other flag."""
    return flag.removesuffix(_IS_NONE) if flag.endswith(_IS_NONE) else None


def decided_flag(test: ast.expr | None, *, holds: bool) -> tuple[str | None, bool]:
    """Return the first flag whose truth `test` implies if it `holds` (or does not), and that truth.

    A flag is a name, `self.name`, or else `mask is None`. Returns (None, True) if there is no flag.
    """
    match test:
        case ast.Compare(left=ast.Name(id=name), ops=[ast.IsNot() | ast.Is() as op], comparators=[ast.Constant(None)]):
            return none_flag(name), isinstance(op, ast.Is) is holds
        case ast.Name(id=name):
            return name, holds
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return f"self.{name}", holds
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return decided_flag(operand, holds=not holds)
        case ast.BoolOp(op=op, values=parts) if isinstance(op, ast.And) is holds:
            found = [decided for part in parts if (decided := decided_flag(part, holds=holds))[0] is not None]
            return min(found, key=lambda decided: name_in_flag(decided[0] or "") is not None, default=(None, True))
        case _:
            return None, True


def given_name(test: ast.expr | None, *, holds: bool) -> str | None:
    """Return the name for which `test`, if it `holds` (or does not), is exactly the test "is not None"."""
    match test:
        case ast.Compare(left=ast.Name(id=name), ops=[ast.IsNot() | ast.Is() as op], comparators=[ast.Constant(None)]):
            return name if isinstance(op, ast.IsNot) is holds else None
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return given_name(operand, holds=not holds)
        case _:
            return None


class _HeldTest(NamedTuple):
    """The test assigned to a flag inside `arms`; `names` are the names that it reads."""

    test: ast.expr
    arms: tuple[BranchArm, ...]
    names: frozenset[str]


class FlagTests:
    """The tests assigned to the flags of a function: `small = n <= 16`, used later as `if small:`."""

    def __init__(self) -> None:
        """Start without flags."""
        self._tests: dict[str, _HeldTest] = {}
        self._loops: dict[int, list[ast.stmt]] = {}
        self._assigned: dict[int, frozenset[str]] = {}

    def assign(self, name: str, value: ast.expr, arms: tuple[BranchArm, ...]) -> None:
        """Record `name = value` inside `arms`."""
        if isinstance(value, ast.Compare | ast.BoolOp | ast.UnaryOp):
            test = self.spell_out(value, arms)
            names = frozenset(node.id for node in ast.walk(test) if isinstance(node, ast.Name))
            self._tests[name] = _HeldTest(test, arms, names)

    def forget(self, name: str) -> None:
        """Drop the test of `name`, which is bound to something else now."""
        for flag in [flag for flag, held in self._tests.items() if flag == name or name in held.names]:
            del self._tests[flag]

    def enter_loop(self, branch: int, body: list[ast.stmt]) -> None:
        """Remember `body` as the body of the loop that is branch number `branch` of the function."""
        self._loops[branch] = body

    def spell_out(self, test: ast.expr, arms: tuple[BranchArm, ...]) -> ast.expr:
        """Return `test`, which stands inside `arms`, with flags replaced by the tests assigned to them.

        A flag is not replaced inside a loop that assigns a name in its test: it holds in the first round alone.
        """
        match test:
            case ast.Name(id=name) if name in self._tests:
                held = self._tests[name]
                outer = len(held.arms)
                within = arms[:outer] == held.arms
                loops = [arm.branch for arm in arms[outer:] if arm.loop] if within else []
                return held.test if within and not any(self._assigns(loop, held.names) for loop in loops) else test
            case ast.BoolOp(op=op, values=values):
                return ast.BoolOp(op, [self.spell_out(value, arms) for value in values])
            case ast.UnaryOp(op=ast.Not() as op, operand=operand):
                return ast.UnaryOp(op, self.spell_out(operand, arms))
            case _:
                return test

    def _assigns(self, loop: int, names: frozenset[str]) -> bool:
        if loop not in self._assigned:
            parts = (part for statement in self._loops[loop] for part in ast.walk(statement))
            stored = (part for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))
            self._assigned[loop] = frozenset(part.id for part in stored)
        return not names.isdisjoint(self._assigned[loop])


def packed_row(value: ast.expr) -> ast.expr | None:
    """Return what `value` implies of the batch, as a test: `offsets is None or batch == 1`.

    `batch if offsets is None else len(offsets) - 1` counts the sequences. Where offsets are given, they tell the
    sequences of one row apart: a row of its own would need no offsets. Returns None for any other value.
    """
    match value:
        case ast.IfExp(
            test=ast.Compare(
                left=ast.Name(id=name), ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(None)]
            )
        ):
            batch, count = (value.body, value.orelse) if isinstance(op, ast.Is) else (value.orelse, value.body)
        case _:
            return None
    if not (isinstance(batch, ast.Name) and _is_number_of_sequences(count, name)):
        return None
    is_none = ast.Compare(ast.Name(name), [ast.Is()], [ast.Constant(None)])
    return ast.BoolOp(ast.Or(), [is_none, ast.Compare(batch, [ast.Eq()], [ast.Constant(1)])])


def _is_number_of_sequences(count: ast.expr, offsets: str) -> bool:
    """Return whether `count` is the length of `offsets` less one."""
    match count:
        case ast.BinOp(left=length, op=ast.Sub(), right=ast.Constant(value=1)):
            pass
        case _:
            return False
    match length:
        case (
            ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=of)])
            | ast.Call(func=ast.Attribute(value=ast.Name(id=of), attr="numel"), args=[])
            | ast.Call(func=ast.Attribute(value=ast.Name(id=of), attr="size"), args=[ast.Constant(value=0)])
            | ast.Subscript(value=ast.Attribute(value=ast.Name(id=of), attr="shape"), slice=ast.Constant(value=0))
        ):
            return of == offsets
        case _:
            return False
