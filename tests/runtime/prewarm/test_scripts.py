"""What of a script runs to have its kernel: what the kernel needs, and nothing else."""

import ast
from textwrap import dedent

import pytest

from triton_doctor.runtime.prewarm.scripts import select_statements


def selected(script: str, name: str = "kernel") -> str | None:
    """The statements of `script` that its kernel needs."""
    kept = select_statements(ast.parse(dedent(script)), "script.py", name, 1)
    return None if kept is None else ast.unparse(kept)


@pytest.mark.parametrize(
    ("script", "kept"),
    [
        pytest.param("import a, b\nx = a.work()\ndef kernel(x): x + 1", "def kernel(x):\n    x + 1", id="locals"),
        pytest.param("N = 3\nM = N\nwork(M)\ndef kernel(): M", "N = 3\nM = N\n\ndef kernel():\n    M", id="globals"),
        pytest.param(
            "c = []\nfor i in R:\n    print(i)\n    c.append(i)\nR = [1]\n@tune(c)\ndef kernel(): pass",
            "c = []\nfor i in R:\n    c.append(i)\nR = [1]\n\n@tune(c)\ndef kernel():\n    pass",
            id="a list that is filled",
        ),
        pytest.param(
            "if main():\n    train()\n    def kernel(): pass\nelse:\n    other()",
            "if main():\n\n    def kernel():\n        pass",
            id="below a guard",
        ),
        pytest.param(
            "try:\n    import a\nexcept ImportError:\n    a = None\nfinally:\n    work()\ndef kernel(): a",
            "try:\n    import a\nexcept ImportError:\n    a = None\n\ndef kernel():\n    a",
            id="an import that may fail",
        ),
        pytest.param(
            "import sys\nsys.path.insert(0, '.')\nwhile True:\n    N = 1\ndef kernel(): N",
            "import sys\nsys.path.insert(0, '.')\n\ndef kernel():\n    N",
            id="the state of the process, and nothing of a while",
        ),
        pytest.param(
            "import jit\nN = 2\nserver = start()\n@register\nclass Pack(Base, key=N):\n    M = N\n    port = listen()\n"
            "    @jit(M)\n    def kernel(): N\n    def run(self): server.run()",
            "import jit\nN = 2\n\nclass Pack:\n    M = N\n\n    @jit(M)\n    def kernel():\n        N",
            id="of a class the kernel and what it reads",
        ),
    ],
)
def test_statements_that_a_kernel_needs_are_kept_and_the_work_is_not(script: str, kept: str) -> None:
    assert selected(script) == kept


def test_kernel_that_only_a_function_makes_is_not_found() -> None:
    assert selected("def make():\n    def kernel(): pass\n    return kernel") is None
