"""Options that pass variables on: `docker run -e X=1`, `mpirun -x X=1`, `--export=X=1`, `bash -c "..."`."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.static.environment.setting import SCRATCH, EnvSetting, Fleeting
from triton_doctor.static.environment.settings_files.shell_words import ASSIGNMENT, program
from triton_doctor.variables import CACHE_FOLDERS

if TYPE_CHECKING:
    from triton_doctor.static.environment.settings_files.shell_commands import Commands
    from triton_doctor.static.environment.settings_files.shell_guards import Guards
    from triton_doctor.static.environment.settings_files.shell_words import Word

_DEEPEST = 6
_TAKES_E = frozenset({"docker", "podman", "nerdctl", "docker-compose", "enroot", "nvidia-docker", "sudo"})
_CONTAINERS = frozenset({"docker", "podman", "nerdctl"})
_TAKES_X = frozenset({"mpirun", "mpiexec", "orterun"})
_ENVIRONMENT_OPTION = re.compile(
    r"--(?:env|export|build-arg|setenv|set-env-vars|update-env-vars|env-vars?|environment|container-env|genv)(?:=(.*))?",
    re.DOTALL,
)
_PASSED_ON = re.compile(r"\b([A-Za-z_]\w*)=[\"']?\$(?:\1|\{\1\})[\"']?(?=,|$)")
_SHELL_OPTION = re.compile(r"-\w*c|--wrap(?:=(.*))?|--command(?:=(.*))?", re.DOTALL)


class HandedOn:
    """Reads the options of commands, one after the other, for `commands`."""

    def __init__(self, commands: Commands, guards: Guards) -> None:
        self._commands = commands
        self._guards = guards

    def read(self, name: str, args: list[Word]) -> None:
        """Read the options that pass variables, or a whole command line, to what the command starts."""
        before = len(self._commands.found)
        self._read_options(name, args)
        if name in _CONTAINERS and any(word.text == "run" for word in args[:2]):
            mounts = [word.raw for word in args if ":" in word.raw or "target=" in word.raw]
            self._commands.found[before:] = [_kept_by(setting, mounts) for setting in self._commands.found[before:]]

    def _read_options(self, name: str, args: list[Word]) -> None:
        runs = ""
        for position, word in enumerate(args):
            runs = runs or (program([args[position - 1]]) if position else "")
            text = word.text or word.raw
            following = args[position + 1] if position + 1 < len(args) else None
            takes = (word.raw == "-e" and name in _TAKES_E) or (word.raw == "-x" and name in _TAKES_X)
            option = _ENVIRONMENT_OPTION.fullmatch(text)
            if (takes or (option and option[1] is None)) and following is not None and ASSIGNMENT.match(following.raw):
                self._several(following, following.text, word.raw)
            elif option and option[1] and _listed(option[1]):
                self._several(word, option[1], text.partition("=")[0])
            elif word.raw.startswith("-e") and name in _TAKES_E and ASSIGNMENT.match(word.raw[2:]):
                self._several(word, text[2:], "-e")
            elif text == "-c" and name.startswith("python") and following is not None and following.text:
                for setting in self._commands.read_python(following.text):
                    guarded = setting.guarded or self._guards.decide(setting.variable)
                    self._commands.found.append(replace(setting, span=following.span, guarded=guarded))
            elif (shell := _SHELL_OPTION.fullmatch(text)) and (name not in {"python", "python3", "gcc", "grep"}):
                given = shell[1] or shell[2]
                if given:
                    self._commands.nested(word, given)
                elif following is not None and following.text:
                    self._commands.nested(following, following.text)
            elif text == "env" and runs in {"set", "exec"}:
                for argument in args[position + 1 :]:
                    if ASSIGNMENT.match(argument.raw):
                        self._commands.set_by(argument, "env")
                return
            elif text in {"set", "config:set"} and name in {"conda", "mamba", "micromamba", "heroku", "fly", "flyctl"}:
                for option_word in args[position + 1 :]:
                    if ASSIGNMENT.match(option_word.raw):
                        self._commands.set_by(option_word, f"{name} {text}")
                return
            elif text == "env" and following is not None and ASSIGNMENT.match(following.raw):
                self._commands.env(args[position + 1 :], [], _DEEPEST)
                return

    def _several(self, word: Word, text: str | None, how: str) -> None:
        """Read `A=1`, or a list such as `--export=ALL,A=1,B=2`."""
        # What the script has set before is only passed on by `-e X="$X"`.
        passed_on = {name for name in _PASSED_ON.findall(word.raw) if self._commands.places(name)}
        for part in (text or "").split(","):
            name, equals, value = part.partition("=")
            if equals and name not in passed_on:
                self._commands.add(name.strip("\"' "), value.strip("\"'"), word, how, word.fleeting)


def _kept_by(setting: EnvSetting, mounts: list[str]) -> EnvSetting:
    """Return `setting` of a container run with `mounts`; a folder in its own scratch space is marked as fleeting."""
    top = SCRATCH.match(setting.value or "")
    if setting.variable not in CACHE_FOLDERS or top is None or any(top[0].rstrip("/") in mount for mount in mounts):
        return setting
    return replace(setting, fleeting=Fleeting(why="in the container's own scratch folder, which is gone with it"))


def _listed(text: str) -> bool:
    return any(ASSIGNMENT.match(part) for part in text.split(","))
