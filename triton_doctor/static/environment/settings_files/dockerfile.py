"""Dockerfiles to settings: ENV, ARG, and the commands of RUN, CMD, ENTRYPOINT and HEALTHCHECK."""

from __future__ import annotations

import json
import posixpath
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.finding import Span
from triton_doctor.static.environment.setting import SCRATCH, EnvSetting, Fleeting, is_watched
from triton_doctor.static.environment.settings_files.shell import read_shell
from triton_doctor.static.environment.settings_files.shell_words import HereDocument, Lexer, Word
from triton_doctor.variables import CACHE_FOLDERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_INSTRUCTION = re.compile(r"\s*(?:ONBUILD\s+)?([A-Za-z]+)(?=\s)", re.IGNORECASE)
_HERE = re.compile(r"<<-?\s*([\"']?)(\w+)\1")
_MOST_STAGES = 200


class Instruction(NamedTuple):
    """The text of one instruction after its keyword; `span` is that of its first line."""

    body: str
    span: Span


@dataclass(slots=True)
class Stage:
    """One `FROM`: its base, settings, volumes and RUNs, what its COPY fills, and what it copies from earlier stages.

    `workdir` is None until it names an absolute folder.
    """

    name: str
    base: str
    settings: list[EnvSetting] = field(default_factory=list)
    known: dict[str, str | None] = field(default_factory=dict)
    volumes: list[str] = field(default_factory=list)
    filled: list[str] = field(default_factory=list)
    workdir: str | None = None
    copied: dict[str, list[str]] = field(default_factory=dict)
    runs: list[Instruction] = field(default_factory=list)


def read_dockerfile(text: str) -> tuple[EnvSetting, ...]:
    """Return the settings of every stage, in order of lines."""
    stages = read_stages(text)
    return tuple(setting for stage in stages for setting in _with_keeping(stage, stages))


def read_stages(text: str) -> list[Stage]:
    """Return the stages in order; the first holds what is before any `FROM`."""
    stages = [Stage("", "")]
    for keyword, body, line, column in _instructions(text):
        if keyword == "FROM" and len(stages) > _MOST_STAGES:
            break
        if keyword == "FROM":
            words = body.split()
            named = [word for word in words if not word.startswith("--")]
            name = named[2] if len(named) > 2 else str(len(stages) - 1)
            parent = next((stage for stage in stages[1:] if named and stage.name == named[0]), None)
            known = parent.known if parent else stages[0].known
            stage = Stage(name, named[0] if named else "", known=dict(known))
            if parent:
                stage.filled, stage.workdir = list(parent.filled), parent.workdir
            stages.append(stage)
        else:
            _read_instruction(stages[-1], keyword, body, line, column)
    return stages


def _read_instruction(stage: Stage, keyword: str, body: str, line: int, column: int) -> None:
    match keyword:
        case "ENV" | "ARG":
            for setting in _assignments(body, line, column, stage.known, keyword):
                if keyword == "ENV" or setting.value is not None:
                    stage.known[setting.variable] = setting.value
                if is_watched(setting.variable):
                    stage.settings.append(setting)
        case "RUN" | "CMD" | "ENTRYPOINT" | "HEALTHCHECK" | "SHELL":
            if keyword == "RUN":
                stage.runs.append(Instruction(body, Span(line, 1, line, column + len(body.partition("\n")[0]))))
            for command in _commands(body, line, column):
                lasts = command.how == "a file of variables" or keyword != "RUN"
                stage.settings.append(
                    replace(
                        command,
                        build_only=not lasts,
                        is_brief=False,
                        how=f"{keyword} {command.how}" if lasts else keyword,
                    )
                )
        case "VOLUME":
            stage.volumes += re.findall(r"[^\s\[\]\",]+", body)
        case "WORKDIR":
            stage.workdir = _target(stage, body, line, column)
        case "COPY" | "ADD":
            if (target := _target(stage, body, line, column)) is not None:
                stage.filled.append(target)
            if match := re.search(r"--from=(\S+)", body):
                stage.copied.setdefault(match[1], []).append(body)
        case _:
            pass


def _target(stage: Stage, body: str, line: int, column: int) -> str | None:
    """Return the folder that the last word of `body` names, before any here-document; None if it is not known."""
    lexer = Lexer(body, line, column, stage.known)
    text: str | None = None
    while (piece := lexer.next()) is not None and not isinstance(piece, HereDocument):
        text = piece.text if isinstance(piece, Word) else text
    text = (text or "").strip("[],")
    folder = posixpath.normpath(posixpath.join(stage.workdir or "", text)) if text else ""
    return folder if folder.startswith("/") else None


def _instructions(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield keyword, body, and line and column of the body. Continuation lines keep their line ends; comments go."""
    lines = text.split("\n")
    escape = "`" if re.match(r"\s*#\s*escape\s*=\s*`", text) else "\\"
    at = 0
    while at < len(lines):
        start = at
        match = _INSTRUCTION.match(lines[at])
        if match is None or lines[at].lstrip().startswith("#"):
            at += 1
            continue
        kept = [lines[at]]
        while at + 1 < len(lines) and (kept[-1] == "\\" or kept[-1].rstrip().endswith(escape)):
            at += 1
            following = lines[at]
            skipped = following.lstrip().startswith("#") or not following.strip()
            kept.append("\\" if skipped else following)
        ends = [found[2] for found in _HERE.finditer("\n".join(kept))] if match[1].upper() in {"RUN", "COPY"} else []
        for end in ends:
            while at + 1 < len(lines):
                at += 1
                kept.append(lines[at])
                if lines[at].strip() == end:
                    break
        kept[0] = kept[0][match.end() :]
        body = "\n".join(kept)
        if escape != "\\":
            body = re.sub(r"`(?=\s*\n)", r"\\", body)
        yield match[1].upper(), re.sub(r"\\[ \t\r]+\n", r"\\\n", body), start + 1, match.end() + 1
        at += 1


def _assignments(
    body: str, line: int, column: int, known: Mapping[str, str | None], keyword: str
) -> Iterator[EnvSetting]:
    lexer = Lexer(body, line, column, known)
    words: list[Word] = []
    while (piece := lexer.next()) is not None:
        if isinstance(piece, Word):
            words.append(piece)
    first = words[0] if words else None
    if keyword == "ENV" and first is not None and "=" not in first.raw and len(words) > 1:
        texts = [word.text for word in words[1:]]
        value = " ".join(text for text in texts if text is not None) if None not in texts else None
        fleeting = words[1].fleeting
        yield EnvSetting(variable=first.raw, value=value, span=first.span, how=keyword, fleeting=fleeting)
        return
    for word in words:
        name, equals, _ = word.raw.partition("=")
        if not equals:
            continue
        yield EnvSetting(
            variable=name.strip("\"'"),
            value=None if word.text is None else word.text.partition("=")[2],
            span=word.span,
            how=keyword,
            build_only=keyword == "ARG",
            fleeting=word.fleeting,
        )


def _commands(body: str, line: int, column: int) -> Iterator[EnvSetting]:
    bare = re.sub(r"\A((?:\s*--[\w-]+(?:=\S+)?)+|\s*CMD\b)", lambda found: " " * len(found[0]), body)
    stripped = bare.replace("\\\n", " ").strip()
    if stripped.startswith("["):
        try:
            words = [str(word) for word in json.loads(stripped)]
        except ValueError:
            words = []
        if words:
            command = " ".join(f"'{word}'" if " " in word else word for word in words)
            span_column = column + len(bare) - len(bare.lstrip())
            for setting in read_shell(command, line, span_column):
                # The position of a word in a JSON list is not tracked: use the whole list.
                yield replace(setting, span=Span(line, span_column, line, span_column + len(stripped)))
            return
    if match := re.match(r"\s*<<-?\s*[\"']?(\w+)[\"']?[^\n]*\n", bare):
        yield from read_shell(bare[match.end() :].rsplit(match[1], 1)[0], line + 1)
        return
    yield from read_shell(bare, line, column)


def _with_keeping(stage: Stage, stages: list[Stage]) -> Iterator[EnvSetting]:
    for setting in stage.settings:
        fleeting = setting.fleeting
        if setting.variable in CACHE_FOLDERS and setting.value and fleeting is None:
            folder = setting.value if setting.variable == "TRITON_CACHE_DIR" else f"{setting.value.rstrip('/')}/.triton"
            is_filled = any(_covers(folder, target) for target in (*stage.filled, *stages[-1].filled))
            fleeting = _lost(setting.value, stage, stages, is_filled=is_filled)
        yield replace(setting, fleeting=fleeting)


def _lost(folder: str, stage: Stage, stages: list[Stage], *, is_filled: bool) -> Fleeting | None:
    if any(_covers(volume, folder) for volume in stage.volumes):
        return None
    if stage is not stages[-1] and not _is_used(stage, stages, folder):
        return Fleeting(why=f"in the layers of build stage `{stage.name}`, which the image does not keep")
    if is_filled:
        return None
    if SCRATCH.match(folder):
        return Fleeting(why="in the container's own scratch folder, which is gone when the container is")
    return Fleeting(why="in the container's own layer unless a volume is mounted there", certain=False)


def _is_used(stage: Stage, stages: list[Stage], folder: str) -> bool:
    later = stages[stages.index(stage) + 1 :]
    for other in later:
        if other.base == stage.name and (other is stages[-1] or _is_used(other, stages, folder)):
            return True
        bodies = other.copied.get(stage.name, [])
        if any(
            _covers(path, folder) or _covers(folder, path) for body in bodies for path in body.split() if path[0] == "/"
        ):
            return True
    return False


def _covers(outer: str, inner: str) -> bool:
    outer = outer.rstrip("/")
    return inner == outer or inner.startswith(f"{outer}/")
