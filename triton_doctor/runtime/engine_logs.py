"""Logs of servers to the kernels that compiled or were tuned while they served.

The texts are those of vLLM's JIT monitor (vllm 0.33 utils/jit_monitor.py; earlier versions give the key alone), of
SGLang's watch on Triton (sglang 0.5.23 srt/utils/triton_load_watch.py) and of TRITON_PRINT_AUTOTUNING (triton 3.2 to
3.9 runtime/autotuner.py).
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.recording_files import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

COMPILED, LOADED, TUNED = "compiled", "loaded", "tuned"
VLLM, SGLANG, PRINTED = "vLLM's JIT monitor", "SGLang's watch on Triton", "TRITON_PRINT_AUTOTUNING"
_VLLM = re.compile(
    r"(?P<backend>\w+) (?:kernel )?JIT compilation during inference: "
    r"(?P<kernel>[\w.<>]+)(?: \((?P<detail>.*)\))?\. This causes"
)
_SGLANG = re.compile(r"Triton kernel '(?P<kernel>[^']+)' took (?P<seconds>[\d.]+) s to compile after serving started")
_SGLANG_LOAD = re.compile(r"Triton kernel '(?P<kernel>[^']+)' device-loaded after serving started")
_TUNING = re.compile(r"Triton autotuning for function (?P<kernel>\w+)(?:,| finished after (?P<seconds>[\d.]+)s)")
_TUNING_KEY = re.compile(r"with key as (?P<key>\(.*\)),")
_TUNING_TIME = re.compile(r"finished after (?P<seconds>[\d.]+)s")
# A round is printed on four lines, among which other processes may print.
_LINES_OF_A_ROUND = 12
_KEY = re.compile(r"key=(\[\(.*?\)\])")
_CONSTANTS = re.compile(r"constexprs=\{(.*?)\}(?:;|$)")
_SIGNATURE = re.compile(r"signature=\{(.*?)\}(?:;|$)")
_ITEM = re.compile(r"(\w+)=('(?:[^'\\]|\\.)*'|\[[^\]]*\]|\([^)]*\)|[^,]+)")
_MARKS = ("JIT compilation during inference", "after serving started", "Triton autotuning for function")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedKernel:
    """A line of a log: `kernel`, a qualified name where the log has one, was compiled, loaded or tuned.

    `key` is Triton's own, a type and a class or value for each parameter in order; `named` are values of constexprs and
    types of the others, by parameter. Both are empty where the log keeps neither. `seconds` is None where it says none.
    """

    kernel: str
    what: str
    source: str
    line: int
    backend: str = "Triton"
    key: tuple[tuple[str, object], ...] = ()
    named: Mapping[str, str] = field(default_factory=dict)
    tuning_key: str = ""
    seconds: float | None = None


def is_log(path: Path) -> bool:
    """Return whether `path` is a file that is no recording and begins with a JSON header on its lines."""
    if not path.is_file() or path.suffix == ".jsonl":
        return False
    with path.open("rb") as file:
        return not file.read(64).lstrip().startswith(b"{")


def read_log(path: Path) -> tuple[LoggedKernel, ...]:
    """Return the kernel events in the log at `path`, in order. Raises DoctorError if there are none."""
    found = tuple(_read(read_text(path).split("\n")))
    if not found:
        raise DoctorError(
            f"{path} is no recording, and as a log it names no kernel that compiled while serving",
            hint=f"read are lines of {VLLM}, of {SGLANG} and of {PRINTED}; `triton-doctor run -o` records all compiles",
        )
    return found


def _read(lines: list[str]) -> Iterator[LoggedKernel]:
    for at, line in enumerate(lines):
        if not any(mark in line for mark in _MARKS):
            continue
        if match := _VLLM.search(line):
            detail = match["detail"] or ""
            yield LoggedKernel(
                kernel=match["kernel"],
                what=COMPILED,
                source=VLLM,
                line=at + 1,
                backend=match["backend"],
                key=_read_key(detail),
                named=_read_items(_SIGNATURE, detail) | _read_items(_CONSTANTS, detail),
            )
        elif match := _SGLANG.search(line):
            seconds = float(match["seconds"])
            yield LoggedKernel(kernel=match["kernel"], what=COMPILED, source=SGLANG, line=at + 1, seconds=seconds)
        elif match := _SGLANG_LOAD.search(line):
            yield LoggedKernel(kernel=match["kernel"], what=LOADED, source=SGLANG, line=at + 1)
        elif match := _TUNING.search(line):
            rest = "\n".join(lines[at : at + _LINES_OF_A_ROUND])
            rest = rest[: following.start()] if (following := _TUNING.search(rest, len(line))) else rest
            key, took = _TUNING_KEY.search(rest), _TUNING_TIME.search(rest)
            yield LoggedKernel(
                kernel=match["kernel"],
                what=TUNED,
                source=PRINTED,
                line=at + 1,
                tuning_key=key["key"] if key else "",
                seconds=float(took["seconds"]) if took else None,
            )


def _read_key(detail: str) -> tuple[tuple[str, object], ...]:
    match = _KEY.search(detail)
    try:
        parts = ast.literal_eval(match[1]) if match else []
    except (ValueError, SyntaxError):  # cut off, or a constant that is no literal
        return ()
    return tuple(tuple(part) for part in parts) if all(len(part) == 2 for part in parts) else ()


def _read_items(pattern: re.Pattern[str], detail: str) -> dict[str, str]:
    match = pattern.search(detail)
    return {name: value.strip().strip("'") for name, value in _ITEM.findall(match[1])} if match else {}
