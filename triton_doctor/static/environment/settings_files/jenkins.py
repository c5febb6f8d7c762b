"""Jenkinsfiles to settings: `environment { X = '1' }`, `withEnv(['X=1'])`, `env.X = '1'`, and what `sh` runs."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.finding import Span
from triton_doctor.static.environment.setting import EnvSetting
from triton_doctor.static.environment.settings_files.braces import blanked, conditions
from triton_doctor.static.environment.settings_files.shell import read_shell
from triton_doctor.static.environment.settings_files.watched import is_watched

if TYPE_CHECKING:
    from collections.abc import Iterator

_COMMENT = re.compile(r"/\*[\s\S]*?\*/|(?<!:)//[^\n]*")
_QUOTED = r"(?P<quote>[\"'])(?P<value>[^\"'\n]*)(?P=quote)"
_BLOCK = re.compile(r"\benvironment\s*\{(?P<body>[^{}]*)\}")
_ENTRY = re.compile(rf"(?P<name>\w+)\s*=\s*{_QUOTED}")
_ASSIGNED = re.compile(rf"\benv(?:\.(?P<name>\w+)|\[[\"'](?P<key>\w+)[\"']\])\s*=\s*{_QUOTED}")
_LIST = re.compile(r"\bwithEnv\s*\(\s*\[(?P<body>[^\]]*)\]")
_ITEM = re.compile(r"[\"'](?P<name>\w+)=(?P<value>[^\"'\n]*)[\"']")
_STEP = re.compile(
    r"\b(?:sh|bat|powershell|pwsh)\b\s*\(?(?:[^\"'\n]*\bscript\s*:)?\s*"
    r"(?:'''(?P<a>[\s\S]*?)'''|\"\"\"(?P<b>[\s\S]*?)\"\"\"|'(?P<c>[^'\n]*)'|\"(?P<d>[^\"\n]*)\")"
)


def read_jenkinsfile(text: str) -> tuple[EnvSetting, ...]:
    """Return the settings of a Jenkinsfile, or of another pipeline in Groovy."""
    code = blanked(text, _COMMENT)
    return tuple(sorted(_read(code, conditions(code)), key=lambda setting: setting.span))


def _read(code: str, tests: list[tuple[str, ...]]) -> Iterator[EnvSetting]:
    for how, outer, inner in (("environment", _BLOCK, _ENTRY), ("withEnv", _LIST, _ITEM)):
        for block in outer.finditer(code):
            for entry in inner.finditer(code, block.start("body"), block.end("body")):
                yield from _setting(code, entry, entry["name"], how, tests)
    for assigned in _ASSIGNED.finditer(code):
        yield from _setting(code, assigned, assigned["name"] or assigned["key"], "env", tests)
    for step in _STEP.finditer(code):
        part = next(part for part in "abcd" if step[part] is not None)
        line, column = _position(code, step.start(part))
        for one in read_shell(step[part], line, column):
            yield replace(one, guarded=one.guarded or bool(tests[line - 1]))


def _setting(
    code: str, match: re.Match[str], name: str, how: str, tests: list[tuple[str, ...]]
) -> Iterator[EnvSetting]:
    if is_watched(name):
        line, column = _position(code, match.start())
        yield EnvSetting(
            variable=name,
            value=None if "$" in match["value"] else match["value"],
            span=Span(line, column, line, column + len(match[0])),
            how=how,
            guarded=bool(tests[line - 1]),
        )


def _position(code: str, offset: int) -> tuple[int, int]:
    """Return line and column, from 1, of the offset."""
    return code.count("\n", 0, offset) + 1, offset - (code.rfind("\n", 0, offset) + 1) + 1
