"""Conditions of a host function: the main guard, flags, and blocks that a test expects to fail."""

from __future__ import annotations

import ast


def is_main_guard(test: ast.expr | None) -> bool:
    """Whether it is `__name__ == "__main__"`."""
    match test:
        case ast.Compare(left=ast.Name(id="__name__"), ops=[ast.Eq()], comparators=[ast.Constant(value="__main__")]):
            return True
        case _:
            return False


def expects_error(context: ast.expr) -> bool:
    """Whether it is `pytest.raises(...)` or `self.assertRaises(...)`."""
    func = context.func if isinstance(context, ast.Call) else None
    name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
    return name in {"raises", "assertRaises", "assertRaisesRegex"}


def catches_compile_error(handler: ast.ExceptHandler) -> bool:
    """Whether it catches what Triton raises for a kernel that does not compile."""
    return handler.type is not None and any(
        "Compilation" in name or "CompileTime" in name
        for part in ast.walk(handler.type)
        for name in (
            [part.id] if isinstance(part, ast.Name) else [part.attr] if isinstance(part, ast.Attribute) else []
        )
    )


def deciding_flag(test: ast.expr | None) -> tuple[str | None, bool]:
    """The name or `self.name` that decides a branch alone, and whether it is true where the branch is taken."""
    match test:
        case ast.Name(id=name):
            return name, True
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return f"self.{name}", True
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            flag, is_true = deciding_flag(operand)
            return flag, not is_true
        case _:
            return None, True
