"""What each rule's fix makes of a program, whether that is safe, and that a second time changes nothing."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from triton_doctor.static.fix.rounds import Fixed

HEAD = "import os\nimport torch\nimport triton\nimport triton.language as tl\n\n"


def program(text: str) -> str:
    return HEAD + dedent(text)


PLAIN = """\
    @triton.jit
    def scale(x_ptr, {param}, BLOCK: tl.constexpr = 64):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x_ptr + at, 2 * tl.load(x_ptr + at, mask=at < n), mask=at < n)

    def launch(x):
        scale[(4,)](x, x.numel(), BLOCK=64)
    """
STEERING = """\
    @triton.jit{options}
    def fill(x_ptr, {param}, BLOCK: tl.constexpr):
        first = tl.program_id(0) * rows
        for row in range(first, first + rows):
            tl.store(x_ptr + row * BLOCK + tl.arange(0, BLOCK), 0)

    def launch(x):
        fill[(4,)](x, triton.cdiv(x.numel(), 4), BLOCK=64)
    """
UNREAD = """\
    @triton.jit
    def fill(
        x_ptr,
        {first}BLOCK: tl.constexpr,{last}
    ):
        tl.store(x_ptr + tl.arange(0, BLOCK), 0)

    def launch(x, n):
        fill[(4,)]({given})
        fill[(8,)](
            x,
            {line}64{keyword})
    """
KEYED = """\
    @triton.autotune(configs=[triton.Config({{"BLOCK": 64}}), triton.Config({{"BLOCK": 128}})], key={key})
    @triton.jit
    def scale(x_ptr, n_rows, n_cols, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x_ptr + at, n_cols, mask=at < n_rows)

    def launch(x, weight):
        scale[(4,)](x, x.numel(), weight.shape[1])
    """
LISTED = """\
    @triton.jit{options}
    def fill(x_ptr, n, BLOCK: tl.constexpr):
        tl.store(x_ptr + tl.arange(0, BLOCK), n)
    """
SHADOWED = """\
    @triton.jit
    def fill(x_ptr, n, BLOCK: tl.constexpr, num_warps: tl.constexpr, EVEN: tl.constexpr):
        at = tl.arange(0, BLOCK)
        tl.store(x_ptr + at, 0, mask=at < n if EVEN else None)

    def launch(x):
        fill[(4,)](x, {given})
    """
SETTING = '{imports}\n{setting}import triton\n\nx = torch.ones(4, device="cuda")\n'


@pytest.mark.parametrize(
    ("before", "after", "safe"),
    [
        pytest.param(PLAIN.format(param="n: tl.constexpr"), PLAIN.format(param="n"), True, id="TRD201: plain"),
        pytest.param(
            PLAIN.format(param="n: tl.constexpr = 8"), PLAIN.format(param="n=8"), True, id="TRD201: with a default"
        ),
        pytest.param(
            STEERING.format(options="", param="rows: tl.constexpr"),
            STEERING.format(options='(do_not_specialize=["rows"])', param="rows"),
            True,
            id="TRD201: where nothing is gained, not specialized on",
        ),
        pytest.param(
            STEERING.format(options='(do_not_specialize=["x_ptr"], noinline=True)', param="rows: tl.constexpr"),
            STEERING.format(options='(do_not_specialize=["x_ptr", "rows"], noinline=True)', param="rows"),
            True,
            id="TRD201: added to the list that is there",
        ),
        pytest.param(
            STEERING.format(options="(noinline=True)", param="rows: tl.constexpr"),
            STEERING.format(options='(noinline=True, do_not_specialize=["rows"])', param="rows"),
            True,
            id="TRD201: added to the options that are there",
        ),
        pytest.param(
            UNREAD.format(
                first="n: tl.constexpr,  # not used\n        ",
                last="",
                given="x, n, 64",
                line="n,\n            ",
                keyword="",
            ),
            UNREAD.format(first="", last="", given="x, 64", line="", keyword=""),
            True,
            id="TRD202: with its line and comment",
        ),
        pytest.param(
            UNREAD.format(
                first="",
                last="\n        n: tl.constexpr = 4",
                given="x, 64, n=n",
                line="",
                keyword=",\n            n=4",
            ),
            UNREAD.format(first="", last="", given="x, 64", line="", keyword=""),
            True,
            id="TRD202: the last, and by keyword",
        ),
        pytest.param(KEYED.format(key='["n_rows", "n_cols"]'), KEYED.format(key='["n_cols"]'), False, id="TRD301"),
        pytest.param(KEYED.format(key="['n_rows']"), KEYED.format(key="[]"), False, id="TRD301: the only name"),
        pytest.param(
            LISTED.format(options='(do_not_specialize=["BLOCK", "n"])'),
            LISTED.format(options='(do_not_specialize=["n"])'),
            True,
            id="TRD204: a constexpr",
        ),
        pytest.param(
            LISTED.format(options="(do_not_specialize=[1, 2, 7])"),
            LISTED.format(options="(do_not_specialize=[1])"),
            True,
            id="TRD204: by position, and no parameter at all",
        ),
        pytest.param(
            LISTED.format(options='(do_not_specialize=("m", "BLOCK"), noinline=True)'),
            LISTED.format(options="(noinline=True)"),
            True,
            id="TRD204: nothing left of the list",
        ),
        pytest.param(
            LISTED.format(options='(do_not_specialize=["m"])'), LISTED.format(options=""), True, id="TRD204: or of all"
        ),
        pytest.param(
            SHADOWED.format(given="x.shape[0], 64, 8, True"),
            SHADOWED.format(given="x.shape[0], 64, num_warps=8, EVEN=True"),
            False,
            id="TRD211",
        ),
    ],
)
def test_program_becomes(before: str, after: str, safe: bool, fixed: Callable[..., Fixed]) -> None:
    done = fixed({"a.py": program(before)}, unsafe=not safe)

    assert done.files["a.py"].after.decode() == program(after)
    assert not done.left
    if not safe:
        assert not fixed({"a.py": program(before)}).made
    assert not fixed({"a.py": program(after)}, unsafe=not safe).made


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            'import os\n\nos.environ["TRITON_INTERPRET"] = "1"\n\nimport torch', "import torch", id="import too"
        ),
        pytest.param(
            'import os, sys\nimport torch\nos.environ.setdefault("TRITON_INTERPRET", "1")  # for now\nprint(sys)',
            "import sys\nimport torch\nprint(sys)",
            id="one of two imports",
        ),
        pytest.param(
            'import os\nimport torch\nos.environ["TRITON_INTERPRET"] = "1"\nprint(os.sep)',
            "import os\nimport torch\nprint(os.sep)",
            id="an import in use stays",
        ),
    ],
)
def test_interpreter_mode_is_taken_out(before: str, after: str, fixed: Callable[..., Fixed]) -> None:
    rest = '\nimport triton\nx = torch.ones(4, device="cuda")\n'

    done = fixed({"a.py": before + rest})

    assert done.files["a.py"].after.decode().lstrip("\n") == after + rest


def test_interpreter_mode_without_a_gpu_in_sight_may_be_meant(fixed: Callable[..., Fixed]) -> None:
    text = 'import os\n\ndef debug():\n    os.environ["TRITON_INTERPRET"] = "1"\n\nimport triton\n'

    assert not fixed({"a.py": text}).made
    assert fixed({"a.py": text}, unsafe=True).files["a.py"].after == b"def debug():\n    pass\n\nimport triton\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("import triton  # triton-doctor: ignore[TRD201] sizes\n", "import triton\n", id="at a line's end"),
        pytest.param("# triton-doctor: ignore[TRD201]\nimport triton\n", "import triton\n", id="a line of its own"),
        pytest.param(
            "import triton  # noqa: F401  # triton-doctor: ignore[TRD201] why\n",
            "import triton  # noqa: F401\n",
            id="after another",
        ),
        pytest.param(
            "import triton  # triton-doctor: ignore[TRD201] why  # noqa: F401\n",
            "import triton  # noqa: F401\n",
            id="before another",
        ),
        pytest.param(
            'import os, triton\nos.environ["TRITON_INTERPET"] = "1"  # triton-doctor: ignore[TRD201, TRD104] so\n',
            'import os, triton\nos.environ["TRITON_INTERPET"] = "1"  # triton-doctor: ignore[TRD104] so\n',
            id="one of two codes",
        ),
        pytest.param(
            "# triton-doctor: disable[TRD201]\nimport triton\n# triton-doctor: enable[TRD201]\n",
            "import triton\n",
            id="a range, which takes two rounds",
        ),
    ],
)  # fmt: skip
def test_comment_that_silences_nothing_is_taken_out(before: str, after: str, fixed: Callable[..., Fixed]) -> None:
    assert fixed({"a.py": before}).files["a.py"].after.decode() == after


def test_misspelt_variable_becomes_what_was_meant(fixed: Callable[..., Fixed]) -> None:
    text = 'import os, triton\nos.environ["TRITON_CACHEDIR"] = "/tmp/x"\n'

    assert not fixed({"a.py": text}).made
    assert fixed({"a.py": text}, unsafe=True).files["a.py"].after.decode() == text.replace("CACHEDIR", "CACHE_DIR")


def test_misspelt_variable_is_left_where_what_was_meant_does_harm(fixed: Callable[..., Fixed]) -> None:
    assert not fixed({"a.py": 'import os, triton\nos.environ["TRITON_INTERPET"] = "1"\n'}, unsafe=True).made
