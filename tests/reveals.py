"""`# reveal: per_call [first axis, name]`: how often the value on a line changes, and the hints that say so.

It ends a line where a launch gives a constexpr, or a name in the autotune key, its value. Hints toward the model are
marked: `[model: last axis]`. Where none decides, they are the nearest.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from triton_doctor.scan_caches import emptying_scan_caches
from triton_doctor.static.project.analysis.parts import whole_project
from triton_doctor.static.project.database.database import Database
from triton_doctor.static.variability.hints.axis_context import Toward
from triton_doctor.static.variability.queries.parameters import parameters

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from triton_doctor.settings import Settings
    from triton_doctor.static.sources.files import SourceFile
    from triton_doctor.static.variability.values.lattice import AbstractNumber

REVEAL = re.compile(r"[ \t]*# reveal: (?P<value>\w+ \[[^\]]*\])")


def find_reveals(text: str) -> Iterator[tuple[int, str]]:
    """The line and the value of each comment."""
    for number, line in enumerate(text.splitlines(), start=1):
        if mark := REVEAL.search(line):
            yield number, mark["value"]


@emptying_scan_caches()
def reveal(files: Sequence[SourceFile], settings: Settings, cwd: Path) -> dict[tuple[str, int], set[str]]:
    """What the analysis says of each value that a launch gives, by path and line."""
    found: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
    for parameter in parameters(whole_project(Database(list(files)), settings, cwd)):
        for source in parameter.sources:
            found[source.path, source.span.line].add(spell_decision(source.number))
    return found


def spell_decision(number: AbstractNumber) -> str:
    """The decision as a comment says it."""
    sides = {(applied.hint.toward, applied.hint.name) for applied in number.hints}
    names = sorted(name for toward, name in sides if toward is Toward.DATA)
    names += sorted(f"model: {name}" for toward, name in sides if toward is Toward.MODEL)
    return f"{number.decide().label} [{', '.join(names)}]"
