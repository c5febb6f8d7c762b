"""Fixes: what comes out parses, a second run changes nothing, and no file that had nothing to fix is touched."""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING

from tests.fuzz.driver import Trial
from tests.fuzz.mutations import damage_tokens, damage_tree, mutate
from triton_doctor.cli import main

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from tests.fuzz.sources import Sources


def make_trial(random: Random, sources: Sources) -> Trial:
    """One to three programs, most of them damaged so that they still parse."""
    names = ("a.py", "b.py", "c.py")[: random.choice((1, 1, 2, 3))]
    files = {}
    for name in names:
        data = sources.kernel(random)
        files[name] = data if random.random() < 0.2 else mutate(data, (damage_tokens, damage_tree), random)
    flags = random.choice((["--fix"], ["--fix", "--unsafe-fixes"], ["--fix", "--unsafe-fixes"]))

    def run(folder: Path) -> str | None:
        once = _fixed(folder, flags)
        for name, data in once.items():
            if data != files[name] and not _parses(data):
                return f"{name} does not parse after {' '.join(flags)}"
        twice = _fixed(folder, flags)
        changed = [name for name in files if once[name] != twice[name]]
        return f"{', '.join(changed)} changed in a second run of {' '.join(flags)}" if changed else None

    return Trial(files=files, run=run)


def _fixed(folder: Path, flags: list[str]) -> dict[str, bytes]:
    status = main(["check", "--no-cache", *flags, str(folder)])
    if status not in (0, 1):
        raise AssertionError(f"check {' '.join(flags)} ended with {status}")
    return {path.name: path.read_bytes() for path in folder.glob("*.py")}


def _parses(data: bytes) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(data)
        except (SyntaxError, ValueError):
            return False
    return True
