"""Arguments that stand for those of a launch, by what the launch tells of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from triton_doctor.evidence.verification.launch_arguments import made_up
from triton_doctor.settings import Settings
from triton_doctor.static.project.analysis.parts import whole_project
from triton_doctor.static.project.database.database import Database
from triton_doctor.static.sources.files import FileKind, SourceFile

KERNEL = "import triton, torch\n\n@triton.jit\ndef fill(x, KIND):\n    pass\n\ndef launch(x):\n    fill[(4,)](x, {})\n"
FLOAT16 = {"kind": "type", "name": "float16"}


@pytest.mark.parametrize(
    ("imports", "given", "described"),
    [
        pytest.param("import triton.language as tl", "tl.float16", FLOAT16, id="as most call it"),
        pytest.param("import triton.language as lang", "lang.float16", FLOAT16, id="by another name"),
        pytest.param("from ours.triton_utils import tl", "tl.float16", FLOAT16, id="handed on"),
        pytest.param("import numpy as tl", "tl.float16", {"kind": "guess"}, id="of something else"),
        pytest.param("", "torch.float16", {"kind": "guess"}, id="of torch"),
        pytest.param("", "True", {"kind": "value", "value": True}, id="a flag"),
    ],
)
def test_type_of_triton_is_told_by_what_is_imported(imports: str, given: str, described: dict[str, object]) -> None:
    text = f"{imports}\n{KERNEL.format(given)}"
    library = Database([SourceFile("a.py", "a.py", FileKind.PYTHON, text.encode())])
    project = whole_project(library, Settings(root=Path()), Path())
    (kernel,) = project.kernels()

    assert made_up(project, kernel, ()).arguments["KIND"] == described
