"""Calls that a sweep made up, to files: a module of drivers and pytest tests for each module of the project."""

from __future__ import annotations

import os
import posixpath
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from triton_doctor.explore.entries import Found
    from triton_doctor.explore.model import EntryOutcome, MadeUpCall, SweepEntry


def write_drivers(outcomes: Iterable[EntryOutcome], folder: Path, found: Found) -> list[Path]:
    """Write the drivers and tests of `outcomes` below `folder`, and return the files.

    A file that is there is kept, since somebody may have corrected it: the new text goes beside it, as `NAME.new.py`.
    Raises DoctorError where nothing can be written.
    """
    entries = {entry.key: entry for entry in found.entries}
    modules: dict[str, tuple[SweepEntry, list[MadeUpCall]]] = {}
    for outcome in outcomes:
        entry = entries.get(outcome.entry)
        if entry is not None and outcome.calls:
            first, *others = outcome.calls
            modules.setdefault(entry.module, (entry, []))[1].extend([first, *(call for call in others if call.moves)])
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for module, (entry, calls) in sorted(modules.items()):
            path = folder / f"test_{module.replace('.', '_')}.py"
            text = _module_text(entry, calls, folder, found.root)
            if path.exists() and path.read_text(encoding="utf-8") != text:
                path = path.with_suffix(".new.py")
            path.write_text(text, encoding="utf-8")
            written.append(path)
    except OSError as error:
        raise DoctorError(f"cannot write to {folder}: {reason_of(error)}", hint="name a folder of yours") from error
    return written


def _module_text(entry: SweepEntry, calls: Iterable[MadeUpCall], folder: Path, root: Path) -> str:
    """Return the text of the file for the module of `entry`."""
    functions = [text.rstrip() for call in calls for text in (call.driver, call.test) if text]
    file = f"{_relative(folder, root)}/test_{entry.module.replace('.', '_')}.py"
    head = [
        f'"""Sweeps of {entry.path} with calls that triton-doctor made up: correct and commit them.',
        "",
        f"Run a driver alone with `triton-doctor sweep {file}:NAME --vary AXIS=1..4096`.",
        '"""',
        "",
    ]
    source = _source_folder(entry)
    imports = []
    if source:
        up = _relative(root / source, folder)
        imports += ["import sys", "from pathlib import Path", ""]
    if any(call.test for call in calls):
        imports += ["import triton_doctor", ""]
    if source:
        imports += [f"sys.path.insert(0, str(Path(__file__).resolve().parent / {up!r}))", ""]
    return "\n".join([*head, *imports, "", "\n\n\n".join(functions), ""])


def _source_folder(entry: SweepEntry) -> str:
    """Return the folder that must be on the path of imports, relative to the project; empty for the project's own."""
    stem = entry.path.removesuffix(".py").removesuffix("/__init__")
    return posixpath.normpath(stem.removesuffix(entry.module.replace(".", "/")) or ".").removeprefix(".")


def _relative(path: Path, start: Path) -> str:
    return os.path.relpath(path.resolve(), start.resolve()).replace(os.sep, "/")
