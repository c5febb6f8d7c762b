"""YAML to settings: compose files, GitHub, GitLab and other workflows, Kubernetes manifests, Helm values."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import yaml

from triton_doctor.finding import Span
from triton_doctor.static.environment.setting import MAYBE_EMPTY, EnvSetting, Fleeting, fleeting_folder, is_watched
from triton_doctor.static.environment.settings_files.shell import read_shell
from triton_doctor.variables import CACHE_FOLDERS

if TYPE_CHECKING:
    from collections.abc import Iterator


_DEEPEST = 60
# The form of a setting that is not part of a command.
_BY_KEY = "env"
# Aliases can share a node: read its settings for at most so many containers.
_MOST_CONTEXTS = 32
# Keys below which names of variables set nothing.
_NO_SETTINGS = frozenset(
    {"matrix", "inputs", "outputs", "secrets", "parameters", "on", "needs", "strategy", "labels", "annotations"}
)
_COMMANDS = frozenset(
    "run script before_script after_script command commands cmd args entrypoint test steps pre-commands post-commands "
    "install before_install build_script test_script setup deploy exec shell bash pwsh tasks prepare cmds sh".split()
)
# A condition on a job or step that a user has to switch on.
_SWITCH = re.compile(r"\binputs\.|\bvars\.|\benv\.|debug|\$\w", re.IGNORECASE)
_ASSIGNMENTS = re.compile(r"\s*([A-Za-z_]\w*)=(\"[^\"]*\"|'[^']*'|\$\{\{.*?\}\}|[^\s]*)")
_REFERENCE = re.compile(r"\$\{\{\s*([\w.]+)|\$\(?\{?([\w.]+)(?::?-([^}]*))?")
_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(text: str) -> tuple[EnvSetting, ...]:
    """Return the settings of every document in `text`, in order of lines; none of a document that does not parse."""
    lines = text.split("\n")
    found: list[EnvSetting] = []
    try:
        if _is_too_deep(text):
            return ()
        for document in yaml.compose_all(text, Loader=_LOADER):
            if document is not None:
                found += _Document(lines).settings(document)
    except (yaml.YAMLError, RecursionError, ValueError):
        return tuple(found)
    return tuple(sorted(found, key=lambda setting: setting.span))


def _is_too_deep(text: str) -> bool:
    """Return whether composing nodes would recurse so deeply that libyaml, written in C, ends the process."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEEPEST:
                return True
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    return False


class _Document:
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._found: dict[tuple[str, Span], EnvSetting] = {}
        self._walked: dict[int, set[tuple[bool, tuple[tuple[str, bool], ...]]]] = {}

    def settings(self, root: yaml.Node) -> Iterator[EnvSetting]:
        self._walk(root, (), [])
        yield from self._found.values()

    def _walk(self, node: yaml.Node, keys: tuple[str, ...], mounts: list[tuple[str, bool]]) -> None:
        if len(keys) > _DEEPEST or not self._is_new(node, keys, mounts):
            return
        match node:
            case yaml.MappingNode():
                self._mapping(node, keys, [*mounts, *_read_mounts(node)])
            case yaml.SequenceNode():
                is_exec_form = bool(node.flow_style) and self._is_command(keys)
                for child in node.value:
                    if not is_exec_form:
                        self._walk(child, keys, mounts)
                    if isinstance(child, yaml.ScalarNode) and not self._is_command(keys):
                        self._listed(child, mounts)
                if is_exec_form:
                    self._exec_form(node)
            case yaml.ScalarNode() if self._is_command(keys):
                self._command(node)
            case _:
                pass

    def _is_new(self, node: yaml.Node, keys: tuple[str, ...], mounts: list[tuple[str, bool]]) -> bool:
        """Return whether `node` is visited for the first time in this context: aliases may reach it on many paths."""
        contexts = self._walked.setdefault(id(node), set())
        context = (self._is_command(keys), tuple(mounts))
        if context in contexts or len(contexts) == _MOST_CONTEXTS:
            return False
        contexts.add(context)
        return True

    def _mapping(self, node: yaml.MappingNode, keys: tuple[str, ...], mounts: list[tuple[str, bool]]) -> None:
        fields = {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}
        condition = fields.get("if")
        guarded = isinstance(condition, yaml.ScalarNode) and _SWITCH.search(condition.value) is not None
        # The `env` of a step applies to its own command only.
        is_step = keys[-1:] == ("steps",) and "env" in fields and isinstance(fields.get("run"), yaml.ScalarNode)
        before = set(self._found)
        self._fields(node, fields, keys, mounts)
        if guarded or is_step:
            for key in self._found.keys() - before:
                setting = self._found[key]
                is_brief = setting.is_brief or (is_step and setting.how == _BY_KEY)
                self._found[key] = replace(setting, guarded=setting.guarded or guarded, is_brief=is_brief)

    def _fields(
        self,
        node: yaml.MappingNode,
        fields: dict[str, yaml.Node],
        keys: tuple[str, ...],
        mounts: list[tuple[str, bool]],
    ) -> None:
        name = fields.get("name") or fields.get("key")
        given = fields.get("value")
        if isinstance(name, yaml.ScalarNode) and isinstance(given, yaml.ScalarNode) and is_watched(name.value):
            self._add(name.value, given, name, mounts)
        for key, value in node.value:
            text = key.value if isinstance(key, yaml.ScalarNode) else ""
            if text in _NO_SETTINGS:
                continue
            if is_watched(text) and isinstance(value, yaml.ScalarNode):
                self._add(text, value, key, mounts)
            elif is_watched(text) and isinstance(value, yaml.MappingNode):
                inner = {key.value: its for key, its in value.value if isinstance(key, yaml.ScalarNode)}
                chosen = inner.get("value") or inner.get("default")
                if isinstance(chosen, yaml.ScalarNode):
                    self._add(text, chosen, key, mounts)
            elif _holds_variables(text) and isinstance(value, yaml.ScalarNode):
                self._listed(value, mounts)
            else:
                self._walk(value, (*keys, text), mounts)

    def _is_command(self, keys: tuple[str, ...]) -> bool:
        return bool(keys) and keys[-1] in _COMMANDS

    def _listed(self, node: yaml.ScalarNode, mounts: list[tuple[str, bool]]) -> None:
        """Read `- X=1`, or `A=1 B=2` in one text."""
        if not re.match(r"\s*[A-Za-z_]\w*=", node.value):
            return
        for match in _ASSIGNMENTS.finditer(node.value):
            if is_watched(match[1]):
                self._add(match[1], replace_value(node, match[2].strip("\"'")), node, mounts)

    def _exec_form(self, node: yaml.SequenceNode) -> None:
        children = [child for child in node.value if isinstance(child, yaml.ScalarNode)]
        before = len(self._found)
        for child in children:
            if " " in child.value:
                self._command(child)
        if len(self._found) > before:
            return
        words = [child.value for child in children]
        command = " ".join(f"'{word}'" if " " in word else word for word in words)
        span = _span(node)
        for setting in read_shell(command):
            self._found[setting.variable, span] = replace(setting, span=span)

    def _command(self, node: yaml.ScalarNode) -> None:
        start, end = node.start_mark, node.end_mark
        if node.style in {"|", ">"}:
            body = self._lines[start.line + 1 : end.line + (1 if end.column else 0)]
            text = "\n".join(body)
            if node.style == ">":
                text = re.sub(r"\n(?=[ \t]*\S)", " \\\n", text)
            found = read_shell(_without_expressions(text), start.line + 2)
        else:
            raw = node.style in {"'", '"'}
            found = read_shell(_without_expressions(node.value), start.line + 1, start.column + (2 if raw else 1))
        for setting in found:
            self._found[setting.variable, setting.span] = setting

    def _add(self, name: str, value: yaml.ScalarNode, node: yaml.Node, mounts: list[tuple[str, bool]]) -> None:
        text, fleeting = _resolved(value)
        if name in CACHE_FOLDERS and text and fleeting is None:
            fleeting = _lost_with_container(text, mounts)
        span = _span(node)
        if (
            node.end_mark.line == value.end_mark.line
            and node is not value
            and node.start_mark.index < value.start_mark.index
        ):
            span = Span(span.line, span.column, value.end_mark.line + 1, value.end_mark.column + 1)
        self._found[name, span] = EnvSetting(variable=name, value=text, span=span, how=_BY_KEY, fleeting=fleeting)


def replace_value(node: yaml.ScalarNode, value: str) -> yaml.ScalarNode:
    """Return `node` as if it held only `value`, which is text: `X=` and `X=null` are no null of YAML."""
    return yaml.ScalarNode(node.tag, value, node.start_mark, node.end_mark, style=node.style or "'")


def _span(node: yaml.Node) -> Span:
    start, end = node.start_mark, node.end_mark
    return Span(start.line + 1, start.column + 1, end.line + 1, end.column + 1)


def _holds_variables(key: str) -> bool:
    return key.lower() in {"env", "environment", "variables", "env_vars", "envs", "setenv", "set_env"}


def _without_expressions(text: str) -> str:
    """Blank out expressions such as `${{ a || b }}`, which would read as shell operators; the width stays."""
    return re.sub(
        r"\$\{\{.*?\}\}", lambda found: "${" + re.sub(r"\W", "_", found[0][3:-2])[: len(found[0]) - 3] + "}", text
    )


def _resolved(node: yaml.ScalarNode) -> tuple[str | None, Fleeting | None]:
    """Return the text, None for a reference without a default or no value, and why a folder so named does not last.

    YAML's true becomes "true", as Triton receives it.
    """
    text = node.value
    if not node.style and text.lower() in {"null", "~", ""}:
        return None, None
    match = _REFERENCE.search(text)
    if match is None:
        return text, None
    fleeting = fleeting_folder(match[1] or match[2])
    if match[3] is not None and match[0] + "}" == text:
        return match[3], fleeting or (None if match[3] else MAYBE_EMPTY)
    if default := re.fullmatch(r"\$\{\{.*\|\|\s*'([^']*)'\s*\}\}", text):
        return default[1], fleeting
    return None, fleeting


def _read_mounts(node: yaml.MappingNode) -> Iterator[tuple[str, bool]]:
    """Yield the folders mounted into a container, and whether they outlive it."""
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode) or not isinstance(value, yaml.SequenceNode):
            continue
        if key.value in {"volumes", "volumeMounts", "tmpfs"}:
            for item in value.value:
                if isinstance(item, yaml.ScalarNode):
                    parts = item.value.split(":")
                    yield parts[1] if len(parts) > 1 else parts[0], key.value != "tmpfs"
                elif isinstance(item, yaml.MappingNode):
                    fields = {key.value: its.value for key, its in item.value if isinstance(key, yaml.ScalarNode)}
                    target = fields.get("target") or fields.get("mountPath")
                    if isinstance(target, str):
                        yield target, fields.get("type") != "tmpfs"


def _lost_with_container(folder: str, mounts: list[tuple[str, bool]]) -> Fleeting | None:
    """Return why `folder` is lost with the container; None if it is kept or if that is not known."""
    for mount, kept in mounts:
        target = mount.rstrip("/")
        if folder == target or folder.startswith(f"{target}/"):
            return None if kept else Fleeting(why="on a memory file system, which is gone when the container is")
    if mounts and folder.startswith("/"):
        return Fleeting(why="on none of the container's volumes, so it is gone when the container is", certain=False)
    return None
