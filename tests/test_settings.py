"""[tool.triton-doctor] and flags: what holds, and what is said of what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from triton_doctor.errors import DoctorError
from triton_doctor.finding import Severity
from triton_doctor.selection import is_selected
from triton_doctor.settings import Settings, load_settings, override

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Write = Callable[..., Path]

HEADER = "[tool.triton-doctor]\n"


def test_every_setting_is_read(folder: Path, write: Write) -> None:
    write(
        "pyproject.toml",
        HEADER
        + """
        select = ["TRD"]
        ignore = ["TRD901"]
        exclude = ["third_party/"]
        per-file-ignores = { "benchmarks/**" = ["TRD9"] }
        fail-on = "error"
        tests = ["checks/**"]
        demonstrations = ["sweeps/"]
        triton-version = "3.6"
        fixed = ["num_heads"]
        per-call = ["batch.size"]
        budgets = { "matmul_*" = 4 }
        """,
    )

    assert load_settings(folder / "src" / "a.py") == Settings(
        root=folder,
        select=("TRD",),
        ignore=("TRD901",),
        exclude=("third_party/",),
        per_file_ignores=(("benchmarks/**", ("TRD9",)),),
        fail_on=Severity.ERROR,
        tests=("checks/**",),
        demonstrations=("sweeps/",),
        triton_version="3.6",
        fixed=("num_heads",),
        per_call=("batch.size",),
        budgets=(("matmul_*", 4),),
    )


def test_nearest_pyproject_that_has_the_table_counts(folder: Path, write: Write) -> None:
    write("pyproject.toml", HEADER + 'fail-on = "info"')
    write("package/pyproject.toml", "[tool.other]\n")
    write("package/nearer/pyproject.toml", HEADER + 'fail-on = "error"')

    assert load_settings(folder / "package").fail_on is Severity.INFO
    assert load_settings(folder / "package" / "nearer" / "a.py").fail_on is Severity.ERROR


def test_no_pyproject_leaves_the_defaults(folder: Path) -> None:
    assert load_settings(folder) == Settings(root=folder)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        pytest.param('selct = ["TRD2"]', "has no setting `selct`", "did you mean `select`?", id="misspelt"),
        pytest.param("fail_on = 1", "has no setting `fail_on`", "did you mean `fail-on`?", id="snake case"),
        pytest.param(
            "zzz = 1",
            "has no setting `zzz`",
            "there are: baseline, budgets, demonstrations, exclude, ",
            id="unlike any",
        ),
        pytest.param('select = "TRD2"', ".select is 'TRD2'", "give codes or prefixes", id="no array"),
        pytest.param("ignore = [201]", ".ignore is [201]", "give codes or prefixes", id="no strings"),
        pytest.param('select = ["TRD998"]', "there is no rule TRD998 in ", "`triton-doctor rule`", id="no such rule"),
        pytest.param(
            'per-file-ignores = {"*" = ["X1"]}',
            "there is no rule X1 in ",
            "`triton-doctor rule`",
            id="no rule for a file",
        ),
        pytest.param('fail-on = "never"', ".fail-on is 'never'", 'give "info", "warning" or "error"', id="level"),
        pytest.param("triton-version = 3.6", ".triton-version is 3.6", 'give a version: "3.6"', id="a number"),
        pytest.param('triton-version = "new"', ".triton-version is 'new'", 'give a version: "3.6"', id="a word"),
        pytest.param('triton-version = "3.٣"', ".triton-version is '3.٣'", 'give a version: "3.6"', id="Arabic digits"),
        pytest.param(
            f'triton-version = "3.{"9" * 5000}"', ".triton-version is '3.9", "give a version", id="a long one"
        ),
        pytest.param(f"fixed = {'9' * 5000}", "does not parse: ", "reads its settings there", id="thousands of digits"),
        pytest.param('fixed = ["a b"]', ".fixed is ['a b']", "Python names and expressions", id="no expression"),
        pytest.param('per-call = ["batch."]', ".per-call is ['batch.']", "Python names", id="half an expression"),
        pytest.param("budgets = {a = -1}", ".budgets is {'a': -1}", "whole numbers", id="below zero"),
        pytest.param("budgets = {a = true}", ".budgets is {'a': True}", "whole numbers", id="no number"),
        pytest.param("select = [", "does not parse: ", "triton-doctor reads its settings there", id="no toml"),
        pytest.param("a = '\udcff'", "does not parse: ", "triton-doctor reads its settings there", id="no text"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_key(
    folder: Path, write: Write, text: str, message: str, hint: str
) -> None:
    path = write("pyproject.toml", (HEADER + text).encode(errors="surrogateescape"))

    with pytest.raises(DoctorError) as caught:
        load_settings(folder)

    assert str(path) in caught.value.message
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("[tool.triton-doctor]\n# what we look for\nselct = 1\n", 3, id="a key"),
        pytest.param("[tool.triton-doctor]\nselect = []\n'fail-on' = 3\n", 3, id="a quoted key"),
        pytest.param("[tool.other]\nselct = 1\n[ tool . triton-doctor ]  # ours\nselct = 1\n", 4, id="another table's"),
        pytest.param("[tool.triton-doctor]\n\n[tool.triton-doctor.budgets]\na = -1\n", 3, id="a table"),
        pytest.param("[tool]\ntriton-doctor.selct = 3\n", 2, id="a dotted key"),
        pytest.param("[tool.triton-doctor]\nselect = [\n  'TRD998',\n]\n", 2, id="a code"),
        pytest.param("\n[tool.triton_doctor]\nselect = []\n", 2, id="the table with an underscore"),
        pytest.param("\n[tool]\ntriton-doctor = 3\n", 3, id="no table"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(folder: Path, write: Write, text: str, line: int) -> None:
    path = write("pyproject.toml", text)

    with pytest.raises(DoctorError) as caught:
        load_settings(folder)

    assert caught.value.message.startswith(f"{path}:{line}: ") or f"{path}:{line}: " in caught.value.message


def test_table_with_an_underscore_is_told_how_it_is_written(folder: Path, write: Write) -> None:
    write("pyproject.toml", '[tool.triton_doctor]\nselect = ["TRD2"]\n')

    with pytest.raises(DoctorError, match=r"\[tool\.triton_doctor\] is not read") as caught:
        load_settings(folder)

    assert caught.value.hint == "write [tool.triton-doctor]"


def test_our_name_elsewhere_in_a_pyproject_is_no_setting(folder: Path, write: Write) -> None:
    write("pyproject.toml", '[tool.mypy]\npackages = ["triton_doctor", "triton-doctor"]\n')

    assert load_settings(folder) == Settings(root=folder)


def test_byte_order_mark_is_passed_over(folder: Path, write: Write) -> None:
    write("pyproject.toml", b"\xef\xbb\xbf" + HEADER.encode() + b'fail-on = "info"\n')

    assert load_settings(folder).fail_on is Severity.INFO


def test_path_of_a_baseline_that_is_too_long_ends_with_one_line(doctor: Callable[..., Outcome], write: Write) -> None:
    write("pyproject.toml", HEADER + f'baseline = "{"a" * 5000}"\n')
    write("a.py", "import triton\n")

    outcome = doctor("check")

    assert outcome.status == 2
    assert "file name too long" in outcome.err


def test_table_that_is_none_is_an_error(folder: Path, write: Write) -> None:
    write("pyproject.toml", "[tool]\ntriton-doctor = 3")

    with pytest.raises(DoctorError, match=r"tool\.triton-doctor is not a table"):
        load_settings(folder)


@pytest.mark.parametrize(
    ("code", "select", "ignore", "on"),
    [
        pytest.param("TRD201", (), (), True, id="all by default"),
        pytest.param("TRD201", ("TRD2",), (), True, id="by prefix"),
        pytest.param("TRD101", ("TRD2",), (), False, id="not among them"),
        pytest.param("TRD201", (), ("TRD2",), False, id="ignored by prefix"),
        pytest.param("TRD201", ("TRD201",), ("TRD2",), True, id="the longer prefix selects"),
        pytest.param("TRD201", ("TRD2",), ("TRD201",), False, id="the longer prefix ignores"),
        pytest.param("TRD201", ("TRD201",), ("TRD201",), False, id="ignore wins where they are equal"),
    ],
)
def test_longer_prefix_decides(code: str, select: tuple[str, ...], ignore: tuple[str, ...], on: bool) -> None:
    assert is_selected(code, select=select, ignore=ignore) is on


def test_flags_win_over_settings(folder: Path) -> None:
    settings = Settings(root=folder, ignore=("TRD900",), fail_on=Severity.INFO)

    assert override(settings, select=(), ignore=("TRD901",), fail_on=None).ignore == ("TRD900", "TRD901")
    assert override(settings, select=("TRD900",), ignore=(), fail_on=None).ignore == ()
    assert override(settings, select=(), ignore=(), fail_on=Severity.ERROR).fail_on is Severity.ERROR
    assert override(settings, select=(), ignore=(), fail_on=None).fail_on is Severity.INFO
