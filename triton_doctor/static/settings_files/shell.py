"""Shell commands to settings: `export X=1`, `X=1 run`, `env X=1`, `docker run -e X=1`, `echo X=1 >> $GITHUB_ENV`."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.finding import Span
from triton_doctor.static.model_environment import EnvSetting, Fleeting
from triton_doctor.static.settings_files.embedded_python import read_embedded_python
from triton_doctor.static.settings_files.places import SCRATCH, is_watched
from triton_doctor.static.settings_files.shell_words import HereDocument, Lexer, Operator, Word
from triton_doctor.variables import CACHE_FOLDERS

if TYPE_CHECKING:
    from collections.abc import Iterable

_DEEPEST = 6
_MOST_WORDS = 2000
_ASSIGNMENT = re.compile(r"[\"']?([A-Za-z_]\w*)\+?=")
_KEYWORDS = frozenset(
    {"!", "then", "do", "else", "{", "}", "time", "if", "elif", "while", "until", "fi", "done", "esac"}
)
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
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "fish", "ash"})
# Files that some later shell or CI step reads its environment from.
_ENVIRONMENT_FILE = re.compile(
    r"GITHUB_ENV|BASH_ENV|bashrc|profile|/etc/environment|zshrc|zshenv|\.env\w*$|environment\.d|activate"
)
_SETS_VARIABLE = re.compile(
    r"##vso\[task\.setvariable variable=(\w+)[^\]]*\]([^\"'\s]*)|::set-env name=(\w+)::([^\"'\s]*)"
)
_TESTS = frozenset({"[", "[[", "test", "((", "grep", "command", "which", "type", "nvidia-smi", "rocm-smi", "false"})


def read_shell(text: str, line: int = 1, column: int = 1, *, depth: int = _DEEPEST) -> tuple[EnvSetting, ...]:
    """The settings that the commands of `text` make; it begins at `line` and `column` of its file."""
    if depth == 0 or not text.strip():
        return ()
    return (*_Shell(text, line, column, depth).settings(), *_read_powershell(text, line, column))


def _read_powershell(text: str, line: int, column: int) -> Iterable[EnvSetting]:
    for number, content in enumerate(text.split("\n")):
        match = re.match(r"\s*\$env:(\w+)\s*=\s*[\"']?([^\"'\s]*)", content, re.IGNORECASE)
        if match and is_watched(match[1]):
            start = match.start(0) + len(match[0]) - len(match[0].lstrip()) + (column if number == 0 else 1)
            span = Span(line + number, start, line + number, start + len(match[0].strip()))
            yield EnvSetting(variable=match[1], value=match[2], span=span, how="$env:")


def read_assignments(text: str, line: int, how: str) -> Iterable[EnvSetting]:
    """The settings of lines of the form `X=1` or `export X=1`, which begin at `line`."""
    for number, content in enumerate(text.splitlines(), line):
        match = re.match(
            r"\s*(?:export\s+|set\s+-g?x\s+)?([A-Za-z_]\w*)[ \t]*=[ \t]*(\"[^\"]*\"|'[^']*'|[^#\s]*)", content
        )
        if match and is_watched(match[1]):
            value = match[2].strip("\"'")
            span = Span(number, match.start(1) + 1, number, match.end(2) + 1)
            yield EnvSetting(variable=match[1], value=None if "$" in value else value, span=span, how=how)


class _Shell:
    def __init__(self, text: str, line: int, column: int, depth: int) -> None:
        self._depth = depth
        self._known: dict[str, str | None] = {}
        self._assigned_at: dict[str, Word] = {}
        self._exported: set[str] = set()
        self._exports_all = False
        self._lexer = Lexer(text, line, column, self._known)
        self._blocks: list[str | None] = []
        self._case_depth = 0
        self._before: str | None = None
        self._condition = ""
        self._waiting: tuple[list[Word], list[Word]] = ([], [])
        self._found: list[EnvSetting] = []

    def settings(self) -> tuple[EnvSetting, ...]:
        words: list[Word] = []
        targets: list[Word] = []
        redirect: str | None = None
        printed: list[Word] | None = None
        while (piece := self._lexer.next()) is not None:
            match piece:
                case HereDocument():
                    self._document(piece, words)
                    words, targets, redirect = [], [], None
                case Word():
                    if redirect is not None:
                        targets += [piece] if ">" in redirect else []
                        redirect = None
                    else:
                        words.append(piece)
                    self._inside(piece)
                case Operator(text=text) if "<" in text or (">" in text):
                    redirect = text if text not in {"<<", "<<-", ">&", "<&"} else None
                    if text in {"<<", "<<-"}:
                        self._waiting = (list(words), targets)
                case Operator(text=text):
                    if printed is not None and words and (words[0].text or "").endswith("tee"):
                        self._written(printed, words[1:])
                    self._command(words, targets)
                    self._join(text, words)
                    printed = words if text == "|" else None
                    words, targets = [], []
        if printed is not None and words and (words[0].text or "").endswith("tee"):
            self._written(printed, words[1:])
        self._command(words, targets)
        return tuple({(one.variable, one.span): one for one in self._found}.values())

    def _document(self, document: HereDocument, piped: list[Word]) -> None:
        words, targets = self._waiting
        targets = [*targets, *piped] if _program(piped) == "tee" else targets
        self._command(words, targets)
        first = _program(words)
        if first.startswith("python"):
            for one in read_embedded_python(document.text):
                span = replace_line(one.span, document.line)
                self._found.append(replace(one, span=span, guarded=one.guarded or self._guard(one.variable)))
        elif first in _SHELLS | {"ssh", "sbatch", "srun"}:
            self._extend(read_shell(document.text, document.line, depth=self._depth - 1))
        elif any(_ENVIRONMENT_FILE.search(word.raw.strip("\"'")) for word in [*targets, *words[1:]]):
            self._extend(read_assignments(document.text, document.line, "a file of variables"))
        self._join("newline", words)

    def _extend(self, found: Iterable[EnvSetting]) -> None:
        guarded = self._guard(None)
        self._found.extend(replace(one, guarded=one.guarded or guarded) for one in found)

    def _inside(self, word: Word) -> None:
        for text, line, column in word.inner:
            self._extend(read_shell(text, line, column, depth=self._depth - 1))
        for name, value in word.sets:
            self._known[name] = value
            self._assigned_at[name] = word
            if name in self._exported:
                self._add(name, value, word, "export")

    # control flow

    def _join(self, operator: str, words: list[Word]) -> None:
        """`operator` ends the command `words`: what does that say of the next one?"""
        raw = " ".join(word.raw for word in words)
        first = next((word.text or "" for word in words), "")
        bare = [word for word in words if word.text not in {"!", "if", "elif"}]
        tests = bool(bare) and (bare[0].text in _TESTS)
        if operator == "&&":
            self._before = raw if tests and first not in {"if", "elif", "while"} else self._before
        elif operator == "||":
            self._before = raw or "||"
        elif operator in {";", "newline", "&", ";;", ")"}:
            self._before = None

    def _guard(self, name: str | None) -> bool:
        tests = [*self._blocks, self._before]
        return self._case_depth > 0 or any(test is not None and not _is_absence(test, name) for test in tests)

    def _keyword(self, words: list[Word]) -> list[Word]:
        """Takes keywords off the front, and keeps count of the blocks they open and close."""
        words = words[:_MOST_WORDS]
        while (
            words
            and not words[0].quoted
            and (words[0].text in _KEYWORDS or words[0].text in {"case", "for", "function"})
        ):
            match words[0].text:
                case "if" | "elif":
                    condition = " ".join(word.raw for word in words[1:])
                    if words[0].text == "elif" and self._blocks:
                        self._blocks.pop()
                    self._blocks.append(None)
                    self._condition = condition
                case "then":
                    if self._blocks:
                        self._blocks[-1] = self._condition
                case "else":
                    if self._blocks:
                        self._blocks[-1] = "else"
                case "fi":
                    if self._blocks:
                        self._blocks.pop()
                case "case":
                    self._case_depth += 1
                    return []
                case "esac":
                    self._case_depth = max(0, self._case_depth - 1)
                case "for" | "function":
                    return []
                case _:
                    pass
            words = words[1:]
        return words

    # commands

    def _command(self, words: list[Word], targets: list[Word], wrappers: int = 0) -> None:
        """`wrappers` is how many commands that run another, such as `env`, stood before it."""
        words = self._keyword(words)
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
                    self._known.pop(word.text or "", None)
                    self._exported.discard(word.text or "")
                return
            case "echo" | "printf":
                self._announced(args)
                self._written(words, targets)
                return
            case "env" | "sudo" | "doas":
                self._env(args, targets, wrappers + 1)
                return
            case "alias" | "cat" | "grep":
                return
            case _ if name in _WRAPPERS:
                rest = [word for word in args if not word.raw.startswith("-")][_WRAPPERS[name] :]
                self._command(rest, targets, wrappers + 1)
            case _:
                pass
        self._options(name, args)
        if name in _RUNS_ITS_ARGUMENT:
            for word in args:
                if word.text is not None and " " in word.text:
                    self._nested(word, word.text)

    def _assign(self, word: Word) -> None:
        name, value = _pair(word)
        if name in self._known and self._known[name] != value and self._guard(name):
            value = None
        self._known[name] = value
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
                self._known[name] = value
                if exports:
                    self._exported.add(name)
                    self._set(word, "export")
            elif exports and word.text:
                self._exported.add(word.text)
                if word.text in self._known:
                    at = self._assigned_at.get(word.text, word)
                    self._add(word.text, self._known[word.text], at, "export", at.fleeting)

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
                self._extend(
                    read_shell(f"env {word.text} true", word.span.line, word.span.column, depth=self._depth - 1)
                )
                rest = rest[1:]
            else:
                break
        self._command(rest, targets, wrappers)

    def _options(self, name: str, args: list[Word]) -> None:
        """Options that hand variables on to what the command starts, or a whole command line."""
        before = len(self._found)
        self._read_options(name, args)
        if name in _CONTAINERS and any(word.text == "run" for word in args[:2]):
            mounts = [word.raw for word in args if ":" in word.raw or "target=" in word.raw]
            self._found[before:] = [_kept_by(one, mounts) for one in self._found[before:]]

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
                    guarded = setting.guarded or self._guard(setting.variable)
                    self._found.append(replace(setting, span=following.span, guarded=guarded))
            elif (shell := _SHELL_OPTION.fullmatch(text)) and (name not in {"python", "python3", "gcc", "grep"}):
                given = shell[1] or shell[2]
                if given:
                    self._nested(word, given)
                elif following is not None and following.text:
                    self._nested(following, following.text)
            elif place and text == "env" and _program(args[:place]) in {"set", "exec"}:
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
        for one in read_shell(text, line, column, depth=self._depth - 1):
            span = one.span if exact else word.span
            self._found.append(replace(one, span=span, guarded=one.guarded or self._guard(one.variable)))

    def _announced(self, args: list[Word]) -> None:
        for word in args:
            for match in _SETS_VARIABLE.finditer(word.text or word.raw):
                self._add(match[1] or match[3], match[2] or match[4], word, "echo")

    def _written(self, words: list[Word], targets: list[Word]) -> None:
        """`echo X=1 >> "$GITHUB_ENV"`: what is printed to a file of variables."""
        if not any(_ENVIRONMENT_FILE.search(word.raw.strip("\"'")) for word in targets):
            return
        if not words or words[0].text not in {"echo", "printf"}:
            return
        for word in words[1:]:
            text = word.text if word.text is not None else word.raw.strip("\"'")
            for one in read_assignments(text.replace("\\n", "\n"), word.span.line, "a file of variables"):
                self._found.append(replace(one, span=word.span, guarded=self._guard(one.variable)))
        if len(words) > 2 and words[1].text == "export":
            self._set(words[2], "a file of variables")

    def _set(self, word: Word, how: str) -> None:
        name, value = _pair(word)
        self._add(name, value, word, how, word.fleeting)

    def _add(self, name: str, value: str | None, word: Word, how: str, fleeting: Fleeting | None = None) -> None:
        if is_watched(name):
            guarded = self._guard(name)
            self._found.append(
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


def replace_line(span: Span, first: int) -> Span:
    """`span` of a text that begins at line `first` of its file."""
    return Span(span.line + first - 1, span.column, span.end_line + first - 1, span.end_column)


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


def _program(words: list[Word]) -> str:
    _, rest = _split([word for word in words if word.text not in _KEYWORDS])
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


def _is_absence(test: str, name: str | None) -> bool:
    """Whether `test` only asks whether the variable `name` has a value yet."""
    if name is None or not re.search(rf"\b{name}\b", test):
        return False
    return bool(re.search(r"(?:^|\s)(?:-z|-n|-v|!)\s", test))
