"""pyproject.toml and other TOML files to settings."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from triton_doctor.finding import Span
from triton_doctor.nesting import with_own_stack
from triton_doctor.static.environment.setting import EnvSetting, is_watched
from triton_doctor.static.environment.settings_files.shell import read_shell

if TYPE_CHECKING:
    from collections.abc import Iterator

_COMMANDS = frozenset({"cmd", "command", "commands", "shell", "script", "sequence", "run", "test", "bench"})
_VARIABLES = re.compile(r"env|environment|env[-_]vars|env_files|variables|set_?env|environment-pass", re.IGNORECASE)


def read_toml(text: str) -> tuple[EnvSetting, ...]:
    """Return the settings of `text`, in order; none if it does not parse.

    tomllib keeps no positions, so they are searched for.
    """
    try:
        data = with_own_stack(tomllib.loads, text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return ()
    lines = text.split("\n")
    used: set[tuple[int, int]] = set()
    placed = []
    for setting in _walk(data, ()):
        span = _position(setting, lines, used)
        placed.append(setting if span is None else replace(setting, span=span))
    return tuple(sorted(placed, key=lambda setting: setting.span))


def _walk(data: Any, keys: tuple[str, ...]) -> Iterator[EnvSetting]:
    if isinstance(data, dict):
        for key, value in data.items():
            if is_watched(key) and not isinstance(value, list):
                given = value.get("value", value.get("default")) if isinstance(value, dict) else value
                yield _setting(key, given)
            else:
                yield from _walk(value, (*keys, key))
    elif isinstance(data, list):
        for item in data:
            yield from _walk(item, keys)
    elif isinstance(data, str) and keys:
        if any(_VARIABLES.fullmatch(key) for key in keys[-2:]):
            for part in re.split(r"[\s,]+(?=[A-Za-z_:]+=)", data):
                match = re.fullmatch(r"(?:[DRU]:)*\s*(\w+)\s*=\s*(.*)", part.strip())
                if match and is_watched(match[1]):
                    yield _setting(match[1], match[2].strip("\"'"))
        elif any(key in _COMMANDS or key in {"scripts", "tasks"} for key in keys):
            for setting in read_shell(data):
                yield replace(setting, span=Span(0, 0, 0, 0))


def _setting(name: str, value: object) -> EnvSetting:
    text = {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)
    known = isinstance(value, str | int | float) and "{" not in text
    return EnvSetting(variable=name, value=text if known else None, span=Span(0, 0, 0, 0), how="env")


def _position(setting: EnvSetting, lines: list[str], used: set[tuple[int, int]]) -> Span | None:
    """Return the span of the next occurrence of the name outside comments; None if it already has a span."""
    if setting.span.line:
        return None
    pattern = re.compile(rf"(?<!\w){re.escape(setting.variable)}(?!\w)")
    for number, line in enumerate(lines, 1):
        comment = re.search(r"(?:^|\s)#[^\"']*$", line)
        code = line[: comment.start()] if comment else line
        for match in pattern.finditer(code):
            if (number, match.start()) not in used:
                used.add((number, match.start()))
                return Span(number, match.start() + 1, number, match.end() + 1)
    return Span(1, 1, 1, 1)
