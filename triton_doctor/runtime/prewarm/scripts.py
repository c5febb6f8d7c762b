"""The kernels of a script, without its work: of its statements only those run that a kernel needs.

A script that is imported runs: it trains a model, or it ends because nobody gave it arguments. So the module is cut
down to what the definition of the kernel needs: the names that its body, its annotations and its decorators read from
the module, the statements that bind those, and so on. Imports among them really import. Lines stay what they were,
since they are part of Triton's key. Of an `if`, a `try` or a `with` only what is needed of its body stays, so a kernel
below `if __name__ == "__main__":` is found too. Of a class that holds the kernel, only the kernel and what it needs
stay, without bases and decorators. Nothing in a `while` runs.
"""

from __future__ import annotations

import ast
import copy
import dis
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from triton_doctor.kernel_names import function_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import CodeType

LOADS = frozenset(
    {"LOAD_NAME", "LOAD_GLOBAL", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_GLOBALS", "LOAD_FROM_DICT_OR_DEREF"}
)
STORES = frozenset({"STORE_NAME", "STORE_GLOBAL"})
# What later imports and compiles depend on, although no name says so.
PROCESS_STATE = frozenset({("sys", "path"), ("os", "environ")})


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement that is no compound one, with the names of the module that it reads and binds."""

    node: ast.stmt
    reads: frozenset[str]
    binds: frozenset[str]


def load_script_kernel(path: Path, name: str, line: int, *, package: str = "") -> dict[str, Any] | None:
    """Define the kernel `name` of the script at `path`, near `line`; return its module, or None.

    `package` is the module that `python -m` ran. Raises whatever the executed statements raise.
    """
    source = path.read_bytes()
    tree = ast.parse(source, str(path))
    kept = select_statements(tree, str(path), name, line)
    if kept is None:
        return None
    namespace: dict[str, Any] = {
        "__name__": "__main__",
        "__file__": str(path),
        "__builtins__": __builtins__,
        "__package__": package.rpartition(".")[0] or None,
    }
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    exec(compile(kept, str(path), "exec", dont_inherit=True), namespace)
    return namespace


def select_statements(tree: ast.Module, path: str, name: str, line: int) -> ast.Module | None:
    """Reduce `tree` to what the function `name` near `line` needs; None if the function is not defined.

    `name` is spelled as in reports. A class that contains the function is reduced in place.
    """
    name = function_name(name)
    defined = [(abs(at - line), node) for node in _leaves(tree.body) for at in _definition_lines(node, name)]
    if not defined:
        return None
    _, definition = min(defined, key=lambda pair: pair[0])
    if isinstance(definition, ast.ClassDef):
        inner = select_statements(ast.Module(body=definition.body, type_ignores=[]), path, name, line)
        definition.body = inner.body if inner is not None else [_nothing(definition)]
        definition.bases, definition.keywords, definition.decorator_list = [], [], []
    statements = [_read_statement(node, path) for node in _leaves(tree.body)]
    containers = set(_containers(statements))
    kernel = next(statement for statement in statements if statement.node is definition)
    chosen: set[int] = {id(definition)}
    needed = set(kernel.reads)
    while True:
        more = [
            each for each in statements if id(each.node) not in chosen and _is_needed(each, needed, name, containers)
        ]
        if not more:
            break
        for statement in more:
            chosen.add(id(statement.node))
            needed |= statement.reads
        needed |= _shell_reads(tree.body, chosen, path)
    return ast.Module(body=list(_cut(tree.body, chosen)), type_ignores=[])


def _definition_lines(node: ast.stmt, name: str) -> Iterator[int]:
    """Yield the lines where `node` defines the function `name`, also inside classes."""
    if isinstance(node, ast.FunctionDef) and node.name == name:
        yield node.lineno
    elif isinstance(node, ast.ClassDef):
        for inner in _leaves(node.body):
            yield from _definition_lines(inner, name)


def _containers(statements: list[Statement]) -> Iterator[str]:
    """Yield the names bound to lists, dicts and sets, which method calls may fill."""
    for statement in statements:
        match statement.node:
            case ast.Assign(
                value=ast.List() | ast.Dict() | ast.Set() | ast.ListComp() | ast.DictComp() | ast.SetComp()
            ):
                yield from statement.binds
            case ast.Assign(value=ast.Call(func=ast.Name(id="list" | "dict" | "set"))):
                yield from statement.binds


def _is_needed(statement: Statement, needed: set[str], kernel: str, containers: set[str]) -> bool:
    match statement.node:
        case ast.ImportFrom(module="__future__"):
            return True
        case ast.ImportFrom(names=[ast.alias(name="*")]):
            return True
        case ast.FunctionDef(name=name) if name == kernel:
            # Another definition of the same name, in the other arm of an `if`.
            return False
    if statement.binds & needed:
        return True
    return any(root in needed or state for root, state in _changed(statement.node, containers))


def _changed(node: ast.stmt, containers: set[str]) -> Iterator[tuple[str, bool]]:
    """Yield the names whose values `node` modifies in place, and whether that is state of the process."""
    targets: list[ast.expr] = []
    match node:
        case ast.Assign(targets=several):
            targets = [each for each in several if isinstance(each, ast.Subscript | ast.Attribute)]
        case ast.AugAssign(target=ast.Subscript() | ast.Attribute() as changed):
            targets = [changed]
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner))):
            dotted = _dotted(owner)
            if dotted and (dotted[:2] in PROCESS_STATE or dotted[0] in containers):
                yield dotted[0], dotted[:2] in PROCESS_STATE
    for target in targets:
        dotted = _dotted(target)
        if dotted:
            yield dotted[0], dotted[:2] in PROCESS_STATE


def _dotted(node: ast.expr) -> tuple[str, ...]:
    """Return the names in an expression: `a.b[c].d` gives (a, b, d); empty if it does not begin with a name."""
    match node:
        case ast.Name(id=name):
            return (name,)
        case ast.Attribute(value=value, attr=attribute):
            owner = _dotted(value)
            return (*owner, attribute) if owner else ()
        case ast.Subscript(value=value):
            return _dotted(value)
    return ()


def _bodies(node: ast.stmt) -> tuple[str, ...]:
    match node:
        case ast.If() | ast.For():
            return ("body", "orelse")
        case ast.With():
            return ("body",)
        case ast.Try() | ast.TryStar():
            return ("body", "orelse", "finalbody")
    return ()


def _leaves(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the simple statements in `body`, including those inside compound statements, in order."""
    for node in body:
        if isinstance(node, ast.While):
            continue
        if not _bodies(node) and not isinstance(node, ast.Break | ast.Continue):
            yield node
        for inner in _inner_bodies(node):
            yield from _leaves(inner)


def _inner_bodies(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    for field in _bodies(node):
        yield getattr(node, field)
    if isinstance(node, ast.Try | ast.TryStar):
        for handler in node.handlers:
            yield handler.body


def _cut(body: list[ast.stmt], chosen: set[int]) -> Iterator[ast.stmt]:
    """Yield the `chosen` statements inside the compound statements around them, without the others."""
    for node in body:
        if id(node) in chosen:
            yield node
        elif _bodies(node) and any(id(leaf) in chosen for inner in _inner_bodies(node) for leaf in _leaves(inner)):
            shell = copy.copy(node)
            for field in _bodies(node):
                kept = list(_cut(getattr(node, field), chosen))
                needs_one = field == "body" or (field == "finalbody" and not getattr(node, "handlers", ()))
                setattr(shell, field, kept or ([_nothing(node)] if needs_one else []))
            if isinstance(shell, ast.Try | ast.TryStar) and isinstance(node, ast.Try | ast.TryStar):
                shell.handlers = [_cut_handler(handler, chosen) for handler in node.handlers]
            yield shell


def _cut_handler(handler: ast.ExceptHandler, chosen: set[int]) -> ast.ExceptHandler:
    cut = copy.copy(handler)
    cut.body = list(_cut(handler.body, chosen)) or [_nothing(handler)]
    return cut


def _nothing(at: ast.stmt | ast.ExceptHandler) -> ast.stmt:
    return ast.copy_location(ast.Pass(), at)


def _shell_reads(body: list[ast.stmt], chosen: set[int], path: str) -> set[str]:
    """Return the names that compound statements around `chosen` read, e.g. in the test of an `if`."""
    shells = ast.Module(body=list(_cut(body, chosen)), type_ignores=[])
    return set(_read_code(compile(shells, path, "exec", dont_inherit=True), LOADS))


def _read_statement(node: ast.stmt, path: str) -> Statement:
    code = compile(ast.Module(body=[node], type_ignores=[]), path, "exec", dont_inherit=True)
    stores = frozenset(instruction.argval for instruction in dis.get_instructions(code) if instruction.opname in STORES)
    return Statement(node=node, reads=frozenset(_read_code(code, LOADS)), binds=stores)


def _read_code(code: CodeType, operations: frozenset[str]) -> Iterator[str]:
    """Yield the names used by instructions of `operations`, in `code` and functions defined in it."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in operations:
            yield instruction.argval
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            yield from _read_code(constant, operations)
