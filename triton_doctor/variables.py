"""Every environment variable that Triton reads: since when, until when, and what it costs to leave it set."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.errors import DoctorError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# So many wrong letters are a slip; with more, another name is meant.
_MOST_EDITS = 3
TABLE = Path(__file__).with_name("variables.tsv")
INTERPRET = "TRITON_INTERPRET"
# Of the variables that backends outside of Triton's own tree read: intel/intel-xpu-backend-for-triton#6790.
_OTHER_BACKENDS = ("TRITON_INTEL_",)
# What triton-doctor itself reads (runtime/live/environment_services.py).
OURS = "TRITON_DOCTOR"
PTXAS, PTXAS_OF_NEWER_GPUS = "TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"
CACHE_FOLDERS = ("TRITON_CACHE_DIR", "TRITON_HOME")

# triton 3.4 knobs.py toBool and LLVM's getBoolEnv take these, in any case; until 3.3 only "1" made a kernel interpreted
# (3.3.1 runtime/jit.py:790).
TRUE_WORDS = frozenset({"1", "true", "yes", "on", "y"})

# `PTXAS_OPTIONS` as ptxas understands them: -O0, --opt-level 0, --opt-level=0, -O1.
_UNOPTIMIZED = re.compile(r"(?:^|\s)(?:-O|--opt-level[= ]\s*)[01](?:\s|$)")


class Version(NamedTuple):
    """A release line of Triton: 3.6."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


class Required(NamedTuple):
    """What a project requires: by file, the package that brings Triton, where there is one; and the `lowest` Triton."""

    packages: tuple[tuple[str, str], ...] = ()
    lowest: Version | None = None


NOTHING_REQUIRED = Required()


# Older ones take an empty TRITON_CACHE_DIR for none (run on 3.2), this and newer ones raise (run on 3.4, 3.6, 3.9).
TAKES_EMPTY = Version(3, 4)
# `cache_results` and TRITON_CACHE_AUTOTUNING.
KEEPS_TUNING = Version(3, 4)
# On NVIDIA, Triton 3.7 has the C compiler build its driver module (backends/nvidia/driver.py), 3.8 and newer bring it.
# On AMD 3.9 still builds it.
BRINGS_DRIVER = Version(3, 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """One row of variables.tsv.

    `reader` is "triton", "build" (Triton's own build), "triton-doctor", or a neighbour: "torch", "cuda", "rocm".
    `first` and `last` are the oldest and newest release lines that read it, None for what is not Triton's. `knobs`
    are its spellings below triton.knobs. `harm` is "slow-kernels", "slow-compiles", "no-cache", "poisons-cache",
    "prints" or "", and comes about `when` it is "on", "off", "set" to anything, "unoptimized", or "all" where a value
    other than on names single passes. `instead` is the setting that took its place. `default` and `read`, the moment
    that it is read, are words, empty where nothing is known. `keyed` says whether it is part of the key on disk:
    "options" as far as it changes those, "3.2-3.9" in these versions once it is set, or "".
    """

    name: str
    reader: str
    first: Version | None
    last: Version | None
    knobs: tuple[str, ...]
    harm: str
    when: str
    instead: str
    default: str
    read: str
    keyed: str
    effect: str

    def read_by(self, version: Version) -> bool:
        """Return whether Triton `version` reads it; always true for variables that are not Triton's."""
        return self.first is None or self.last is None or self.first <= version <= self.last

    def enters_key(self, version: Version) -> bool:
        """Return whether Triton `version` makes it part of the key on disk."""
        first, _, last = self.keyed.partition("-")
        return self.keyed == "options" or (bool(last) and parse_version(first) <= version <= parse_version(last))

    def at(self, value: str) -> Variable:
        """Return this variable with the harm and effect of `value`: `DISABLE_LLVM_OPT=disable-lsr` names one pass.

        On is what LLVM's getBoolEnv takes for true: `yes` leaves the code of triton 3.9 as it is.
        """
        if self.when != "all" or value.lower() in {"1", "true", "on"} or not self.harmful(value):
            return self
        named = value.count(",") + 1
        which = "one pass" if named == 1 else f"{named} passes"
        return replace(self, harm="passes", effect=f"names {which} of LLVM to leave out; the others stay on")

    def harmful(self, value: str) -> bool:
        """Return whether `value` causes the harm."""
        word = value.strip().lower()
        match self.when:
            case "on" | "all":
                return word not in {"", "0", "false", "no", "off", "n"}
            case "off":
                return word in {"0", "false", "no", "off", "n"}
            case "set":
                return bool(word)
            case "unoptimized":
                return bool(_UNOPTIMIZED.search(value))
            case _:
                return False


@cache
def variables() -> Mapping[str, Variable]:
    """Return every row of the table by name."""
    return {variable.name: variable for variable in _read_table()}


@cache
def variables_by_knob() -> Mapping[str, Variable]:
    """Return the variables that can also be set below triton.knobs, by knob: `runtime.interpret`."""
    return {knob: variable for variable in variables().values() for knob in variable.knobs}


@cache
def newest_version() -> Version:
    """Return the newest release line that the table knows."""
    return max(variable.last for variable in variables().values() if variable.last)


def parse_version(text: str | None) -> Version:
    """Parse a release line from `3.6`, `3.6.0` or `v3.6.0+git1`; the newest for None. Raises DoctorError."""
    if text is None:
        return newest_version()
    if not (match := re.match(r"v?(\d{1,4})\.(\d{1,4})(?!\d)", text.strip(), re.ASCII)):
        raise DoctorError(f"`{text}` is no version of triton", hint="write it as in `3.6`")
    return min(Version(int(match[1]), int(match[2])), newest_version())


def turns_interpreter_on(value: str, version: Version) -> bool:
    """Return whether Triton `version` interprets kernels if TRITON_INTERPRET is `value`."""
    return value == "1" if version < Version(3, 4) else value.lower() in TRUE_WORDS


def fails_with_kept_tuning(version: Version) -> bool:
    """Return whether a kernel tuned with `cache_results=True` fails in interpreter mode (run on 3.4.0 and 3.5.1).

    check_disk_cache looks for a JITFunction, which is not there (3.5 autotuner.py:170); 3.6 does not call it.
    """
    return Version(3, 4) <= version <= Version(3, 5)


def ptxas_variable(version: Version, arch: int) -> str:
    """Return the variable that names the ptxas for the compute capability `arch`, such as 90, in Triton `version`.

    triton 3.6 to 3.8 nvidia/compiler.py, get_ptxas: another from 10.0 on; 3.9 :41: from 9.0 on.
    """
    first = 100 if version < Version(3, 9) else 90
    return PTXAS_OF_NEWER_GPUS if version >= Version(3, 6) and arch >= first else PTXAS


def looks_like_triton(name: str) -> bool:
    """Return whether `name` begins as Triton's variables do, or as a misspelling of that."""
    if name == OURS:
        return False
    if name.startswith("TRITON_"):
        return True
    upper = name.upper()
    return (
        len(name) > len("TRITON_")
        and upper[0] == "T"
        and "N" in upper[3:8]
        and _edits(upper[:7], "TRITON_") <= 2
        and meant(name) is not None
    )


def is_of_other_backend(name: str) -> bool:
    """Return whether the variable `name` belongs to a backend for other hardware than NVIDIA's and AMD's."""
    return name.startswith(_OTHER_BACKENDS)


@cache
def meant(name: str) -> tuple[str, bool] | None:
    """Return the variable that `name` may misspell, and whether it is sure enough to warn; None if none is near."""
    upper = name.upper()
    candidates = [known for known, variable in variables().items() if variable.first and known.startswith("TRITON_")]
    near = [known for known in candidates if abs(len(known) - len(upper)) <= _MOST_EDITS]
    distance, nearest = min(((_edits(upper, known), known) for known in near), default=(_MOST_EDITS + 1, ""))
    if distance <= _MOST_EDITS and _is_slip(upper.split("_"), nearest.split("_"), distance):
        return nearest, True
    for known in sorted(candidates, key=len):
        if upper.startswith(f"{known}_") or known.startswith(f"{upper}_"):
            return known, False
    return None


def _is_slip(words: list[str], known: list[str], distance: int) -> bool:
    """Return whether each word has few wrong letters for its length: CUDA is not a misspelling of CUDART."""
    if len(words) != len(known):
        return distance == 1
    return all(
        _edits(word, right) <= (1 if len(right) <= 6 else len(right) // 3)
        for word, right in zip(words, known, strict=True)
    )


def _edits(left: str, right: str) -> int:
    """Count the single letters to add, drop, change, or swap with the next one, to turn `left` into `right`."""
    before_last: list[int] = []
    last = list(range(len(right) + 1))
    for i, letter in enumerate(left, 1):
        row = [i]
        for j, wanted in enumerate(right, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == right[j - 2] and left[i - 2] == wanted:
                cost = min(cost, before_last[j - 2] + 1)
            row.append(cost)
        before_last, last = last, row
    return last[-1]


def _read_table() -> Iterator[Variable]:
    header, *rows = TABLE.read_text(encoding="utf-8").splitlines()
    columns = header.split("\t")
    for line in rows:
        row = dict(zip(columns, line.split("\t"), strict=True))
        yield Variable(
            name=row["name"],
            reader=row["reader"],
            first=_version(row["first"]),
            last=_version(row["last"]),
            knobs=tuple(filter(None, row["knobs"].split(","))),
            harm=row["harm"],
            when=row["when"],
            instead=row["instead"],
            default=row["default"],
            read=row["read"],
            keyed=row["keyed"],
            effect=row["effect"],
        )


def _version(text: str) -> Version | None:
    major, _, minor = text.partition(".")
    return Version(int(major), int(minor)) if text else None
