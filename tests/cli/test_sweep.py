"""`triton-doctor sweep`: what it prints, writes and exits with."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests.tritons import skip_without
from triton_doctor.runtime.recording import Recording

ROOT = Path(__file__).parent.parent.parent
ROWS = f"{ROOT}/fixtures/sweeps/rows.py:forward"
IMPORTED = ("rows", "broken", "leaving", "needy", "empty", "loud")
SPANS = ("--vary", "batch=1..8", "--vary", "length=1..512")


@pytest.fixture(autouse=True)
def _leave_imports(monkeypatch):
    """Imports of one test, and their paths, are no other's."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in IMPORTED:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield
    for name in IMPORTED:
        sys.modules.pop(name, None)


def test_report_goes_to_stdout_and_the_status_is_0(doctor):
    done = doctor("sweep", ROWS, *SPANS)

    assert done.status == 0
    assert re.search(r"rows_per_program +\D+cdiv\(batch\*length, 132\) +unbounded +\d+ values of 32 ", done.out)
    assert done.err == ""


def test_json_is_one_object(doctor, folder):
    done = doctor("sweep", ROWS, *SPANS, "-o", "swept.json")

    assert (done.status, done.out) == (0, "")
    assert json.loads((folder / "swept.json").read_text())["kernels"][0]["kernel"] == "norm_rows"


def test_what_the_function_prints_is_not_in_the_report(doctor, write):
    write("loud.py", "print('imported')\ndef f(n):\n    print('called')\n")

    done = doctor("sweep", "loud.py:f", "--vary", "n=1,2", "--output-format", "json")

    assert json.loads(done.out)["kernels"] == []
    assert done.err.splitlines()[:2] == ["imported", "called"]


@pytest.mark.parametrize(("limit", "status"), [("1000", 0), ("5", 1)])
def test_limit_decides_the_status(doctor, limit, status):
    done = doctor("sweep", ROWS, *SPANS, "--max-compiles", limit)

    assert done.status == status
    assert ("at most 5 allowed" in done.err) is bool(status)


def test_limit_that_no_kernel_was_held_to_is_no_success(doctor):
    done = doctor("sweep", ROWS, *SPANS, "--max-compiles", "5", "--kernel", "rope")

    assert (done.status, done.err.splitlines()[0]) == (
        2,
        "triton-doctor: no kernel is called 'rope': the limit was not checked",
    )


def test_recording_has_each_variant_once_and_says_that_it_is_dry(doctor, folder):
    doctor("sweep", ROWS, *SPANS, "-o", "swept.jsonl")
    recording = Recording.read(folder / "swept.jsonl")

    assert recording.headers[0].dry
    assert len({event.key for event in recording.compiles}) == len(recording.compiles) > 30
    assert sum(recording.launches.values()) > len(recording.compiles)
    assert doctor("report", "swept.jsonl").status == 0

    again = doctor("sweep", ROWS, *SPANS, "-o", "swept.jsonl")
    assert (again.status, "is there already" in again.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rows", "--vary", "a=1..2"), "no function: 'rows'"),
        (("nowhere.py:f", "--vary", "a=1..2"), "no file: nowhere.py"),
        (("no_such_module:f", "--vary", "a=1..2"), "no module: 'no_such_module'"),
        (("broken.py:f", "--vary", "a=1..2"), "importing broken.py raised ValueError: at import"),
        (("leaving.py:f", "--vary", "a=1..2"), "importing leaving.py raised SystemExit: 0"),
        (("needy.py:f", "--vary", "a=1..2"), "cannot import needy.py: it needs no_such_package"),
        (("empty.py:f", "--vary", "a=1..2"), "empty.py has no function called 'f'"),
        ((ROWS, "--fixed", "batch"), "nothing to vary"),
        ((ROWS, "--vary", "batch"), "cannot read `--vary batch`"),
        ((ROWS, "--vary", "batch=x"), "cannot read the sizes of `batch`: 'x'"),
        ((ROWS, "--vary", "batch=8..1"), "`batch=8..1` is empty"),
        ((ROWS, "--vary", "batch=1", "--vary", "batch=2"), "`batch` is varied twice"),
        (
            (ROWS, "--vary", "batch=1..8"),
            "`forward` needs more than the dimensions: missing a required argument: 'length'",
        ),
        ((ROWS, *SPANS, "--fixed", "heads"), "`heads` is fixed, and no dimension: batch, length"),
        ((ROWS, *SPANS, "--target", "cuda:nine"), "no such target"),
    ],
)
def test_bad_input_is_one_line_with_a_hint_and_status_2(doctor, write, arguments, message):
    write("broken.py", "raise ValueError('at import')\n")
    write("leaving.py", "raise SystemExit(0)\n")
    write("needy.py", "import no_such_package\n")
    write("empty.py", "")

    done = doctor("sweep", *arguments)

    assert (done.status, done.out) == (2, "")
    said, hint = done.err.splitlines()
    assert said.startswith(f"triton-doctor: {message}")
    assert hint.startswith("hint: ")


def test_python_example_of_the_readme_fails_as_it_shows(doctor, monkeypatch):
    skip_without("torch", "triton")
    section = (
        (ROOT / "docs/guides/kernel-author.md")
        .read_text(encoding="utf-8")
        .partition("\n## Sweep sizes\n")[2]
        .partition("\n## ")[0]
    )
    (program,) = re.findall(r"^```python\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    (said,) = re.findall(r"^```\nAssertionError: (.*?)\n^```$", section, re.DOTALL | re.MULTILINE)
    monkeypatch.syspath_prepend(str(ROOT / "fixtures" / "sweeps"))
    names: dict[str, object] = {}
    exec(program, names)

    with pytest.raises(AssertionError) as failed:
        names["test_variants_do_not_grow_with_the_length"]()

    assert str(failed.value).startswith(said)
