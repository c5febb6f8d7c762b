"""A process's environment, this one's or another's, to the variables that matter, secrets masked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError, reason_of
from triton_doctor.masking import mask, mask_variable
from triton_doctor.regular_files import read_named_file
from triton_doctor.variables import looks_like_triton, variables

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# Beside what the table names: what decides which GPU, which library and which cache a kernel meets.
PREFIXES = ("TRITON_", "CUDA_", "HIP_", "HSA_", "ROCM_", "ROCR_", "TORCH_", "TORCHINDUCTOR_", "PYTORCH_")
OTHERS = frozenset({"NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "NVIDIA_TF32_OVERRIDE"})
ASSIGNMENT = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=(?P<value>.*)")
COMMENT = re.compile(r"\s#.*$")


def choose_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Select the variables of `environment` that concern Triton, torch, CUDA or ROCm, sorted, with secrets masked."""
    known = variables()
    return {
        name: mask(value) if name in known else mask_variable(name, value)
        for name, value in sorted(environment.items())
        if name in known or name in OTHERS or name.startswith(PREFIXES) or looks_like_triton(name)
    }


def read_env_file(path: Path) -> dict[str, str]:
    """Read a file of NAME=VALUE lines, in the form of docker and systemd, or a copy of /proc/PID/environ.

    Raises DoctorError if it cannot be read.
    """
    try:
        text = read_named_file(path).decode("utf-8", "replace")
    except OSError as error:
        raise DoctorError(
            f"{path} cannot be read: {reason_of(error)}",
            hint="--env-file names a file of NAME=VALUE",
        ) from error
    if "\0" in text:
        return split_environment(text)
    found = {}
    for line in text.splitlines():
        if not line.lstrip().startswith("#") and (match := ASSIGNMENT.fullmatch(line)):
            found[match["name"]] = unquote(match["value"].strip())
    return found


def unquote(value: str) -> str:
    """Strip the quotes around `value`, or else a comment at its end."""
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return COMMENT.sub("", value)


def read_process(pid: int, proc: Path) -> dict[str, str]:
    """Read the variables that process `pid` was started with, from the folder `proc`.

    Raises DoctorError if there is no such process or its environment cannot be read.
    """
    path = proc / str(pid) / "environ"
    try:
        return split_environment(path.read_bytes().decode(errors="replace"))
    except FileNotFoundError as error:
        raise DoctorError(f"there is no process {pid}", hint="--pid takes the number of one that runs") from error
    except OSError as error:
        raise DoctorError(
            f"the environment of process {pid} cannot be read",
            hint="run triton-doctor as the user of that process, or as root",
        ) from error


def split_environment(text: str) -> dict[str, str]:
    """Split a block of NAME=VALUE strings that end with zero bytes, as /proc/PID/environ has it."""
    pairs = (entry.partition("=") for entry in text.split("\0") if "=" in entry)
    return {name: value for name, _, value in pairs}
