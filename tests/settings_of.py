"""A text to the environment settings that reading it yields, whatever kind of file it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.environment.read_file import read_settings
from triton_doctor.static.environment.read_python import python_may_set, read_setter
from triton_doctor.static.sources.notebooks import read_notebook
from triton_doctor.variables import Version, turns_interpreter_on

if TYPE_CHECKING:
    from triton_doctor.static.environment.setting import EnvSetting


def settings_of(path: str, text: str) -> tuple[EnvSetting, ...]:
    """The settings of `text`, read as the file `path`."""
    data = text.encode()
    if path.endswith(".ipynb"):
        data = read_notebook(data).program
    if path.endswith((".py", ".ipynb")):
        if not python_may_set(data):
            return ()
        return read_setter(path, data).settings
    found = read_settings(path, data)
    return found.settings if found else ()


def turned_on(path: str, text: str) -> list[str]:
    """The variables that `text` sets to a true value, no flag deciding, in order of lines."""
    return [
        setting.variable
        for setting in settings_of(path, text)
        if not setting.guarded and setting.value and turns_interpreter_on(setting.value, Version(3, 9))
    ]
