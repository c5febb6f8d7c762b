"""The flags of `check` that fix: what they write, what they say, and how they end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from inline_snapshot import snapshot

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Doctor = Callable[..., Outcome]
    Write = Callable[..., Path]

KERNELS = """\
import triton
import triton.language as tl


@triton.jit
def fill(x_ptr, n: tl.constexpr, BLOCK: tl.constexpr, num_warps: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, 0, mask=at < n)


def launch(x):
    fill[(4,)](x, x.numel(), 64, 8)
"""
SAFELY = KERNELS.replace("n: tl.constexpr", "n")
WHOLLY = SAFELY.replace("64, 8", "64, num_warps=8")


def test_report_says_how_many_are_fixable(doctor: Doctor, write: Write) -> None:
    write("a.py", KERNELS)

    outcome = doctor("check", "--output-format", "concise")

    assert outcome.out.splitlines()[-1] == snapshot(
        "2 warnings (fixable: 1 with `--fix`, 1 with `--fix --unsafe-fixes`) in 1 file, 1 kernel, 1 launch"
    )
    assert outcome.status == 1


def test_fix_writes_what_is_safe_and_reports_the_rest(doctor: Doctor, write: Write) -> None:
    path = write("a.py", KERNELS)

    outcome = doctor("check", "--fix", "--output-format", "concise")

    assert path.read_text(encoding="utf-8") == SAFELY
    assert outcome.status == 1
    assert outcome.err == snapshot("""\
a.py:12: TRD201 make `n` of `fill` a plain argument
triton-doctor: fixed 1 problem (1 TRD201) in 1 file
""")
    assert outcome.out == snapshot("""\
a.py:12:34: warning: TRD211 `8` is passed to `num_warps` of `fill` by position: this sets only the parameter, and the kernel runs with Triton's default `num_warps`
1 warning (fixable: 1 with `--fix --unsafe-fixes`) in 1 file, 1 kernel, 1 launch
""")  # noqa: E501


def test_unsafe_fixes_are_made_when_they_are_asked_for(doctor: Doctor, write: Write) -> None:
    path = write("a.py", KERNELS)

    outcome = doctor("check", "--fix", "--unsafe-fixes")

    assert path.read_text(encoding="utf-8") == WHOLLY
    assert outcome.status == 0
    assert outcome.err == snapshot("""\
a.py:12: TRD201 make `n` of `fill` a plain argument
a.py:12: TRD211 give `num_warps` of `fill` by name
triton-doctor: fixed 2 problems (1 TRD201, 1 TRD211) in 1 file
""")


def test_second_time_changes_nothing(doctor: Doctor, write: Write) -> None:
    path = write("a.py", KERNELS)
    doctor("check", "--fix", "--unsafe-fixes")
    before = path.stat().st_mtime_ns, path.read_bytes()

    outcome = doctor("check", "--fix", "--unsafe-fixes")

    assert (outcome.status, outcome.err) == (0, "")
    assert (path.stat().st_mtime_ns, path.read_bytes()) == before


def test_diff_shows_and_writes_nothing(doctor: Doctor, write: Write) -> None:
    path = write("a.py", KERNELS)

    outcome = doctor("check", "--diff")

    assert path.read_text(encoding="utf-8") == KERNELS
    assert outcome.status == 1
    assert outcome.out == snapshot("""\
--- a/a.py
+++ b/a.py
@@ -3,7 +3,7 @@
 \n\
 \n\
 @triton.jit
-def fill(x_ptr, n: tl.constexpr, BLOCK: tl.constexpr, num_warps: tl.constexpr):
+def fill(x_ptr, n, BLOCK: tl.constexpr, num_warps: tl.constexpr):
     at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
     tl.store(x_ptr + at, 0, mask=at < n)
 \n\
""")
    assert doctor("check", "--diff", "--select", "TRD1").status == 0


def test_only_what_is_selected_and_not_silenced_is_fixed(doctor: Doctor, write: Write) -> None:
    silenced = KERNELS.replace("64, 8)", "64, 8)  # triton-doctor: ignore[TRD201, TRD211] few")
    path = write("a.py", silenced)

    doctor("check", "--fix", "--unsafe-fixes")
    doctor("check", "--fix", "--unsafe-fixes", "--select", "TRD1")

    assert path.read_text(encoding="utf-8") == silenced


def test_sarif_carries_what_to_replace(doctor: Doctor, write: Write) -> None:
    write("a.py", KERNELS)

    results = json.loads(doctor("check", "--output-format", "sarif").out)["runs"][0]["results"]

    assert [result["fixes"] for result in results] == snapshot(
        [
            [
                {
                    "description": {"text": "make `n` of `fill` a plain argument (safe)"},
                    "artifactChanges": [
                        {
                            "artifactLocation": {"uri": "a.py"},
                            "replacements": [
                                {
                                    "deletedRegion": {
                                        "startLine": 6,
                                        "startColumn": 18,
                                        "endLine": 6,
                                        "endColumn": 32,
                                    },
                                    "insertedContent": {"text": ""},
                                }
                            ],
                        }
                    ],
                }
            ],
            [
                {
                    "description": {"text": "give `num_warps` of `fill` by name (unsafe)"},
                    "artifactChanges": [
                        {
                            "artifactLocation": {"uri": "a.py"},
                            "replacements": [
                                {
                                    "deletedRegion": {
                                        "startLine": 12,
                                        "startColumn": 34,
                                        "endLine": 12,
                                        "endColumn": 34,
                                    },
                                    "insertedContent": {"text": "num_warps="},
                                }
                            ],
                        }
                    ],
                }
            ],
        ]
    )


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--unsafe-fixes"], "triton-doctor: --unsafe-fixes needs --fix or --diff"),
        (["--verify"], "triton-doctor: --verify needs --fix or --diff"),
        (["--fix", "--diff"], "triton-doctor: --diff writes nothing, --fix does"),
        (["--fix", "-"], "triton-doctor: fixes need a file, and - is stdin"),
    ],
)
def test_flags_that_make_no_sense_are_refused(flags: list[str], said: str, doctor: Doctor, write: Write) -> None:
    write("a.py", KERNELS)

    outcome = doctor("check", *flags)

    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.splitlines()[0] == said


def test_known_findings_are_not_fixed(doctor: Doctor, write: Write) -> None:
    path = write("a.py", KERNELS)
    doctor("check", "--write-baseline")

    outcome = doctor("check", "--fix", "--unsafe-fixes", "--baseline", "triton-doctor-baseline.json")

    assert outcome.status == 0
    assert path.read_text(encoding="utf-8") == KERNELS
