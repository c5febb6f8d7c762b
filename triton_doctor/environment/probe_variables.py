"""A process's environment, this one's or another's, to the variables that matter, secrets masked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError, reason_of
from triton_doctor.regular_files import read_named_file
from triton_doctor.variables import looks_like_triton, variables

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# Beside what the table names: what decides which GPU, which library and which cache a kernel meets.
PREFIXES = ("TRITON_", "CUDA_", "HIP_", "HSA_", "ROCM_", "ROCR_", "TORCH_", "TORCHINDUCTOR_", "PYTORCH_")
OTHERS = frozenset({"NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "NVIDIA_TF32_OVERRIDE"})
SECRET_NAME = re.compile(
    r"TOKEN|SECRET|PASSW|(?:^|_)PASS(?:$|_)|(?:^|_)PWD|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|(?:^|_)KEY$|"
    r"(?:^|_)AUTH",
    re.IGNORECASE,
)
MASK = "***"
# By shape, for a secret may be put into any variable: who logs in by a URL, what follows `Bearer` or a word such
# as `token=`, tokens of known services, and keys as text. `lead` is kept.
SECRET_SHAPES = (
    re.compile(r"(?P<lead>://)[^/\s]*(?=@)"),
    re.compile(r"(?P<lead>\b(?:Bearer|Basic)\s+)[^\s,;]+", re.IGNORECASE),
    re.compile(
        r"(?P<lead>(?:token|secret|passw|pwd|api[_-]?key|access[_-]?key|private[_-]?key|signature|credential|auth)"
        r"[\w-]{0,40}(?:=|:\s+))[^\s&;,]+",
        re.IGNORECASE,
    ),
    re.compile(r"(?P<lead>\b)(?:gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|AKIA|ASIA|npm_|dckr_pat_)[A-Za-z0-9_-]{4,}"),
    re.compile(r"(?P<lead>\b)(?:sk-|nvapi-)[A-Za-z0-9_-]{8,}"),
    re.compile(r"(?P<lead>\b)(?:hf_[A-Za-z0-9]{12,}|AIza[A-Za-z0-9_-]{20,}|pypi-[A-Za-z0-9_-]{16,})"),
    re.compile(r"(?P<lead>\b)eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_.-]+"),  # a JSON web token
    re.compile(r"(?P<lead>-----BEGIN [A-Z ]*PRIVATE KEY-----).*", re.DOTALL),
)
ASSIGNMENT = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=(?P<value>.*)")
COMMENT = re.compile(r"\s#.*$")


def choose_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Those of `environment` that are about Triton, torch, CUDA or ROCm, by name, with what looks secret masked."""
    known = variables()
    return {
        name: MASK if name not in known and SECRET_NAME.search(name) else mask(value)
        for name, value in sorted(environment.items())
        if name in known or name in OTHERS or name.startswith(PREFIXES) or looks_like_triton(name)
    }


def mask(value: str) -> str:
    """`value` without what looks like a secret."""
    for shape in SECRET_SHAPES:
        value = shape.sub(rf"\g<lead>{MASK}", value)
    return value


def read_env_file(path: Path) -> dict[str, str]:
    """The variables of `path`: a line each, as docker and systemd read them. Raises DoctorError for unreadable."""
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
    """`value` without the quotes around it, or the comment behind it."""
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return COMMENT.sub("", value)


def read_process(pid: int, proc: Path) -> dict[str, str]:
    """The variables that process `pid` began with, as `proc` keeps them. Raises DoctorError where it does not."""
    path = proc / str(pid) / "environ"
    try:
        return split_environment(path.read_bytes().decode(errors="replace"))
    except FileNotFoundError as error:
        raise DoctorError(f"there is no process {pid}", hint="--pid takes the number of one that runs") from error
    except OSError as error:
        raise DoctorError(f"the environment of process {pid} cannot be read", hint="be its user, or root") from error


def split_environment(text: str) -> dict[str, str]:
    """The variables of `text`, as the kernel keeps them: each ended by a zero byte."""
    pairs = (entry.partition("=") for entry in text.split("\0") if "=" in entry)
    return {name: value for name, _, value in pairs}
