"""One cause in many kernels is one block; the blocks of a kernel stay together, and the worst comes first."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from inline_snapshot import snapshot

from tests.report.example_scan import SUMMARY
from triton_doctor.finding import Evidence, Facts, Finding, Location, Severity, Span, Verdict
from triton_doctor.report import Form, Show, View, render
from triton_doctor.report.full import DETAILED, LONG, group_findings
from triton_doctor.static.scan import Scan
from triton_doctor.terminal import follows_links


def finding(
    kernel: str | None,
    line: int = 1,
    *,
    code: str = "TRD201",
    parameter: str | None = "n_rows",
    severity: Severity = Severity.WARNING,
    path: str = "ops.py",
) -> Finding:
    return Finding(
        path=path,
        span=Span(line, 5, line, 9),
        code=code,
        severity=severity,
        message=f"`{parameter}` recompiles `{kernel}` for each value of `x.shape[0]`",
        advice=f"drop the annotation of `{parameter}`",
        facts=Facts(
            kernel=kernel,
            kernel_location=Location("kernels.py", 100 + line) if kernel else None,
            parameter=parameter,
            variability="per_call",
            use="read",
        ),
    )


def blocks(*findings: Finding) -> list[list[list[int]]]:
    """The lines of each block of each kernel."""
    return [
        [[one.span.line for one in (block.finding, *block.others)] for block in kernel.blocks]
        for kernel in group_findings(findings)
    ]


def printed(*findings: Finding, width: int = 80, show: frozenset[Show] = frozenset()) -> str:
    view = View(
        lines_of=lambda path: [f"launch({number})" for number in range(50)], color=False, width=width, show=show
    )
    return render(Scan(findings=findings, summary=SUMMARY), Form.FULL, view)


def test_one_cause_in_several_kernels_is_one_block() -> None:
    assert blocks(finding("a", 1), finding("b", 2), finding("c", 3)) == [[[1, 2, 3]]]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(finding("b", 2, parameter="n_cols"), id="another parameter"),
        pytest.param(finding("b", 2, severity=Severity.ERROR), id="another severity"),
        pytest.param(finding("b", 2, code="TRD301"), id="another rule"),
        pytest.param(replace(finding("b", 2), advice="round it up"), id="another remedy"),
        pytest.param(
            replace(finding("b", 2), message="`n_rows` recompiles `b` for each value of `len(rows)`"),
            id="another value",
        ),
        pytest.param(
            replace(finding("b", 2), evidence=Evidence(verdict=Verdict.CONFIRMED, text="37 values seen")),
            id="what a recording says is about one kernel",
        ),
    ],
)
def test_another_cause_is_another_block(other: Finding) -> None:
    assert sum(len(kernel) for kernel in blocks(finding("a", 1), other)) == 2


def test_same_setting_in_several_files_is_one_block() -> None:
    settings = [finding(None, line, code="TRD102", parameter=None, path=f"{line}.yml") for line in (1, 2, 3)]

    assert blocks(*settings) == [[[1, 2, 3]]]


def test_blocks_of_a_kernel_stay_together_after_those_of_a_worse_one() -> None:
    first = [finding("mild", 1), finding("mild", 1, parameter="bs")]
    worse = finding("worse", 2, severity=Severity.ERROR, parameter="m")

    assert [kernel.kernel for kernel in group_findings([*first, worse])] == ["worse", "mild"]


def test_cause_with_more_places_comes_first_among_equals() -> None:
    assert blocks(finding("a", 1, parameter="m"), finding("b", 2), finding("c", 3)) == [[[2, 3]], [[1]]]


SAME = [finding(f"kernel_{line}", line, path=f"ops_{line % 10}.py") for line in range(1, 32)]


def test_cause_in_31_kernels_is_a_block_with_a_list() -> None:
    assert printed(*SAME) == snapshot("""\
ops_0.py:10:5: TRD201 constexpr-varies-per-call (warning)
  `n_rows` recompiles `kernel_10` for each value of `x.shape[0]`
   |
 9 | launch(8)
10 | launch(9)
   |     ^^^^
11 | launch(10)
   |
   = help: drop the annotation of `n_rows`
   = also: 30 kernels
  --> ops_0.py:20 `kernel_20`, 30 `kernel_30`
  --> ops_1.py:1 `kernel_1`, 11 `kernel_11`, 21 `kernel_21`, 31 `kernel_31`
  --> ops_2.py:2 `kernel_2`, 12 `kernel_12`, 22 `kernel_22`
  --> ops_3.py:3 `kernel_3`, 13 `kernel_13`, 23 `kernel_23`
  --> ops_4.py:4 `kernel_4`, 14 `kernel_14`, 24 `kernel_24`
  --> ops_5.py:5 `kernel_5`, 15 `kernel_15`, 25 `kernel_25`
  --> ops_6.py:6 `kernel_6`, 16 `kernel_16`, 26 `kernel_26`
  --> ops_7.py:7 `kernel_7`, 17 `kernel_17`, 27 `kernel_27`
      and 6 more in 2 files

31  TRD201 constexpr-varies-per-call
`triton-doctor rule TRD201` explains a rule
31 warnings in 1,214 files, 1 kernel, 9 launches (1 of unknown kernels)
""")


def test_list_fits_a_narrow_terminal_and_wraps_no_path() -> None:
    text = printed(*SAME, width=40)

    assert text == snapshot("""\
ops_0.py:10:5: TRD201 constexpr-varies-per-call (warning)
  `n_rows` recompiles `kernel_10` for
  each value of `x.shape[0]`
   |
 9 | launch(8)
10 | launch(9)
   |     ^^^^
11 | launch(10)
   |
   = help: drop the annotation of
           `n_rows`
   = also: 30 kernels
  --> ops_0.py
      20 `kernel_20`, 30 `kernel_30`
  --> ops_1.py
      1 `kernel_1`, 11 `kernel_11`, 21
      `kernel_21`, 31 `kernel_31`
  --> ops_2.py
      2 `kernel_2`, 12 `kernel_12`, 22
      `kernel_22`
  --> ops_3.py
      3 `kernel_3`, 13 `kernel_13`, 23
      `kernel_23`
  --> ops_4.py
      4 `kernel_4`, 14 `kernel_14`, 24
      `kernel_24`
  --> ops_5.py
      5 `kernel_5`, 15 `kernel_15`, 25
      `kernel_25`
  --> ops_6.py
      6 `kernel_6`, 16 `kernel_16`, 26
      `kernel_26`
  --> ops_7.py
      7 `kernel_7`, 17 `kernel_17`, 27
      `kernel_27`
      and 6 more in 2 files

31  TRD201 constexpr-varies-per-call
`triton-doctor rule TRD201` explains a
rule
31 warnings in 1,214 files, 1 kernel, 9 launches (1 of unknown kernels)
""")


def test_infos_are_one_line_until_they_are_asked_for() -> None:
    infos = [finding(f"kernel_{line}", line, code="TRD206", severity=Severity.INFO) for line in (1, 2)]

    assert printed(finding("a", 3), *infos) == snapshot("""\
ops.py:3:5: TRD201 constexpr-varies-per-call (warning)
  `n_rows` recompiles `a` for each value of `x.shape[0]`
  |
2 | launch(1)
3 | launch(2)
  |     ^^^^
4 | launch(3)
  |
  = help: drop the annotation of `n_rows`

2 notes are not listed (2 TRD206): `--show info` lists them
1 warning, 2 notes in 1,214 files, 1 kernel, 9 launches (1 of unknown kernels)
""")
    assert "TRD206 block-from-runtime-size (info)" in printed(*infos, show=frozenset({Show.INFO}))


def test_long_report_shows_the_worst_in_full_and_says_so() -> None:
    many = [finding(f"kernel_{line}", line, parameter=f"p{line}") for line in range(1, LONG + 2)]

    text = printed(*many)

    assert text.count("= help:") == DETAILED
    assert text.count("(warning)\n") == len(many)
    assert printed(*many, show=frozenset({Show.ALL})).count("= help:") == len(many)
    assert text[text.rindex("= help:") :] == snapshot("""\
= help: drop the annotation of `p10`

ops.py:11:5: TRD201 constexpr-varies-per-call (warning)
  `p11` recompiles `kernel_11` for each value of `x.shape[0]`
ops.py:12:5: TRD201 constexpr-varies-per-call (warning)
  `p12` recompiles `kernel_12` for each value of `x.shape[0]`
ops.py:13:5: TRD201 constexpr-varies-per-call (warning)
  `p13` recompiles `kernel_13` for each value of `x.shape[0]`
ops.py:14:5: TRD201 constexpr-varies-per-call (warning)
  `p14` recompiles `kernel_14` for each value of `x.shape[0]`
ops.py:15:5: TRD201 constexpr-varies-per-call (warning)
  `p15` recompiles `kernel_15` for each value of `x.shape[0]`
ops.py:16:5: TRD201 constexpr-varies-per-call (warning)
  `p16` recompiles `kernel_16` for each value of `x.shape[0]`

6 causes are shown without code: `--show all` shows it, or name a file
16  TRD201 constexpr-varies-per-call
`triton-doctor rule TRD201` explains a rule
16 warnings in 1,214 files, 1 kernel, 9 launches (1 of unknown kernels)
""")


def test_report_of_few_causes_is_drawn_in_full() -> None:
    few = [finding(f"kernel_{line}", line, parameter=f"p{line}") for line in range(1, LONG + 1)]

    assert printed(*few).count("= help:") == LONG


def test_code_links_to_its_page_where_the_terminal_follows_links() -> None:
    linked = View(lines_of=lambda path: (), color=True, width=80, links=True)
    scan = Scan(findings=(finding("a"),), summary=SUMMARY)

    text = render(scan, Form.FULL, linked)

    assert re.search(r"\x1b]8;[^;]*;file://[^\x1b]*/TRD201-constexpr-varies-per-call\.md\x1b", text)
    assert "\x1b]8;" not in render(scan, Form.FULL, replace(linked, links=False))


@pytest.mark.parametrize(
    ("environment", "follows"),
    [
        pytest.param({"TERM": "xterm-256color"}, False, id="of unknown make"),
        pytest.param({"TERM": "xterm-256color", "VTE_VERSION": "7200"}, True, id="gnome-terminal"),
        pytest.param({"TERM": "xterm-256color", "VTE_VERSION": "4200"}, False, id="an old gnome-terminal"),
        pytest.param({"TERM_PROGRAM": "vscode"}, True, id="vscode"),
        pytest.param({"TERM": "xterm-kitty"}, True, id="kitty"),
        pytest.param({"TERM": "tmux-256color", "TERM_PROGRAM": "iTerm.app"}, False, id="tmux inside iTerm"),
    ],
)
def test_links_are_written_to_terminals_that_follow_them(environment: dict[str, str], follows: bool) -> None:
    assert follows_links(environment) is follows


def test_parameter_that_follows_from_another_is_told_with_it() -> None:
    leading = finding("norm", 3)
    follower = finding("norm", 3, parameter="stride")
    follower = replace(follower, span=Span(4, 5, 4, 9), facts=replace(follower.facts, follows=("n_rows",)))

    text = printed(leading, follower, width=120)

    assert blocks(leading, follower) == [[[3]]]
    assert "also: `stride` (ops.py:4) follows from `n_rows`: drop the annotation of `stride`" in text


def test_parameter_that_follows_from_nothing_told_is_told_alone() -> None:
    info = finding("norm", 3, severity=Severity.INFO)
    follower = finding("norm", 3, parameter="stride")
    follower = replace(follower, span=Span(4, 5, 4, 9), facts=replace(follower.facts, follows=("n_rows",)))

    assert blocks(follower) == [[[4]]]
    assert blocks(info, follower) == [[[4], [3]]]
