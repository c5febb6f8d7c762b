"""What a sweep adds to a recording: the dimensions that move a part of a kernel's key, and how its values grow."""

from __future__ import annotations

from dataclasses import dataclass

CONSTEXPR, TUNING_KEY, INTEGER, TYPE, OPTION = "constexpr", "autotune key", "integer", "type", "option"


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepEvent:
    """A part of a kernel's key had several values over the points of a sweep. `function` and `module` are the kernel's.

    `part` is CONSTEXPR, TUNING_KEY, INTEGER, TYPE or OPTION. It `follows` these dimensions, by `formula`
    where one is certain, else empty; `growth` is bounded, log2, unbounded or unknown. What is `per_model` follows only
    dimensions that a model fixes.

    Of arguments that the tool made up, `entry` is what was called with them: then `role` is whether `origin`, such as
    "axis 1 of `q`", is taken for data, model or unknown, and `why` a clause that says so. `is_certain` if no name and
    no position is among the reasons; `is_covered` if every entry of the project that reaches the kernel ran without
    failing, and each of its axes was varied.
    """

    function: str
    module: str
    part: str
    name: str
    values: int
    points: int
    follows: tuple[str, ...]
    formula: str
    growth: str
    per_model: bool
    at_ns: int
    entry: str = ""
    origin: str = ""
    role: str = ""
    why: str = ""
    is_certain: bool = False
    is_covered: bool = False

    @property
    def is_unbounded(self) -> bool:
        """Return whether, by the formula, each call can have a new value."""
        return bool(self.formula) and self.growth == "unbounded" and not self.per_model

    def describe(self) -> str:
        """Describe the event: `7 values over 12 shapes, follows batch`."""
        how = self.formula or " and ".join(self.follows) or "no dimension alone"
        return f"{self.values:,} values over {self.points:,} {'shape' if self.points == 1 else 'shapes'}, follows {how}"
