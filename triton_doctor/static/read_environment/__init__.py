"""Python syntax to EnvironmentFile: every variable that a file sets, and every place that measures time."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from triton_doctor.static.model_environment import EnvironmentFile, EnvSetting
from triton_doctor.static.read_environment.python import Reader
from triton_doctor.static.read_environment.timings import timings
from triton_doctor.variables import INTERPRET, variables

if TYPE_CHECKING:
    import ast

    from triton_doctor.static.read.source import Source


_ON_GPU = re.compile(rb"([\"']cuda(?::\d+)?[\"']|\.cuda\()")
_ASKS_FOR_GPU = re.compile(rb"(cuda\.is_available|device_count|is_interpreted)")
_MEANS = (b"env", b"ENV", b"subprocess", b"system", b"popen")


@cache
def _names() -> re.Pattern[bytes]:
    """What every variable of interest begins with. Plain beginnings only, which `re` searches for fastest."""
    told = (variable for variable in variables().values() if variable.harm or variable.instead)
    harmful = sorted(variable.name for variable in told if not variable.name.startswith("TRITON_"))
    return re.compile("|".join(["TRI?T", "TIRT", "TRT", "triton_interpret", *harmful]).encode())


def may_set(data: bytes) -> bool:
    """Whether a file that holds `data` may set a variable of interest; never wrongly false."""
    return _names().search(data) is not None or b"knobs" in data


def python_may_set(data: bytes) -> bool:
    """The same of a Python file, which also has to say how: `environ`, `env=`, `setenv`, a shell command and so on."""
    if b"knobs" in data and b"triton" in data:
        return True
    return any(word in data for word in _MEANS) and _names().search(data) is not None


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
        names_gpu=interprets and bool(source.found(_ON_GPU)) and not source.found(_ASKS_FOR_GPU),
    )


def hides_gpus(settings: tuple[EnvSetting, ...]) -> bool:
    """Whether a file takes the GPUs away from its own process, so that interpreter mode is meant."""
    return any(
        one.variable == "CUDA_VISIBLE_DEVICES" and one.value in {"", "-1"} and not one.guarded for one in settings
    )
