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
    "a name given at import": (
        {"ops.py": PLAIN, "main.py": "import triton\nfrom ops import launch as run\ndef f(x):\n    return run(x)\n"},
        ["main.py:4"],
    ),
    "a name given at import, imported on": (
        {
            "ops.py": PLAIN,
            "names.py": "import triton\nfrom ops import launch as run\n",
            "main.py": "import triton\nfrom names import run\ndef f(x):\n    return run(x)\n",
        },
        ["main.py:4"],
    ),
    "a name given to another function at import": (
        {
            "ops.py": PLAIN,
            "other.py": PLAIN,
            "main.py": "import triton\nfrom other import launch as run\ndef f(x):\n    return run(x)\n",
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
    "a function in an attribute": (
        {
            "ops.py": PLAIN,
            "main.py": "from ops import launch\nimport triton\nclass Scale:\n    def __init__(self, fast):\n"
            "        self.run = launch if fast else None\n    def forward(self, x):\n        return self.run(x)\n",
        },
        ["main.py:7"],
    ),
    "a function in an attribute, by getattr": (
        {
            "ops.py": PLAIN + "class Scale:\n    def __init__(self):\n        self.run = launch\n"
            '    def forward(self, x):\n        return getattr(self, "run")(x)\n',
        },
        ["ops.py:11"],
    ),
    "a function in an attribute of a class": (
        {
            "ops.py": PLAIN + "class Scale:\n    run = staticmethod(launch)\n"
            "    def forward(self, x):\n        return self.run(x)\n",
        },
        ["ops.py:10"],
    ),
    "a name that a condition chooses": (
        {"ops.py": PLAIN + "if FAST:\n    run = launch\nelse:\n    run = fake\ndef f(x):\n    run(x)\n"},
        ["ops.py:12"],
    ),
    "a partial of it": (
        {"ops.py": PLAIN + "def f(x):\n    run = functools.partial(launch, x)\n    run()\ndef g(run):\n    run(1)\n"},
        ["ops.py:9"],
    ),
    "a partial of it at the top level, once": (
        {"ops.py": PLAIN + "run = functools.partial(launch, 8)\ndef f(x):\n    run(x)\n"},
        ["ops.py:9"],
    ),
    "what checkpoint runs": (
        {
            "ops.py": PLAIN,
            "main.py": "from torch.utils.checkpoint import checkpoint\nfrom ops import launch\nimport triton\n"
            "def f(x):\n    return checkpoint(launch, x, use_reentrant=False)\n",
        },
        ["main.py:5"],
    ),
    "what a comparison chooses": (
        {"ops.py": PLAIN + "def f(x, n):\n    run = launch if n < 16 else fake\n    run(x)\n"},
        [],
    ),
    "an attribute of that name of another class": (
        {
            "ops.py": PLAIN + "class Scale:\n    def __init__(self):\n        self.run = launch\n"
            "class Other:\n    def forward(self, x):\n        return self.run(x)\n",
        },
        [],
    ),
    "another function of that name": (
        {
            "ops.py": PLAIN + "class Scale:\n    def __init__(self, launch):\n        self.run = launch\n"
            "    def forward(self, x):\n        return self.run(x)\n",
        },
        [],
    ),
    "an attribute of that name elsewhere": (
        {
            "ops.py": PLAIN + "class Scale:\n    def __init__(self):\n        self.run = fake\n"
            "    def forward(self, x):\n        return self.run(x)\n",
        },
        [],
    ),
}


@emptying_scan_caches()
def calls_of(function: str, files: dict[str, str]) -> list[str]:
    """Where the calls are that reach `function` of `ops.py`."""
    root = Path("/project")
    texts = [SourceFile(f"{root}/{path}", path, FileKind.PYTHON, text.encode()) for path, text in files.items()]
    project = whole_project(Database(texts), Settings(root=root), root)
    module = project.modules["ops.py"]
    callers = CallGraph(project, in_all_files=True).callers_of(module, module.functions[function])
    return [f"{caller.module.path}:{caller.site.line}" for caller in callers]


@pytest.mark.parametrize(("files", "expected"), CASES.values(), ids=CASES)
def test_call_is_found_though_it_does_not_name_the_function(files: dict[str, str], expected: list[str]) -> None:
    assert calls_of("launch", {**files, "ops.py": PRELUDE + files["ops.py"]}) == expected
