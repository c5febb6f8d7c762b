"""A folder of files, fixed in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from triton_doctor.finding import Severity
from triton_doctor.settings import Settings
from triton_doctor.static.fix.rounds import Fixed, fix
from triton_doctor.static.sources.workspace import find_workspace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def fixed(folder: Path, write: Callable[..., Path]) -> Callable[..., Fixed]:
    """Fix files that are given by name: `fixed({"a.py": "..."}, unsafe=True)`."""

    def run(files: dict[str, str | bytes], *, unsafe: bool = False, paths: tuple[str, ...] = (".",)) -> Fixed:
        for name, text in files.items():
            write(name, text)
        settings = Settings(root=folder, fail_on=Severity.INFO)
        return fix(find_workspace([folder / path for path in paths], settings, cwd=folder), unsafe=unsafe)

    return run
