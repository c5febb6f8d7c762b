"""systemd units, supervisord.conf and Procfiles to settings: the commands of services and their variables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.finding import Span
from triton_doctor.static.environment.setting import EnvSetting
from triton_doctor.static.environment.settings_files.shell import read_shell
from triton_doctor.static.environment.settings_files.watched import is_watched

if TYPE_CHECKING:
    from collections.abc import Iterator

_OPTION = re.compile(r"(?P<key>[A-Za-z]\w*)[ \t]*=(?P<rest>.*)")
_ASSIGNMENT = re.compile(
    r"(?:\"(?P<whole>\w+)=(?P<text>[^\"]*)\"|'(?P<single>\w+)=(?P<inner>[^']*)'"
    r"|(?P<name>\w+)=(?:\"(?P<quoted>[^\"]*)\"|'(?P<one>[^']*)'|(?P<value>[^\s,\"']*)))"
)
_COMMANDS = frozenset({"execstart", "execstartpre", "execstartpost", "execreload", "command"})
_PROCESS = re.compile(r"(?P<name>[\w\-]+):[ \t]*(?P<command>.+)")


def read_unit(text: str) -> tuple[EnvSetting, ...]:
    """Return the settings of a systemd unit or of supervisord.conf."""
    return tuple(_unit(text))


def _unit(text: str) -> Iterator[EnvSetting]:
    key = ""
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip()[:1] in ("#", ";", "["):
            continue
        option = _OPTION.match(line)
        # A line after a backslash, or an indented one, continues the option above it.
        if option and (key == "" or not line[0].isspace()):
            key, start = option["key"].lower(), option.start("rest")
        else:
            start = 0
        if key in ("environment", "defaultenvironment"):
            yield from _assignments(line, start, number)
        elif key in _COMMANDS:
            prefix = re.match(r"[ \t]*[-@:+!]*", line[start:])
            begin = start + (prefix.end() if prefix else 0)
            yield from read_shell(line[begin:].rstrip("\\"), number, begin + 1)
        if not line.strip():
            key = ""


def _assignments(line: str, start: int, number: int) -> Iterator[EnvSetting]:
    for match in _ASSIGNMENT.finditer(line, start):
        groups = match.groupdict()
        name = groups["whole"] or groups["single"] or groups["name"]
        if is_watched(name):
            parts = ("text", "inner", "quoted", "one", "value")
            value = next((groups[part] for part in parts if groups[part] is not None), "")
            yield EnvSetting(
                variable=name,
                value=None if "$" in value or "%" in value else value,
                span=Span(number, match.start() + 1, number, match.end() + 1),
                how="Environment",
            )


def read_procfile(text: str) -> tuple[EnvSetting, ...]:
    """Return the settings of the commands of a Procfile."""
    return tuple(
        setting
        for number, line in enumerate(text.split("\n"), 1)
        if (process := _PROCESS.match(line))
        for setting in read_shell(process["command"], number, process.start("command") + 1)
    )
