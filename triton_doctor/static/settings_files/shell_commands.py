"""A shell command to what it sets: `export X=1`, `env X=1`, `docker run -e X=1`, and commands within commands."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.static.model_environment import EnvSetting, Fleeting
from triton_doctor.static.settings_files.embedded_python import read_embedded_python
from triton_doctor.static.settings_files.places import SCRATCH, is_watched
from triton_doctor.static.settings_files.shell_guards import KEYWORDS
from triton_doctor.static.settings_files.shell_printed import Printed, announced, is_environment_file, read_printed
from triton_doctor.variables import CACHE_FOLDERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from triton_doctor.static.settings_files.shell_guards import Guards
    from triton_doctor.static.settings_files.shell_words import Word

    Read = Callable[[str, int, int], Iterable[EnvSetting]]

_DEEPEST = 6
_ASSIGNMENT = re.compile(r"[\"']?([A-Za-z_]\w*)\+?=")
# Commands that run the command after them, with how many words of their own come before it.
_WRAPPERS = dict.fromkeys(("nohup", "exec", "command", "builtin", "nice", "xargs", "stdbuf", "setsid", "ionice"), 0)
_WRAPPERS |= dict.fromkeys(("numactl", "chronic", "unbuffer"), 0) | dict.fromkeys(("timeout", "taskset", "gosu"), 1)
_RUNS_ITS_ARGUMENT = frozenset({"eval", "ssh", "tmux", "screen", "hyperfine", "watch", "parallel", "su", "wsl"})
_TAKES_E = frozenset({"docker", "podman", "nerdctl", "docker-compose", "enroot", "nvidia-docker", "sudo"})
_CONTAINERS = frozenset({"docker", "podman", "nerdctl"})
_TAKES_X = frozenset({"mpirun", "mpiexec", "orterun"})
_ENVIRONMENT_OPTION = re.compile(
    r"--(?:env|export|build-arg|setenv|set-env-vars|update-env-vars|env-vars?|environment|container-env|genv)(?:=(.*))?",
    re.DOTALL,
)
_SHELL_OPTION = re.compile(r"-\w*c|--wrap(?:=(.*))?|--command(?:=(.*))?", re.DOTALL)


class Commands:
    """The variables of one shell while it runs its commands, in order. `read` reads the text of a shell within it."""

    def __init__(self, guards: Guards, read: Read) -> None:
        self._guards = guards
        self._read = read
        self._assigned_at: dict[str, Word] = {}
        self._exported: set[str] = set()
        self._exports_all = False
        self.known: dict[str, str | None] = {}
        self.found: list[EnvSetting] = []

    def extend(self, found: Iterable[EnvSetting]) -> None:
        """What was found elsewhere is set here, if this command runs."""
        guarded = self._guards.decide(None)
        self.found.extend(replace(one, guarded=one.guarded or guarded) for one in found)

    def assign_within(self, word: Word) -> None:
        """What the substitutions in `word` run and assign."""
        for text, line, column in word.inner:
            self.extend(self._read(text, line, column))
        for name, value in word.sets:
            self.known[name] = value
            self._assigned_at[name] = word
            if name in self._exported:
                self._add(name, value, word, "export")

    def run(self, words: list[Word], targets: list[Word], wrappers: int = 0) -> None:
        """Run the command `words`, whose output goes to `targets`.

        `wrappers` is how many commands that run another, such as `env`, stood before it."""
        words = self._guards.take_keywords(words)
        if not words or wrappers > _DEEPEST:
            return
        assignments, rest = _split(words)
        if not rest:
            for word in assignments:
                self._assign(word)
            return
        for word in assignments:
            self._set(word, "a command's variables")
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
                self._add(args[0].text or "", args[1].text, args[0], "setenv", args[1].fleeting)
                return
            case "unset":
                for word in args:
                    self.known.pop(word.text or "", None)
                    self._exported.discard(word.text or "")
                return
            case "echo" | "printf":
                for variable, value, word in announced(args):
                    self._add(variable, value, word, "echo")
                self.found += read_printed([Printed(words, self._guards.decide(None))], targets)
                if len(words) > 2 and words[1].text == "export" and any(map(is_environment_file, targets)):
                    self._set(words[2], "a file of variables")
                return
            case "env" | "sudo" | "doas":
                self._env(args, targets, wrappers + 1)
                return
            case "alias" | "cat" | "grep":
                return
            case _ if name in _WRAPPERS:
                rest = [word for word in args if not word.raw.startswith("-")][_WRAPPERS[name] :]
                self.run(rest, targets, wrappers + 1)
            case _:
                pass
        self._options(name, args)
        if name in _RUNS_ITS_ARGUMENT:
            for word in args:
                if word.text is not None and " " in word.text:
                    self._nested(word, word.text)

    def _assign(self, word: Word) -> None:
        name, value = _pair(word)
        if name in self.known and self.known[name] != value and self._guards.decide(name):
            value = None
        self.known[name] = value
        self._assigned_at[name] = word
        if name in self._exported or self._exports_all:
            self._set(word, "export")

    def _declare(self, command: str, args: list[Word]) -> None:
        options = "".join(word.raw for word in args if word.raw.startswith(("-", "+")))
        exports = (command == "export" and "n" not in options) or "x" in options.partition("+")[0]
        for word in args:
            if word.raw.startswith(("-", "+")):
                continue
            if _ASSIGNMENT.match(word.raw):
                name, value = _pair(word)
                self.known[name] = value
                if exports:
                    self._exported.add(name)
                    self._set(word, "export")
            elif exports and word.text:
                self._exported.add(word.text)
                if word.text in self.known:
                    at = self._assigned_at.get(word.text, word)
                    self._add(word.text, self.known[word.text], at, "export", at.fleeting)

    def _set_command(self, args: list[Word]) -> None:
        options = [word.raw for word in args if word.raw.startswith("-")]
        names = [word for word in args if not word.raw.startswith("-")]
        if any("x" in option or option == "--export" for option in options) and len(names) > 1:
            self._add(names[0].text or "", names[1].text, names[0], "set -x", names[1].fleeting)
        self._exports_all = self._exports_all or "-a" in options or "allexport" in [word.text for word in names]
        if any(word.raw == "+a" for word in args):
            self._exports_all = False

    def _env(self, args: list[Word], targets: list[Word], wrappers: int) -> None:
        rest = list(args)
        while rest:
            word = rest[0]
            if word.raw in {"-u", "--unset", "-C", "--chdir", "-g"}:
                rest = rest[2:]
            elif word.raw in {"-S", "--split-string"} and len(rest) > 1:
                self._nested(rest[1], f"env {rest[1].text or ''}")
                rest = rest[2:]
            elif word.raw.startswith("-"):
                rest = rest[1:]
            elif _ASSIGNMENT.match(word.raw):
                self._set(word, "env")
                rest = rest[1:]
            elif word.raw.startswith("$") and word.text and "=" in word.text:
                self.extend(self._read(f"env {word.text} true", word.span.line, word.span.column))
                rest = rest[1:]
            else:
                break
        self.run(rest, targets, wrappers)

    def _options(self, name: str, args: list[Word]) -> None:
        """Options that hand variables on to what the command starts, or a whole command line."""
        before = len(self.found)
        self._read_options(name, args)
        if name in _CONTAINERS and any(word.text == "run" for word in args[:2]):
            mounts = [word.raw for word in args if ":" in word.raw or "target=" in word.raw]
            self.found[before:] = [_kept_by(one, mounts) for one in self.found[before:]]

    def _read_options(self, name: str, args: list[Word]) -> None:
        for place, word in enumerate(args):
            text = word.text or word.raw
            following = args[place + 1] if place + 1 < len(args) else None
            takes = (word.raw == "-e" and name in _TAKES_E) or (word.raw == "-x" and name in _TAKES_X)
            option = _ENVIRONMENT_OPTION.fullmatch(text)
            if (takes or (option and option[1] is None)) and following is not None and _ASSIGNMENT.match(following.raw):
                self._several(following, following.text, word.raw)
            elif option and option[1] and _listed(option[1]):
                self._several(word, option[1], text.partition("=")[0])
            elif word.raw.startswith("-e") and name in _TAKES_E and _ASSIGNMENT.match(word.raw[2:]):
                self._several(word, text[2:], "-e")
            elif text == "-c" and name.startswith("python") and following is not None and following.text:
                for setting in read_embedded_python(following.text):
                    guarded = setting.guarded or self._guards.decide(setting.variable)
                    self.found.append(replace(setting, span=following.span, guarded=guarded))
            elif (shell := _SHELL_OPTION.fullmatch(text)) and (name not in {"python", "python3", "gcc", "grep"}):
                given = shell[1] or shell[2]
                if given:
                    self._nested(word, given)
                elif following is not None and following.text:
                    self._nested(following, following.text)
            elif place and text == "env" and program(args[:place]) in {"set", "exec"}:
                for one in args[place + 1 :]:
                    if _ASSIGNMENT.match(one.raw):
                        self._set(one, "env")
            elif text in {"set", "config:set"} and name in {"conda", "mamba", "micromamba", "heroku", "fly", "flyctl"}:
                for one in args[place + 1 :]:
                    if _ASSIGNMENT.match(one.raw):
                        self._set(one, f"{name} {text}")
            elif text == "env" and following is not None and _ASSIGNMENT.match(following.raw):
                self._env(args[place + 1 :], [], _DEEPEST)
                return

    def _several(self, word: Word, text: str | None, how: str) -> None:
        """`A=1`, or a list of them as `--export=ALL,A=1,B=2` has."""
        for part in (text or "").split(","):
            name, equals, value = part.partition("=")
            if equals:
                self._add(name.strip("\"' "), value.strip("\"'"), word, how, word.fleeting)

    def _nested(self, word: Word, text: str) -> None:
        plain = word.raw.strip("\"'")
        exact = plain == text
        line, column = word.span.line, word.span.column + (1 if word.quoted else 0)
        for one in self._read(text, line, column):
            span = one.span if exact else word.span
            self.found.append(replace(one, span=span, guarded=one.guarded or self._guards.decide(one.variable)))

    def _set(self, word: Word, how: str) -> None:
        name, value = _pair(word)
        self._add(name, value, word, how, word.fleeting)

    def _add(self, name: str, value: str | None, word: Word, how: str, fleeting: Fleeting | None = None) -> None:
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
                )
            )


def _split(words: list[Word]) -> tuple[list[Word], list[Word]]:
    for place, word in enumerate(words):
        if not re.match(r"[A-Za-z_]\w*\+?=", word.raw):
            return words[:place], words[place:]
    return words, []


def _pair(word: Word) -> tuple[str, str | None]:
    match = _ASSIGNMENT.match(word.raw)
    name = match[1] if match else word.raw
    if word.text is None:
        return name, None
    return name, word.text.partition("=")[2]


def program(words: list[Word]) -> str:
    """The name of the program that `words` run, its folder left out; nothing for none."""
    _, rest = _split([word for word in words if word.text not in KEYWORDS])
    rest = [word for word in rest if word.text not in {"sudo", "env"} and not word.raw.startswith("-")]
    return (rest[0].text or "").rpartition("/")[2] if rest else ""


def _kept_by(setting: EnvSetting, mounts: list[str]) -> EnvSetting:
    """`setting` of a container that is run with `mounts`: a folder in its own scratch space is gone with it."""
    top = SCRATCH.match(setting.value or "")
    if setting.variable not in CACHE_FOLDERS or top is None or any(top[0].rstrip("/") in mount for mount in mounts):
        return setting
    return replace(setting, fleeting=Fleeting(why="in the container's own scratch folder, which is gone with it"))


def _listed(text: str) -> bool:
    return any(_ASSIGNMENT.match(part) for part in text.split(","))
