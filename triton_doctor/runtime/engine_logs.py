"""Logs of servers to the kernels that compiled or were tuned while they served.

The texts are those of vLLM's JIT monitor (vllm 0.33 utils/jit_monitor.py; earlier versions give the key alone), of
SGLang's watch on Triton (sglang 0.5.23 srt/utils/triton_load_watch.py) and of TRITON_PRINT_AUTOTUNING (triton 3.2 to
3.9 runtime/autotuner.py).
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.recording_files import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

COMPILED, LOADED, TUNED = "compiled", "loaded", "tuned"
VLLM, SGLANG, PRINTED = "vLLM's JIT monitor", "SGLang's watch on Triton", "TRITON_PRINT_AUTOTUNING"
# What happened, who says so, and the line.
_LINES = (
    (
        *(COMPILED, VLLM),
        re.compile(
            r"\b(?P<backend>\w+) (?:kernel )?JIT compilation during inference: "
            r"(?P<kernel>[\w.<>]+?)(?: \((?P<detail>.*?)(?:\)(?=\. This causes)|$)|\. This causes)"
        ),
    ),
    (
        *(COMPILED, SGLANG),
        re.compile(r"Triton kernel '(?P<kernel>[^']+)' took (?P<seconds>[\d.]+) s to compile after serving started"),
    ),
    (LOADED, SGLANG, re.compile(r"Triton kernel '(?P<kernel>[^']+)' device-loaded after serving started")),
    (TUNED, PRINTED, re.compile(r"Triton autotuning for function (?P<kernel>\w+)(?=,| finished after)")),
)
# A round is printed on four lines, among which other processes may print.
_LINES_OF_A_ROUND = 12
_OPEN_ROUND = re.compile(r"Triton autotuning for function \w+,")
_COLOUR = re.compile(r"(?:\x1b|\\u001b)\[[\d;]*m")
_TUNING_KEY = re.compile(r"with key as (\(.*\)),")
_TUNING_TIME = re.compile(r"finished after ([\d.]+)s")
_KEY = re.compile(r"key=(\[\(.*?\)\])")
_NAMED = tuple(re.compile(rf"{part}=\{{(.*?)\}}(?:;|$)") for part in ("signature", "constexprs"))
_ITEM = re.compile(r"(\w+)=('(?:[^'\\]|\\.)*'|\[[^\]]*\]|\([^)]*\)|[^,]+)")


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
    backend: str
    key: tuple[tuple[str, object], ...]
    named: Mapping[str, str]
    tuning_key: str
    seconds: float | None


def is_log(path: Path) -> bool:
    """Return whether `path` is a file that does not begin as a recording does."""
    if not path.is_file() or path.suffix == ".jsonl":
        return False
    with path.open("rb") as file:
        return re.match(rb'\s*\{"event"', file.read(64)) is None


def read_log(path: Path) -> tuple[LoggedKernel, ...]:
    """Return the kernel events in the log at `path`, in order. Raises DoctorError if there are none."""
    found = tuple(_read(_COLOUR.sub("", read_text(path)).split("\n")))
    if not found:
        raise DoctorError(
            f"{path} is no recording, and as a log it names no kernel that compiled while serving",
            hint=f"read are lines of {VLLM}, of {SGLANG} and of {PRINTED}; `triton-doctor run -o` records all compiles",
        )
    return found


def _read(lines: list[str]) -> Iterator[LoggedKernel]:
    # Processes print their rounds into each other: the first key is that of the first round.
    rounds = sum(_OPEN_ROUND.search(line) is not None for line in lines)
    printed = [[found for line in lines for found in part.findall(line)] for part in (_TUNING_KEY, _TUNING_TIME)]
    in_order = [iter(parts) if len(parts) == rounds else None for parts in printed]
    for at, line in enumerate(lines):
        for what, source, pattern in _LINES:
            match = pattern.search(line)
            if match is None:
                continue
            found = match.groupdict("")
            detail, took = found.get("detail", ""), found.get("seconds", "")
            tuning_key = ""
            if what == TUNED:
                following = pattern.split("\n".join(lines[at : at + _LINES_OF_A_ROUND])[match.end() :])[0]
                is_open = _OPEN_ROUND.search(line) is not None
                tuning_key, took = (
                    next(parts) if is_open and parts is not None else _first(part, following)
                    for parts, part in zip(in_order, (_TUNING_KEY, _TUNING_TIME), strict=True)
                )
            items = (item for part in _NAMED for item in _ITEM.findall(_first(part, detail)))
            yield LoggedKernel(
                kernel=match["kernel"],
                what=what,
                source=source,
                line=at + 1,
                backend=found.get("backend", "Triton"),
                key=_read_key(detail),
                named={name: value.strip().strip("'") for name, value in items},
                tuning_key=tuning_key,
                seconds=float(took) if took else None,
            )


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match[1] if match else ""


def _read_key(detail: str) -> tuple[tuple[str, object], ...]:
    try:
        parts = ast.literal_eval(_first(_KEY, detail) or "()")
    except (ValueError, SyntaxError):  # cut off, or a constant that is no literal
        return ()
    return tuple(tuple(part) for part in parts) if all(len(part) == 2 for part in parts) else ()
