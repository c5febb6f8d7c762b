"""A shell command to what it sets: `export X=1`, `env X=1`, `docker run -e X=1`, and commands within commands."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.static.environment.setting import EnvSetting, Fleeting, is_watched
from triton_doctor.static.environment.settings_files.shell_options import HandedOn
from triton_doctor.static.environment.settings_files.shell_printed import (
    Printed,
    announced,
    is_environment_file,
    read_printed,
)
from triton_doctor.static.environment.settings_files.shell_words import ASSIGNMENT, pair, split

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from triton_doctor.static.environment.settings_files.shell_guards import Guards
    from triton_doctor.static.environment.settings_files.shell_words import Word

    Read = Callable[[str, int, int], Iterable[EnvSetting]]
    ReadPython = Callable[[str], Iterable[EnvSetting]]

_DEEPEST = 6
# The form of `VAR=1 pytest x` in findings: later commands do not see the variable.
ONE_COMMAND = "a command's variables"
# The form of `VAR=1 torchrun train.py`, if that command is the script's purpose.
WHOLE_PROGRAM = "a program's variables"
_LAUNCHERS = frozenset({"torchrun", "accelerate", "deepspeed"})
_LAUNCHER_MODULES = ("torch.distributed", "accelerate", "deepspeed")
_LOOKS_CLOSER = re.compile(
    r"(?:^|[/_.-])(?:py)?(?:test|bench|debug|prof|dump|trac|sanit|lint|build|setup)", re.IGNORECASE
)
# Options of Python that take a value, and options that are not followed by a program.
_VALUED, _NO_PROGRAM = frozenset({"-W", "-X"}), frozenset({"-c", "-", "-V", "--version", "-h"})
# Commands that run another command, with the number of their own words before it.
_WRAPPERS = dict.fromkeys(("nohup", "exec", "command", "builtin", "nice", "xargs", "stdbuf", "setsid", "ionice"), 0)
_WRAPPERS |= dict.fromkeys(("numactl", "chronic", "unbuffer"), 0) | dict.fromkeys(("timeout", "taskset", "gosu"), 1)
_RUNS_ITS_ARGUMENT = frozenset({"eval", "ssh", "tmux", "screen", "hyperfine", "watch", "parallel", "su", "wsl"})


class Commands:
    """Runs the commands of one shell in order and keeps its variables.

    `read` reads the text of a nested shell, `read_python` that of a Python program.
    """

    def __init__(self, guards: Guards, read: Read, read_python: ReadPython) -> None:
        self._guards = guards
        self._read = read
        self.read_python = read_python
        self._handed_on = HandedOn(self, guards)
        self._assigned_at: dict[str, Word] = {}
        self._exported: set[str] = set()
        self._exports_all = False
        self.known: dict[str, str | None] = {}
        self.found: list[EnvSetting] = []
        self._programs: dict[str, list[frozenset[str]]] = {}
        # Where in `found` each variable is, up to `_indexed`.
        self._places: dict[str, list[int]] = {}
        self._indexed = 0

    def extend(self, found: Iterable[EnvSetting]) -> None:
        """Add settings found elsewhere, for the case that this command runs."""
        guarded = self._guards.decide(None)
        self.found.extend(replace(setting, guarded=setting.guarded or guarded) for setting in found)

    def finished(self) -> list[EnvSetting]:
        """Return the settings found.

        Those of a program that is also started without them, for comparison, are brief.
        """
        compared = {
            variable
            for runs in self._programs.values()
            for variable, times in Counter(name for variables in runs for name in variables).items()
            if times < len(runs)
        }
        return [
            replace(setting, is_brief=True)
            if setting.how == WHOLE_PROGRAM and setting.variable in compared
            else setting
            for setting in self.found
        ]

    def assign_within(self, word: Word) -> None:
        """Process the command substitutions and assignments inside `word`."""
        for text, line, column in word.inner:
            self.extend(self._read(text, line, column))
        for name, value in word.sets:
            self.known[name] = value
            self._assigned_at[name] = word
            if name in self._exported:
                self.add(name, value, word, "export")

    def run(self, words: list[Word], targets: list[Word], wrappers: int = 0) -> None:
        """Run the command `words`, whose output goes to `targets`.

        `wrappers` counts the commands that run another, such as `env`, before it.
        """
        words = self._guards.take_keywords(words)
        if not words or wrappers > _DEEPEST:
            return
        assignments, rest = split(words)
        if not rest:
            for word in assignments:
                self._assign(word)
            return
        how = ONE_COMMAND
        if (started := _program_started(rest)) is not None:
            self._programs.setdefault(started, []).append(frozenset(pair(word)[0] for word in assignments))
            how = ONE_COMMAND if _LOOKS_CLOSER.search(started) else WHOLE_PROGRAM
        for word in assignments:
            self.set_by(word, how)
        self._run(rest, targets, wrappers)

    def _run(self, words: list[Word], targets: list[Word], wrappers: int) -> None:
        name = (words[0].text or "").rpartition("/")[2]
        args = words[1:]
        match name:
            case "export" | "declare" | "typeset" | "local" | "readonly":
                self._declare(name, args)
                return
            case "set":
                self._set_command(args)
                return
            case "setenv" if len(args) > 1:
                self.add(args[0].text or "", args[1].text, args[0], "setenv", args[1].fleeting)
                return
            case "unset":
                for word in args:
                    self._unset(word.text or "")
                return
            case "echo" | "printf":
                for variable, value, word in announced(args):
                    self.add(variable, value, word, "echo")
                self.found += read_printed([Printed(words, self._guards.decide(None))], targets)
                if len(words) > 2 and words[1].text == "export" and any(map(is_environment_file, targets)):
                    self.set_by(words[2], "a file of variables")
                return
            case "env" | "sudo" | "doas":
                self.env(args, targets, wrappers + 1)
                return
            case "alias" | "cat" | "grep":
                return
            case _ if name in _WRAPPERS:
                rest = [word for word in args if not word.raw.startswith("-")][_WRAPPERS[name] :]
                self.run(rest, targets, wrappers + 1)
            case _:
                pass
        self._handed_on.read(name, args)
        if name in _RUNS_ITS_ARGUMENT:
            for word in args:
                if word.text is not None and " " in word.text:
                    self.nested(word, word.text)

    def _unset(self, name: str) -> None:
        """Clear the variable `name`. An earlier export of it is withdrawn, unless a condition decides."""
        self.known.pop(name, None)
        self._exported.discard(name)
        if not self._guards.decide(None):
            for place in self.places(name):
                if self.found[place].how == "export":
                    self.found[place] = replace(self.found[place], is_brief=True)
            self._places.pop(name, None)

    def places(self, name: str) -> Sequence[int]:
        """Return where in `found` the variable `name` is set, since it was last unset."""
        for place in range(self._indexed, len(self.found)):
            self._places.setdefault(self.found[place].variable, []).append(place)
        self._indexed = len(self.found)
        return self._places.get(name, ())

    def _assign(self, word: Word) -> None:
        name, value = pair(word)
        if name in self.known and self.known[name] != value and self._guards.decide(name):
            value = None
        self.known[name] = value
        self._assigned_at[name] = word
        if name in self._exported or self._exports_all:
            self.set_by(word, "export")

    def _declare(self, command: str, args: list[Word]) -> None:
        options = "".join(word.raw for word in args if word.raw.startswith(("-", "+")))
        exports = (command == "export" and "n" not in options) or "x" in options.partition("+")[0]
        for word in args:
            if word.raw.startswith(("-", "+")):
                continue
            if ASSIGNMENT.match(word.raw):
                name, value = pair(word)
                self.known[name] = value
                if exports:
                    self._exported.add(name)
                    self.set_by(word, "export")
            elif exports and word.text:
                self._exported.add(word.text)
                if word.text in self.known:
                    at = self._assigned_at.get(word.text, word)
                    self.add(word.text, self.known[word.text], at, "export", at.fleeting)

    def _set_command(self, args: list[Word]) -> None:
        options = [word.raw for word in args if word.raw.startswith("-")]
        names = [word for word in args if not word.raw.startswith("-")]
        if any("x" in option or option == "--export" for option in options) and len(names) > 1:
            self.add(names[0].text or "", names[1].text, names[0], "set -x", names[1].fleeting)
        self._exports_all = self._exports_all or "-a" in options or "allexport" in [word.text for word in names]
        if any(word.raw == "+a" for word in args):
            self._exports_all = False

    def env(self, args: list[Word], targets: list[Word], wrappers: int) -> None:
        """Run `env` and similar commands: assignments, then a command."""
        at = 0
        while at < len(args):
            word = args[at]
            if word.raw in {"-u", "--unset", "-C", "--chdir", "-g"}:
                at += 1
            elif word.raw in {"-S", "--split-string"} and at + 1 < len(args):
                at += 1
                self.nested(args[at], f"env {args[at].text or ''}")
            elif ASSIGNMENT.match(word.raw):
                self.set_by(word, "env")
            elif word.raw.startswith("$") and word.text and "=" in word.text:
                self.extend(self._read(f"env {word.text} true", word.span.line, word.span.column))
            elif not word.raw.startswith("-"):
                break
            at += 1
        self.run(args[at:], targets, wrappers)

    def nested(self, word: Word, text: str) -> None:
        """Run the commands `text`, written in `word`, in a nested shell."""
        plain = word.raw.strip("\"'")
        exact = plain == text
        line, column = word.span.line, word.span.column + (1 if word.quoted else 0)
        for setting in self._read(text, line, column):
            span = setting.span if exact else word.span
            self.found.append(
                replace(setting, span=span, guarded=setting.guarded or self._guards.decide(setting.variable))
            )

    def set_by(self, word: Word, how: str) -> None:
        """Add the assignment `word`, which reaches some process."""
        name, value = pair(word)
        self.add(name, value, word, how, word.fleeting)

    def add(self, name: str, value: str | None, word: Word, how: str, fleeting: Fleeting | None = None) -> None:
        """Add the variable `name`, set at `word`, if it is of interest."""
        if is_watched(name):
            guarded = self._guards.decide(name)
            self.found.append(
                EnvSetting(
                    variable=name,
                    value=value,
                    span=word.span,
                    how=how,
                    guarded=guarded,
                    build_only=how == "--build-arg",
                    fleeting=fleeting,
                    is_brief=how == ONE_COMMAND,
                )
            )


def _program_started(words: list[Word]) -> str | None:
    """Return the script or module started by Python or a launcher such as torchrun; None for any other command."""
    texts = [word.text or "" for word in words]
    name = texts[0].rpartition("/")[2]
    if name in _LAUNCHERS:
        return next(
            (text for text in texts[1:] if text.endswith(".py")),
            texts[texts.index("-m") + 1] if "-m" in texts[:-1] else name,
        )
    if not re.fullmatch(r"python[\d.]*", name):
        return None
    at = 1
    while at < len(texts) and texts[at].startswith("-"):
        if texts[at] in _NO_PROGRAM:
            return None
        if texts[at] == "-m":
            module, *rest = texts[at + 1 :] or [""]
            started = next((text for text in rest if text.endswith(".py")), module)
            return started if _is_launcher(module) else module
        at += 2 if texts[at] in _VALUED else 1
    return texts[at] if at < len(texts) else None


def _is_launcher(module: str) -> bool:
    return any(module == launcher or module.startswith(f"{launcher}.") for launcher in _LAUNCHER_MODULES)
