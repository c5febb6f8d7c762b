"""JSON with `env` objects to settings: dev containers, editor launches, Jupyter kernels, Ray and cloud jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.environment.settings_files.yaml import read_yaml

if TYPE_CHECKING:
    from triton_doctor.static.environment.setting import EnvSetting


def read_json(text: str) -> tuple[EnvSetting, ...]:
    """The settings of `text`. JSON is YAML, but for tabs and the comments that editors allow."""
    lines = []
    for line in text.replace("\t", " ").split("\n"):
        stripped = line.lstrip()
        lines.append("" if stripped.startswith("//") else line)
    return read_yaml("\n".join(lines))
