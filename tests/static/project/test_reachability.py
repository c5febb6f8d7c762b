"""Code that its project imports around and never runs is information; whatever may run stays a warning."""

from __future__ import annotations

from pathlib import Path

import pytest

from triton_doctor.finding import Severity
from triton_doctor.settings import Settings
from triton_doctor.static.scan import scan
from triton_doctor.static.sources.files import FileKind, SourceFile

OPS = """
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, n: tl.constexpr):
    tl.store(x, n)


def used(x):
    return x


def launch(x):
    batch, heads, length, dim = x.shape
    kernel[(1,)](x, batch)
"""
CERTAIN = OPS.replace("batch)", "x.item())")
WRAPPED = """

def wrap(x):
    launch(x)
"""
APPLIED = OPS.replace(
    "def launch(x):", "class Op(torch.autograd.Function):\n  @staticmethod\n  def forward(ctx, x):"
) + ("\n  @staticmethod\n  def backward(ctx, y):\n    return y\n\n\nop = Op.apply\n")
OPERATOR = OPS.replace(
    "def launch(x):", "@torch.library.custom_op('own::launch', mutates_args=())\ndef launch(x: torch.Tensor) -> None:"
) + (
    """

@launch.register_fake
def _(x):
    return None


launch.register_autograd(used)


class Op(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.ops.own.launch(x)

    @staticmethod
    def backward(ctx, y):
        return y
"""
)
FOR_MAIN = "\n\nif __name__ == '__main__':\n"
INFO, WARNING = Severity.INFO, Severity.WARNING


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        pytest.param({"ops.py": OPS}, WARNING, id="a file that nobody imports"),
        pytest.param({"ops.py": OPS, "main.py": "from ops import used\nused(1)\n"}, INFO, id="not imported"),
        pytest.param({"ops.py": OPS, "main.py": "from ops import used, launch\nused(1)\n"}, INFO, id="never called"),
        pytest.param({"ops.py": CERTAIN, "main.py": "from ops import used\n"}, INFO, id="given what certainly changes"),
        pytest.param({"ops.py": OPS, "main.py": "from ops import launch\nlaunch(1)\n"}, WARNING, id="called"),
        pytest.param(
            {"ops.py": OPS, "main.py": "from ops import launch as run\nmake(run)\n"},
            WARNING,
            id="used under another name",
        ),
        pytest.param({"ops.py": OPS, "main.py": "from ops import launch as run\n"}, INFO, id="renamed, never used"),
        pytest.param(
            {"ops.py": OPS, "main.py": "from ops import launch\nALL = {1: launch}\n"}, WARNING, id="in a table"
        ),
        pytest.param({"ops.py": OPS, "main.py": "import ops\nops.used(1)\n"}, INFO, id="module imported, never called"),
        pytest.param({"ops.py": OPS, "main.py": "import ops\nops.launch(1)\n"}, WARNING, id="called by its module"),
        pytest.param(
            {"pkg/ops.py": OPS, "main.py": "from pkg import ops\nops.launch(1)\n"},
            WARNING,
            id="called by its module, out of a package",
        ),
        pytest.param({"ops.py": OPS, "main.py": "from ops import *\n"}, WARNING, id="all is taken"),
        pytest.param(
            {"ops.py": OPS, "main.py": "from ops import launch\nimport other\nother.bind(globals())\n"},
            WARNING,
            id="all that a file imports is handed on",
        ),
        pytest.param(
            {"ops.py": OPS, "main.py": "from ops import launch\ndef run(name, x):\n  globals().get(name)(x)\n"},
            WARNING,
            id="looked up by a computed name",
        ),
        pytest.param(
            {"ops.py": OPS, "main.py": "from ops import launch\nwide = globals().get('wide')\nglobals()['a'] = 1\n"},
            INFO,
            id="another is looked up",
        ),
        pytest.param(
            {"ops.py": OPS, "main.py": "from ops import used\nimport other\nother.bind(globals())\n"},
            INFO,
            id="not among the names that are handed on",
        ),
        pytest.param(
            {"ops.py": OPS, "main.py": "from ops import launch\ndef run():\n  raise TypeError\n  launch(1)\n"},
            INFO,
            id="called behind a raise",
        ),
        pytest.param(
            {
                "ops.py": OPS,
                "main.py": "from ops import launch\ndef run():\n  if wide:\n    raise TypeError\n  launch(1)\n",
            },
            WARNING,
            id="called where another branch raises",
        ),
        pytest.param(
            {"ops.py": OPS, "main.py": "from ops import used\nfrom other.ops import launch\nlaunch(1)\n"},
            INFO,
            id="another library's of the same name is called",
        ),
        pytest.param(
            {
                "pkg/__init__.py": "from pkg.ops import launch\n",
                "pkg/ops.py": OPS,
                "main.py": "from pkg.ops import used\n",
            },
            WARNING,
            id="exported",
        ),
        pytest.param(
            {
                "pkg/__init__.py": "from pkg.ops import launch\n",
                "pkg/ops.py": OPS,
                "main.py": "from pkg import launch\n",
            },
            INFO,
            id="exported, imported from there, never called",
        ),
        pytest.param(
            {
                "pkg/__init__.py": "from pkg.ops import launch\n",
                "pkg/ops.py": OPS,
                "main.py": "from pkg import launch\n",
                "app.py": "import pkg\npkg.launch(1)\n",
            },
            WARNING,
            id="exported, imported from there, called by the package",
        ),
        pytest.param(
            {
                "pkg/__init__.py": "from pkg.ops import launch\n",
                "pkg/ops.py": OPS,
                "hub/__init__.py": "from pkg import launch\n",
            },
            WARNING,
            id="exported, and by another package again",
        ),
        pytest.param(
            {
                "pkg/__init__.py": "from pkg.ops import launch\n__all__ = ['launch']\n",
                "pkg/ops.py": OPS,
                "main.py": "from pkg import launch\n",
            },
            WARNING,
            id="listed as public, imported from there, never called",
        ),
        pytest.param(
            {
                "pkg/__init__.py": "from .sub import wrap\n",
                "pkg/sub/__init__.py": "import triton\nfrom .ops import launch\n\n\ndef wrap(x):\n    launch(x)\n",
                "pkg/sub/ops.py": OPS,
                "main.py": "from pkg import wrap\n",
            },
            INFO,
            id="a package calls it in what is exported, imported from there, never called",
        ),
        pytest.param(
            {"pkg/ops.py": OPS, "pkg/other.py": "run = 1\n", "main.py": "from pkg.other import run\n"},
            WARNING,
            id="a file that nobody imports, beside one that a program does",
        ),
        pytest.param(
            {"pkg/ops.py": OPS, "pkg/__init__.py": "from . import other\n", "pkg/other.py": ""},
            WARNING,
            id="a file that nobody imports, beside one that its package does",
        ),
        pytest.param(
            {
                "pkg/ops.py": OPS,
                "pkg/run.py": "from pkg import ops, other\n\n\ndef main():\n    ops.launch(1)\n",
                "pkg/other.py": "",
                "main.py": "from pkg import other\n",
            },
            WARNING,
            id="called by a command in a file that nobody imports",
        ),
        pytest.param(
            {
                "ops.py": OPS,
                "main.py": "from ops import used\n",
                "tests/test_ops.py": "from ops import launch\nlaunch(1)\n",
            },
            INFO,
            id="called by a test",
        ),
        pytest.param(
            {
                "ops.py": OPS,
                "main.py": "from ops import used\n",
                "check.py": "import pytest, triton\nfrom ops import launch\n\n\n"
                "@pytest.mark.parametrize('x', [1])\ndef test_launch(x):\n    launch(x)\n",
            },
            INFO,
            id="called by a marked test in any file",
        ),
        pytest.param(
            {
                "ops.py": OPS + "\n\n@triton.testing.perf_report([])\ndef speed(x):\n    launch(x)\n",
                "main.py": "from ops import used\n",
            },
            INFO,
            id="called by its own benchmark",
        ),
        pytest.param(
            {
                "ops.py": OPS + "\n\ndef test_launch(x):\n    launch(x)\n",
                "main.py": "from ops import test_launch\ntest_launch(1)\n",
            },
            WARNING,
            id="called by a function that others call too",
        ),
        pytest.param(
            {"ops.py": OPS + WRAPPED, "main.py": "from ops import used\n"}, INFO, id="its caller never called"
        ),
        pytest.param(
            {"ops.py": OPS + WRAPPED, "main.py": "from ops import wrap\nwrap(1)\n"}, WARNING, id="its caller is"
        ),
        pytest.param(
            {"ops.py": OPS + FOR_MAIN + "    def check(x):\n        launch(x)\n", "main.py": "from ops import used\n"},
            INFO,
            id="called by a function under the main guard",
        ),
        pytest.param(
            {"ops.py": OPS + FOR_MAIN + "    RUNS = {'launch': launch}\n", "main.py": "from ops import used\n"},
            INFO,
            id="in a table under the main guard",
        ),
        pytest.param(
            {"ops.py": OPS.replace("def launch", "@torch.no_grad()\ndef launch"), "main.py": "from ops import used\n"},
            INFO,
            id="decorated, never called",
        ),
        pytest.param(
            {"ops.py": OPS.replace("def launch", "@register('op')\ndef launch"), "main.py": "from ops import used\n"},
            WARNING,
            id="registered",
        ),
        pytest.param({"ops.py": APPLIED, "main.py": "from ops import used, op\n"}, INFO, id="autograd, never applied"),
        pytest.param(
            {"ops.py": APPLIED, "main.py": "from ops import op\n\ndef f(x):\n    op(x)\n"}, WARNING, id="applied"
        ),
        pytest.param(
            {"ops.py": OPERATOR, "main.py": "from ops import used\n"},
            INFO,
            id="operator, only called by an autograd function that nothing applies",
        ),
        pytest.param(
            {"ops.py": OPERATOR, "main.py": "from ops import Op\n\ndef f(x):\n    return Op.apply(x)\n"},
            WARNING,
            id="operator, called by an autograd function that is applied",
        ),
        pytest.param(
            {
                "ops.py": OPERATOR,
                "main.py": "import torch\nfrom ops import used\n\ndef f(x):\n"
                "    return torch.ops.own.launch.default(x)\n",
            },
            WARNING,
            id="operator, called by its name in a file that does not say Triton",
        ),
        pytest.param(
            {
                "ops.py": OPERATOR.replace("register_autograd(used)", "register_autograd(again)")
                + "\n\ndef again(ctx, y):\n    return torch.ops.own.launch(y)\n",
                "main.py": "from ops import used\n",
            },
            WARNING,
            id="operator, called by what differentiates one",
        ),
        pytest.param(
            {"part/own/ops.py": OPS, "part/setup.py": "", "run/main.py": "from own.ops import used\n"},
            INFO,
            id="installed from a folder with a setup.py",
        ),
        pytest.param({"src/own/ops.py": OPS, "run/main.py": "from own import ops\n"}, INFO, id="installed from `src`"),
        pytest.param(
            {"src/own/ops.py": OPS, "run/main.py": "from own.ops import launch\n\ndef f(x):\n    launch(x)\n"},
            WARNING,
            id="installed from `src`, and called",
        ),
        pytest.param(
            {"part/ops.py": OPS, "part/setup.py": "", "run/main.py": "from ops import used\n"},
            WARNING,
            id="in no package",
        ),
        pytest.param(
            {"part/own/ops.py": OPS, "run/main.py": "from own.ops import used\n"}, WARNING, id="not installed"
        ),
        pytest.param(
            {
                "src/own/ops.py": OPS,
                "part/own/ops.py": "def used(x):\n    return x\n",
                "part/setup.py": "",
                "run/main.py": "from own.ops import used\n",
            },
            WARNING,
            id="installed twice",
        ),
    ],
)
def test_finding_is_information_only_where_nothing_in_the_project_runs_it(
    files: dict[str, str], severity: Severity
) -> None:
    root = Path("/project")
    texts = [SourceFile(f"{root}/{path}", path, FileKind.PYTHON, text.encode()) for path, text in files.items()]

    found = [one for one in scan(texts, Settings(root=root), cwd=root).findings if one.facts.parameter == "n"]

    assert [one.severity for one in found] == [severity]
    assert ("; nothing in the project runs `" in found[0].message) is (severity is INFO)


GUARDED = """
import triton
import triton.language as tl


@triton.jit
def kernel(x, n: tl.constexpr):
    tl.store(x, n)


def launch(x, counts, plain=False, mask=None):
    if {test}:
        kernel[(1,)](x, counts.max().item())


def run(x, counts, plain):
    launch(x, counts{passed})
"""


@pytest.mark.parametrize(
    ("test", "passed", "is_taken"),
    [
        pytest.param("plain", "", False, id="default"),
        pytest.param("not plain", "", True, id="default leads there"),
        pytest.param("plain", ", plain", True, id="passed on"),
        pytest.param("plain", ", plain=True", True, id="overridden"),
        pytest.param("not plain", ", plain=True", False, id="overridden, leads elsewhere"),
        pytest.param("plain", ", *x", True, id="perhaps overridden"),
        pytest.param("mask is not None", "", False, id="None by default"),
        pytest.param("mask is None", ", mask=x", True, id="perhaps None"),
        pytest.param("plain and mask is None", "", False, id="one of two"),
        pytest.param("plain or mask is None", "", True, id="either"),
    ],
)
def test_branch_that_no_caller_takes_is_information(test: str, passed: str, is_taken: bool) -> None:
    assert _severities(GUARDED.format(test=test, passed=passed)) == {Severity.ERROR if is_taken else INFO}


def test_branch_is_taken_by_who_calls_a_function_that_its_project_never_calls() -> None:
    without_caller = GUARDED.format(test="plain", passed="").partition("def run")[0]

    assert _severities(without_caller) == {Severity.ERROR}


def test_branch_is_taken_by_who_imports_a_function_that_a_package_exports() -> None:
    text = GUARDED.format(test="plain", passed="")

    assert _severities(text, exports="from pkg.ops import run\n") == {INFO}
    assert _severities(text, exports="from pkg.ops import launch\n") == {Severity.ERROR}
    assert _severities(text, exports="from .ops import *\n") == {Severity.ERROR}


def _severities(text: str, *, exports: str = "") -> set[Severity]:
    root = Path("/project")
    texts = {"pkg/__init__.py": exports, "pkg/ops.py": text}
    sources = [SourceFile(f"{root}/{path}", path, FileKind.PYTHON, one.encode()) for path, one in texts.items()]
    findings = scan(sources, Settings(root=root), cwd=root).findings
    return {one.severity for one in findings if one.code == "TRD201"}
