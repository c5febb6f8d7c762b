"""Python inside a shell command, `python -c "..."` or a here-document, to settings."""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING

from triton_doctor.nesting import with_own_stack

if TYPE_CHECKING:
    from triton_doctor.static.environment.setting import EnvSetting


def read_embedded_python(text: str) -> tuple[EnvSetting, ...]:
    """The settings of the program `text`, by its own lines; none where it does not parse."""
    # That reader reads the shell commands of Python in turn: each is imported when the other is needed.
    from triton_doctor.static.environment.python_code.python import SettingsReader
    from triton_doctor.static.sources.source_text import SourceText

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = with_own_stack(ast.parse, text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return SettingsReader(tree, SourceText(text.encode("utf-8", "replace"))).settings()
