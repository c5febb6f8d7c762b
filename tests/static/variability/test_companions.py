"""A message names the parameters that change with the one it is about, and its remedy is for all of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from triton_doctor.settings import Settings
from triton_doctor.static.scan import scan
from triton_doctor.static.sources.files import FileKind, SourceFile

if TYPE_CHECKING:
    from triton_doctor.finding import Finding

KERNEL = """\
import torch
import triton
import triton.language as tl


@triton.jit
def work(out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    {body}


def launch(out, x, y, lengths, tokens):
    n = len(lengths)
    {before}
    work[(1,)](out, {arguments})
"""


LIMITED = "n_tokens, limit = x.shape[0], tokens.limit"


def findings_of(source: str) -> dict[str, Finding]:
    """What is reported of each parameter in `source`."""
    file = SourceFile("a.py", "a.py", FileKind.PYTHON, source.encode())
    found = scan([file], Settings(root=Path()), cwd=Path()).findings
    return {one.facts.parameter or "": one for one in found if one.code in ("TRD201", "TRD202", "TRD301")}


def findings(arguments: str, before: str = "pass", body: str = "tl.store(out, A + B + C)") -> dict[str, Finding]:
    """What is reported of each parameter of a launch with `arguments`."""
    return findings_of(KERNEL.format(arguments=arguments, before=before, body=body))


def clause(finding: Finding) -> str:
    """The part of its message about other parameters."""
    return finding.message.partition("; ")[2]


def together(finding: Finding) -> str:
    """The part of its advice about other parameters."""
    return (finding.advice or "").partition("; the kernel compiles for what changes with it too: also ")[2]


@pytest.mark.parametrize(
    ("arguments", "before", "others"),
    [
        pytest.param(
            "n, triton.cdiv(n, 64), 64",
            "pass",
            "`B` changes with it and recompiles the kernel too",
            id="a quotient",
        ),
        pytest.param(
            "rows, rows * heads, triton.cdiv(rows, 8)",
            "rows, length, heads, width = x.shape",
            "`B` and `C` change with it and recompile the kernel too",
            id="a product and a quotient",
        ),
        pytest.param(
            "n_rows, x.numel(), 64",
            "n_rows = x.shape[0]",
            "`B` changes with it and recompiles the kernel too",
            id="all elements of a tensor of unknown rank",
        ),
        pytest.param(
            "n_rows, n_tokens, 64",
            "assert x.shape[0] == y.shape[0]\n    n_rows, n_tokens = x.shape[0], y.shape[0]",
            "`B` changes with it and recompiles the kernel too",
            id="an axis that a check requires to be equal",
        ),
        pytest.param(
            "n_rows, n_tokens, 64",
            "n_rows, width = x.shape\n    n_tokens, other = y.shape\n    assert (n_rows, width) == (n_tokens, other)",
            "`B` changes with it and recompiles the kernel too",
            id="names of axes that a check requires to be equal",
        ),
        pytest.param(
            "n_rows, n_tokens, 64",
            "n_rows, n_tokens = x.shape[0], y.shape[0]",
            "",
            id="an axis of another tensor",
        ),
        pytest.param("n, len(tokens), 64", "pass", "", id="another length"),
        pytest.param("n, min(512, n), 64", "pass", "", id="a size that most data cap"),
    ],
)
def test_message_names_what_changes_with_the_value(arguments: str, before: str, others: str) -> None:
    assert clause(findings(arguments, before)["A"]) == others


PASSED_ON = """\
import triton
import triton.language as tl


@triton.jit
def attend(out, A: tl.constexpr, B: tl.constexpr):
    tl.store(out, A + B)


def forward(out, max_seqlens_q, max_seqlens_k):
    attend[(triton.cdiv(max_seqlens_q, 64),)](out, max_seqlens_q, max_seqlens_k)


def prefill(out, longest, other):
    forward(out, longest, {passed})
"""
IMAGES = """\
import triton
import triton.language as tl


@triton.jit
def scale(out, A: tl.constexpr, B: tl.constexpr):
    tl.store(out, A + B)


def launch(out, images):
    N, C, H, W = images.shape
    scale[(1,)](out, H * W, {size})
"""


@pytest.mark.parametrize(
    ("source", "others"),
    [
        pytest.param(
            PASSED_ON.format(passed="longest"), "`B` changes with it and recompiles the kernel too", id="same"
        ),
        pytest.param(PASSED_ON.format(passed="other"), "", id="another is passed"),
        pytest.param(
            IMAGES.format(size="C * H * W"), "`B` changes with it and recompiles the kernel too", id="product"
        ),
        pytest.param(IMAGES.format(size="C"), "", id="another axis"),
    ],
)
def test_message_names_undecided_ones_that_are_sure_to_change_with_the_value(source: str, others: str) -> None:
    assert clause(findings_of(source)["A"]) == others


REPLACED_IN_THE_KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def scan(k, offsets, T: tl.constexpr, NT: tl.constexpr, VARLEN: tl.constexpr):
    if VARLEN:
        T = tl.load(offsets + 1) - tl.load(offsets)
    tl.store(k, T + NT)


def launch(k, u, offsets, head_first):
    if head_first:
        B, H, T, K, V = *k.shape, u.shape[-1]
    else:
        B, T, H, K, V = *k.shape, u.shape[-1]
    NT = triton.cdiv(T, 64) if offsets is None else offsets[-1].item()
    scan[(1,)](k, offsets, T, NT, VARLEN=offsets is not None)
"""


def test_message_names_what_varies_by_an_axis_that_only_the_kernel_decides() -> None:
    found = findings_of(REPLACED_IN_THE_KERNEL)

    assert clause(found["T"]) == "`NT` changes with it and recompiles the kernel too"
    assert clause(found["NT"]) == "`T` changes with it and recompiles the kernel too"


UNFOLLOWED = """\
import triton
import triton.language as tl


@triton.jit
def attend(q, A: tl.constexpr, B: tl.constexpr):
    tl.store(q, A + B)


def forward(q):
    size = q.shape[1]
    attend[(1,)](q, size, {value})


def call(x, lengths, tokens):
    forward(x.reshape(4, len(lengths) * len(tokens), len(lengths) + len(tokens), 64))


def call_packed(x):
    n_tokens, n_rows = x.shape[0], x.shape[1]
    forward(x.reshape(4, n_tokens + n_rows, n_tokens + n_rows, 64))
"""


@pytest.mark.parametrize(
    ("value", "others"),
    [
        pytest.param("q.shape[2]", "", id="another axis"),
        pytest.param("triton.cdiv(q.shape[2], 64)", "", id="a quotient of another axis"),
        pytest.param(
            "triton.cdiv(size, 64)", "`B` changes with it and recompiles the kernel too", id="a quotient of this axis"
        ),
    ],
)
def test_axes_of_a_shape_that_is_not_followed_do_not_change_together(value: str, others: str) -> None:
    assert clause(findings_of(UNFOLLOWED.format(value=value))["A"]) == others


@pytest.mark.parametrize(
    ("arguments", "before", "body", "remedy"),
    [
        pytest.param(
            "n, triton.cdiv(n, 64), 64",
            "pass",
            "tl.store(out, A + B + C)",
            "drop the annotation of `B`",
            id="plain arguments",
        ),
        pytest.param(
            "n, triton.cdiv(n, 64), 64",
            "pass",
            "tl.store(out + tl.arange(0, B), A + C)",
            "fix or round up `B`, the size of a block",
            id="the size of a block",
        ),
        pytest.param(
            "n, triton.cdiv(n, 64), 64",
            "pass",
            "tl.store(out + tl.arange(0, B), A + B + C)",
            "give the block that `B` sizes a constexpr of its own",
            id="the size of a block and more",
        ),
        pytest.param(
            "n, triton.cdiv(n, 64), 64",
            "pass",
            "tl.store(out, A + C)",
            "remove `B`, which the kernel never reads",
            id="never read",
        ),
        pytest.param(
            "n, triton.cdiv(n, 64), n + 1",
            "pass",
            "for i in tl.static_range(B):\n        tl.store(out + i, A + C)",
            "drop the annotation of `B` with a loop over `range`, and drop the annotation of `C`",
            id="an unrolled loop and a plain argument",
        ),
    ],
)
def test_remedy_says_what_to_do_about_each_that_changes_with_the_value(
    arguments: str, before: str, body: str, remedy: str
) -> None:
    assert together(findings(arguments, before, body)["A"]) == remedy


def test_remedy_for_what_follows_from_others_includes_them() -> None:
    found = findings("n, n * 16, 64")

    assert found["B"].facts.follows == ("A",)
    assert together(found["B"]) == "drop the annotation of `A`"


def test_removal_of_what_is_never_read_ends_no_compiles_while_another_changes() -> None:
    found = findings("n, triton.cdiv(n, 64), 64", body="tl.store(out, A + C)")

    assert found["B"].code == "TRD202"
    assert together(found["B"]) == "drop the annotation of `A`"


def test_message_does_not_name_what_an_unknown_limit_may_hold() -> None:
    found = findings("n_tokens, min(limit, n_tokens), n_tokens * limit // max(limit, n_tokens)", LIMITED)

    assert clause(found["A"]) == ""


TUNED = """\
import triton
import triton.language as tl

CONFIGS = [triton.Config({{"BLOCK": 64}}), triton.Config({{"BLOCK": 128}})]


@triton.autotune(configs=CONFIGS, key=[{key}])
@triton.jit
def attend(x, T, M, NT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, T + M + NT)


def launch(x, lengths):
    n = len(lengths)
    attend[(1,)](x, n, n + 1, triton.cdiv(n, 64))
"""


def test_constexpr_names_what_changes_with_it_in_the_key() -> None:
    found = findings_of(TUNED.format(key='"T"'))["NT"]

    assert clause(found) == "`T` changes with it and is in the autotune key"
    assert together(found) == "take `T` out of the autotune key"


def test_name_in_the_key_names_the_constexprs_and_names_that_change_with_it() -> None:
    found = findings_of(TUNED.format(key='"T", "M"'))["T"]

    assert found.code == "TRD301"
    assert clause(found) == "`M` in the key changes too; `NT` changes with it and recompiles the kernel too"
    assert (found.advice or "").startswith("take `T` and `M` out of the key; where the best config depends on them")
