"""`check --baseline` and `--write-baseline`: what is known is left out, however it is moved or formatted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Doctor = Callable[..., Outcome]
    Write = Callable[..., Path]

SOURCE = """\
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, n_rows: tl.constexpr, NAME: tl.constexpr):
    tl.store(x_ptr + n_rows, tl.load(x_ptr) + NAME)


def launch(x):
    scale[(8,)](x, x.item() * 3, NAME='a')
"""
FORMATTED = """\
import triton
import triton.language as tl

# moved
@triton.jit
def scale(
    x_ptr,
    n_rows: tl.constexpr,
    NAME: tl.constexpr,
):
    tl.store(x_ptr + n_rows, tl.load(x_ptr) + NAME)


def launch(x):
    scale[(8,)](
        x,
        (
            x.item()  # rows
            * 3
        ),
        NAME="a",
    )
"""
KNOWN = "triton-doctor: 1 known finding left out by known.json\n"


@pytest.fixture
def known(doctor: Doctor, write: Write) -> None:
    write("a.py", SOURCE)
    outcome = doctor("check", "--baseline", "known.json", "--write-baseline")
    assert (outcome.status, outcome.out) == (0, "")
    assert outcome.err.startswith("triton-doctor: 1 finding written to known.json\nhint: ")


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("path", "source"),
    [
        pytest.param("a.py", SOURCE, id="as it was"),
        pytest.param("a.py", "# a\n# b\n" + SOURCE, id="moved lines"),
        pytest.param("a.py", FORMATTED, id="formatted anew"),
        pytest.param("a.py", SOURCE.replace("\n", "\r\n"), id="other line ends"),
    ],
)
def test_known_finding_is_left_out(doctor: Doctor, write: Write, path: str, source: str) -> None:
    write(path, source)

    outcome = doctor("check", "--baseline", "known.json")

    assert (outcome.status, outcome.err) == (0, KNOWN)
    assert outcome.out.startswith("no problems")


@pytest.mark.usefixtures("known")
def test_known_finding_is_left_out_where_its_file_was_moved(doctor: Doctor, write: Write, folder: Path) -> None:
    (folder / "a.py").rename(folder / "b.py")

    assert doctor("check", "--baseline", "known.json").status == 0


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("path", "source"),
    [
        pytest.param("a.py", SOURCE.replace("* 3", "* 4"), id="another value"),
        pytest.param("a.py", SOURCE.replace("n_rows", "rows"), id="another parameter"),
        pytest.param("a.py", SOURCE.replace("scale", "shift"), id="another kernel"),
        pytest.param("b.py", SOURCE, id="the same in another file"),
    ],
)
def test_new_finding_fails(doctor: Doctor, write: Write, path: str, source: str) -> None:
    write(path, source)

    outcome = doctor("check", "--baseline", "known.json", "--output-format", "concise")

    assert outcome.status == 1
    assert outcome.out.count("TRD201") == 1


def test_duplicates_count(doctor: Doctor, write: Write) -> None:
    write("a.py", SOURCE)
    doctor("check", "--write-baseline")
    known = json.loads(write("triton-doctor-baseline.json", _read(write)).read_text())
    assert len(known["findings"]) == 1
    # The same kernel and launch once more in the file: two findings of one fingerprint, one of them known.
    write("a.py", SOURCE + "\n\n" + SOURCE)

    outcome = doctor("check", "--baseline", "triton-doctor-baseline.json", "--output-format", "concise")

    assert (outcome.status, outcome.out.count("TRD201")) == (1, 1)
    assert doctor("check", "--write-baseline").status == 0
    assert '"count": 2' in _read(write)
    assert doctor("check", "--baseline", "triton-doctor-baseline.json").status == 0


def _read(write: Write) -> str:
    path = write("probe").parent / "triton-doctor-baseline.json"
    return path.read_text(encoding="utf-8")


@pytest.mark.usefixtures("known")
def test_entry_that_no_longer_occurs_is_told_and_does_not_fail(doctor: Doctor, write: Write) -> None:
    write("a.py", SOURCE.replace("x.item() * 3", "7"))

    outcome = doctor("check", "--baseline", "known.json")

    assert outcome.status == 0
    assert outcome.err == (
        "triton-doctor: 1 entry of known.json no longer found; --write-baseline drops them\n"
        "  TRD201 `n_rows` of `scale` in a.py\n"
    )


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["b.py"], id="another file"),
        pytest.param(["--ignore", "TRD201"], id="another rule"),
    ],
)
def test_entry_that_was_not_looked_for_is_not_called_gone(
    doctor: Doctor, write: Write, folder: Path, arguments: list[str]
) -> None:
    write("b.py", "import triton\n")
    before = (folder / "known.json").read_bytes()

    assert doctor("check", *arguments, "--baseline", "known.json").err == ""
    doctor("check", *arguments, "--baseline", "known.json", "--write-baseline")
    assert (folder / "known.json").read_bytes() == before


@pytest.mark.usefixtures("known")
def test_baseline_is_the_same_from_any_folder(
    doctor: Doctor, folder: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("inner/c.py", "import triton\n")
    monkeypatch.chdir(folder / "inner")

    assert doctor("check", "..", "--baseline", "../known.json").status == 0


@pytest.mark.usefixtures("known")
def test_setting_names_the_baseline_and_the_flag_wins(doctor: Doctor, write: Write) -> None:
    write("pyproject.toml", '[tool.triton-doctor]\nbaseline = "known.json"')
    write("empty.json", '{"schema": 1, "findings": []}')

    assert doctor("check").status == 0
    assert doctor("check", "--baseline", "empty.json").status == 1


def test_setting_names_the_baseline_to_write(doctor: Doctor, write: Write) -> None:
    write("a.py", SOURCE)
    write("pyproject.toml", '[tool.triton-doctor]\nbaseline = "kept/known.json"')
    write("kept/notes.txt")

    assert doctor("check").err.startswith("triton-doctor: there is no baseline kept/known.json\nhint: ")
    assert doctor("check", "--write-baseline").err == "triton-doctor: 1 finding written to kept/known.json\n"
    assert doctor("check").status == 0


def test_baseline_is_sorted_and_a_line_an_entry(doctor: Doctor, write: Write, folder: Path) -> None:
    write("b.py", SOURCE)
    write("a.py", SOURCE)
    doctor("check", "--write-baseline")

    first = (folder / "triton-doctor-baseline.json").read_bytes()
    doctor("check", "b.py", "a.py", "--write-baseline")

    assert (folder / "triton-doctor-baseline.json").read_bytes() == first
    lines = [line for line in first.decode().splitlines() if "TRD" in line]
    assert lines == sorted(lines)
    assert len(lines) == 2
    assert '"parameter": "n_rows", "text": "x.item() * 3"' in lines[0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(None, "there is no baseline known.json", id="missing"),
        pytest.param("", "known.json is no baseline", id="empty"),
        pytest.param("[]", "known.json is no baseline", id="a list"),
        pytest.param('{"schema": 1}', "known.json is no baseline", id="half"),
        pytest.param('{"schema": 1, "findings": [{"path": 3}]}', "known.json is no baseline", id="a number"),
        pytest.param('{"schema": 1, "findings": ["x"]}', "known.json is no baseline", id="a word"),
        pytest.param("<<<<<<< HEAD\n", "known.json is no baseline", id="a merge conflict"),
        pytest.param(b"\xff\xfe", "known.json is no baseline", id="other bytes"),
        pytest.param('{"schema": 9, "findings": []}', "known.json has schema 9", id="of a newer version"),
    ],
)
def test_baseline_that_cannot_be_read_is_two_lines(
    doctor: Doctor, write: Write, content: str | bytes | None, message: str
) -> None:
    write("a.py", SOURCE)
    if content is not None:
        write("known.json", content)

    outcome = doctor("check", "--baseline", "known.json")

    assert (outcome.status, outcome.out) == (2, "")
    first, second = outcome.err.splitlines()
    assert first.startswith(f"triton-doctor: {message}")
    assert second.startswith("hint: ")
    assert "--write-baseline" in second


def test_file_that_is_no_baseline_is_not_written_over(doctor: Doctor, write: Write) -> None:
    path = write("a.py", SOURCE)

    outcome = doctor("check", "--baseline", "a.py", "--write-baseline")

    assert outcome.err.startswith("triton-doctor: a.py is no baseline of triton-doctor\nhint: name another file")
    assert path.read_text(encoding="utf-8") == SOURCE
