"""Interpreter mode: which settings turn it on, and how severe that is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.finding import Severity
from triton_doctor.static.project.calls.called_names import calls_of
from triton_doctor.static.variability.queries.launch_hints import interpreter_of
from triton_doctor.variables import INTERPRET, fails_with_kept_tuning, parse_version, turns_interpreter_on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.environment.setting import EnvironmentFile, EnvSetting
    from triton_doctor.static.project.calls.called_names import Caller
    from triton_doctor.static.project.project import Project

CODE_KINDS = frozenset({"python", "notebook"})
# Names of files and functions that people run for debugging: `dump_ttgir.sh`, `minify_model`.
_LOOKS_CLOSER = re.compile(
    r"(?:debug|sanit|profil|trac(?:e|ing)|dump|minif|repro(?!g|j|c)|bisect|ncu|nsys|nsight|disasm)"
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


def settings_that_interpret(project: Project) -> Iterator[tuple[EnvironmentFile, EnvSetting]]:
    """Yield every setting that turns interpreter mode on, in the project's version of Triton."""
    version = parse_version(project.triton_version)
    for file in project.environment:
        for setting in file.settings:
            is_on = setting.value is not None and turns_interpreter_on(setting.value, version)
            if setting.variable == INTERPRET and is_on:
                yield file, setting


def describe_kept_tuning(project: Project) -> str:
    """Return the end of a message on interpreter mode: what Triton 3.4 and 3.5 cannot launch in it.

    Empty if the project names another version, or names none and the file tunes no kernel with `cache_results`.
    """
    version = parse_version(project.triton_version) if project.triton_version else project.pinned_triton
    kept = next((kernel.name for kernel in project.kernels() if kernel.autotune and kernel.autotune.keeps), None)
    if not (fails_with_kept_tuning(version) if version else kept):
        return ""
    what = f"`{kept}`, tuned with `cache_results`," if kept else "what is tuned with `cache_results`"
    return f"; with Triton 3.4 and 3.5 {what} fails at its launch"


def comes_too_late(setting: EnvSetting) -> bool:
    """Return whether the setting affects no kernel of the file because all were decorated before."""
    return setting.own_process and setting.order.kernel_decorated is not None and not setting.order.kernels_after


def severity_of(
    project: Project, file: EnvironmentFile, setting: EnvSetting, worst: Severity = Severity.WARNING
) -> Severity:
    """Return the severity of `setting` in `file`: `worst`, or info if it is temporary or has a reason.

    It is temporary if only tests run it, if it is undone, or if a user has to request it: by running a file named for
    debugging, or by calling the function that sets it.
    """
    if file.for_tests or setting.is_brief or setting.is_explained or _looks_closer(file, setting):
        return Severity.INFO
    return worst if _is_always_made(project, file, setting) else Severity.INFO


def _looks_closer(file: EnvironmentFile, setting: EnvSetting) -> bool:
    """Return whether the file or function is named for debugging, or the file runs a program given by its user."""
    if file.runs_programs:
        return True
    named = (file.path.rpartition("/")[2], setting.function or "")
    return any(_LOOKS_CLOSER.match(word.lower()) for name in named for word in _WORD.findall(name))


def _is_always_made(project: Project, file: EnvironmentFile, setting: EnvSetting) -> bool:
    """Return whether the function with `setting` is called anywhere unconditionally, or may be called by others.

    Conditions over calls in the same file are already in `setting.guarded`. A function with another use than a plain
    call, such as `main` or a decorated one, counts as called.
    """
    module = project.modules.get(file.path) if file.kind in CODE_KINDS and setting.function is not None else None
    if module is None:
        return True
    named = [one for one in module.functions.values() if one.name == setting.function]
    if len(named) != 1 or named[0].decorators or named[0].name == "main" or named[0].name.startswith("__"):
        return True
    (function,) = named
    if calls_of(module, function.name):
        return True
    return any(
        not _is_conditional(caller) for caller in interpreter_of(project).call_graph.all_callers(module, function)
    )


def _is_conditional(caller: Caller) -> bool:
    """Return whether a condition decides over the call."""
    return any(not arm.loop and not arm.is_main and arm.sides > 1 for arm in caller.site.arms)
