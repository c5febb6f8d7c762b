"""What a sweep found: for each kernel its variants and the parts of its key that moved, with what they follow."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from triton_doctor.runtime.dry.sweep.size_formulas import Growth
from triton_doctor.runtime.sweep_event import TUNING_KEY

if TYPE_CHECKING:
    from triton_doctor.runtime.dry.sweep.attribution import Explanation
    from triton_doctor.runtime.dry.sweep.dimensions import Dimension, Point
    from triton_doctor.runtime.dry.sweep.observation import ProbedPart
    from triton_doctor.runtime.dry.sweep.size_formulas import Formula, Value
    from triton_doctor.runtime.event import GuessEvent, KernelName, LaunchSite
    from triton_doctor.runtime.recording import Recording


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A part of a kernel's key that differs between points. `values` are those seen, in order.

    `is_fixed` is whether it follows only dimensions that are fixed for a model.
    """

    kernel: KernelName
    part: ProbedPart
    values: tuple[Value, ...]
    explanation: Explanation
    is_fixed: bool

    @property
    def count(self) -> int:
        """Return the known number of values over all sizes of the sweep, at least those observed."""
        return max(len(self.values), self.explanation.count or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweptKernel:
    """A kernel with its launch sites, and at how many `points` it was launched: by `condition`, where one is certain.

    `variants` are those seen over all points, without what tuning tried.
    `per_model` is the most of them for one setting of the fixed dimensions. `rounds` of tuning tried `tried` variants.
    """

    name: KernelName
    sites: tuple[LaunchSite, ...]
    points: int
    condition: Formula | None
    variants: int
    per_model: int
    rounds: int
    tried: int
    moved: tuple[Moved, ...]

    @property
    def needs(self) -> int:
        """Return the least number of variants per model over all sizes, observed or computed by formula."""
        per_call = (moved for moved in self.moved if not moved.is_fixed and moved.part.kind != TUNING_KEY)
        return max([self.per_model, *(moved.explanation.count or 0 for moved in per_call)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """The result of a sweep: the points (sizes of the dimensions) that ran, and the kernels launched at them.

    `stopped` are the points at which the function raised, with the error. `found` are those where a random search met a
    variant that nothing before had predicted.
    """

    dimensions: tuple[Dimension, ...]
    points: tuple[Point, ...]
    kernels: tuple[SweptKernel, ...]
    stopped: tuple[tuple[Point, str], ...]
    found: tuple[Point, ...]
    guesses: tuple[GuessEvent, ...]
    launches: int
    took_s: float
    recording: Recording

    @property
    def moved(self) -> tuple[Moved, ...]:
        """Return the parts that moved, of all kernels."""
        return tuple(moved for kernel in self.kernels for moved in kernel.moved)

    def of(self, kernel: str) -> tuple[SweptKernel, ...]:
        """Return the kernels whose names match the glob `kernel`."""
        return tuple(each for each in self.kernels if fnmatchcase(each.name.name, kernel))

    def assert_bounded(self, kernel: str, at_most: int) -> None:
        """Raise AssertionError if a kernel that matches the glob may need more variants per model than allowed.

        If a part has a formula, all its values over the swept sizes count. Also fails if no kernel matches or
        the function raised at a point.
        """
        from triton_doctor.runtime.dry.sweep.text import describe_stopped, explain_bound

        matching = self.of(kernel)
        if not matching:
            names = ", ".join(f"`{each.name.name}`" for each in self.kernels) or "none"
            raise AssertionError(f"the sweep launched no kernel called {kernel!r}; it launched {names}")
        broken = [explain_bound(each, at_most) for each in matching if each.needs > at_most]
        if broken:
            raise AssertionError("\n".join(broken))
        if self.stopped:
            raise AssertionError(f"the limit of `{kernel}` was not checked everywhere: {describe_stopped(self)}")

    def to_json(self) -> dict[str, object]:
        """Return the values that `triton-doctor sweep --output-format json` prints."""
        from triton_doctor.runtime.dry.sweep.json import describe_sweep

        return describe_sweep(self)

    def __str__(self) -> str:
        """Return the text that `triton-doctor sweep` prints."""
        from triton_doctor.runtime.dry.sweep.text import render_sweep

        return render_sweep(self)


def by_growth(moved: Moved) -> tuple[bool, int, int, str]:
    """Return a sort key: parts fixed by a model last, otherwise the fastest growing first."""
    order = (Growth.UNBOUNDED, Growth.UNKNOWN, Growth.LOG2, Growth.BOUNDED)
    return moved.is_fixed, order.index(moved.explanation.growth), -len(moved.values), moved.part.name
