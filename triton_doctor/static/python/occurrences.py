"""A name to every place where the text of a Python file has it, and what each is.

Example: `from ops import scale` and `scale[grid](x)` are a binding, and a use of a name that is bound by that import.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import unicodedata
from collections import defaultdict
from enum import Enum
from typing import NamedTuple

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.python.module import Import
from triton_doctor.static.python.pieces import parse
from triton_doctor.static.sources.source_text import SourceText

# A docstring with one of these holds code: doctests, fences, blocks of reStructuredText.
_HOLDS_CODE = re.compile(r">>>|```|~~~|::")
# Comments that tools execute or read: `#!`, magics of notebooks, `# RUN:` and `# CHECK-LABEL:` of lit, types.
_DIRECTIVE = re.compile(r"#\s*(?:[!%]|[A-Z][A-Z0-9-]*:|type:)")
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Kind(Enum):
    """What an occurrence is.

    A `BINDING` is the name in a definition, an import, or the target of an assignment. `OTHER` is anything not listed
    here: a string, a keyword argument, a directive.
    """

    PROSE = "prose"
    BINDING = "binding"
    USE = "use"
    OTHER = "other"


class Occurrence(NamedTuple):
    """One occurrence of a name.

    For a use, `start` is the line and column, from 1, where the dotted name around it starts. `dotted` is that name up
    to the occurrence, None for an attribute of another expression. `scope` is the qualified name of the scope that
    binds the first part of `dotted`, with a dot at the end, and `bindings` are its bindings there: an import, or None.
    """

    kind: Kind
    line: int
    start: tuple[int, int] = (0, 0)
    dotted: str | None = None
    scope: str = ""
    bindings: tuple[Import | None, ...] = ()


def word_pattern(name: str) -> re.Pattern[str]:
    """Return a pattern that matches `name` as a whole word."""
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")


@cached_in_scan()
def find_occurrences(data: bytes, name: str) -> tuple[Occurrence, ...]:
    """Return the occurrences of `name` in the text of a Python file. Raises as `ast.parse` and `tokenize` do."""
    tree, word = read_bindings(data), word_pattern(name)
    found, first, before = list[Occurrence](), "", ""
    for token in tokenize.tokenize(io.BytesIO(tree.text).readline):
        text = token.string if token.string.isascii() else unicodedata.normalize("NFKC", token.string)
        (line, column), (end_line, end_column) = token.start, token.end
        if token.type == tokenize.NAME and text == name:
            node = tree.at_start.get((line, column + 1)) or tree.at_end.get((end_line, end_column + 1))
            if node is not None and name in (getattr(node, part, None) for part in ("id", "attr", "arg", "name")):
                found.append(tree.occurrence(node))
            else:
                is_binding = before in ("def", "class", "as", "case") or first in (
                    "import",
                    "from",
                    "global",
                    "nonlocal",
                )
                found.append(Occurrence(Kind.BINDING if is_binding else Kind.OTHER, line))
        elif token.type not in (tokenize.NAME, tokenize.ENCODING) and word.search(text):
            is_prose = (
                not _DIRECTIVE.match(text)
                if token.type == tokenize.COMMENT
                else (line, column + 1) in tree.docstrings and not _HOLDS_CODE.search(text)
            )
            found.append(Occurrence(Kind.PROSE if is_prose else Kind.OTHER, line))
        if token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING) or text == ";":
            first = before = ""
        elif token.type not in (tokenize.NL, tokenize.COMMENT):
            first, before = first or text, text
    return tuple(found)


class Scope:
    """A scope of a file, and how it binds each name."""

    def __init__(self, parent: Scope | None, prefix: str, node: ast.AST | None = None) -> None:
        self.parent, self.prefix, self.node = parent, prefix, node
        self.bindings: defaultdict[str, list[Import | None]] = defaultdict(list)
        self.redirected: dict[str, bool] = {}  # names declared global (True) or nonlocal

    @property
    def binding(self) -> Scope:
        """The scope in which an assignment expression binds."""
        return self.parent.binding if isinstance(self.node, _COMPREHENSIONS) and self.parent else self

    def find(self, name: str) -> Scope:
        """Return the scope that binds `name` here; the module if none does.

        The body of a class may read a name of the scope around it before it binds its own: that one is returned.
        """
        scope, is_global = self, False
        while scope.parent is not None:
            declared = scope.redirected.get(name)
            is_global |= declared is True
            is_own = declared is None and name in scope.bindings and not isinstance(scope.node, ast.ClassDef)
            if is_own and not is_global:
                return scope
            scope = scope.parent
        return scope


class Bindings:
    """The names of a Python file: where they are, and which scopes bind them."""

    def __init__(self, data: bytes) -> None:
        """Raises as `ast.parse` does."""
        source = SourceText(data)
        self.text = source.text
        self.docstrings = set[tuple[int, int]]()
        self.at_start: dict[tuple[int, int], ast.AST] = {}
        self.at_end: dict[tuple[int, int], ast.AST] = {}
        self.renames: defaultdict[str, set[str]] = defaultdict(set)
        self._source = source
        self._scopes: dict[ast.AST, Scope] = {}
        top = Scope(None, "")
        scopes = [top]
        pending: list[tuple[ast.AST, Scope]] = [(parse(data), top)]
        while pending:
            node, scope = pending.pop()
            self._add(node, scope)
            inner = _opened(node, scope)
            if inner is not scope:
                scopes.append(inner)
            for name, value in ast.iter_fields(node):
                at = _scope_of_field(node, name, scope, inner)
                children = value if isinstance(value, list) else [value]
                pending += [(child, at) for child in children if isinstance(child, ast.AST)]
        for scope in scopes:
            for name, is_global in scope.redirected.items():
                target = top if is_global or scope.parent is None else scope.parent.find(name)
                target.bindings[name] += scope.bindings.pop(name, ())

    def occurrence(self, node: ast.AST) -> Occurrence:
        """Return what the name at `node` is."""
        span = self._source.span(node)  # type: ignore[arg-type]  # only nodes with a position are kept
        if not isinstance(node, ast.Name | ast.Attribute) or (
            isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        ):
            return Occurrence(Kind.BINDING, span.line)
        start, dotted = (span.line, span.column), dotted_name(node)
        if dotted is None:
            return Occurrence(Kind.USE, span.end_line, start)
        first = dotted.partition(".")[0]
        scope = self._scope(node).find(first)
        return Occurrence(Kind.USE, span.end_line, start, dotted, scope.prefix, tuple(scope.bindings.get(first, ())))

    def _scope(self, node: ast.expr) -> Scope:
        while isinstance(node, ast.Attribute):
            node = node.value
        return self._scopes[node]

    def _add(self, node: ast.AST, scope: Scope) -> None:
        """Record a name at `node`, and what `scope` binds there."""
        match node:
            case ast.Name():
                self._scopes[node] = scope
                if not isinstance(node.ctx, ast.Load):
                    scope.bindings[node.id].append(None)
                self._place(node)
            case ast.Attribute():
                span = self._source.span(node)
                self.at_end[span.end_line, span.end_column] = node
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                scope.bindings[name].append(None)
            case ast.arg(arg=name):
                scope.bindings[name].append(None)
                self._place(node)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                scope.bindings[name].append(None)
            case ast.MatchMapping(rest=str(name)):
                scope.bindings[name].append(None)
            case ast.Import(names=aliases):
                for alias in aliases:
                    module = alias.name if alias.asname else alias.name.partition(".")[0]
                    scope.bindings[alias.asname or module].append(Import(module=module, member=None, level=0))
            case ast.ImportFrom(names=aliases, module=module, level=level):
                for alias in aliases:
                    imported = Import(module=module or "", member=alias.name, level=level)
                    scope.bindings[alias.asname or alias.name].append(imported)
                    if alias.asname is not None and alias.asname != alias.name:
                        self.renames[alias.name].add(alias.asname)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                scope.redirected.update(dict.fromkeys(names, isinstance(node, ast.Global)))
            case ast.Expr(value=ast.Constant(value=str()) as text):
                span = self._source.span(text)
                self.docstrings.add((span.line, span.column))
            case _:
                pass

    def _place(self, node: ast.Name | ast.arg) -> None:
        span = self._source.span(node)
        self.at_start[span.line, span.column] = node


def dotted_name(node: ast.expr) -> str | None:
    """Return `a.b.c` for such an expression; None for another."""
    parts = list[str]()
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


def find_renames(data: bytes, name: str) -> frozenset[str]:
    """Return the names under which a Python file imports `name`. Raises as `ast.parse` does."""
    return frozenset(read_bindings(data).renames.get(name, ()))


@cached_in_scan(most=64)
def read_bindings(data: bytes) -> Bindings:
    """Return the names of a Python file. Raises as `ast.parse` does."""
    return Bindings(data)


def _opened(node: ast.AST, scope: Scope) -> Scope:
    """Return the scope that `node` opens; `scope` if it opens none."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return Scope(scope, f"{scope.prefix}{name}.<locals>.", node)
        case ast.ClassDef(name=name):
            return Scope(scope, f"{scope.prefix}{name}.", node)
        case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return Scope(scope, f"{scope.prefix}<locals>.", node)
        case _:
            return scope


def _scope_of_field(node: ast.AST, name: str, scope: Scope, inner: Scope) -> Scope:
    """Return the scope in which the field `name` of `node` is evaluated."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            return inner if name in ("args", "body") else scope
        case ast.ClassDef():
            return inner if name == "body" else scope
        case ast.arguments() | ast.arg():  # defaults and annotations are evaluated around the function
            outer = name in ("defaults", "kw_defaults", "annotation")
            return scope.parent if outer and scope.parent is not None else scope
        case ast.comprehension():
            is_first = isinstance(scope.node, _COMPREHENSIONS) and scope.node.generators[0] is node
            return scope.parent if is_first and name == "iter" and scope.parent is not None else scope
        case ast.NamedExpr():
            return scope.binding if name == "target" else scope
        case _:
            return inner
