"""Parameters that a kernel loads from are tensors, and no counts, unless it asks what they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from triton_doctor.settings import Settings
from triton_doctor.static.project.analysis.parts import whole_project
from triton_doctor.static.project.calls.surroundings import pointers
from triton_doctor.static.project.database.database import Database
from triton_doctor.static.sources.files import FileKind, SourceFile


def pointers_of(body: str) -> set[str]:
    text = f"import triton\nimport triton.language as tl\n\n@triton.jit\ndef kernel(x, n, m):\n    {body}\n"
    database = Database([SourceFile("a.py", "a.py", FileKind.PYTHON, text.encode())])
    project = whole_project(database, Settings(root=Path()), Path())
    (kernel,) = project.kernels()
    return set(pointers(project, kernel))


@pytest.mark.parametrize(
    ("body", "names"),
    [
        pytest.param("tl.store(x + n, tl.load(m))", {"x", "m"}, id="loaded and stored"),
        pytest.param("tl.atomic_add(\n        x + n, 1)", {"x"}, id="over two lines"),
        pytest.param("at = x + n\n    tl.load(at)", {"at"}, id="a local"),
        pytest.param(
            "if isinstance(n, tl.tensor) and n.dtype.is_ptr():\n        n = tl.load(n)\n    tl.store(x, n)",
            {"x"},
            id="either",
        ),
        pytest.param("tl.arange(0, n)", set(), id="none"),
    ],
)
def test_what_an_access_begins_with(body: str, names: set[str]) -> None:
    assert pointers_of(body) == names
