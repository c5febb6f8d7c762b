"""A folder of files, fixed in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from triton_doctor.settings import Settings
from triton_doctor.static.files import find_files
from triton_doctor.static.fix.rounds import Fixed, fix

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def fixed(folder: Path, write: Callable[..., Path]) -> Callable[..., Fixed]:
    """Fix files that are given by name: `fixed({"a.py": "..."}, unsafe=True)`."""

    def run(files: dict[str, str | bytes], *, unsafe: bool = False, paths: tuple[str, ...] = (".",)) -> Fixed:
        for name, text in files.items():
            write(name, text)
        settings = Settings(root=folder)
        found = list(find_files([folder / path for path in paths], settings, cwd=folder))
        return fix(found, settings, cwd=folder, unsafe=unsafe)

    return run
