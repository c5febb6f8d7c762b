"""Look-ups of module members by names that are computed: `getattr(ops, f"scale_{kind}")`, `globals()[name]`.

A computed name is known by its literal parts, `("scale_", "")`, which have to fit a name in that order. It may be
looked up by a function of the project: `find(f"scale_{kind}")`.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.python.occurrences import dotted_name, read_bindings, word_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.static.python.module import Import
    from triton_doctor.static.python.occurrences import Bindings, Scope

Parts: TypeAlias = "tuple[str, ...]"

# Each look-up of a member by its name has one of these words.
MAY_LOOK_UP = re.compile(
    rb"\bgetattr\((?!\s*[\w.]+\s*,\s*([\"'])\w+\1)|\b(?:attrgetter|globals|locals|vars|getmembers|import_module|__import__|__dict__|resolve_name|locate"
    rb"|exec|eval)\b|\bsys\.modules\b"
)
_BY_FULL_NAME = frozenset({"resolve_name", "locate", "attrgetter", "exec", "eval"})
_READING = frozenset({"get", "pop", "__getitem__"})
_WRITING = frozenset({"update", "setdefault", "__setitem__"})
_PLACEHOLDER = re.compile(r"\{[^{}]*\}|%(?:\(\w+\))?[-#0-9 +*.]*[a-zA-Z]")
_SEPARATOR = re.compile(r"[^\w\0]+")
_UNKNOWN: Parts = ("", "")


class Lookup(NamedTuple):
    """A look-up of a member called `parts`.

    It is one of the file itself if `dotted` is empty, of what `dotted` names with the `bindings` of its first part, or
    of a module that is imported by a string if `dotted` is None.
    """

    dotted: str | None
    bindings: tuple[Import | None, ...]
    parts: Parts


class Lookups(NamedTuple):
    """The look-ups in a file: those `of_modules`, and whether there are some of objects that are not known, `is_open`.

    `functions` contain look-ups. `computed` are the names that the file computes, each with the function that is called
    with it, if any.
    """

    of_modules: tuple[Lookup, ...]
    is_open: bool
    functions: frozenset[str]
    computed: tuple[tuple[str, Parts], ...]


def may_spell(parts: Parts, name: str, *, is_certain: bool = False) -> bool:
    """Return whether `name` may be a word of the text with these literal parts.

    False without a letter or digit, unless the text is the name of a member for certain.
    """
    if len(parts) == 1:
        return name in parts[0] and word_pattern(name).search(parts[0]) is not None
    for word in _SEPARATOR.split("\0".join(parts)):
        literals = word.split("\0")
        if (is_certain or any(map(str.isalnum, "".join(literals)))) and re.fullmatch(
            ".*".join(map(re.escape, literals)), name
        ):
            return True
    return False


@cached_in_scan()
def find_lookups(data: bytes) -> Lookups:
    """Return the look-ups in the text of a Python file. Raises as `ast.parse` does."""
    search = _LookupSearch(read_bindings(data))
    for node, scope in search.bindings.nodes:
        search.visit(node, scope)
    return Lookups(tuple(search.of_modules), search.is_open, frozenset(search.functions), tuple(search.computed))


class _LookupSearch:
    """Collects the look-ups of a file. A node is visited before its parts."""

    def __init__(self, bindings: Bindings) -> None:
        self.bindings = bindings
        self.of_modules: list[Lookup] = []
        self.is_open = False
        self.functions: set[str] = set()
        self.computed: list[tuple[str, Parts]] = []
        self._handled: set[ast.AST] = set()
        self._imports_by_string = re.search(rb"\b(?:import_module|__import__|modules)\b", bindings.text) is not None

    def visit(self, node: ast.AST, scope: Scope) -> None:
        match node:
            case ast.Expr(value=ast.Constant() as docstring):
                self._handled.add(docstring)
            case ast.Call(func=func, args=args, keywords=keywords):
                for given in (*args, *(keyword.value for keyword in keywords)):
                    self._compute(given, _last(func))
            case ast.expr() if node not in self._handled:
                self._compute(node, "")
            case _:
                pass
        for looked_in, key in self._looked_up(node):
            parts = (_parts(key) or _UNKNOWN) if key is not None else _UNKNOWN
            if len(parts) > 1 and self._record(looked_in, parts):
                self._add_function(scope, key)

    def _add_function(self, scope: Scope, key: ast.expr | None) -> None:
        """Record the function that looks up one of its own parameters."""
        match scope.node, key:
            case ast.FunctionDef(name=function, args=taken) | ast.AsyncFunctionDef(name=function, args=taken), ast.Name(
                name
            ) if any(isinstance(one, ast.arg) and one.arg == name for one in ast.walk(taken)):
                self.functions.add(function)
            case _:
                pass

    def _compute(self, node: ast.expr, callee: str) -> None:
        parts = _parts(node)
        if parts is not None and parts != _UNKNOWN:
            self.computed.append((callee, parts))

    def _looked_up(self, node: ast.AST) -> Iterator[tuple[ast.expr | None, ast.expr | None]]:
        """Yield each look-up at `node`: the object, None if it is not known, and the name, None for all names."""
        match node:
            case ast.Call(func=ast.Name("getattr"), args=[owner, key, *_]):
                yield owner, key
            case ast.Call(func=func, args=[key, *_]) if _last(func) in _BY_FULL_NAME:
                yield None, key
            case ast.Subscript(value=space, slice=key, ctx=context) if (whole := _owner(space)) is not None:
                self._handled.add(space)
                if isinstance(context, ast.Load):
                    yield whole, key
            case ast.Call(func=ast.Attribute(value=space, attr=method), args=args) if (
                method in _READING | _WRITING and (whole := _owner(space)) is not None
            ):
                self._handled.add(space)
                if method in _READING and args:
                    yield whole, args[0]
            case ast.expr() if node not in self._handled and (whole := _owner(node)) is not None:
                yield whole, None
            case _:
                pass

    def _record(self, owner: ast.expr | None, parts: Parts) -> bool:
        """Record a look-up in `owner`. Return whether that may be a module of the project."""
        dotted = dotted_name(owner) if owner is not None else None
        bindings = self.bindings.of(owner) if owner is not None and dotted else ()
        if dotted == "":
            self.of_modules.append(Lookup("", (), parts))
        elif dotted is not None and dotted.partition(".")[0] in ("self", "cls"):
            return False
        elif dotted is not None and any(bindings):
            self.of_modules.append(Lookup(dotted, bindings, parts))
        elif self._imports_by_string:
            self.of_modules.append(Lookup(None, (), parts))
        else:
            self.is_open = True
        return True


def _owner(node: ast.AST) -> ast.expr | None:
    """Return the object whose members the expression `node` maps by name; None if it is no such mapping."""
    match node:
        case ast.Call(func=ast.Name("globals" | "locals" | "vars"), args=[]):
            return ast.Name("")
        case ast.Call(func=func, args=[owner, *_]) if _last(func) in ("vars", "getmembers"):
            return owner
        case ast.Attribute(value=owner, attr="__dict__"):
            return owner
        case _:
            return None


def _last(func: ast.expr) -> str:
    """Return the last name of a function that is called; empty if it has none."""
    match func:
        case ast.Name(name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _parts(node: ast.expr) -> Parts | None:
    """Return the literal parts of the text that `node` computes; None if it is not known to be a text."""
    match node:
        case ast.Constant(str(text)):
            return (text,)
        case ast.JoinedStr(values):
            return _concatenated(values)
        case ast.FormattedValue():
            return _UNKNOWN
        case ast.BinOp(left, ast.Add(), right):
            known = _parts(left) or _parts(right)
            return _concatenated([left, right]) if known is not None else None
        case ast.BinOp(ast.Constant(str(text)), ast.Mod()) | ast.Call(ast.Attribute(ast.Constant(str(text)), "format")):
            return tuple(_PLACEHOLDER.split(text))
        case ast.Call(ast.Attribute(ast.Constant(str(between)), "join"), [ast.List(items) | ast.Tuple(items)]):
            return _concatenated([one for item in items for one in (ast.Constant(between), item)][1:])
        case _:
            return None


def _concatenated(nodes: Sequence[ast.expr]) -> Parts:
    found: Parts = ("",)
    for node in nodes:
        first, *rest = _parts(node) or _UNKNOWN
        found = (*found[:-1], found[-1] + first, *rest)
    return found
