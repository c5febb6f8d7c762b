"""Text filters: a file in whose text a filter sees nothing has nothing that its reader reads."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from triton_doctor.static.environment.read_python import python_may_set, read_setter
from triton_doctor.static.project.database.roles import Role, role_of
from triton_doctor.static.python.function import calls_subscript, may_launch
from triton_doctor.static.python.function_body import DECLARED
from triton_doctor.static.python.kernels import may_define_kernels
from triton_doctor.static.python.parse import read_module

FOLDERS = ("kernels", "seeds", "projects", "environments")
FIXTURES = Path(__file__).parents[3] / "fixtures"
PATHS = sorted(path for folder in FOLDERS for path in (FIXTURES / folder).rglob("*.py"))
SPELLINGS = {
    "a kernel of an alias": "import triton as t\n@t.jit\ndef f(x): pass",
    "a kernel of a name": "from triton.runtime.jit import jit\n@jit\ndef f(x): pass",
    "a kernel of gluon": "from triton.experimental import gluon\n@gluon.jit\ndef f(x): pass",
    "a kernel under a library's decorator": "import lib, tl\n@lib.auto\ndef f(x: tl.constexpr): pass",
    "a kernel with a name for constexpr": "from lib import auto, tl_constexpr\n@auto\ndef f(x, n: tl_constexpr): pass",
    "a kernel with a bare constexpr": "from lib import auto, constexpr\n@auto\ndef f(x, n: constexpr): pass",
    "a launch": "def f(k, x):\n    k[(1,)](x)",
    "a launch on lines of its own": "def f(k, x):\n    k[\n        (1,)\n    ](\n        x\n    )",
    "a launch with a space": "def f(k, x):\n    k[(1,)] (x)",
    "a launch with a space, on lines of its own": "def f(k, x):\n    k[\n        (1,)\n    ] (x)",
    "a launch by `run`": "def f(k, x):\n    k.run(x, grid=(1,))",
    "a launch by `warmup`": "def f(k, x):\n    k.warmup(x, grid=(1,))",
    "a variable": "import os\nos.environ['TRITON_INTERPRET'] = '1'",
    "a variable of a command": "import subprocess\nsubprocess.run('TRITON_DEBUG=1 python x', shell=True)",
    "a knob": "import triton\ntriton.knobs.autotuning.print = True",
}
SOURCES = {path.relative_to(FIXTURES).as_posix(): path.read_bytes() for path in PATHS} | {
    name: text.encode() for name, text in SPELLINGS.items()
}


def test_filters_accept_all_that_their_readers_read() -> None:
    read = {"kernels": 0, "launches": 0, "settings": 0}
    for name, source in SOURCES.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = read_module("module.py", source)
        if module.kernels:
            read["kernels"] += 1
            assert may_define_kernels(source), name
            assert role_of(source) is Role.SUBJECT, name
        every = [launch for function in module.functions.values() for launch in function.launches]
        # A launch that is returned as data is only found in a file that is read for its kernels or other launches.
        launches = [launch for launch in every if launch.method != DECLARED]
        if launches:
            read["launches"] += 1
            assert may_launch(source.__contains__), name
            assert calls_subscript(source.__contains__) or any(launch.method for launch in launches), name
        if read_setter("module.py", source).settings:
            read["settings"] += 1
            assert python_may_set(source), name
            assert role_of(source) in (Role.SUBJECT, Role.SETTER), name

    assert min(read.values()) > 5, read


@pytest.mark.parametrize("name", SPELLINGS)
def test_every_spelling_is_read(name: str) -> None:
    source = SPELLINGS[name].encode()
    module = read_module("module.py", source)

    made = read_setter("module.py", source).settings
    launched = any(function.launches for function in module.functions.values())
    assert bool(module.kernels) + launched + bool(made) == 1
