"""Launches whose kernel was not found to the reason: what the kernel is taken from, and where that ends.

Files that ask for a program's number as kernels do, and in which no kernel was found, to the line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.static.project.analysis.summaries import summarize_files
from triton_doctor.static.project.database.dependencies import NO_CHANGES
from triton_doctor.static.project.database.tracked_modules import TrackedModules
from triton_doctor.static.project.launches.launches import origin_of
from triton_doctor.static.project.names.resolver import Resolver
from triton_doctor.static.python.ir import Attr, Call, Expr, Name, Subscript, dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.project.database.database import Database
    from triton_doctor.static.project.project import LinkedLaunch


# As only kernels ask; those of Pallas, which calls its module `pl`, are none of Triton's.
_IN_KERNEL = re.compile(rb"^[^#\n]*\b(?!pl\b)\w+\.program_id\(", re.MULTILINE)


class Unresolved(NamedTuple):
    """A launch of which nothing is known but where it stands."""

    path: str
    line: int
    why: str


def unresolved_launches(library: Database, asked: frozenset[str] | None) -> Iterator[Unresolved]:
    """The launches in the files `asked`, None for all, whose kernel was not found, by path and line."""
    names = Resolver(TrackedModules(library))
    shares = summarize_files(library, {}, NO_CHANGES)
    for path in sorted(shares.by_path):
        if asked is None or path in asked:
            found = [launch for launch in shares.launches(path) if not launch.kernels]
            for launch in sorted(found, key=lambda launch: launch.launch.span):
                yield Unresolved(path, launch.launch.span.line, _reason(launch, names))


def files_without_kernels(library: Database, asked: frozenset[str] | None) -> Iterator[tuple[str, int]]:
    """Of the files `asked`, None for all, those that hold code of kernels and no kernel in sight, with its first line.

    They write kernels as text, or mark them by names of their own.
    """
    for path in sorted(library.roles):
        source = library.source_of(path) if asked is None or path in asked else None
        found = _IN_KERNEL.search(source) if source is not None and b"triton" in source else None
        if source is not None and found is not None:
            module = library.module(path)
            if module is not None and not module.kernels:
                yield path, source.count(b"\n", 0, found.end()) + 1


def _reason(launch: LinkedLaunch, names: Resolver) -> str:
    """Why the kernel was not found, in the words of the source where it has some."""
    expr = origin_of(launch, launch.launch.kernel)
    name = dotted(expr)
    first = (name or "").partition(".")[0]
    function, module = launch.function, launch.module
    match expr:
        case Name() | Attr() if function.param(first) is not None and first not in ("self", "cls"):
            return f"`{name}` is an argument of `{function.name}`, and no caller is followed for it"
        case Name() | Attr() if first in module.imports:
            imported = module.imports[first]
            source = "." * imported.level + imported.module
            found = names.dotted(module, name or "") is not None
            return f"`{name}` comes from `{source}`, and {'is no kernel' if found else 'is not found there'}"
        case Attr(base, member):
            return f"`{dotted(base) or '...'}.{member}` is an attribute that is given no kernel in sight"
        case Call(func):
            return f"`{dotted(func) or '...'}(...)` returns no kernel in sight"
        case Subscript(base):
            return f"it is an entry of `{dotted(base) or '...'}`"
        case Name():
            return f"`{name}` is given no kernel in sight"
        case _:
            return f"it is {_kind(expr)}"


def _kind(expr: Expr) -> str:
    return {
        "Unpacked": "a part of a tuple",
        "IterItem": "an item of a loop",
        "Conditional": "one of several values",
    }.get(type(expr).__name__, "an expression that is not followed")
