"""Cover: whether the kernels and keys that a program can need are among those that a recording has.

In: the source of a program, and recordings of it. Out: a `Cover` with what is missing, and what could not be proved.

- A **choice** is a value that a launch is computed from: a size, a flag, whether a tensor is passed (`formulas`).
- The **key space** of a kernel are the keys that the values of all choices give. It is *closed* where the source shows
  all values, or all classes, of each choice: literals, flags, None or not, the classes of plain integers, buckets below
  a bound. Else it is *open*, and no recording covers it.
- A launch is **reached** if the program's script can come to it by the names that its code uses.

Example: a warm-up launched `k[(1,)](x, n, HAS_B=b is not None)` with `n` 256 and `b`. `n` differs between calls and `b`
may be None, so that keys for `n` 1, `n` not divisible by 16, and `b` None are missing: five of six.

Files, in reading order: `set_values` and `possible_values`, what names and attributes may be; `formulas`, arguments
as expressions of choices; `joint_values`, their values; `keys`, the variants that they need; `cover`, all of it for a
project. Types and the version of the source are those of the recording: a launch with another dtype is not foreseen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from triton_doctor.runtime.event import KernelName
    from triton_doctor.runtime.prewarm.kernel_variants import KernelVariant


NOT_LAUNCHED, NOT_TUNED, NOT_PROVED = "not launched", "not tuned, or not kept", "not proved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """What recordings do not cover, besides variants, at `path` and `line`.

    `kind` is NOT_LAUNCHED, a kernel that the program can launch; NOT_TUNED, a round of tuning that no recording made or
    whose result is lost at the end; or NOT_PROVED: something keeps the cover from being proved. `code` is the rule that
    mends it. `kernel` and `parameter` are empty where it concerns no kernel, or all of its parameters.
    """

    kind: str
    path: str
    line: int
    kernel: str = ""
    parameter: str = ""
    reason: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterSpace:
    """The values of one parameter or option at one launch, as text, and where they come from.

    `values` are classes for a plain integer. `recorded` are those that the recordings have. `open` says why there may
    be others; empty for a closed space.
    """

    parameter: str
    role: str
    values: tuple[str, ...]
    recorded: tuple[str, ...]
    given: str
    path: str
    line: int
    open: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSpace:
    """The key space of one kernel: `parameters`, launch by launch, and the variants that the recordings lack."""

    kernel: KernelName
    parameters: tuple[ParameterSpace, ...]
    recorded: int
    missing: tuple[KernelVariant, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cover:
    """What recordings lack: variants, in `spaces`, and `gaps`.

    `entries` are the scripts from which launches were looked for; empty where all launches of the source count.
    """

    spaces: tuple[KernelSpace, ...] = ()
    gaps: tuple[Gap, ...] = ()
    entries: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[KernelVariant, ...]:
        """Return the variants that the recordings lack, kernel by kernel."""
        return tuple(variant for space in self.spaces for variant in space.missing)

    @property
    def is_whole(self) -> bool:
        """Return whether nothing is missing and everything is proved."""
        return not (self.missing or self.gaps)
