"""The source of running code: the statement at a line, the function of a code object, the assignments of a name."""

from __future__ import annotations

import ast
import functools
import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

Function = ast.FunctionDef | ast.AsyncFunctionDef


@functools.cache
def parse_file(path: str) -> ast.Module:
    """Return the tree of a file, an empty one where it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return ast.Module(body=[], type_ignores=[])


@functools.cache
def _functions_of(path: str) -> dict[tuple[str, int], Function]:
    """Return the functions of a file, by name and first line: that of the first decorator, as a code object has it."""
    found = {}
    for node in ast.walk(parse_file(path)):
        if isinstance(node, Function):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            found[node.name, first] = node
    return found


def function_of_code(code: CodeType) -> Function | None:
    """Return the definition of the function whose code is `code`."""
    return _functions_of(code.co_filename).get((code.co_name, code.co_firstlineno))


def code_of(function: Any) -> CodeType | None:
    """Return the code of a function, beneath its decorators."""
    function = inspect.unwrap(getattr(function, "_init_fn", function)) if callable(function) else function
    code: CodeType | None = getattr(getattr(function, "__func__", function), "__code__", None)
    return code


def definition_of(function: Any) -> Function | None:
    """Return the definition of a live function, beneath its decorators."""
    code = code_of(function)
    return None if code is None else function_of_code(code)


def statements_at(path: str, line: int) -> list[ast.stmt]:
    """Return the statements that contain `line`, the outermost first."""
    found: list[ast.stmt] = []
    body: list[ast.stmt] = parse_file(path).body
    while body:
        inside = [
            statement
            for statement in body
            if _first_line(statement) <= line <= (statement.end_lineno or statement.lineno)
        ]
        if not inside:
            return found
        found.append(inside[-1])
        body = [each for block in blocks_of(inside[-1]) for each in block]
    return found


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def blocks_of(statement: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield the blocks of statements directly in `statement`."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
            yield block
    for handler in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield handler.body


def header_of(statement: ast.stmt) -> ast.AST:
    """Return what runs at the first line of `statement`: the test of an `if`, the iterable of a loop, or all of it."""
    match statement:
        case ast.If() | ast.While():
            return statement.test
        case ast.For():
            return ast.Assign(targets=[statement.target], value=statement.iter)
        case ast.With():
            return ast.Tuple(elts=[item.context_expr for item in statement.items], ctx=ast.Load())
        case _:
            return statement


def assigned_values(function: ast.AST, name: str, before: int) -> list[ast.expr]:
    """Return what is assigned to `name` in `function` before the line `before`, the last first.

    `name` is a local name, or `self.name`.
    """
    found: list[tuple[int, ast.expr]] = []
    for node in ast.walk(function):
        targets: list[Any] = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value: Any = getattr(node, "value", None)
        if not isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) or value is None or node.lineno >= before:
            continue
        for target in targets:
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
                pairs: list[tuple[Any, Any]] = list(zip(target.elts, value.elts, strict=True))
            else:
                pairs = [(target, value)]
            found += [(node.lineno, part) for each, part in pairs if each is not None and ast.unparse(each) == name]
    return [value for _, value in sorted(found, key=lambda pair: -pair[0])]
