"""Import statements to the full name that each local name stands for."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from triton_doctor.static.python.ir import dotted
from triton_doctor.static.python.module import Import

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.sources.source_text import SourceText


class Imports:
    """All names that a module imports, anywhere in it, and the full form of dotted names."""

    def __init__(self) -> None:
        """Start without imports."""
        self.names: dict[str, Import] = {}
        self.stars: list[Import] = []

    def add(self, node: ast.Import | ast.ImportFrom) -> None:
        """Add one statement. If two bind the same name, the first counts: the second is usually a fallback."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname is not None:
                    self.names.setdefault(alias.asname, Import(module=alias.name, member=None, level=0))
                else:
                    top = alias.name.split(".", 1)[0]
                    self.names.setdefault(top, Import(module=top, member=None, level=0))
                    self.names.setdefault(alias.name, Import(module=alias.name, member=None, level=0))
            return
        for alias in node.names:
            imported = Import(module=node.module or "", member=alias.name, level=node.level)
            if alias.name == "*":
                self.stars.append(imported)
            else:
                self.names.setdefault(alias.asname or alias.name, imported)

    def full_name(self, expr: Expr) -> str | None:
        """Return `triton.language.constexpr` for `tl.constexpr` under `import triton.language as tl`.

        None if not dotted.
        """
        name = dotted(expr)
        return self.expand(name) if name is not None else None

    def expand(self, name: str) -> str:
        """Return `name` with its first part replaced by what was imported under it."""
        return expand_name(name, self.names)


def expand_name(name: str, imports: Mapping[str, Import]) -> str:
    """Return the dotted `name` with its first part replaced by what `imports` has under it."""
    first, _, rest = name.partition(".")
    imported = imports.get(first)
    if imported is None:
        return name
    found = imported.module
    if imported.member:
        found = f"{found}.{imported.member}" if found else imported.member
    return f"{found}.{rest}" if found and rest else found or rest


def import_statements(
    statements: Sequence[ast.stmt], source: SourceText
) -> Iterator[tuple[int, ast.Import | ast.ImportFrom]]:
    """Yield all import statements in order, each with its nesting depth; expressions are not entered.

    `source` is the text of `statements`: functions and classes without the word `import` are skipped.
    """
    level, inner = 0, list[ast.AST](statements)
    while inner:
        around, inner = inner, []
        for node in around:
            kind = type(node)
            if kind is ast.Import or kind is ast.ImportFrom:
                yield level, node  # type: ignore[misc]
            elif kind in _BLOCKS and (kind not in _DEFINITIONS or _holds_import(node, source)):
                for name in _BLOCKS[kind]:
                    inner += getattr(node, name)
        level += 1


def _holds_import(node: Any, source: SourceText) -> bool:
    return source.text.find(b"import", *source.bounds(node.lineno, node.end_lineno)) != -1


_DEFINITIONS = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef})
# Statements with statements in them, and where these stand.
_BLOCKS: dict[type[ast.AST], tuple[str, ...]] = {
    kind: tuple(name for name in ("body", "handlers", "cases", "orelse", "finalbody") if name in kind._fields)
    for kind in (
        *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.If, ast.For, ast.AsyncFor, ast.While, ast.With),
        *(ast.AsyncWith, ast.Try, ast.TryStar, ast.ExceptHandler, ast.Match, ast.match_case),
    )
}
