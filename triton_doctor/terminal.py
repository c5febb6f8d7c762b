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
    """`text` in one line: what would steer a terminal, or turn letters around, becomes `\\x1b` or `\\u202e`.

    The surrogates of a file name that is no UTF-8 are escaped too, so that the rest can be encoded.
    """
    return text if text.isprintable() else "".join(map(escape_character, text))


def escape_character(char: str) -> str:
    """`char`, or its escape as Python would write it."""
    if char.isprintable():
        return char
    code = ord(char)
    return SHORT.get(char) or (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    )


def escape_line(text: str) -> str:
    """`text` as a line of its own, which no CI job takes for a command."""
    return COMMAND.sub(lambda match: f"\\x{ord(match[0]):x}", escape_text(text))


def use_color(*, on_terminal: bool) -> bool:
    """Whether to color: not where NO_COLOR is set, always where FORCE_COLOR is; else on a terminal.

    See https://no-color.org and https://force-color.org.
    """
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (on_terminal and os.environ.get("TERM") != "dumb")


def color_report(wish: str = "auto", *, to_file: bool = False) -> bool:
    """Whether to color a report on stdout: as wished; without a wish (`auto`), a file has no color."""
    if wish != "auto":
        return wish == "always"
    return not to_file and use_color(on_terminal=sys.stdout.isatty())


def width_of_report(stream: TextIO | None = None, *, to_file: bool = False) -> int | None:
    """Return the columns of the terminal, or those that COLUMNS asks for; None where nothing has to fit."""
    if (stream or sys.stdout).isatty() and not to_file:
        import shutil

        return shutil.get_terminal_size().columns
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if _is_size(columns) else None


def environment_of_console() -> Mapping[str, str]:
    """The environment that rich is to see: it takes any number of digits for a size (rich 15.0 console.py size)."""
    sizes = ("COLUMNS", "LINES")
    return {name: value for name, value in os.environ.items() if name not in sizes or _is_size(value)}


def print_lines(lines: Sequence[Text], *, color: bool, width: int) -> str:
    """Styled `lines` as a terminal of `width` columns draws them, or without color and without blanks at their ends."""
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
    """Whether the terminal is known to follow hyperlinks (OSC 8); some that do not print them."""
    if environment.get("TERM", "").startswith(("screen", "tmux")):
        return False  # screen and tmux before 3.4 drop them; TERM_PROGRAM may be that of the terminal around
    vte = environment.get("VTE_VERSION", "")
    return (
        (vte.isdecimal() and int(vte) >= FIRST_LINKING_VTE)
        or environment.get("TERM_PROGRAM") in LINKING_PROGRAMS
        or environment.get("TERM") in LINKING_TERMS
        or any(name in environment for name in LINKING_VARIABLES)
    )
