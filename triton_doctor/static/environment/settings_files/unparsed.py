"""Settings files that nothing parses (Makefile, Jenkinsfile, INI, JSON, PowerShell, batch, systemd) to settings.

A line is searched for `TRITON_INTERPRET` and a value. Conditions, sections and blocks are not known here, so what is
found is a note only: TRD102 at info.
"""

from __future__ import annotations

import re

from triton_doctor.finding import Span
from triton_doctor.static.environment.setting import EnvSetting
from triton_doctor.variables import INTERPRET

# `X=1`, `X := "1"`, `X: 1`, `"X", "1"`, `setx X 1`, `Env:X -Value 1`. A comparison has another operator: `X == 1`.
_GIVES = re.compile(
    rf"(?<!\w){INTERPRET}[\"'}}]*(?:[ \t]*(?:[:?+]?=(?!=)|[:,])[ \t]*|[ \t]+(?:-Value[ \t]+)?)"
    r"[\"']?(?P<value>\w+)(?![\w=])",
    re.IGNORECASE,
)
_BEGINS_COMMENT = re.compile(r"\s*(?:#|//|/?\*|;|::|@?rem\b|<!--)|[^\"']*\s(?:#|//|/\*)\s", re.IGNORECASE)


def read_unparsed(text: str) -> tuple[EnvSetting, ...]:
    """Return where a line of `text`, outside of a comment, gives the variable of interpreter mode a value."""
    return tuple(
        EnvSetting(
            variable=INTERPRET,
            value=match["value"],
            span=Span(number, match.start() + 1, number, match.end() + 1),
            how="a text search",
        )
        for number, line in enumerate(text.split("\n"), 1)
        for match in _GIVES.finditer(line)
        if _BEGINS_COMMENT.match(line[: match.start()]) is None
    )
