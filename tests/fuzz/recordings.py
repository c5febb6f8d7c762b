"""Recordings: one that a real run wrote, damaged, reported in each form, and held against a program's findings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.fuzz.driver import Trial
from tests.fuzz.mutations import damage_bytes, damage_lines
from tests.fuzz.sources import ROOT
from triton_doctor.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from random import Random

    from tests.fuzz.sources import Sources

_DEEP = 100_000
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**31, 2**63, 2**64 + 1, -(10**18), 10**400, 0.5, -0.0, 1e308),
    *(float("nan"), float("inf"), "", "x", "\x1b[31m", "a\n::error::b", "\ud800", "a" * 5000, "\0", "../" * 50, "/"),
    *([], {}, [[]], [None], ["a"], ["a", 1], [["a", 1, 2]], {"a": 1}, {"name": "k"}, [[1, 2]], [[["a", "b"]]]),
)
_LINES = (
    b"",
    b"\x00",
    b"null",
    b"[]",
    b"{}",
    b'{"event":"compile"}',
    b'{"event":"tomorrow","x":[]}',
    b'{"event":["compile"]}',
    b'{"event":"header","schema":1}',
    b'{"event":"header","schema":2}',
    b'{"event":"launches","launches":[{}],"at_ns":1}',
    b'{"event":"end","wall_us":-1,"at_ns":0}',
    b"[" * _DEEP,
    b'{"a":' * _DEEP,
    b'{"event":"end","at_ns":1,"wall_us":' + b"9" * 5000 + b"}",
    b'{"event":"end","at_ns":1,"wall_us":1e999}',
    b"\xff\xfe\xfd",
    "{\u2028}".encode(),
)
_FORMS = ("text", "json", "markdown")
_STATUSES = (0, 1, 2)


def make_trial(random: Random, sources: Sources) -> Trial:
    """One or two damaged recordings, and a program whose kernels they may be of; `sources` give the program."""
    names = random.choice((["run.jsonl"], ["run.jsonl"], ["run.jsonl", "runs/other.jsonl"]))
    recordings = {name: _damage(random.choice(_recordings()).read_bytes(), random) for name in names}
    form = random.choice(_FORMS)
    since = random.choice(([], [], ["--since", "1"], ["--since", "warmup"], ["--kernel", "*mask*"]))
    program = random.choice((_seed(), sources.kernel(random)))

    def run(folder: Path) -> str | None:
        for arguments in (
            ["report", *names, "--output-format", form, *since],
            ["check", "a.py", "--no-cache", *(word for name in names for word in ("--recording", name))],
        ):
            status = main(arguments)
            if status not in _STATUSES:
                return f"{' '.join(arguments)} ended with {status}"
        return None

    return Trial(files={**recordings, "a.py": program}, run=run)


def _recordings() -> Sequence[Path]:
    folders = (ROOT / "fixtures" / "recordings", ROOT / "fixtures" / "runs")
    return [path for folder in folders for path in sorted(folder.rglob("*.jsonl")) if path.stat().st_size < 200_000]


def _seed() -> bytes:
    return (ROOT / "tests" / "runtime" / "programs" / "ragged_mask.py").read_bytes()


def _damage(data: bytes, random: Random) -> bytes:
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        data = random.choice(_DAMAGES)(data, random)
    return data


def _replace_values(data: bytes, random: Random) -> bytes:
    """Replace, drop or repeat one to three values of a few events."""
    lines = data.split(b"\n")
    for _ in range(random.randint(1, 3)):
        at = random.choice((0, random.randrange(len(lines)), random.randrange(len(lines))))
        try:
            event = json.loads(lines[at])
        except (ValueError, RecursionError):
            continue
        for _ in range(random.randint(1, 3)):
            event = _edit(event, random)
        lines[at] = json.dumps(event, separators=(",", ":")).encode()
    return b"\n".join(lines)


def _edit(value: Any, random: Random) -> Any:
    """`value` with one place in it changed: a child, most often, else itself."""
    if isinstance(value, dict) and value and random.random() < 0.9:
        name = random.choice(list(value))
        if random.random() < 0.2:
            return {other: item for other, item in value.items() if other != name}
        return value | {name: _edit(value[name], random)}
    if isinstance(value, list) and value and random.random() < 0.8:
        at = random.randrange(len(value))
        match random.randrange(4):
            case 0:
                return value[:at] + value[at + 1 :]
            case 1:
                return [*value, value[at]]
            case _:
                return [*value[:at], _edit(value[at], random), *value[at + 1 :]]
    return random.choice(_VALUES)


def _truncate(data: bytes, random: Random) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _insert_line(data: bytes, random: Random) -> bytes:
    lines = data.split(b"\n")
    lines.insert(random.randint(0, len(lines)), random.choice(_LINES))
    return b"\n".join(lines)


def _append_process(data: bytes, random: Random) -> bytes:
    return data + random.choice((b"", b"\n")) + random.choice(_recordings()).read_bytes()


_DAMAGES: tuple[Callable[[bytes, Random], bytes], ...] = (
    *(_replace_values,) * 6,
    _truncate,
    _insert_line,
    _append_process,
    damage_bytes,
    damage_lines,
)
