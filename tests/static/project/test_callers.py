"""Calls that do not name the function that they run: `launch` of `ops.py` is told who calls it."""

from __future__ import annotations

from pathlib import Path

import pytest

from triton_doctor.scan_caches import emptying_scan_caches
from triton_doctor.settings import Settings
from triton_doctor.static.project.analysis.parts import whole_project
from triton_doctor.static.project.calls.call_graph import CallGraph
from triton_doctor.static.project.database.database import Database
from triton_doctor.static.sources.files import FileKind, SourceFile

PRELUDE = "import torch\nimport triton\nimport triton.language as tl\n\n"
CUSTOM_OP = '@torch.library.custom_op("own::scale", mutates_args=())\ndef launch(x: torch.Tensor) -> None: ...\n'
PLAIN = "def launch(x): ...\ndef fake(x): ...\n"
BY_NAME = {"main.py": "import torch\ndef f(x):\n    return torch.ops.own.scale(x)\n"}

CASES = {
    "a custom op": ({"ops.py": CUSTOM_OP, **BY_NAME}, ["main.py:3"]),
    "a Triton op": ({"ops.py": CUSTOM_OP.replace("custom_op", "triton_op"), **BY_NAME}, ["main.py:3"]),
    "its default overload": (
        {"ops.py": CUSTOM_OP, "main.py": BY_NAME["main.py"].replace("scale(", "scale.default(")},
        ["main.py:3"],
    ),
    "another operator of that name": ({"ops.py": CUSTOM_OP.replace("own::", "other::"), **BY_NAME}, []),
    "what describes an operator": (
        {"ops.py": '@torch.library.register_fake("own::scale")\ndef launch(x): ...\n', **BY_NAME},
        [],
    ),
    "an implementation of a library": (
        {"ops.py": PLAIN + 'library = torch.library.Library("own", "DEF")\nlibrary.impl("scale", launch)\n', **BY_NAME},
        ["main.py:3"],
    ),
    "an implementation by torch.library.impl": (
        {"ops.py": PLAIN + 'torch.library.impl("own::scale", "CUDA")(launch)\n', **BY_NAME},
        ["main.py:3"],
    ),
    "a wrapper that registers": (
        {"ops.py": PLAIN + 'direct_register_custom_op(op_name="scale", op_func=launch, fake_impl=fake)\n', **BY_NAME},
        ["main.py:3"],
    ),
    "the fake of a wrapper that registers": (
        {
            "ops.py": PLAIN + 'direct_register_custom_op(op_name="scale", op_func=fake, fake_impl=launch)\n',
            **BY_NAME,
        },
        [],
    ),
    "a name for the operator": (
        {"ops.py": CUSTOM_OP + "scale = torch.ops.own.scale\ndef f(x):\n    scale(x)\ndef g(scale):\n    scale(1)\n"},
        ["ops.py:9"],
    ),
    "an attribute that is the operator": (
        {
            "ops.py": CUSTOM_OP,
            "main.py": "import torch\nclass Scale:\n    def __init__(self):\n        self.op = torch.ops.own.scale\n"
            "    def forward(self, x):\n        return self.op(x)\n",
        },
        ["main.py:6"],
    ),
}


@emptying_scan_caches()
def calls_of_launch(files: dict[str, str]) -> list[str]:
    """Where the calls are that reach `launch` of `ops.py`."""
    root = Path("/project")
    texts = [SourceFile(f"{root}/{path}", path, FileKind.PYTHON, text.encode()) for path, text in files.items()]
    project = whole_project(Database(texts), Settings(root=root), root)
    module = project.modules["ops.py"]
    callers = CallGraph(project, in_all_files=True).of(module, module.functions["launch"])
    return [f"{caller.module.path}:{caller.site.line}" for caller in callers]


@pytest.mark.parametrize(("files", "expected"), CASES.values(), ids=CASES)
def test_call_is_found_though_it_does_not_name_the_function(files: dict[str, str], expected: list[str]) -> None:
    assert calls_of_launch({**files, "ops.py": PRELUDE + files["ops.py"]}) == expected
