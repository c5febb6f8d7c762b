"""Mentions of a kernel: a program does after `--fix` what it did before, wherever and however it names its kernels.

A kernel with a parameter that it never reads is launched in plain sight, and is named again in a random construct, in a
random kind of file. Both programs run in this process under Triton's interpreter.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import json
import linecache
import os
import re
import shlex
import sys
from textwrap import indent
from typing import TYPE_CHECKING

from tests.fuzz.driver import Trial
from triton_doctor.finding import Severity
from triton_doctor.settings import Settings
from triton_doctor.static.fix.rounds import fix
from triton_doctor.static.sources.workspace import find_workspace

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from tests.fuzz.sources import Sources

OPS = """import importlib, operator, pkgutil, sys
import torch, triton
import triton.language as tl


@triton.jit
def {k}(x_ptr, n, unused: tl.constexpr, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    tl.store(x_ptr + o, n, mask=o < n)


@triton.jit
def {other}(x_ptr, n, more, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    tl.store(x_ptr + o, more, mask=o < n)


def first(x, n):
    {k}[(1,)](x, n, 3, BLOCK=16)
    {other}[(1,)](x, 2, 5, BLOCK=16)
    return x
"""
NAMES = ("k", "scale", "_fwd_kernel", "add", "kernel_1", "copy", "näme")
# Expressions for the kernel `{k}`, in a file that holds `ops`, `{k}` or all names of `ops`.
REFERENCES = (
    *("{k}",) * 6,
    *("ops.{k}",) * 3,
    "getattr(ops, '{k}')",
    "getattr(ops, '{head}' + '{tail}')",
    "getattr(ops, f'{head}{{\"{tail}\"}}')",
    "getattr(ops, '%s{tail}' % '{head}')",
    "getattr(ops, '{head}' '{tail}')",
    "getattr(ops, '{escaped}')",
    "getattr(ops, '{{}}{tail}'.format('{head}'))",
    "getattr(ops, ''.join(['{head}', '{tail}']))",
    "vars(ops)['{k}']",
    "vars(ops).get(f'{head}{{\"{tail}\"}}')",
    "ops.__dict__['{k}']",
    "operator.attrgetter('{k}')(ops)",
    "pkgutil.resolve_name('ops:{k}')",
    "pkgutil.resolve_name(f'ops:{head}{{\"{tail}\"}}')",
    "importlib.import_module('ops').{k}",
    "sys.modules['ops'].{k}",
    "getattr(importlib.import_module('ops'), '{head}' + '{tail}')",
    "named('{k}')",
    "named('{head}' + '{tail}')",
    "named(f'{head}{{\"{tail}\"}}')",
    "[v for n, v in vars(ops).items() if n == '{head}' + '{tail}'][0]",
    "eval('ops.{k}')",
    "(lambda: ops)().{k}",
    "[ops][0].{k}",
)
# Statements that leave the kernel `R` in `g`.
HOLDS = (
    *("g = R",) * 3,
    "def h(kern=R):\n    return kern\ng = h()",
    "def h(*, kern=R):\n    return kern\ng = h()",
    "g = (lambda kern=R: kern)()",
    "def h(kern: R):\n    return 0\ng = h.__annotations__['kern']",
    "class A:\n    kern = R\ng = A.kern",
    "class A:\n    def __init__(self, kern=R):\n        self.kern = kern\ng = A().kern",
    "import dataclasses as d\n@d.dataclass\nclass A:\n    q: object = d.field(default_factory=lambda: R)\ng = A().q",
    "import enum\nclass A(enum.Enum):\n    K = (R,)\ng = A.K.value[0]",
    "class M:\n    def __init_subclass__(cls, kern):\n        cls.q = kern\nclass A(M, kern=R):\n    pass\ng = A.q",
    "def h():\n    yield R\n(g,) = h()",
    "def h():\n    yield from (R,)\n(g,) = h()",
    "match R:\n    case kern:\n        g = kern",
    "try:\n    raise LookupError(R)\nexcept LookupError as error:\n    g = error.args[0]",
    "g = [q for q in (R,)][0]",
    "g = {'a': R}['a']",
    "g, *_ = R, 1",
    "for g in (R,):\n    pass",
    "if (g := R):\n    pass",
    "g = R if x is not None else None",
    "g = None or R",
    "import functools\ng = functools.partial(lambda kern: kern, R)()",
    "def deco(kern):\n    return lambda f: kern\n@deco(R)\ndef g(): pass",
    "async def h(kern=R):\n    return kern\ntry:\n    h().send(None)\nexcept StopIteration as end:\n    g = end.value",
    "import contextlib\nwith contextlib.nullcontext(R) as g:\n    pass",
    "g = max([R], key=id)",
    "g = next(map(lambda q: q, [R]))",
    "class A:\n    def __getattr__(self, name):\n        return R\ng = A().anything",
    "import types\ng = types.SimpleNamespace(kern=R).kern",
    "class A: pass\nsetattr(A, 'kern', R)\ng = A.kern",
    "def h():\n    return R\ng = h()",
    "part = R[(1,)]\nclass g:\n    def __class_getitem__(cls, grid):\n        return part",
    "global late\nlate = R\ng = late",
    "g = ops.first and R",
)
LAUNCHES = (
    "g[(1,)](x, 7, 77, 16)",
    "g[(1,)](x, 7, unused=77, BLOCK=16)",
    "g[(1,)](*(x, 7, 77, 16))",
    "g.run(x, 7, 77, 16, grid=(1,), warmup=False)",
)
# Mentions that no fix has to heed.
PROSE = (
    "# {k} is fast",
    '"""{k} is launched by first."""',
    "def harmless({k}=3):\n    return {k}",
    "def harmless():\n    {k} = [1]\n    return {k}",
    "from ops import {k} as _unused",
    "import re\nre.{k} if False else None",
)
IMPORTS = "import importlib, operator, pkgutil, sys\nimport torch\nimport ops\n"
OF_THE_KERNEL = ("from ops import {k}\n", "from ops import *\n")
HELPERS = "import ops\n\n\ndef named(name):\n    return getattr(ops, name)\n"
NAMED = "def named(name):\n    return getattr(ops, name)\n"


def make_trial(random: Random, sources: Sources) -> Trial:
    """A kernel, one to three other mentions of it, each in a file of a random kind."""
    name = random.choice(NAMES)
    cut = random.randrange(len(name))
    words = {
        "k": name,
        "head": name[:cut],
        "tail": name[cut:],
        "escaped": f"{name[:cut]}\\x{ord(name[cut]):02x}{name[cut + 1 :]}",
        "other": "second_" + name,
    }
    files = {"ops.py": OPS.format(**words)}
    share = random.choice((0, 0.3, 1))
    for number in range(random.choice((1, 1, 2, 3))):
        is_use = random.random() < share
        body = _use(random, words) if is_use else random.choice(PROSE).format(**words)
        path, text = _file(random, number, body, words)
        files[path] = files.get(path, "") + text
        if "from helpers" in text:
            files["helpers.py"] = HELPERS

    def run(around: Path) -> str | None:
        folder = around / "project"  # Python files beside a project are searched too
        before = _outcome(folder)
        settings = Settings(root=folder, fail_on=Severity.INFO)
        done = fix(find_workspace([folder], settings, cwd=folder), unsafe=False)
        for file in done.files.values():
            file.path.write_bytes(file.after)
        after = _outcome(folder)
        return None if after == before else f"{before}\nbecame\n{after}"

    return Trial(files={f"project/{path}": text.encode() for path, text in files.items()}, run=run)


def _use(random: Random, words: dict[str, str]) -> str:
    """A function `use` that launches the kernel, reached in a random way."""
    reference = random.choice(REFERENCES).format(**words)
    held = random.choice(HOLDS).replace("R", reference)
    return f"def use(x):\n{indent(held, '    ')}\n    {random.choice(LAUNCHES)}\n    return x\n"


def _file(random: Random, number: int, body: str, words: dict[str, str]) -> tuple[str, str]:
    """The path and the text of a file that holds `body` as code."""
    prelude = IMPORTS + random.choice(OF_THE_KERNEL).format(**words)
    named = random.choice((NAMED, "from helpers import named\n")) if "named(" in body else ""
    prelude += named
    program = f"{prelude}\n\n{body}"
    called = f"{program}\nif 'use' in globals():\n    print(use(torch.zeros(16, dtype=torch.int32)).tolist())\n"
    match random.randrange(10):
        case 0:
            return f"run{number}.sh", f"#!/bin/sh\npython -c {shlex.quote(called)}\n"
        case 1:
            cell = {"cell_type": "code", "source": called.splitlines(keepends=True), "metadata": {}, "outputs": []}
            return f"n{number}.ipynb", json.dumps({"cells": [cell], "nbformat": 4, "nbformat_minor": 5, "metadata": {}})
        case 2:
            return f"README{number}.md", f"# Use of {words['k']}\n\n```python\n{called}```\n"
        case 3:
            return f"launch{number}", f"#!/usr/bin/env python\n{called}"
        case 4:
            lines = [f"{'>>> ' if not line.startswith(' ') else '... '}{line}" for line in called.splitlines() if line]
            return f"doc{number}.py", f'"""How to use it.\n\n{chr(10).join(lines)}\n"""\n'
        case 5:
            return "ops.py", f"\n\nops = sys.modules[__name__]\n{named}\n\n{body}"
        case _:
            return f"m{number}.py", program


def _outcome(folder: Path) -> list[str]:
    """What each file prints or returns, in order of names; an exception by its type."""
    os.environ["TRITON_INTERPRET"] = "1"
    import torch

    found = []
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(folder))
    try:
        for path in sorted(folder.iterdir()):
            linecache.clearcache()
            importlib.invalidate_caches()
            _forget(folder)
            out = io.StringIO()
            try:
                with contextlib.redirect_stdout(out):
                    if path.suffix == ".py":
                        module = importlib.import_module(path.stem)
                        if doctest.testmod(module).failed:
                            print("failed")
                        for function in ("first", "use"):
                            if hasattr(module, function):
                                given = (torch.zeros(16, dtype=torch.int32), 9)[: 2 if function == "first" else 1]
                                print(getattr(module, function)(*given).tolist())
                    else:
                        for code in _codes(path):
                            exec(compile(code, str(path), "exec"), {"__name__": "__main__"})
            except Exception as error:
                out.write(f"{type(error).__name__}: {error}")
            text = re.sub(r"0x[0-9a-f]+", "", out.getvalue())
            found.append(f"{path.name}: {text if 'Failed example' not in text else 'failed'}")
    finally:
        sys.path.remove(str(folder))
        _forget(folder)
    return found


def _forget(folder: Path) -> None:
    """Remove the modules of the folder, so that the next import reads them again."""
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(folder)):
            del sys.modules[name]


def _codes(path: Path) -> list[str]:
    """The Python in a file that is no module."""
    text = path.read_text()
    match path.suffix:
        case ".sh":
            return [shlex.split(text, comments=True)[-1]]
        case ".ipynb":
            return ["".join(cell["source"]) for cell in json.loads(text)["cells"]]
        case ".md":
            return re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        case "":
            return [text] if path.is_file() else []
        case _:
            return []
