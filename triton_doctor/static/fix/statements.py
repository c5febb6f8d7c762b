"""Removes statements that set a variable, with an import that nothing else uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from triton_doctor.static.fix.listed import drop_items
from triton_doctor.static.fix.text import CannotEditError, Edit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.plan import DropStatement
    from triton_doctor.static.fix.text import Text
    from triton_doctor.static.fix.tree import Tree


def drop_statement(text: Text, tree: Tree, change: DropStatement) -> Iterator[Edit]:
    """Yield the edits that remove the statement's line; `pass` replaces it if it is alone in its block."""
    start, end = text.bounds(change.span)
    line, node = _statement(tree, start, end)
    if not _sets(node, change.variable):
        raise CannotEditError("what it sets is not spelled out there")
    if _is_alone_in_block(tree, line):
        yield Edit(*tree.bounds(node), "pass")
    else:
        yield _line(text, tree, line)
    used = {name.value for name in _names(node)}
    for name in used:
        if sum(1 for use in tree.of(cst.Name) if use.value == name and not _is_imported(tree, use)) == 1:
            yield from _drop_import(text, tree, name)


def _statement(tree: Tree, start: int, end: int) -> tuple[cst.SimpleStatementLine, cst.BaseSmallStatement]:
    """Return the statement whose target or call spans `start` to `end`, alone on its line."""
    for line in tree.of(cst.SimpleStatementLine):
        if len(line.body) != 1:
            continue
        (node,) = line.body
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=target)]) | cst.Expr(value=target):
                if tree.bounds(target) == (start, end):
                    return line, node
            case _:
                pass
    raise CannotEditError("it is part of something larger")


def _sets(node: cst.BaseSmallStatement, variable: str) -> bool:
    """Return whether the statement sets the variable, a knob or a string, to a literal or a name, and does no more."""
    match node:
        case cst.Assign(
            targets=[cst.AssignTarget(target=target)], value=cst.SimpleString() | cst.Integer() | cst.Name()
        ):
            match target:
                case cst.Subscript(slice=[cst.SubscriptElement(cst.Index(cst.SimpleString() as key))]):
                    return key.evaluated_value == variable
                case _:
                    return isinstance(target, cst.Attribute)
        case cst.Expr(value=cst.Call(args=[cst.Arg(value=cst.SimpleString() as key), cst.Arg(value, star="")])):
            return key.evaluated_value == variable and isinstance(value, cst.SimpleString | cst.Name)
        case _:
            return False


def _is_alone_in_block(tree: Tree, line: cst.SimpleStatementLine) -> bool:
    return any(len(block.body) == 1 and block.body[0] is line for block in tree.of(cst.IndentedBlock))


def _line(text: Text, tree: Tree, line: cst.SimpleStatementLine) -> Edit:
    """Return the edit for the whole line, and for the blank line after it if one is before it too."""
    start, end = tree.bounds(line)
    first, last = text.line_start(start), text.line_end(end)
    before = text.text[text.line_start(max(first - 1, 0)) : first]
    after = text.text[last : text.line_end(last)]
    if not before.strip() and after and not after.strip():
        last = text.line_end(last)
    return Edit(first, last, "")


def _names(node: cst.CSTNode) -> Iterator[cst.Name]:
    """Yield the names that an expression reads, without attributes and keywords."""
    match node:
        case cst.Name():
            yield node
        case cst.Attribute(value=value):
            yield from _names(value)
        case cst.Arg(value=value):
            yield from _names(value)
        case _:
            for child in node.children:
                yield from _names(child)


def _is_imported(tree: Tree, name: cst.Name) -> bool:
    start, end = tree.bounds(name)
    return any(first <= start and end <= last for first, last in map(tree.bounds, tree.of(cst.ImportAlias)))


def _drop_import(text: Text, tree: Tree, name: str) -> Iterator[Edit]:
    """Yield the edits that remove the only top-level import that binds `name`."""
    found = []
    for line in tree.of(cst.SimpleStatementLine):
        match line.body:
            case [cst.Import(names=aliases)] | [cst.ImportFrom(names=[*aliases])]:
                found += [(line, aliases, alias) for alias in aliases if _bound_name(alias) == name]
            case _:
                pass
    if len(found) != 1 or text.line_start(tree.bounds(found[0][0])[0]) != tree.bounds(found[0][0])[0]:
        return
    line, aliases, alias = found[0]
    if len(aliases) == 1:
        yield _line(text, tree, line)
    else:
        yield from drop_items(text, [tree.bounds(part) for part in aliases], frozenset({list(aliases).index(alias)}))


def _bound_name(alias: cst.ImportAlias) -> str | None:
    if alias.asname is not None:
        return alias.asname.name.value if isinstance(alias.asname.name, cst.Name) else None
    name: cst.BaseExpression = alias.name
    while isinstance(name, cst.Attribute):
        name = name.value
    return name.value if isinstance(name, cst.Name) else None
