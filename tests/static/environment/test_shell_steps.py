"""The shell reader takes steps in proportion to the text, whatever construct is repeated or nested in it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex

import pytest

from triton_doctor.static.environment.settings_files import shell
from triton_doctor.static.environment.settings_files.shell import read_shell

if TYPE_CHECKING:
    from types import FrameType

READER = str(Path(shell.__file__).parent)


class CountedText(str):
    """A text that counts the characters which are looked at."""

    __slots__ = ()
    looked_at = 0

    def find(self, wanted: str, start: Any = 0, *end: Any) -> int:
        found = super().find(wanted, start, *end)
        CountedText.looked_at += (found if found >= 0 else len(self)) - start
        return found

    def __getitem__(self, key: SupportsIndex | slice) -> CountedText:
        taken = super().__getitem__(key)
        CountedText.looked_at += len(taken)
        return CountedText(taken)


def steps(text: str) -> int:
    """The lines of the reader that run, and the characters that it looks at, while it reads `text`."""
    lines = 0

    def on_line(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return on_line

    def on_call(frame: FrameType, event: str, argument: object) -> Any:
        return on_line if frame.f_code.co_filename.startswith(READER) else None

    CountedText.looked_at = 0
    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        read_shell(CountedText(text))
    finally:
        sys.settrace(before)
    return lines + CountedText.looked_at


@pytest.mark.parametrize(
    ("first", "repeated", "between", "closing"),
    [
        pytest.param("", "export TRITON_INTERPRET=${", "", "", id="braces never closed"),
        pytest.param("", "export TRITON_INTERPRET=${A:-", "1", "}", id="braces inside each other"),
        pytest.param("", "${{ ", "}x", "", id="expressions never closed"),
        pytest.param("", "export TRITON_INTERPRET=${A:-1}\n", "", "", id="defaults"),
        pytest.param("", "$(", "TRITON_INTERPRET=1 a", "", id="substitutions never closed"),
        pytest.param("", "$(", "TRITON_INTERPRET=1 a", ")", id="substitutions inside each other"),
        pytest.param("", "a=$(export TRITON_INTERPRET=1) ", "", "", id="substitutions"),
        pytest.param("", "`a ", "", "", id="backticks"),
        pytest.param("", "$((1+", "", "))", id="arithmetic inside each other"),
        pytest.param("", "'a' ", "", "", id="single quotes"),
        pytest.param("", '"a$b" ', "", "", id="double quotes"),
        pytest.param("", "cat <<A\nTRITON_INTERPRET=1\nA\n", "", "", id="here-documents"),
        pytest.param("", "w <<A ", "\nA\nA\n", "", id="here-documents of one command"),
        pytest.param("", "if a; then\nexport TRITON_INTERPRET=1\n", "", "fi\n", id="blocks inside each other"),
        pytest.param("", "if ", "x", "", id="one keyword after the other"),
        pytest.param("", "case x in a) export TRITON_INTERPRET=1;;\n", "", "esac\n", id="cases inside each other"),
        pytest.param("", "f() {\nexport TRITON_INTERPRET=1\n", "", "}\n", id="functions inside each other"),
        pytest.param("", "{ echo TRITON_INTERPRET=1;", "", "} >> $GITHUB_ENV;", id="groups inside each other"),
        pytest.param("", "(echo TRITON_INTERPRET=1;", "", ") >> $GITHUB_ENV;", id="subshells inside each other"),
        pytest.param("", "for i in 1 2; do TRITON_INTERPRET=1 a; ", "", "done >> $GITHUB_ENV;", id="loops"),
        pytest.param("", "a=(x TRITON_INTERPRET=1) ", "", "", id="arrays"),
        pytest.param("", "export TRITON_INTERPRET=1\nunset TRITON_INTERPRET\n", "", "", id="exports taken back"),
        pytest.param("X=a\n", "X=$X$X\n", "export TRITON_INTERPRET=$X\n", "", id="a value that doubles"),
        pytest.param("", "env TRITON_INTERPRET=1 ", "true", "", id="env before env"),
        pytest.param("env ", "TRITON_INTERPRET=1 ", "true", "", id="assignments of one command"),
        pytest.param("docker run ", "-e TRITON_INTERPRET=1 ", "image", "", id="options"),
        pytest.param("export A=1\nsrun --export=", "A=$A,", "", "", id="a list that is passed on"),
        pytest.param("", "TRITON_INTERPRET=1 python a.py\npython a.py\n", "", "", id="programs that are compared"),
        pytest.param("TRITON_INTERPRET=1 python ", "-u ", "a.py", "", id="options of Python"),
        pytest.param("conda ", "set ", "X=1", "", id="commands that set, repeated"),
        pytest.param("kubectl set ", "env ", "X=1", "", id="set env, repeated"),
        pytest.param("", "a && TRITON_INTERPRET=1 b ||", "", "", id="and, or"),
        pytest.param("", "echo TRITON_INTERPRET=1 | tee -a $GITHUB_ENV | ", "", "", id="pipes"),
        pytest.param("", "eval 'export TRITON_INTERPRET=1'\n", "", "", id="eval"),
        pytest.param("", "a \\\n", "", "", id="continued lines"),
        pytest.param("", "# export TRITON_INTERPRET=1\n", "", "", id="comments"),
    ],
)
def test_twice_the_text_takes_twice_the_steps(first: str, repeated: str, between: str, closing: str) -> None:
    counts = [steps(first + repeated * times + between + closing * times) for times in (100, 200, 400)]

    assert counts[0] > 100
    assert counts[2] - counts[1] <= 2.2 * (counts[1] - counts[0])
