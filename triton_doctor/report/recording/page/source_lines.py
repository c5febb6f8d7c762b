"""Lines of source that a recording names, quoted as they are on this machine now."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from triton_doctor.report.recording.wording import place

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from triton_doctor.runtime.event import KernelName

LONGEST_LINE = 160
# A signature longer than this has no line that is quoted.
SIGNATURE_LINES = 80


@dataclass(frozen=True, slots=True)
class Quote:
    """A place in a file, and the text of its line; None where that cannot be read."""

    where: str
    text: str | None


class SourceReader:
    """Quotes Python files alone: a recording comes from anywhere, and may name what its reader would not show."""

    def __init__(self, lines_of: Callable[[str], Sequence[str]], cwd: Path) -> None:
        self._lines_of, self._cwd = lines_of, cwd

    def quote(self, path: str, line: int) -> Quote:
        """Return the place, and its line where that can be read."""
        lines = self._lines_of(path) if path.endswith(".py") else ()
        text = lines[line - 1].strip() if 0 < line <= len(lines) else None
        if text is not None and len(text) > LONGEST_LINE:
            text = f"{text[:LONGEST_LINE]}..."
        return Quote(place(path, line, self._cwd), text)

    def quote_parameter(self, kernel: KernelName, parameter: str) -> Quote | None:
        """Return the line on which `kernel` declares `parameter`; None where that is not found."""
        if not kernel.path.endswith(".py") or kernel.line <= 0:
            return None
        lines = self._lines_of(kernel.path)
        declared = re.compile(rf"(?:^|[(,\s]){re.escape(parameter)}\s*[:,=)]")
        for number in range(kernel.line, min(kernel.line + SIGNATURE_LINES, len(lines)) + 1):
            text = lines[number - 1]
            if declared.search(text.partition("#")[0] + ","):
                return self.quote(kernel.path, number)
            if re.search(r"\)\s*(?:->.*)?:\s*(?:#.*)?$", text):
                return None
        return None
