"""[tool.triton-doctor] of the nearest pyproject.toml, and the flags of a command, to Settings."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triton_doctor.errors import DoctorError, reason_of
from triton_doctor.finding import Severity
from triton_doctor.regular_files import read_regular_file
from triton_doctor.selection import codes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SECTION = "tool.triton-doctor"
TESTS = ("tests/", "test/", "testing/", "test_*.py", "*_test.py", "conftest.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to look, and what to say.

    Codes are whole or prefixes: `TRD2`. Patterns are those of .gitignore, relative to `root`. `tests` are the files
    where a setting harms less. `fixed` and `per_call` are expressions or names whose variability the user knows better;
    `budgets` the number of compiles allowed to kernels whose name matches. `triton_version` None is the newest known.
    `baseline` is a file, relative to `root`, with the findings that are known.
    """

    root: Path
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    fail_on: Severity = Severity.WARNING
    tests: tuple[str, ...] = TESTS
    triton_version: str | None = None
    fixed: tuple[str, ...] = ()
    per_call: tuple[str, ...] = ()
    budgets: tuple[tuple[str, int], ...] = ()
    baseline: str | None = None


def load_settings(start: Path) -> Settings:
    """The settings that hold for `start`, a path: those of the nearest pyproject.toml at or above it that has any."""
    absolute = os.path.abspath(start)  # noqa: PTH100, `resolve` would leave the folder that a link stands in
    folder = Path(absolute if os.path.isdir(absolute) else os.path.dirname(absolute))  # noqa: PTH112, PTH120
    for root in (folder, *folder.parents):
        table = read_table(root / "pyproject.toml")
        if table is not None:
            return read_settings(root, table)
    return Settings(root=folder)


def override(
    settings: Settings,
    *,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: Severity | None,
    triton_version: str | None = None,
) -> Settings:
    """Let flags win. `--select` starts afresh, so a code that the settings ignore can be asked for by name."""
    select, ignore = codes_of(select, place="--select"), codes_of(ignore, place="--ignore")
    return replace(
        settings,
        select=select or settings.select,
        ignore=ignore if select else settings.ignore + ignore,
        fail_on=fail_on or settings.fail_on,
        triton_version=triton_version or settings.triton_version,
    )


def read_table(path: Path) -> dict[str, Any] | None:
    """The table of `path`, a pyproject.toml; None where it has none, or is not there."""
    try:
        data = read_regular_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise DoctorError(f"{path} cannot be read: {reason_of(error)}") from error
    if b"triton-doctor" not in data:
        return None
    try:
        table = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DoctorError(f"{path} does not parse: {error}", hint="triton-doctor reads its settings there") from error
    tool = table.get("tool")
    found = tool.get("triton-doctor") if isinstance(tool, dict) else None
    if found is not None and not isinstance(found, dict):
        raise DoctorError(f"{path}: {SECTION} is not a table", hint=f"write [{SECTION}]")
    return found


def read_settings(root: Path, table: dict[str, Any]) -> Settings:
    """The settings that `table` of `root`/pyproject.toml makes. Raises DoctorError, naming file and key."""
    place = f"{root / 'pyproject.toml'}: {SECTION}"
    for key in table:
        if key not in READERS:
            raise DoctorError(f"{place} has no setting `{key}`", hint=suggest(key, READERS))
    values = {}
    for key, value in table.items():
        read, expected = READERS[key]
        try:
            values[key.replace("-", "_")] = read(value)
        except (TypeError, ValueError) as error:
            raise DoctorError(f"{place}.{key} is {value!r}", hint=f"it takes {expected}") from error
    settings = Settings(root=root, **values)
    return replace(
        settings,
        select=codes_of(settings.select, place=f"{place}.select"),
        ignore=codes_of(settings.ignore, place=f"{place}.ignore"),
        per_file_ignores=tuple(
            (pattern, codes_of(codes, place=f"{place}.per-file-ignores"))
            for pattern, codes in settings.per_file_ignores
        ),
    )


def suggest(word: str, known: Iterable[str]) -> str:
    """A hint for a misspelt `word`: the closest of `known`, or all of them."""
    from difflib import get_close_matches

    close = get_close_matches(word.replace("_", "-"), known, n=1)
    return f"did you mean `{close[0]}`?" if close else f"there are: {', '.join(sorted(known))}"


def strings(value: object) -> tuple[str, ...]:
    """A TOML array of strings. Raises TypeError for anything else."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError
    return tuple(value)


def string(value: object) -> str:
    """A TOML string. Raises TypeError for anything else."""
    if not isinstance(value, str):
        raise TypeError
    return value


def version(value: object) -> str:
    """Two or three numbers. Raises ValueError for anything else."""
    parts = string(value).split(".")
    if not 2 <= len(parts) <= 3 or not all(part.isdigit() for part in parts):
        raise ValueError
    return ".".join(parts)


def severity(value: object) -> Severity:
    """A severity by its label. Raises ValueError for another word."""
    try:
        return next(level for level in Severity if level.label == value)
    except StopIteration:
        raise ValueError from None


def codes_by_pattern(value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """A TOML table of arrays of strings. Raises TypeError for anything else."""
    if not isinstance(value, dict):
        raise TypeError
    return tuple((pattern, strings(codes)) for pattern, codes in value.items())


def counts_by_pattern(value: object) -> tuple[tuple[str, int], ...]:
    """A TOML table of whole numbers, none below zero. Raises TypeError for anything else."""
    if not isinstance(value, dict) or not all(type(count) is int and count >= 0 for count in value.values()):
        raise TypeError
    return tuple(value.items())


STRINGS = 'an array of strings: ["..."]'
READERS: dict[str, tuple[Callable[[object], Any], str]] = {
    "select": (strings, 'codes or prefixes: ["TRD2"]'),
    "ignore": (strings, 'codes or prefixes: ["TRD202"]'),
    "exclude": (strings, 'patterns: ["third_party/"]'),
    "per-file-ignores": (codes_by_pattern, 'a table of patterns and codes: {"benchmarks/**" = ["TRD2"]}'),
    "fail-on": (severity, '"info", "warning" or "error"'),
    "tests": (strings, 'patterns: ["tests/**"]'),
    "triton-version": (version, 'a version: "3.6"'),
    "fixed": (strings, STRINGS),
    "per-call": (strings, STRINGS),
    "baseline": (string, 'the path of a file: "triton-doctor-baseline.json"'),
    "budgets": (counts_by_pattern, "a table of kernel names and whole numbers: {matmul_kernel = 4}"),
}
assert set(READERS) == {field.name.replace("_", "-") for field in fields(Settings)} - {"root"}
