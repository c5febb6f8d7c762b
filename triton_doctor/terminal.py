"""What a terminal is sent: text that cannot steer it, nor the CI job that logs it, and color where it is wished.

Names of files, kernels and parameters may hold any character. Every report goes through `escape_text` or `escape_line`;
formats that have their own way to write a character, such as JSON, escape what is left to them.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TextIO

    from rich.text import Text

# What begins a command to the runner of a CI job: of GitHub, first in a line, which a word may become when it is
# wrapped; of GitHub and Azure, anywhere.
COMMAND = re.compile(r"(?:(?<=\s)|^):(?=:)|#(?=#(?:vso)?\[)")
# Nothing is that wide; 5,000 digits are no number to Python.
DIGITS_OF_COLUMNS = 6
# Terminals that follow hyperlinks, by what they set in the environment (github.com/Alhadis/OSC8-Adoption).
LINKING_PROGRAMS = frozenset({"iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper"})
LINKING_TERMS = frozenset({"xterm-kitty", "xterm-ghostty", "alacritty", "foot"})
LINKING_VARIABLES = ("WT_SESSION", "KONSOLE_VERSION", "DOMTERM")
FIRST_LINKING_VTE = 5000
SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def escape_text(text: str) -> str:
    """Escape `text` as one line: control and bidirectional characters become `\\x1b` or `\\u202e`.

    Surrogates of file names that are not UTF-8 are escaped too, so that the rest can be encoded.
    """
    return text if text.isprintable() else "".join(map(escape_character, text))


def escape_character(char: str) -> str:
    """Return `char`, or its escape as in Python source."""
    if char.isprintable():
        return char
    code = ord(char)
    return SHORT.get(char) or (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    )


def escape_line(text: str) -> str:
    """Escape `text` as a whole line of output that no CI runner takes for a command."""
    return COMMAND.sub(lambda match: f"\\x{ord(match[0]):x}", escape_text(text))


def use_color(*, on_terminal: bool) -> bool:
    """Decide whether to color: not if NO_COLOR is set, always if FORCE_COLOR is; else on a terminal.

    See https://no-color.org and https://force-color.org.
    """
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (on_terminal and os.environ.get("TERM") != "dumb")


def color_report(*, to_file: bool = False) -> bool:
    """Return whether to color a report on stdout: on a terminal, but not in a file."""
    return not to_file and use_color(on_terminal=sys.stdout.isatty())


def width_of_report(stream: TextIO | None = None, *, to_file: bool = False) -> int | None:
    """Return the columns of the terminal, or those of COLUMNS; None if there is no limit."""
    if (stream or sys.stdout).isatty() and not to_file:
        import shutil

        return shutil.get_terminal_size().columns
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if _is_size(columns) else None


def environment_of_console() -> Mapping[str, str]:
    """Return the environment without sizes that rich cannot handle (rich 15.0 console.py size)."""
    sizes = ("COLUMNS", "LINES")
    return {name: value for name, value in os.environ.items() if name not in sizes or _is_size(value)}


def print_lines(lines: Sequence[Text], *, color: bool, width: int) -> str:
    """Render styled `lines` at `width` columns; without `color`, as plain text without trailing blanks."""
    if not color:
        return "".join(f"{line.plain.rstrip()}\n" for line in lines)
    import io

    from rich.console import Console
    from rich.text import Text

    drawn = io.StringIO()
    console = Console(
        file=drawn,
        _environ=environment_of_console(),
        width=width,
        force_terminal=True,
        color_system="standard",
        no_color=False,
    )
    console.print(Text("\n").join(lines), soft_wrap=True)
    return drawn.getvalue()


def _is_size(text: str) -> bool:
    return text.isdecimal() and len(text) <= DIGITS_OF_COLUMNS


def follows_links(environment: Mapping[str, str]) -> bool:
    """Return whether the terminal is known to support hyperlinks (OSC 8); some others print them as text."""
    if environment.get("TERM", "").startswith(("screen", "tmux")):
        return False  # screen and tmux before 3.4 drop them; TERM_PROGRAM may be that of the terminal around
    vte = environment.get("VTE_VERSION", "")
    return (
        (vte.isdecimal() and int(vte) >= FIRST_LINKING_VTE)
        or environment.get("TERM_PROGRAM") in LINKING_PROGRAMS
        or environment.get("TERM") in LINKING_TERMS
        or any(name in environment for name in LINKING_VARIABLES)
    )
