"""The verb `check`: what it prints where, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from inline_snapshot import snapshot

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

    Doctor = Callable[..., Outcome]
    Write = Callable[..., Path]

ROOT = Path(__file__).parent.parent.parent
BROKEN = "from triton import jit\n\ndef launch(x:\n    pass\n"
UNUSED = "import triton  # triton-doctor: ignore[TRD900]\n"


def test_finding_is_shown_in_full_by_default(doctor: Doctor, write: Write) -> None:
    write("src/a.py", UNUSED)

    outcome = doctor("check")

    assert (outcome.status, outcome.err) == (1, "")
    assert outcome.out == snapshot("""\
src/a.py:1:16: TRD901 unused-suppression (warning)
  `ignore[TRD900]` silences nothing
  |
1 | import triton  # triton-doctor: ignore[TRD900]
  |                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = help: remove it

1 warning (fixable: 1 with `--fix`) in 1 file, 0 kernels, 0 launches
""")


def test_clean_folder_ends_with_zero(doctor: Doctor, write: Write) -> None:
    write("a.py", "import triton\n")

    assert doctor("check", ".") == doctor("check", "a.py")
    assert doctor("check").status == 0


@pytest.mark.parametrize(
    ("flags", "status"),
    [
        pytest.param([], 1, id="a warning fails"),
        pytest.param(["--fail-on", "info"], 1, id="at the level"),
        pytest.param(["--fail-on", "error"], 0, id="below the level"),
        pytest.param(["--exit-zero"], 0, id="never"),
        pytest.param(["--select", "TRD901"], 0, id="another rule"),
        pytest.param(["--select", "TRD901,TRD9"], 1, id="a prefix in a list"),
        pytest.param(["--select", "TRD901", "--select", "TRD900"], 1, id="an option twice"),
        pytest.param(["--ignore", "TRD900"], 0, id="ignored"),
        pytest.param(["--ignore", "TRD9", "--select", "TRD900"], 1, id="the longer prefix decides"),
    ],
)
def test_exit_status_follows_selection_and_level(doctor: Doctor, write: Write, flags: list[str], status: int) -> None:
    write("a.py", BROKEN)

    assert doctor("check", *flags).status == status


def test_settings_are_found_from_the_first_path_and_flags_win(doctor: Doctor, write: Write) -> None:
    write("package/pyproject.toml", '[tool.triton-doctor]\nignore = ["TRD900"]')
    write("package/a.py", BROKEN)

    assert doctor("check", "package").status == 0
    assert doctor("check", "package", "--select", "TRD900").status == 1


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        pytest.param(["check", "gone"], "there is no file or folder gone", "the working directory is ", id="path"),
        pytest.param(["check", ""], "a path is empty", ". is the working directory", id="empty path"),
        pytest.param(["check", "x" * 300], "there is no file or folder xxx", "the working", id="path that is too long"),
        pytest.param(["check", "--select", "TRD902"], "there is no rule TRD902 in --select", "did you mean", id="code"),
        pytest.param(
            ["check", "--ignore", "E501"], "there is no rule E501 in --ignore", "`triton-doctor rule`", id="noqa"
        ),
        pytest.param(
            ["check", "--select", ""], "there is no rule `` in --select", "`triton-doctor rule`", id="no code"
        ),
        pytest.param(
            ["check", "--slect", "TRD9"], "no such option: --slect", "`triton-doctor check --help`", id="option"
        ),
        pytest.param(
            ["check", "--output-format", "xml"], "'xml' is not one of", "`triton-doctor check --help`", id="form"
        ),
        pytest.param(["check", "--fail-on"], "'--fail-on' requires an argument", "--help`", id="no argument"),
        pytest.param(["check", "-o", "no/such/folder/out"], "out cannot be written", "names a file", id="file"),
        pytest.param(
            ["check", "--statistics", "--output-format", "json"],
            "--statistics cannot be combined with",
            "leave one",
            id="both",
        ),
        pytest.param(["check", "-", "a.py"], "`-` (stdin) cannot be combined", "alone", id="stdin and a file"),
        pytest.param(["check", "--stdin-filename", "a.py"], "--stdin-filename needs", "-", id="no stdin"),
        pytest.param(["chekc"], "no such command 'chekc'", "`triton-doctor --help`", id="verb"),
        pytest.param(["src/"], "no such command 'src/'", "`triton-doctor check src/`", id="path in place of a verb"),
        pytest.param(["rule", "-x"], "rule takes [CODES]", "`triton-doctor rule`", id="option of no rule"),
        pytest.param(["rule", "TRD999"], "there is no rule TRD999", "`triton-doctor rule`", id="rule that is none"),
        pytest.param(["rule", "--output-format", "xml", "TRD900"], "rule takes [CODES]", "rule", id="form of a rule"),
    ],
)
def test_what_the_user_can_put_right_is_two_lines(
    doctor: Doctor, write: Write, arguments: list[str], message: str, hint: str
) -> None:
    write("src/a.py", UNUSED)

    outcome = doctor(*arguments)

    assert (outcome.status, outcome.out) == (2, "")
    first, second = outcome.err.splitlines()
    assert first.startswith("triton-doctor: ")
    assert message in first
    assert second.startswith("hint: ")
    assert hint in second


def test_bad_setting_is_two_lines(doctor: Doctor, write: Write) -> None:
    path = write("pyproject.toml", '[tool.triton-doctor]\nselekt = ["TRD9"]')

    outcome = doctor("check")

    assert outcome.status == 2
    assert outcome.err == (
        f"triton-doctor: {path}:2: tool.triton-doctor has no setting `selekt`\nhint: did you mean `select`?\n"
    )


def test_stdin_is_checked_under_the_name_that_it_is_given(doctor: Doctor) -> None:
    outcome = doctor("check", "-", "--stdin-filename", "src/a.py", "--output-format", "concise", stdin=UNUSED.encode())

    assert outcome.status == 1
    assert outcome.out.startswith("src/a.py:1:16: warning: TRD901 ")


def test_lines_from_stdin_are_quoted(doctor: Doctor) -> None:
    assert "1 | import triton" in doctor("check", "-", stdin=UNUSED.encode()).out


def test_report_goes_to_a_file(doctor: Doctor, write: Write, folder: Path) -> None:
    write("a.py", UNUSED)

    outcome = doctor("check", "-o", "found.json")

    assert outcome == type(outcome)(1, "", "")
    assert json.loads((folder / "found.json").read_text(encoding="utf-8"))["findings"][0]["code"] == "TRD901"


def test_statistics_stand_in_for_the_findings(doctor: Doctor, write: Write) -> None:
    write("a.py", UNUSED)
    write("b.py", BROKEN)
    write("c.py", BROKEN)

    assert doctor("check", "--statistics").out == snapshot("""\
2  TRD900  unreadable-source
1  TRD901  unused-suppression
3 warnings (fixable: 1 with `--fix`) in 3 files, 0 kernels, 0 launches
""")


def test_folder_without_python_says_so(doctor: Doctor, write: Write) -> None:
    write("notes.txt")

    outcome = doctor("check")

    assert (outcome.status, outcome.err) == (0, "triton-doctor: no Python files under .\n")


@pytest.mark.parametrize(
    ("variables", "colored"),
    [
        pytest.param({}, False, id="no terminal"),
        pytest.param({"FORCE_COLOR": "1"}, True, id="FORCE_COLOR"),
        pytest.param({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, id="NO_COLOR wins"),
    ],
)
def test_color_is_used_when_wished(
    doctor: Doctor,
    write: Write,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    colored: bool,
) -> None:
    write("a.py", UNUSED)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert ("\x1b[" in doctor("check").out) is colored


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "triton_doctor", *arguments]


def environment(**variables: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **variables}


def test_reader_that_leaves_is_no_error(folder: Path, write: Write) -> None:
    for number in range(300):
        write(f"{number}.py", UNUSED)
    with subprocess.Popen(
        command("check"), cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.read(10)
        process.stdout.close()

        assert process.stderr.read() == b""


def test_interrupt_ends_with_130_and_no_traceback(folder: Path) -> None:
    with subprocess.Popen(
        command("check", "-"), cwd=folder, env=environment(), stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stderr
        process.stdin.write(b"#" * (1 << 20))
        process.stdin.flush()  # more than a pipe holds: it is being read
        process.send_signal(signal.SIGINT)
        process.stdin.close()  # a signal between two reads is heard once the next one ends

        assert process.wait(timeout=600) == 130
        assert process.stderr.read() == b""


def test_output_that_the_terminal_cannot_spell_is_escaped(folder: Path, write: Write) -> None:
    write("\N{GREEK SMALL LETTER PI}.py", UNUSED)

    done = subprocess.run(
        command("check", "--output-format", "concise"),
        cwd=folder,
        env=environment(PYTHONIOENCODING="ascii", PYTHONUTF8="0"),
        capture_output=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout.startswith(b"\\u03c0.py:1:16: warning: TRD901")
