"""Launches whose kernel was not found, with the reason: the expression for the kernel, and where following it ends.

Also the files that contain code of kernels, but none that was found.
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


# Only kernels call this. Pallas, whose module is called `pl`, is not Triton.
_IN_KERNEL = re.compile(rb"^[^#\n]*\b(?!pl\b)\w+\.program_id\(", re.MULTILINE)


class Unresolved(NamedTuple):
    """A launch whose kernel is unknown, with its location and the reason."""

    path: str
    line: int
    why: str


def unresolved_launches(database: Database, report_paths: frozenset[str] | None) -> Iterator[Unresolved]:
    """Yield the launches without kernel in the files `report_paths` (None for all), by path and line."""
    names = Resolver(TrackedModules(database))
    summaries = summarize_files(database, {}, NO_CHANGES)
    for path in sorted(summaries.by_path):
        if report_paths is None or path in report_paths:
            found = [launch for launch in summaries.launches(path) if not launch.kernels]
            for launch in sorted(found, key=lambda launch: launch.launch.span):
                yield Unresolved(path, launch.launch.span.line, explain_unresolved(launch, names))


def files_without_kernels(database: Database, report_paths: frozenset[str] | None) -> Iterator[tuple[str, int]]:
    """Yield the files in `report_paths` (None for all) with code of kernels but no kernel, and the first line of it.

    Such a file marks its kernels by names of its own, or writes them as text.
    """
    for path in sorted(database.roles):
        source = database.source_of(path) if report_paths is None or path in report_paths else None
        found = _IN_KERNEL.search(source) if source is not None and b"triton" in source else None
        if source is not None and found is not None:
            module = database.module(path)
            if module is not None and not module.kernels:
                yield path, source.count(b"\n", 0, found.end()) + 1


def explain_unresolved(launch: LinkedLaunch, names: Resolver) -> str:
    """Return why the kernel was not found, quoting the source if possible."""
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
