"""Incremental edits: after each, a run with a cache finds what a run without one finds, TRD900 included."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.fuzz.driver import Trial
from tests.fuzz.mutations import mutate
from tests.fuzz.python import MUTATIONS
from triton_doctor.cli import main

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from random import Random

    from tests.fuzz.sources import Sources

STEPS = 5
_MOST_FILES = 10


def make_trial(random: Random, sources: Sources) -> Trial:
    """Files of a folder of a library, of which one is damaged, mended, removed or moved at a time."""
    files = sources.neighbors(random, _MOST_FILES)

    def run(folder: Path) -> str | None:
        _check(folder)
        for step in range(STEPS):
            edit = _edit(folder, files, random)
            cached, fresh = _check(folder), _check(folder, "--no-cache")
            if cached != fresh:
                return f"step {step}, {edit}: with a cache {_only(cached, fresh)}, without {_only(fresh, cached)}"
        return None

    return Trial(files=files, run=run)


def _edit(folder: Path, files: Mapping[str, bytes], random: Random) -> str:
    """Make one edit, and say what it was."""
    name, other = random.choice(list(files)), random.choice(list(files))
    path = folder / name
    match random.randrange(8):
        case 0:
            path.unlink(missing_ok=True)
            return f"{name} removed"
        case 1:
            path.write_bytes(files[name])
            return f"{name} as it was"
        case 2:
            path.write_bytes(files[other])
            return f"{name} as {other}"
        case _:
            path.write_bytes(mutate(path.read_bytes() if path.exists() else files[name], MUTATIONS, random))
            return f"{name} damaged"


def _check(folder: Path, *arguments: str) -> list[str]:
    """The findings, as JSON, in order."""
    report = folder.parent / f"{folder.name}.json"
    try:
        status = main(["check", "--output-format", "json", "--output-file", str(report), *arguments, "."])
        if status not in (0, 1):
            return [f"check ended with {status}"]
        return [json.dumps(one, sort_keys=True) for one in json.loads(report.read_text())["findings"]]
    finally:
        report.unlink(missing_ok=True)


def _only(found: list[str], other: list[str]) -> str:
    """The first of `found` that is not in `other`."""
    return next((one[:600] for one in found if one not in other), "nothing of its own, or another order")
