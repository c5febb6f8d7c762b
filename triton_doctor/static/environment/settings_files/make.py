"""Makefiles and justfiles to settings: exported variables, and the commands of recipes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.finding import Span
from triton_doctor.static.environment.setting import EnvSetting
from triton_doctor.static.environment.settings_files.shell import read_shell
from triton_doctor.static.environment.settings_files.shell_commands import WHOLE_PROGRAM
from triton_doctor.static.environment.settings_files.watched import is_watched, unquoted

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAKE_VARIABLE = re.compile(
    r"(?P<target>[^\s:=#][^:=#]*:\s+)?(?P<export>(?:override\s+)?export\s+)?"
    r"(?P<name>[A-Za-z_]\w*)[ \t]*(?:[:?+!]|::|:::)?=(?P<value>.*)"
)
_JUST_VARIABLE = re.compile(r"(?P<export>export\s+)?(?P<name>[A-Za-z_]\w*)\s*:=\s*(?P<value>.*)")


def read_makefile(text: str) -> tuple[EnvSetting, ...]:
    """Return the settings of a Makefile."""
    lines = text.split("\n")
    exports_all = any(re.match(r"\.EXPORT_ALL_VARIABLES\s*:|export\s*(?:#.*)?$", line) for line in lines)
    exported = {
        name for line in lines if (match := re.match(r"export\s+([\w \t]+)$", line)) for name in match[1].split()
    }
    return tuple(_make(lines, exported, exports_all))


def _make(lines: list[str], exported: set[str], exports_all: bool) -> Iterator[EnvSetting]:
    known: dict[str, str] = {}
    conditions = 0
    recipe: list[str] = []
    begun = 0
    for number, line in enumerate([*lines, ""], 1):
        continues = bool(recipe) and recipe[-1].endswith("\\")
        if line.startswith("\t") or continues:
            begun = begun if recipe else number
            recipe.append(line)
            if not line.endswith("\\"):
                yield from _recipe(recipe, begun, known, guarded=conditions > 0)
                recipe = []
            continue
        bare = line.strip()
        if re.match(r"ifn?(?:def|eq)\b", bare):
            conditions += not re.match(r"ifndef\s+TRITON|ifeq\s*\(\s*\$[({]TRITON\w+[)}]\s*,\s*\)", bare)
        elif bare == "endif":
            conditions = max(0, conditions - 1)
        match = _MAKE_VARIABLE.match(bare)
        if match is None or bare.startswith("#"):
            continue
        value = _expanded(unquoted(re.sub(r"\s+#.*", "", match["value"])), known)
        known[match["name"]] = value
        sets = match["export"] or exports_all or match["name"] in exported
        if sets and is_watched(match["name"]):
            column = line.index(match["name"]) + 1
            yield EnvSetting(
                variable=match["name"],
                value=None if "$" in value else value,
                span=Span(number, column, number, len(line.rstrip()) + 1),
                how="export",
                guarded=conditions > 0,
            )


def _recipe(lines: list[str], begun: int, known: dict[str, str], *, guarded: bool) -> Iterator[EnvSetting]:
    prefix = re.match(r"\s*[@+-]*\s*", lines[0])
    first = " " * (prefix.end() if prefix else 0) + lines[0][prefix.end() if prefix else 0 :]
    text = "\n".join([first, *lines[1:]])
    expanded = _expanded(text, known)
    for one in read_shell(expanded.replace("$$", "$"), begun):
        span = one.span if expanded == text else Span(begun, 1, begun, len(lines[0]) + 1)
        yield replace(one, span=span, guarded=one.guarded or guarded, is_brief=one.is_brief or one.how == WHOLE_PROGRAM)


def _expanded(text: str, known: dict[str, str]) -> str:
    return re.sub(r"\$[({](\w+)[)}]", lambda found: known.get(found[1], found[0]), text)


def read_justfile(text: str) -> tuple[EnvSetting, ...]:
    """Return the settings of a justfile."""
    lines = text.split("\n")
    exports_all = any(re.match(r"set\s+export\s*(?::=\s*true\s*)?$", line) for line in lines)
    return tuple(_just(lines, exports_all))


def _just(lines: list[str], exports_all: bool) -> Iterator[EnvSetting]:
    for number, line in enumerate(lines, 1):
        if line[:1].isspace():
            prefix = re.match(r"\s*[@-]*", line)
            for one in read_shell(" " * (prefix.end() if prefix else 0) + line.lstrip(" \t@-"), number):
                yield replace(one, is_brief=one.is_brief or one.how == WHOLE_PROGRAM)
            continue
        if match := re.match(r"\[env\(\s*[\"'](\w+)[\"']\s*,\s*[\"']([^\"']*)[\"']\s*\)\]", line):
            if is_watched(match[1]):
                yield EnvSetting(
                    variable=match[1], value=match[2], span=Span(number, 1, number, len(line) + 1), how="env"
                )
            continue
        match = _JUST_VARIABLE.match(line)
        if match and (match["export"] or exports_all) and is_watched(match["name"]):
            text = re.sub(r"\s+#.*", "", match["value"]).strip()
            if default := re.fullmatch(r"env(?:_var_or_default)?\(\s*[\"']\w+[\"']\s*,\s*(.*)\)", text):
                text = default[1].strip()
            quoted = len(text) > 1 and text[0] in "\"'"
            column = match.start("name") + 1
            yield EnvSetting(
                variable=match["name"],
                value=unquoted(text) if quoted else None,
                span=Span(number, column, number, len(line.rstrip()) + 1),
                how="export",
            )
