"""The changes of one file to edits of its text."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from triton_doctor.plan import (
    AddListed,
    Change,
    DropAnnotation,
    DropArgument,
    DropDirective,
    DropListed,
    DropParameter,
    DropStatement,
    NameArgument,
    RenameString,
    Replace,
)
from triton_doctor.static.fix.listed import drop_codes, drop_items
from triton_doctor.static.fix.statements import drop_statement
from triton_doctor.static.fix.text import CannotEditError, Edit, Text
from triton_doctor.static.fix.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.finding import Span


class OwnedEdit(NamedTuple):
    """An edit, and the changes that it implements."""

    edit: Edit
    changes: frozenset[Change]


class Editor:
    """Edits one file."""

    def __init__(self, data: bytes) -> None:
        """Raises CannotEditError if the file cannot be edited at all."""
        self.text = Text(data)
        self._tree = Tree(self.text)

    def edits(self, changes: Sequence[Change]) -> Iterator[OwnedEdit]:
        """Yield the edits for `changes`; changes of one list are combined. Raises CannotEditError with the reason."""
        groups = _DroppedItems()
        for change in dict.fromkeys(changes):
            for edit in self._of(change, groups):
                yield OwnedEdit(edit, frozenset({change}))
        for container, items, dropped in groups.lists():
            if container in groups.bare and len(dropped) == len(items):
                assert isinstance(container, cst.Call)
                edit = Edit(self._tree.bounds(container.func)[1], self._tree.bounds(container)[1], "")
                yield OwnedEdit(edit, frozenset().union(*dropped.values()))
                continue
            for edit in drop_items(self.text, items, frozenset(dropped)):
                yield OwnedEdit(edit, frozenset().union(*dropped.values()))
        for (span, option), given in groups.added.items():
            edit = self._added(span, option, [name for name, _ in given])
            yield OwnedEdit(edit, frozenset(change for _, change in given))
        for span, codes in groups.codes.items():
            edit = drop_codes(self.text, span, frozenset(codes))
            yield OwnedEdit(edit, frozenset(codes.values()))

    def _of(self, change: Change, groups: _DroppedItems) -> Iterator[Edit]:
        text, tree = self.text, self._tree
        match change:
            case DropAnnotation(_, span):
                yield self._without_annotation(tree.param(span)[1])
            case DropParameter(_, span):
                self._drop_parameter(span, change, groups)
            case DropArgument(_, call, span):
                node = tree.at(cst.Call, call)
                groups.drop(node, tree.arguments(node), list(node.args).index(tree.argument(node, span)), change)
            case NameArgument(_, call, span, name):
                argument = tree.argument(tree.at(cst.Call, call), span)
                start, _ = tree.bounds(argument)
                yield Edit(start, start, f"{name}=")
            case Replace(_, call, span, wanted):
                argument = tree.argument(tree.at(cst.Call, call), span)
                start, end = tree.bounds(argument)
                first, last = text.bounds(span)
                yield Edit(start, end, wanted.replace("{}", text.text[first:last]))
            case DropListed():
                self._drop_listed(change, groups)
            case AddListed(_, span, option, name):
                groups.added[span, option].append((name, change))
            case DropStatement():
                yield from drop_statement(text, tree, change)
            case RenameString(_, span, before, after):
                yield from self._renamed(span, before, after)
            case DropDirective(_, span, code):
                groups.codes[span][code] = change

    def _without_annotation(self, param: cst.Param) -> Edit:
        if param.annotation is None:
            raise CannotEditError("it has no annotation")
        _, name_end = self._tree.bounds(param.name)
        if param.default is None:
            return Edit(name_end, self._tree.bounds(param)[1], "")
        start, _ = self._tree.bounds(param.default)
        start -= len(getattr(param.default, "lpar", ()))
        if re.search(r"[#\r\n]", self.text.text[name_end:start]):
            raise CannotEditError("it is written in an unusual way")
        return Edit(name_end, start, "=")

    def _drop_parameter(self, span: Span, change: Change, groups: _DroppedItems) -> None:
        function, param = self._tree.param(span)
        if param not in function.params.params:
            raise CannotEditError("it is written in an unusual way")
        for decorator in function.decorators:
            if isinstance(decorator.decorator, cst.Call) and _counts_positions(decorator.decorator):
                raise CannotEditError("a list of the decorator counts its parameters")
        params = list(function.params.params)
        groups.drop(function, [self._tree.bounds(parameter) for parameter in params], params.index(param), change)

    def _given(self, call: cst.Call, given: str) -> Edit:
        if not call.args:
            end = self._tree.bounds(call)[1] - 1
            return Edit(end, end, given)
        start, end = self._tree.bounds(call.args[-1])
        line = self.text.line_start(start)
        indent = self.text.text[line:start]
        between = f"{self.text.newline(start)}{indent}" if not indent.strip() else " "
        return Edit(end, end, f",{between}{given}")

    def _drop_listed(self, change: DropListed, groups: _DroppedItems) -> None:
        call = self._tree.at(cst.Call, change.call)
        for number, argument in enumerate(call.args):
            by_position = change.option == "key" and argument.keyword is None and number == 1
            named = argument.keyword is not None and argument.keyword.value == change.option
            if not (named or by_position) or not isinstance(argument.value, cst.List | cst.Tuple):
                continue
            elements = argument.value.elements
            wanted = {at for at, element in enumerate(elements) if _is_item(element.value, change)}
            if wanted:
                bounds = [self._tree.bounds(element) for element in elements]
                for at in wanted:
                    groups.drop(argument.value, bounds, at, change)
                if not change.keep:
                    groups.empties(argument.value, call, self._tree.arguments(call), number)
                return
        raise CannotEditError("the list is not spelled out there")

    def _added(self, span: Span, option: str, names: Sequence[str]) -> Edit:
        """Return the edit that adds `names` to a list of the decorator at `span`, which may not exist yet."""
        _, end = self.text.bounds(span)
        items = ", ".join(f'"{name}"' for name in names)
        if self.text.text[end - 1] != ")":
            return Edit(end, end, f"({option}=[{items}])")
        call = self._tree.at(cst.Call, span)
        for argument in call.args:
            if argument.keyword is not None and argument.keyword.value == option:
                if not isinstance(argument.value, cst.List | cst.Tuple) or not argument.value.elements:
                    raise CannotEditError("the list is not spelled out there")
                _, last = self._tree.bounds(argument.value.elements[-1])
                return Edit(last, last, f", {items}")
        return self._given(call, f"{option}=[{items}]")

    def _renamed(self, span: Span, before: str, after: str) -> Iterator[Edit]:
        start, end = self.text.bounds(span)
        found = False
        for node in self._tree.within(cst.SimpleString, span):
            first, last = self._tree.bounds(node)
            if start <= first and last <= end and node.evaluated_value == before and before in node.value:
                at = first + node.value.index(before)
                found = True
                yield Edit(at, at + len(before), after)
        if not found:
            raise CannotEditError("the name is not spelled out there")


class _DroppedItems:
    """The items to remove from each list, collected first: neighbours share their commas."""

    def __init__(self) -> None:
        self.codes: defaultdict[Span, dict[str, Change]] = defaultdict(dict)
        self.added: defaultdict[tuple[Span, str], list[tuple[str, Change]]] = defaultdict(list)
        self.bare: set[cst.CSTNode] = set()  # decorators that lose their brackets if nothing is left in them
        self._items: dict[cst.CSTNode, Sequence[tuple[int, int]]] = {}
        self._dropped: defaultdict[cst.CSTNode, dict[int, set[Change]]] = defaultdict(dict)
        self._owners: dict[cst.CSTNode, tuple[cst.CSTNode, Sequence[tuple[int, int]], int]] = {}

    def drop(self, container: cst.CSTNode, items: Sequence[tuple[int, int]], number: int, change: Change) -> None:
        """Remove item `number` of `container`."""
        self._items[container] = items
        self._dropped[container].setdefault(number, set()).add(change)

    def empties(
        self, container: cst.CSTNode, owner: cst.CSTNode, items: Sequence[tuple[int, int]], number: int
    ) -> None:
        """If all items of `container` are removed, remove item `number` of `owner` instead."""
        self._owners[container] = (owner, items, number)

    def lists(self) -> Iterator[tuple[cst.CSTNode, Sequence[tuple[int, int]], dict[int, set[Change]]]]:
        """Yield each list, its items, and those to remove."""
        for container, (owner, items, number) in self._owners.items():
            dropped = self._dropped[container]
            if len(dropped) == len(self._items[container]):
                del self._dropped[container]
                for change in set().union(*dropped.values()):
                    self.drop(owner, items, number, change)
                self.bare.add(owner)
        for container, dropped in self._dropped.items():
            left = len(self._items[container]) - len(dropped)
            if isinstance(container, cst.Tuple) and left <= 1:
                raise CannotEditError("a tuple of one item would be left")
            yield container, self._items[container], dropped


def _is_item(value: cst.BaseExpression, change: DropListed) -> bool:
    match value:
        case cst.SimpleString():
            return bool(value.evaluated_value == change.name)
        case cst.Integer() | cst.UnaryOperation(operator=cst.Minus(), expression=cst.Integer()):
            sign = -1 if isinstance(value, cst.UnaryOperation) else 1
            number = value.expression if isinstance(value, cst.UnaryOperation) else value
            assert isinstance(number, cst.Integer)
            return sign * number.evaluated_value == change.position
        case _:
            return False


def _counts_positions(call: cst.Call) -> bool:
    """Return whether a list among the arguments holds numbers, which are positions of parameters."""
    lists = [
        argument.value
        for argument in call.args
        if argument.keyword and argument.keyword.value.startswith("do_not_specialize")
    ]
    return any(
        not isinstance(listed, cst.List | cst.Tuple)
        or any(not isinstance(item.value, cst.SimpleString) for item in listed.elements)
        for listed in lists
    )
