"""Python text to Module: the only walk over `ast`. The result holds no tree."""

from __future__ import annotations

import ast
from collections import defaultdict
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from triton_doctor.static.python.function import Function
from triton_doctor.static.python.function_body import Body
from triton_doctor.static.python.functions import (
    Definition,
    FunctionText,
    ModuleText,
    ModuleTree,
    Nested,
    definitions,
    host_params,
    read_contents,
)
from triton_doctor.static.python.imports import Imports, import_statements
from triton_doctor.static.python.ir import Expr, Subscript, TupleExpr
from triton_doctor.static.python.kernels import is_kernel, read_kernel, tuned_by_call, wrapped_by_jit
from triton_doctor.static.python.lower import lower_alone
from triton_doctor.static.python.module import Class, Kernel, Module
from triton_doctor.static.python.outline import outline
from triton_doctor.static.python.pieces import is_large, parse, parse_pieces
from triton_doctor.static.sources.source_text import SourceText

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from triton_doctor.finding import Span


def read_module(path: str, source: bytes) -> Module:
    """Return the module at `path`, a path as findings spell it.

    Raises SyntaxError, ValueError, RecursionError or MemoryError, as `ast.parse` does.
    """
    if is_large(source):
        text = SourceText(source)
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            return _ModuleReader(path, ModuleTree(partial(parse_pieces, text), text, {})).module()
    return _read_tree(path, parse(source), SourceText(source))


def read_with_tree(path: str, source: bytes) -> tuple[Module, ast.Module]:
    """Return the module and its syntax tree. Raises as `read_module` does."""
    tree = parse(source)
    return _read_tree(path, tree, SourceText(source)), tree


def _read_tree(path: str, tree: ast.Module, text: SourceText) -> Module:
    return _ModuleReader(path, ModuleTree(lambda: iter([tree.body]), text, {})).module()


def read_from_outline(path: str, source: bytes) -> Module:
    """Return the module from its outline: functions are parsed on first access.

    Raises as `read_module` does, if the outline and the full text do not parse.
    """
    text = SourceText(source)
    short = outline(text.text)
    try:
        tree = parse(short.text)
        return _ModuleReader(path, ModuleTree(lambda: iter([tree.body]), text, short.ends)).module()
    except SyntaxError:
        whole = parse(source)
        return _read_tree(path, whole, text)


class _ModuleReader:
    def __init__(self, path: str, tree: ModuleTree) -> None:
        self._path = path
        self._tree = tree
        self._source = tree.source
        self._imports = Imports()
        self._kernels: list[Kernel] = []
        self._functions: dict[str, Function] = {}
        self._classes: dict[str, Class] = {}
        self._taken: dict[str, int] = {}
        self._for_main: frozenset[int] = frozenset()
        self._lists: dict[str, TupleExpr] = {}
        self._tuned: Mapping[str, Sequence[tuple[Expr, Span]]] = {}

    def module(self) -> Module:
        body = self._top_level()
        contents = body.contents()
        self._for_main = frozenset(body.for_main)
        self._lists = {
            name: value
            for name, (first, *others) in contents.bindings.items()
            if not others and isinstance(value := first.value, TupleExpr)
        }
        wrapped = wrapped_by_jit(body.calls, self._source, self._imports)
        self._tuned = tuned_by_call(body.calls, contents.bindings, self._source)
        for statements in self._tree.pieces():
            self._nested(definitions(statements), prefix="", class_name=None, parent="<module>", wrapped=wrapped)
            del statements  # release it before the next piece is parsed
        self._functions["<module>"] = Function(
            name="<module>",
            qualname="<module>",
            path=self._path,
            line=1,
            params=(),
            decorators=(),
            class_name=None,
            parent=None,
            text=ModuleText(self._source, contents),
        )
        return Module(
            path=self._path,
            kernels=tuple(self._kernels),
            kernels_named=_named(self._kernels),
            functions=self._functions,
            classes=self._classes,
            imports=self._imports.names,
            star_imports=tuple(self._imports.stars),
            unread=self._source.unread,
        )

    def _top_level(self) -> Body:
        """Read the top level and all imports of the module; the imports are needed to tell kernels from functions."""
        body = Body(self._source)
        levels = defaultdict[int, list[ast.Import | ast.ImportFrom]](list)
        for statements in self._tree.pieces():
            body.read(statements)
            body.nested.clear()
            for level, node in import_statements(statements, self._source):
                levels[level].append(node)
            del statements  # before the next piece is parsed
        for level in sorted(levels):
            for node in levels[level]:
                self._imports.add(node)
        body.release()
        return body

    def _nested(
        self,
        nested: Iterable[tuple[Nested, tuple[Expr, ...]]],
        *,
        prefix: str,
        class_name: str | None,
        parent: str,
        wrapped: dict[str, tuple[Expr, ...]],
    ) -> None:
        for node, decorators in nested:
            qualname = prefix + node.name
            if isinstance(node, ast.ClassDef):
                self._class(node, qualname, parent)
            else:
                self._function(node, decorators + wrapped.get(node.name, ()), qualname, class_name, parent)

    def _class(self, node: ast.ClassDef, qualname: str, parent: str) -> None:
        body = Body(self._source)
        body.read(node.body)
        self._classes[qualname] = Class(
            name=node.name,
            qualname=qualname,
            path=self._path,
            bases=tuple(_without_arguments(lower_alone(base)) for base in node.bases),
            fields={name: bindings[-1] for name, bindings in body.contents().bindings.items()},
            declared=tuple(
                statement.target.id
                for statement in node.body
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
            ),
        )
        self._nested(body.nested, prefix=f"{qualname}.", class_name=qualname, parent=parent, wrapped={})
        body.release()

    def _function(
        self, node: Definition, decorators: tuple[Expr, ...], qualname: str, class_name: str | None, parent: str
    ) -> None:
        qualname = self._unique(qualname)
        if isinstance(node, ast.FunctionDef) and is_kernel(node, decorators, self._imports, path=self._path):
            self._kernels.append(self._kernel(node, decorators, qualname))
            return
        text = FunctionText(self._tree, node)
        nested: Iterable[tuple[Nested, tuple[Expr, ...]]] = ()
        wrapped: dict[str, tuple[Expr, ...]] = {}
        # A function that launches will be read anyway: do it now, while its tree exists.
        if (self._tree.has_whole(node) and text.holds(b"](")) or text.holds(b"jit("):
            body = read_contents(self._tree.whole(node), self._source)
            text = FunctionText(self._tree, node, body.contents())
            nested, wrapped = body.nested, wrapped_by_jit(body.calls, self._source, self._imports)
            body.release()
        elif text.defines_more():
            nested = definitions(self._tree.whole(node).body)
        self._functions[qualname] = Function(
            name=node.name,
            qualname=qualname,
            path=self._path,
            line=node.lineno,
            params=host_params(node.args),
            decorators=decorators,
            class_name=class_name,
            parent=parent,
            text=text,
            is_for_main=node.lineno in self._for_main,
        )
        self._nested(nested, prefix=f"{qualname}.<locals>.", class_name=None, parent=qualname, wrapped=wrapped)

    def _kernel(self, node: ast.FunctionDef, decorators: tuple[Expr, ...], qualname: str) -> Kernel:
        return read_kernel(
            node,
            decorators,
            self._imports,
            self._tree,
            path=self._path,
            qualname=qualname,
            lists=self._lists,
            tuned=self._tuned.get(qualname, ()),
        )

    def _unique(self, qualname: str) -> str:
        """Return a unique name, so that two definitions of one name (in two arms of an `if`) are both kept."""
        count = self._taken[qualname] = self._taken.get(qualname, 0) + 1
        return qualname if count == 1 else f"{qualname}#{count}"


def _named(kernels: list[Kernel]) -> dict[str, tuple[Kernel, ...]]:
    named: dict[str, tuple[Kernel, ...]] = {}
    for kernel in kernels:
        name = kernel.qualname.partition("#")[0]
        named[name] = (*named.get(name, ()), kernel)
    return named


def _without_arguments(base: Expr) -> Expr:
    """The class that `base` names: `Base` of `class Derived(Base[T])`."""
    return base.base if isinstance(base, Subscript) else base
