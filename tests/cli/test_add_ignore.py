"""`check --add-ignore`: a comment at the end of a line that can carry one, and not a byte beside it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Doctor = Callable[..., Outcome]
    Write = Callable[..., Path]

HEAD = b"""\
import triton
import triton.language as tl

@triton.jit
def scale(x_ptr, n: tl.constexpr, TEXT: tl.constexpr = 0):
    tl.store(x_ptr + n, TEXT)

def launch(x):
"""
IGNORE = b"# triton-doctor: ignore[TRD201]"


@pytest.mark.parametrize(
    ("launch", "silenced"),
    [
        pytest.param(
            b"    scale[(8,)](x, x.item())\n",
            b"    scale[(8,)](x, x.item())  " + IGNORE + b"\n",
            id="a line",
        ),
        pytest.param(
            b"    scale[(8,)](x, x.item())",
            b"    scale[(8,)](x, x.item())  " + IGNORE,
            id="the last line, without its end",
        ),
        pytest.param(
            b"    scale[(8,)](x, x.item())  # why\n",
            b"    scale[(8,)](x, x.item())  # why  " + IGNORE + b"\n",
            id="a comment is there",
        ),
        pytest.param(
            b"    scale[(8,)](x, x.item())  # triton-doctor: ignore[TRD209] aligned\n",
            b"    scale[(8,)](x, x.item())  # triton-doctor: ignore[TRD209, TRD201] aligned\n",
            id="an ignore is there",
        ),
        pytest.param(
            b"    scale[(8,)](\n        x,\n        x.item(),\n    )\n",
            b"    scale[(8,)](\n        x,\n        x.item(),  " + IGNORE + b"\n    )\n",
            id="a line of a call",
        ),
        pytest.param(
            b"    scale[(8,)](x, \\\n        x.item(), \\\n        TEXT=1)\n",
            b"    scale[(8,)](x, \\\n        x.item(), \\\n        TEXT=1)  " + IGNORE + b"\n",
            id="lines that a backslash continues",
        ),
        pytest.param(
            b'    scale[(8,)](x, x.item(), TEXT="""\n# text\n""")\n',
            b'    scale[(8,)](x, x.item(), TEXT="""\n# text\n""")  ' + IGNORE + b"\n",
            id="a string over several lines",
        ),
        pytest.param(
            b'    scale[(8,)](x, x.item(), TEXT=f"""{\nx\n}""")\n',
            b'    scale[(8,)](x, x.item(), TEXT=f"""{\nx\n}""")  ' + IGNORE + b"\n",
            id="an f-string over several lines",
        ),
        pytest.param(
            b"\tscale[(8,)](x, x.item())\t \n",
            b"\tscale[(8,)](x, x.item())  " + IGNORE + b"\n",
            id="tabs, and space behind",
        ),
    ],
)
def test_comment_stands_where_it_silences(doctor: Doctor, write: Write, launch: bytes, silenced: bytes) -> None:
    path = write("a.py", HEAD + launch)

    outcome = doctor("check", "--add-ignore", "--select", "TRD2")

    assert path.read_bytes() == HEAD + silenced
    assert (outcome.status, outcome.err) == (0, "triton-doctor: 1 finding silenced in 1 file\n")
    assert doctor("check", "--select", "TRD201").status == 0


@pytest.mark.parametrize(
    ("before", "encoding", "end"),
    [
        pytest.param("", "utf-8", "\r\n", id="other line ends"),
        pytest.param("# coding: latin-1\n# \N{LATIN SMALL LETTER U WITH DIAERESIS}\n", "latin-1", "\n", id="encoding"),
        pytest.param("", "utf-8-sig", "\n", id="a byte order mark"),
        pytest.param("\f# \N{GREEK SMALL LETTER PI}\x85\u2028 no end of line\n", "utf-8", "\n", id="odd white space"),
    ],
)
def test_nothing_else_changes(doctor: Doctor, write: Write, before: str, encoding: str, end: str) -> None:
    text = before + HEAD.decode() + "    scale[(8,)](x, x.item())\n# the end\n"
    source = text.replace("\n", end).encode(encoding)
    path = write("a.py", source)

    doctor("check", "--add-ignore=three lengths in all")

    assert path.read_bytes() == source.replace(
        b"x.item())", b"x.item())  # triton-doctor: ignore[TRD201] three lengths in all"
    )


def test_a_second_time_changes_nothing(doctor: Doctor, write: Write) -> None:
    path = write("a.py", HEAD + b"    scale[(8,)](x, x.item())\n")
    doctor("check", "--add-ignore")
    once = path.read_bytes()

    outcome = doctor("check", "--add-ignore")

    assert path.read_bytes() == once
    assert outcome.err == "triton-doctor: 0 findings silenced in 0 files\n"


def test_what_no_comment_can_silence_is_still_reported(doctor: Doctor, write: Write) -> None:
    write("broken.py", "from triton import jit\n\ndef launch(x:\n    pass\n")
    path = write("Dockerfile", "FROM python\nENV TRITON_INTERPRET=1\n")

    outcome = doctor("check", "--add-ignore")

    assert outcome.status == 1
    assert outcome.out.count("unreadable-source") == 1
    assert outcome.out.count("Dockerfile") == 1
    assert path.read_text() == "FROM python\nENV TRITON_INTERPRET=1\n"


def test_link_and_mode_stay(doctor: Doctor, write: Write, folder: Path) -> None:
    target = write("real/a.txt", HEAD + b"    scale[(8,)](x, x.item())\n")
    target.chmod(0o755)
    (folder / "a.py").symlink_to(target)

    doctor("check", "a.py", "--add-ignore")

    assert (folder / "a.py").is_symlink()
    assert IGNORE in target.read_bytes()
    assert target.stat().st_mode & 0o777 == 0o755
    assert sorted(path.name for path in target.parent.iterdir()) == ["a.txt"]


def test_only_what_is_new_is_silenced(doctor: Doctor, write: Write) -> None:
    known = write("known.py", HEAD + b"    scale[(8,)](x, x.item())\n")
    doctor("check", "--write-baseline")
    before = known.read_bytes()
    new = write("new.py", HEAD + b"    scale[(8,)](x, x.item() + 1)\n")

    doctor("check", "--baseline", "triton-doctor-baseline.json", "--add-ignore")

    assert known.read_bytes() == before
    assert IGNORE in new.read_bytes()


def test_reason_that_the_file_cannot_spell_is_two_lines(doctor: Doctor, write: Write) -> None:
    path = write("a.py", b"# coding: latin-1\n" + HEAD + b"    scale[(8,)](x, x.item())\n")
    before = path.read_bytes()

    outcome = doctor("check", "--add-ignore=\N{GREEK SMALL LETTER PI}")

    assert outcome.status == 2
    assert outcome.err.startswith("triton-doctor: the encoding of a.py has no `\N{GREEK SMALL LETTER PI}`\nhint: ")
    assert path.read_bytes() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_file_that_cannot_be_written_is_told(doctor: Doctor, write: Write, folder: Path) -> None:
    write("inner/a.py", HEAD + b"    scale[(8,)](x, x.item())\n")
    (folder / "inner").chmod(0o555)

    outcome = doctor("check", "--add-ignore")

    (folder / "inner").chmod(0o755)
    assert outcome.status == 2
    assert "cannot be written" in outcome.err
