"""What a run saw of one axis of a tensor holds for the same axis elsewhere, and for no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.evidence.recorded import SOURCE, compile_event, process, weigh
from triton_doctor.finding import Severity, Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from triton_doctor.finding import Finding

OTHER = """

@triton.jit
def copy(x_ptr, out_ptr, rows: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + rows + at, tl.load(x_ptr + at))
"""
# Reading leaves `x.shape[1]` open.
OPEN = SOURCE.replace("x.shape[0]", "x.shape[1]").replace("n_rows", "size")
SEVEN = [compile_event(size, name="size") for size in (17, 18, 20, 21, 33, 40, 41)]
ONE_VALUE = [compile_event(17, m=m) for m in range(1, 9)]


def also_launched(source: str, value: str, name: str = "rows") -> str:
    """`source`, in which `launch` gives `copy` the value too."""
    return source + f"    copy[(8,)](x, out, {value}, BLOCK=64)\n" + OTHER.replace("rows", name)


def of_copy(findings: list[Finding]) -> list[Finding]:
    return [one for one in findings if one.facts.kernel == "copy"]


def test_axis_that_reading_leaves_open_is_shown_by_a_kernel_that_ran(tmp_path: Path) -> None:
    source = also_launched(OPEN, "x.shape[1]", "size")
    assert weigh(tmp_path, source=source) == []

    (finding,) = of_copy(weigh(tmp_path, process(SEVEN, 900), source=source))

    assert (finding.code, finding.severity, finding.message) == (
        "TRD201",
        Severity.WARNING,
        "`size` recompiles `copy` for each value of `x.shape[1]`",
    )
    assert finding.evidence is not None
    assert (finding.evidence.verdict, finding.evidence.text) == (
        Verdict.ADDED,
        "7 values seen of the same axis, `size` of `scale`",
    )


def test_axis_that_stayed_the_same_clears_what_was_not_launched(tmp_path: Path) -> None:
    source = also_launched(SOURCE, "x.shape[0]", "n_rows")

    (finding,) = of_copy(weigh(tmp_path, process(ONE_VALUE, 4000), source=source))

    assert finding.evidence is not None
    assert (finding.severity, finding.evidence.verdict, finding.evidence.text) == (
        Severity.INFO,
        Verdict.CLEARED,
        "1 value in 8 variants of the same axis, `n_rows` of `scale`",
    )


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("x.shape[2]", id="another axis"),
        pytest.param("out.shape[1]", id="another tensor"),
        pytest.param("x.shape[1] * m", id="what is computed from it and another"),
    ],
)
def test_another_size_is_left_open(tmp_path: Path, value: str) -> None:
    findings = weigh(tmp_path, process(SEVEN, 900), source=also_launched(OPEN, value, "size"))

    assert of_copy(findings) == []
