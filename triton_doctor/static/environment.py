"""The environment settings of a project to what checks ask: is interpreter mode on here, how much does it matter?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Severity
from triton_doctor.variables import INTERPRET, parse_version, turns_interpreter_on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.model import Project
    from triton_doctor.static.model_environment import EnvironmentFile, EnvSetting

CODE_KINDS = frozenset({"python", "notebook"})


def settings_that_interpret(project: Project) -> Iterator[tuple[EnvironmentFile, EnvSetting]]:
    """Every setting that turns interpreter mode on, in the project's version of Triton."""
    version = parse_version(project.triton_version)
    for file in project.environment:
        for setting in file.settings:
            is_on = setting.value is not None and turns_interpreter_on(setting.value, version)
            if setting.variable == INTERPRET and is_on:
                yield file, setting


def comes_too_late(setting: EnvSetting) -> bool:
    """Whether no kernel of the file can be interpreted any more: all were decorated before."""
    return setting.own_process and setting.order.kernel_decorated is not None and not setting.order.kernels_after


def severity_at(
    file: EnvironmentFile, worst: Severity = Severity.WARNING, setting: EnvSetting | None = None
) -> Severity:
    """How much a `setting` in `file` matters: `worst`, but info where only tests run, or where it does not last."""
    is_brief = setting is not None and setting.is_brief
    return Severity.INFO if file.for_tests or is_brief else worst
