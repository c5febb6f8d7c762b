"""PowerShell and batch files to settings: `$env:X = "1"`, `set X=1`, `setx X 1`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.finding import Span
from triton_doctor.static.environment.setting import EnvSetting
from triton_doctor.static.environment.settings_files.braces import blanked, conditions
from triton_doctor.static.environment.settings_files.watched import is_watched

if TYPE_CHECKING:
    from collections.abc import Iterator

_VALUE = r"(?P<value>\"[^\"\n]*\"|'[^'\n]*'|[^\"'\s;,)&|]*)"
_POWERSHELL = (
    ("$env:", re.compile(rf"\$\{{?env:(?P<name>\w+)\}}?\s*=\s*{_VALUE}", re.IGNORECASE)),
    (
        "SetEnvironmentVariable",
        re.compile(rf"Environment\]::SetEnvironmentVariable\(\s*[\"'](?P<name>\w+)[\"']\s*,\s*{_VALUE}", re.IGNORECASE),
    ),
    (
        "Set-Item",
        re.compile(
            rf"\b(?:Set|New)-Item\s+(?:-Path\s+)?[\"']?Env:\\?(?P<name>\w+)[\"']?\s+(?:-Value\s+)?{_VALUE}",
            re.IGNORECASE,
        ),
    ),
)
_SETX = re.compile(rf"(?<![\w\-])setx\s+(?:/m\s+)?\"?(?P<name>\w+)\"?\s+{_VALUE}", re.IGNORECASE)
_SET = re.compile(
    r"(?<![\w\-])set\s+(?:/a\s+)?(?:\"(?P<quoted>\w+)=(?P<text>[^\"\n]*)\"|(?P<name>\w+)=(?P<value>[^\"&|)\n]*))",
    re.IGNORECASE,
)
_POWERSHELL_COMMENT = re.compile(r"<\#[\s\S]*?\#>|(?<![\w`])\#[^\n]*")
_BATCH_COMMENT = re.compile(r"\s*@?(?:rem\b|::)", re.IGNORECASE)
_ECHOED = re.compile(r"(?:^|[&|(@])\s*echo\b[^&|]*$", re.IGNORECASE)
_BATCH_TEST = re.compile(r"\)?\s*@?(?:if|else)\b", re.IGNORECASE)


def read_powershell(text: str, line: int = 1, column: int = 1) -> tuple[EnvSetting, ...]:
    """Return the settings of a PowerShell script, or of a step in it; it begins at `line` and `column` of its file."""
    if not _may_set(text):
        return ()
    code = blanked(text, _POWERSHELL_COMMENT)
    matches = [
        (number, how, match)
        for number, content in enumerate(code.split("\n"))
        if _may_set(content)
        for how, pattern in (*_POWERSHELL, ("setx", _SETX))
        for match in pattern.finditer(content)
        if is_watched(match["name"])
    ]
    tests = conditions(code) if matches else []
    found = []
    for number, how, match in matches:
        start = match.start() + (column if number == 0 else 1)
        found.append(
            EnvSetting(
                variable=match["name"],
                value=_literal(match["value"], "$"),
                span=Span(line + number, start, line + number, start + len(match[0])),
                how=how,
                guarded=any(not _is_absence(test, match["name"]) for test in tests[number]),
            )
        )
    return tuple(found)


def _may_set(text: str) -> bool:
    """Return whether one of the PowerShell patterns may match in `text`."""
    lowered = text.lower()
    return any(sign in lowered for sign in ("env:", "environment]", "setx"))


def read_batch(text: str) -> tuple[EnvSetting, ...]:
    """Return the settings of a .bat or .cmd file."""
    return tuple(_batch(text))


def _batch(text: str) -> Iterator[EnvSetting]:
    blocks: list[str | None] = []
    for number, content in enumerate(text.split("\n"), 1):
        if _BATCH_COMMENT.match(content):
            continue
        bare = content.strip()
        if bare.startswith(")") and blocks:
            blocks.pop()
        tests = [*blocks, bare if _BATCH_TEST.match(bare) else None]
        for how, pattern in (("set", _SET), ("setx", _SETX)):
            for match in pattern.finditer(content):
                groups = match.groupdict()
                name = groups.get("quoted") or groups["name"]
                value = groups["text"] if groups.get("quoted") else groups["value"]
                if is_watched(name) and not _ECHOED.search(content[: match.start()]):
                    yield EnvSetting(
                        variable=name,
                        value=_literal(value.strip(), "%"),
                        span=Span(number, match.start() + 1, number, match.end() + 1),
                        how=how,
                        guarded=any(test is not None and not _is_absence(test, name) for test in tests),
                    )
        if bare.endswith("("):
            blocks.append(bare if _BATCH_TEST.match(bare) else None)


def _literal(value: str, sigil: str) -> str | None:
    """Return `value` without its quotes; None if it contains a variable, which begins with `sigil`."""
    text = value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value
    return None if sigil in text and not value.startswith("'") else text


def _is_absence(test: str, name: str) -> bool:
    """Return whether `test` only tests that the variable `name` is unset."""
    if not re.search(rf"\b{re.escape(name)}\b", test, re.IGNORECASE):
        return False
    return bool(re.search(r"-not\b|!|\bnot\s+defined\b|==\s*\"\"", test, re.IGNORECASE))
