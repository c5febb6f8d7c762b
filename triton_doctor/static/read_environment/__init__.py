"""Python syntax to EnvironmentFile: every variable that a file sets, and every place that measures time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.static.model_environment import EnvironmentFile, EnvSetting
from triton_doctor.static.read_environment.python import Reader
from triton_doctor.static.read_environment.timings import timings
from triton_doctor.variables import INTERPRET, variables

if TYPE_CHECKING:
    import ast

    from triton_doctor.static.read.source import Source

_INTEREST: re.Pattern[bytes] | None = None


def may_set(data: bytes) -> bool:
    """Whether a file that holds `data` may set a variable of interest: cheap, and never wrongly false."""
    global _INTEREST
    if _INTEREST is None:
        names = sorted(
            name for name, variable in variables().items() if variable.harm and not name.startswith("TRITON_")
        )
        prefixes = [r"TRITON|knobs|T[RITO]{3,7}N_[A-Z]|(?i:triton_interpret)", *map(re.escape, names)]
        _INTEREST = re.compile("|".join(prefixes).encode())
    return _INTEREST.search(data) is not None


def environment_settings(tree: ast.Module, source: Source) -> tuple[EnvSetting, ...]:
    """The settings that `tree` makes, in order of lines; `source` is its text."""
    return Reader(tree, source).settings()


def read_environment(path: str, tree: ast.Module, source: Source, kind: str = "python") -> EnvironmentFile:
    """The environment settings of the Python file at `path`, a path as findings spell it."""
    settings = environment_settings(tree, source)
    interprets = any(setting.variable == INTERPRET for setting in settings)
    return EnvironmentFile(
        path=path,
        kind=kind,
        settings=settings,
        timings=timings(tree, source) if interprets else (),
        cpu_only=hides_gpus(settings),
    )


def hides_gpus(settings: tuple[EnvSetting, ...]) -> bool:
    """Whether a file takes the GPUs away from its own process, so that interpreter mode is meant."""
    return any(
        one.variable == "CUDA_VISIBLE_DEVICES" and one.value in {"", "-1"} and not one.guarded for one in settings
    )
