"""tox.ini, pytest.ini, setup.cfg and other INI files to settings."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.finding import Span
from triton_doctor.static.environment.setting import EnvSetting
from triton_doctor.static.environment.settings_files.shell import read_shell
from triton_doctor.static.environment.settings_files.watched import is_watched, unquoted

if TYPE_CHECKING:
    from collections.abc import Iterator

_OPTION = re.compile(r"([\w.\-]+)[ \t]*[=:](.*)")
_VARIABLES = frozenset({"env", "setenv", "set_env", "environment", "env_vars", "environment-variables"})
_COMMANDS = frozenset({"commands", "commands_pre", "commands_post", "command"})
# pytest-env's `D:` and `R:` before a name; tox's factors: `debug: X = 1`.
_ENTRY = re.compile(r"\s*(?P<before>(?:[\w!,{}\-]+:\s*)*)(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<value>.*?)\s*$")


def read_ini(text: str, line: int = 1) -> tuple[EnvSetting, ...]:
    """Return the settings of `text`, whose first line is `line` of its file."""
    return tuple(_read(text, line))


def _read(text: str, line: int) -> Iterator[EnvSetting]:
    section = option = ""
    for number, content in enumerate(text.split("\n"), line):
        stripped = content.strip()
        if not stripped or stripped[0] in "#;":
            continue
        if content[0] == "[" and "]" in content:
            section, option = content[1 : content.index("]")], ""
            continue
        if not content[0].isspace() and (match := _OPTION.match(content)):
            option = match[1].lower()
            if is_watched(match[1]) and _is_variables_section(section):
                yield _setting(match[1], match[2], number, 1, content)
                continue
            offset = match.start(2)
        else:
            offset = 0
        rest = content[offset:]
        if option in _VARIABLES and (match := _ENTRY.match(re.sub(r"\s[#;].*", "", rest))):
            if is_watched(match["name"]):
                factor = match["before"].strip()
                found = _setting(match["name"], match["value"], number, offset + match.start("name") + 1, content)
                yield replace(found, guarded=bool(factor) and not re.fullmatch(r"(?:[DRU]:)+", factor.replace(" ", "")))
        elif option in _COMMANDS:
            yield from read_shell(rest, number, offset + 1)


def _is_variables_section(section: str) -> bool:
    return section.lower().rpartition(":")[2] in {"env", "environment", "pytest_env", "activation.env"}


def _setting(name: str, value: str, line: int, column: int, content: str) -> EnvSetting:
    text = unquoted(re.sub(r"\s[#;].*", "", value))
    if default := re.fullmatch(r"\{env:\w+:([^}]*)\}", text):
        text = default[1]
    known = None if "{" in text or "$" in text else text
    return EnvSetting(variable=name, value=known, span=Span(line, column, line, len(content) + 1), how="env")
