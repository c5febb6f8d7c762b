"""[tool.triton-doctor] of the nearest pyproject.toml, and the flags of a command, to Settings."""

from __future__ import annotations

import os
import re
import reprlib
import tomllib
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triton_doctor.errors import DoctorError, reason_of
from triton_doctor.finding import Severity
from triton_doctor.regular_files import read_regular_file
from triton_doctor.selection import codes_of
from triton_doctor.variables import NOTHING_REQUIRED, Required

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from triton_doctor.variables import Version


SECTION = "tool.triton-doctor"
TESTS = ("tests/", "test/", "testing/", "test_*.py", "*_test.py", "conftest.py")
# What measures or teaches sweeps sizes on purpose: that each of them compiles tells nothing of a program.
_DEMONSTRATING = (
    "bench",
    "benchmark",
    "tutorial",
    "example",
    "lecture",
    "lesson",
    "demo",
    "notebook",
    "playground",
    "puzzle",
)
DEMONSTRATING = tuple(
    pattern.format(word)
    for word in _DEMONSTRATING
    for pattern in ("*{}/", "*{}s/", "{}[_-]*/", "{}.*", "{}s.*", "*_{}.*", "*_{}s.*", "{}[_-]*.*")
)
# Chapters of a course: no program can import a name that begins with a digit. A project may be called so.
DEMONSTRATIONS = (*DEMONSTRATING, "[0-9]*[_-]*/", "[0-9]*[_-]*.*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to look, and what to say.

    Codes are whole or prefixes: `TRD2`. Patterns are those of .gitignore, relative to `root`. `tests` are the files
    where a setting harms less, `demonstrations` those that measure or teach, where nobody minds a compile. `fixed` and
    `per_call` are expressions or names whose variability the user knows better; `budgets` the number of compiles
    allowed to kernels whose name matches. `triton_version` None is the newest known. `baseline` is a file, relative to
    `root`, with the findings that are known, and `recordings` are files and folders whose values an editor shows.
    `keep` is whether `run` keeps its recording where no -o names a file. `pinned_triton` and `required` are no
    settings but what the project's requirements say.
    """

    root: Path
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    fail_on: Severity = Severity.WARNING
    tests: tuple[str, ...] = TESTS
    demonstrations: tuple[str, ...] = DEMONSTRATIONS
    triton_version: str | None = None
    fixed: tuple[str, ...] = ()
    per_call: tuple[str, ...] = ()
    budgets: tuple[tuple[str, int], ...] = ()
    baseline: str | None = None
    recordings: tuple[str, ...] = ()
    keep: bool = True
    pinned_triton: Version | None = None
    required: Required = NOTHING_REQUIRED


def load_settings(start: Path) -> Settings:
    """Load the settings for the path `start`: those of the nearest pyproject.toml at or above it that has some.

    Raises DoctorError, naming file, line and key, if they are invalid.
    """
    absolute = os.path.abspath(start)  # noqa: PTH100, `resolve` would leave the folder that a link stands in
    folder = Path(absolute if os.path.isdir(absolute) else os.path.dirname(absolute))  # noqa: PTH112, PTH120
    for root in (folder, *folder.parents):
        found = read_table(root / "pyproject.toml")
        if found is not None:
            return read_settings(root, *found)
    return Settings(root=folder)


def override(
    settings: Settings,
    *,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: Severity | None,
    triton_version: str | None = None,
) -> Settings:
    """Apply the flags of a command. `--select` replaces the settings, so that it can select an ignored code."""
    select, ignore = codes_of(select, place="--select"), codes_of(ignore, place="--ignore")
    return replace(
        settings,
        select=select or settings.select,
        ignore=ignore if select else settings.ignore + ignore,
        fail_on=fail_on or settings.fail_on,
        triton_version=triton_version or settings.triton_version,
    )


def read_table(path: Path) -> tuple[dict[str, Any], str] | None:
    """Return our table in the pyproject.toml at `path`, and the whole text; None if it does not exist.

    Raises DoctorError if the file cannot be read or parsed.
    """
    try:
        data = read_regular_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise DoctorError(f"{path} cannot be read: {reason_of(error)}") from error
    if b"triton-doctor" not in data and b"triton_doctor" not in data:
        return None
    try:
        text = data.decode("utf-8-sig")
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of thousands of digits is a plain ValueError
        raise DoctorError(f"{path} does not parse: {error}", hint="triton-doctor reads its settings there") from error
    tool = table.get("tool")
    if not isinstance(tool, dict):
        return None
    for name in tool:
        if name != "triton-doctor" and name.lower().replace("_", "-") == "triton-doctor":
            place = f"{path}:{find_line(text, f'tool.{name}')}"
            raise DoctorError(f"{place}: [tool.{name}] is not read", hint=f"write [{SECTION}]")
    found = tool.get("triton-doctor")
    if found is not None and not isinstance(found, dict):
        place = f"{path}:{find_line(text, SECTION)}"
        raise DoctorError(f"{place}: {SECTION} is not a table", hint=f"write [{SECTION}]")
    return (found, text) if found is not None else None


def read_settings(root: Path, table: dict[str, Any], text: str) -> Settings:
    """Convert `table` to settings. Raises DoctorError, naming file, line and key.

    `text` is that of the pyproject.toml in `root`.
    """

    def place(key: str) -> str:
        return f"{root / 'pyproject.toml'}:{find_line(text, f'{SECTION}.{key}')}: {SECTION}"

    for key in table:
        if key not in READERS:
            raise DoctorError(f"{place(key)} has no setting `{key}`", hint=suggest(key, READERS))
    values = {}
    for key, value in table.items():
        read, expected = READERS[key]
        try:
            values[key.replace("-", "_")] = read(value)
        except ValueError as error:
            message = f"{place(key)}.{key} is {reprlib.repr(value)}"
            raise DoctorError(message, hint=f"give {expected}") from error
    settings = Settings(root=root, **values)
    return replace(
        settings,
        select=codes_of(settings.select, place=f"{place('select')}.select"),
        ignore=codes_of(settings.ignore, place=f"{place('ignore')}.ignore"),
        per_file_ignores=tuple(
            (pattern, codes_of(codes, place=f"{place('per-file-ignores')}.per-file-ignores"))
            for pattern, codes in settings.per_file_ignores
        ),
    )


def find_line(text: str, key: str) -> int:
    """Return the line of the TOML `text` on which the dotted `key` is set, or begins a table; 1 if there is none."""
    wanted, table = key.split("."), list[str]()
    for number, line in enumerate(text.split("\n"), start=1):
        header = _HEADER.match(line)
        if header is not None:
            table = _key_parts(header[1])
            found = table
        else:
            found = [*table, *_key_parts(line.partition("=")[0])] if "=" in line else []
        if found[: len(wanted)] == wanted:
            return number
    return 1


def _key_parts(dotted: str) -> list[str]:
    return [part.strip().strip("\"'") for part in dotted.split(".")]


def suggest(word: str, known: Iterable[str]) -> str:
    """Return a hint for a misspelt `word`: the closest of `known`, or all of them."""
    from difflib import get_close_matches

    close = get_close_matches(word.replace("_", "-"), known, n=1)
    return f"did you mean `{close[0]}`?" if close else f"there are: {', '.join(sorted(known))}"


def convert(wanted: Any, value: object) -> Any:
    """Return the TOML `value` as the type `wanted`, arrays as tuples. Raises ValueError for another type."""
    import msgspec

    try:
        return msgspec.convert(value, wanted)
    except msgspec.ValidationError as error:
        raise ValueError from error


strings, string = partial(convert, tuple[str, ...]), partial(convert, str)


def expressions(value: object) -> tuple[str, ...]:
    """Validate a TOML array of Python expressions. Raises ValueError for anything else."""
    import ast

    texts: tuple[str, ...] = strings(value)
    for text in texts:
        try:
            ast.parse(text.strip(), mode="eval")
        except (SyntaxError, RecursionError, MemoryError) as error:
            raise ValueError from error
    return texts


def version(value: object) -> str:
    """Validate a version of two or three numbers. Raises ValueError for anything else."""
    text: str = string(value)
    if not re.fullmatch(r"\d{1,4}(\.\d{1,4}){1,2}", text, re.ASCII):
        raise ValueError
    return text


def severity(value: object) -> Severity:
    """Return a severity by its label. Raises ValueError for another word."""
    try:
        return next(level for level in Severity if level.label == value)
    except StopIteration:
        raise ValueError from None


def codes_by_pattern(value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Validate a TOML table of arrays of strings. Raises ValueError for anything else."""
    return tuple(convert(dict[str, tuple[str, ...]], value).items())


def counts_by_pattern(value: object) -> tuple[tuple[str, int], ...]:
    """Validate a TOML table of whole numbers that are not negative. Raises ValueError for anything else."""
    counts = convert(dict[str, int], value)
    if min(counts.values(), default=0) < 0:
        raise ValueError
    return tuple(counts.items())


EXPRESSIONS = 'Python names and expressions: ["num_tokens", "batch.size"]'
_HEADER = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
READERS: dict[str, tuple[Callable[[object], Any], str]] = {
    "select": (strings, 'codes or prefixes: ["TRD2"]'),
    "ignore": (strings, 'codes or prefixes: ["TRD202"]'),
    "exclude": (strings, 'patterns: ["third_party/"]'),
    "per-file-ignores": (codes_by_pattern, 'a table of patterns and codes: {"benchmarks/**" = ["TRD2"]}'),
    "fail-on": (severity, '"info", "warning" or "error"'),
    "tests": (strings, 'patterns: ["tests/**"]'),
    "demonstrations": (strings, 'patterns: ["benchmarks/"]'),
    "triton-version": (version, 'a version: "3.6"'),
    "fixed": (expressions, EXPRESSIONS),
    "per-call": (expressions, EXPRESSIONS),
    "baseline": (string, 'the path of a file: "triton-doctor-baseline.json"'),
    "recordings": (strings, 'paths of files and folders: ["recordings/"]'),
    "keep": (partial(convert, bool), "true or false"),
    "budgets": (counts_by_pattern, "a table of kernel names and whole numbers: {matmul_kernel = 4}"),
}
assert set(READERS) == {field.name.replace("_", "-") for field in fields(Settings)} - {
    "root",
    "pinned-triton",
    "required",
}
