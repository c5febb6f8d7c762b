"""The arguments of `run` to RunOptions: ours end where the program begins, and none of the program's is touched."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.errors import DoctorError

if TYPE_CHECKING:
    from collections.abc import Sequence

TAKE_A_VALUE = {
    "-o": "output",
    "--output": "output",
    "--target": "target",
    "--max-compiles": "max_compiles",
    "--warmup-seconds": "warmup_seconds",
    "--max-compiles-after-warmup": "max_compiles_after_warmup",
}
HINT = "`triton-doctor run --help` lists what it takes; what the program takes follows the program"


# A NamedTuple, for `dataclasses` would be imported before the program can start: 15 ms.
class RunOptions(NamedTuple):
    """What the user wants of a run. `program` is what follows our own options, as it was written."""

    program: tuple[str, ...]
    output: str | None = None
    target: str | None = None
    max_compiles: int | None = None
    warmup_seconds: float | None = None
    max_compiles_after_warmup: int | None = None
    live: bool = False


def read_options(arguments: Sequence[str]) -> RunOptions:
    """Our options, up to the program. Raises DoctorError for what is none."""
    left = list(arguments)
    values: dict[str, str] = {}
    live = False
    while left and left[0].startswith("-") and left[0] not in ("-", "-m", "-c"):
        word = left.pop(0)
        if word == "--":
            break
        if word == "--live":
            live = True
            continue
        name, equals, value = word.partition("=")
        if name not in TAKE_A_VALUE:
            raise DoctorError(f"run has no option {name}", hint=HINT)
        if not equals:
            if not left:
                raise DoctorError(f"{name} takes a value", hint=HINT)
            value = left.pop(0)
        values[TAKE_A_VALUE[name]] = value
    options = RunOptions(
        program=tuple(left),
        output=values.get("output"),
        target=values.get("target"),
        max_compiles=whole("--max-compiles", values.get("max_compiles")),
        warmup_seconds=seconds(values.get("warmup_seconds")),
        max_compiles_after_warmup=whole("--max-compiles-after-warmup", values.get("max_compiles_after_warmup")),
        live=live,
    )
    if options.max_compiles_after_warmup is not None and options.warmup_seconds is None:
        raise DoctorError("--max-compiles-after-warmup goes with --warmup-seconds", hint="--warmup-seconds 30")
    if options.output == "":
        raise DoctorError("-o takes a file or a folder", hint="-o run.jsonl")
    return options


def whole(name: str, text: str | None) -> int | None:
    """A number of compiles."""
    if text is None:
        return None
    if not text.isascii() or not text.isdecimal():
        raise DoctorError(f"{name} takes a whole number, not {text!r}", hint=f"{name} 4")
    return int(text)


def seconds(text: str | None) -> float | None:
    """The length of a warm-up."""
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise DoctorError(f"--warmup-seconds takes a number of seconds, not {text!r}", hint="--warmup-seconds 30")
    return value
