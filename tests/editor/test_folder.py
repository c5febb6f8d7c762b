"""A folder that an editor keeps open: its files are looked for on one thread, and forgotten on another."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

import pytest

from triton_doctor.editor.folder import CheckedFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LOOKS = 50


@pytest.fixture
def threads_take_turns() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("threads_take_turns")
def test_files_that_are_forgotten_while_they_are_looked_for_are_found(
    tmp_path: Path, write: Callable[[str, str], Path]
) -> None:
    write("add.py", "import triton\n")
    folder, is_over = CheckedFolder(tmp_path), threading.Event()

    def forget() -> None:
        while not is_over.is_set():
            folder.forget_files()

    forgetting = threading.Thread(target=forget)
    forgetting.start()
    try:
        found = [[file.shown for file in folder.workspace({}).files] for _ in range(LOOKS)]
    finally:
        is_over.set()
        forgetting.join()

    assert found == [["add.py"]] * LOOKS
