"""A name to every place where the text of a Python file has it, and what each is.

Example: `from ops import scale` and `scale[grid](x)` are a binding, and a use of a name that is bound by that import.
"""

from __future__ import annotations

import ast
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import defaultdict
from enum import Enum
from importlib.util import decode_source
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.python.module import Import
from triton_doctor.static.python.pieces import lines_of, parse
from triton_doctor.static.sources.source_text import SourceText
from triton_doctor.static.sources.spellings import word_pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

# A docstring with one of these holds code: doctests, fences, blocks of reStructuredText.
_HOLDS_CODE = re.compile(r">>>|```|~~~|::")
# Comments that tools execute or read: `#!`, magics of notebooks, `# RUN:` and `# CHECK-LABEL:` of lit, types.
_DIRECTIVE = re.compile(r"#\s*(?:[!%]|[A-Z][A-Z0-9-]*:|type:)")
_DECLARES = re.compile(r"\b(?:def|class|as|case)\s+$")
_OPENING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# A line, from 1, and an offset in its UTF-8, from 0.
Position: TypeAlias = tuple[int, int]
Scope: TypeAlias = tuple[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, ...]


class OccurrenceKind(Enum):
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

    kind: OccurrenceKind
    line: int
    start: tuple[int, int] = (0, 0)
    dotted: str | None = None
    scope: str = ""
    bindings: tuple[Import | None, ...] = ()


@cached_in_scan()
def find_occurrences(data: bytes, name: str) -> tuple[Occurrence, ...]:
    """Return the occurrences of `name` in the text of a Python file. Raises as `ast.parse` does."""
    word, named = word_pattern(name), _NameFinder(data, frozenset({name}))
    # A name before a dot has bindings of its own.
    attributes = (node for node, _ in named.places.values() if isinstance(node, ast.Attribute) and node.attr == name)
    firsts = {ast.unparse(node).partition(".")[0] for node in attributes}
    tree = _NameFinder(data, frozenset({name, *filter(str.isidentifier, firsts)})) if firsts else named
    found = list[Occurrence]()
    for number, line in enumerate(tree.lines, start=1):
        if not line.isascii() and len(word.findall(unicodedata.normalize("NFKC", line))) > len(word.findall(line)):
            found.append(Occurrence(OccurrenceKind.OTHER, number))
        elif name in line:
            found += (_occurrence(tree, name, number, match.start()) for match in word.finditer(line))
    return tuple(found)


def _occurrence(tree: _NameFinder, name: str, number: int, column: int) -> Occurrence:
    """Return what `name` is on line `number` at `column`, which counts from 0."""
    line = tree.lines[number - 1]
    start, end = ((number, len(line[:at].encode())) for at in (column, column + len(name)))
    for place in (tree.places.get(start), tree.places.get(end)):
        if place is not None and name in (getattr(place[0], part, None) for part in ("id", "attr", "arg")):
            return tree.occurrence(*place)
    is_prose = tree.is_prose_at(start)
    if is_prose is not None:
        kind = OccurrenceKind.PROSE if is_prose else OccurrenceKind.OTHER
    elif any(first <= start < last for first, last in tree.naming) or _DECLARES.search(line, 0, column):
        kind = OccurrenceKind.BINDING
    else:
        signs = (at.start() for at in re.finditer("#", line[:column]))
        comment = next((at for at in signs if tree.is_prose_at((number, len(line[:at].encode()))) is None), None)
        is_prose = comment is not None and not _DIRECTIVE.match(line, comment)
        kind = OccurrenceKind.PROSE if is_prose else OccurrenceKind.OTHER
    return Occurrence(kind, number)


class _NameFinder:
    """Where a Python file has some `words` as names, and which scopes bind them. Statements without them are skipped.

    A scope is given by the functions and classes around it, outermost first. Uses of a name that the file declares
    global or nonlocal are not resolved. What a lambda or comprehension binds may be used anywhere.
    """

    def __init__(self, data: bytes, words: frozenset[str]) -> None:
        """Raises as `ast.parse` does."""
        self.lines = decode_source(data).split("\n")
        # By the start of a name or argument, or the end of an attribute.
        self.places: dict[Position, tuple[ast.AST, Scope]] = {}
        # Where statements that only name what they bind begin and end.
        self.naming = list[tuple[Position, Position]]()
        self._strings = list[tuple[Position, Position, bool]]()
        self._span = SourceText(data).span
        self._bindings: defaultdict[str, defaultdict[Scope, list[Import | None]]]
        self._bindings = defaultdict(lambda: defaultdict(list))
        self._declared, self._shadowed = set[str](), set[str]()
        spelled = re.compile("|".join(map(re.escape, words)))
        numbers = [number for number, line in enumerate(self.lines, start=1) if spelled.search(line)]
        pending: list[tuple[ast.AST, Scope]] = [(_tree(data), ())]
        while pending:
            node, scope = pending.pop()
            if isinstance(node, ast.stmt):
                first, last = lines_of(node)
                if bisect_left(numbers, first) == bisect_right(numbers, last):
                    continue
            inner = (*scope, node) if isinstance(node, _OPENING) else scope
            self._add(node, scope, inner)
            for field, value in ast.iter_fields(node):
                at = inner if field == "body" else scope
                children = value if isinstance(value, list) else [value]
                pending += [(child, at) for child in children if isinstance(child, ast.AST)]

    def is_prose_at(self, position: Position) -> bool | None:
        """Return whether the string at `position` is a docstring without code; None if there is no string."""
        return next((is_prose for start, end, is_prose in self._strings if start <= position < end), None)

    def occurrence(self, node: ast.AST, scope: Scope) -> Occurrence:
        """Return what the name at `node` in `scope` is."""
        span = self._span(node)  # type: ignore[arg-type]  # only nodes with a position are kept
        if isinstance(node, ast.arg) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)):
            return Occurrence(OccurrenceKind.BINDING, span.line)
        dotted, start = ast.unparse(node), (span.line, span.column)
        first, *rest = dotted.split(".")
        if first in self._declared or not all(map(str.isidentifier, (first, *rest))):
            return Occurrence(OccurrenceKind.USE, span.end_line, start)
        bound: Mapping[Scope, list[Import | None]] = self._bindings.get(first, {})
        # The body of a class may read a name of the scope around it before it binds its own: that one is taken.
        while scope and (scope not in bound or isinstance(scope[-1], ast.ClassDef)):
            scope = scope[:-1]
        prefix = "".join(
            f"{each.name}." if isinstance(each, ast.ClassDef) else f"{each.name}.<locals>." for each in scope
        )
        bindings = bound.get(scope, [])
        if first in self._shadowed:
            bindings = [*bindings, None] if bindings else []
        return Occurrence(OccurrenceKind.USE, span.end_line, start, dotted, prefix, tuple(bindings))

    def _add(self, node: ast.AST, scope: Scope, inner: Scope) -> None:
        """Record a name at `node`, and what it binds in `scope`, or in the scope `inner` that it opens."""
        match node:
            case ast.Name(id=name, ctx=context):
                if not isinstance(context, ast.Load):
                    self._bindings[name][scope].append(None)
                self._place(node, scope)
            case ast.arg():
                self._place(node, scope)
            case ast.Attribute():
                self.places[_ends(node)[1]] = node, scope
            case ast.Lambda(args=arguments):
                self._shadowed.update(_arguments(arguments))
            case ast.comprehension(target=target):
                self._shadowed.update(part.id for part in ast.walk(target) if isinstance(part, ast.Name))
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                self._declared.update(names)
                self.naming.append(_ends(node))
            case ast.Import(names=aliases):
                self.naming.append(_ends(node))
                for alias in aliases:
                    module = alias.name if alias.asname else alias.name.partition(".")[0]
                    imported = Import(module=module, member=None, level=0)
                    self._bindings[alias.asname or module][scope].append(imported)
            case ast.ImportFrom(names=aliases, module=module, level=level):
                self.naming.append(_ends(node))
                for alias in aliases:
                    imported = Import(module=module or "", member=alias.name, level=level)
                    self._bindings[alias.asname or alias.name][scope].append(imported)
            case ast.Expr(value=ast.Constant(value=str(text))):
                self._strings.append((*_ends(node), not _HOLDS_CODE.search(text)))
            case ast.Constant(value=str() | bytes()) | ast.JoinedStr():
                self._strings.append((*_ends(node), False))
            case ast.MatchMapping(rest=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                self._bindings[name][scope].append(None)
            case ast.ClassDef(name=name) | ast.ExceptHandler(name=str(name)):
                self._bindings[name][scope].append(None)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._bindings[node.name][scope].append(None)
                for name in _arguments(node.args):
                    self._bindings[name][inner].append(None)
            case _:
                pass

    def _place(self, node: ast.Name | ast.arg, scope: Scope) -> None:
        self.places[_ends(node)[0]] = node, scope


def _ends(node: ast.expr | ast.stmt | ast.arg) -> tuple[Position, Position]:
    return (node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)


def _arguments(arguments: ast.arguments) -> list[str]:
    return [part.arg for part in ast.walk(arguments) if isinstance(part, ast.arg)]


def find_renames(data: bytes, name: str) -> frozenset[str]:
    """Return the names under which the text of a Python file may import `name`."""
    found = re.findall(rb"(?<!\w)%s[\s\\]+as[\s\\]+(\w+)" % re.escape(name.encode()), data)
    return frozenset(other.decode() for other in found) - {name}


@cached_in_scan(most=16)
def _tree(data: bytes) -> ast.Module:
    return parse(data)
