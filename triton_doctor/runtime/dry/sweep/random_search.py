"""Random search, by hypothesis, for a point with a variant that what was learned does not predict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from triton_doctor.runtime.dry.sweep.dimensions import Dimension, Point
    from triton_doctor.runtime.dry.sweep.observation import Observation


def require_hypothesis() -> None:
    """Raise DoctorError if hypothesis is not installed."""
    try:
        import hypothesis  # noqa: F401
    except ImportError as error:
        raise DoctorError("a search needs hypothesis, which is not installed", hint="pip install hypothesis") from error


def find_unpredicted(
    dimensions: Sequence[Dimension],
    observe: Callable[[Point], Observation],
    is_predicted: Callable[[Point, Observation], bool],
    tries: int,
) -> tuple[dict[Point, Observation], Point | None]:
    """Observe about `tries` random points and return them with the smallest unpredicted point, or None.

    Points that raise are ignored. The same points are tried at each run.
    """
    from hypothesis import HealthCheck, Phase, find, settings
    from hypothesis.errors import NoSuchExample

    seen: dict[Point, Observation] = {}

    def is_new(point: Point) -> bool:
        if point not in seen:
            seen[point] = observe(point)
        return seen[point].is_complete and not is_predicted(point, seen[point])

    chosen = settings(
        max_examples=tries,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    try:
        return seen, find(_points(dimensions), is_new, settings=chosen)
    except NoSuchExample:
        return seen, None


def _points(dimensions: Sequence[Dimension]) -> Any:
    from hypothesis import strategies

    sizes = [
        strategies.integers(dimension.first, dimension.last)
        if dimension.is_range
        else strategies.sampled_from(dimension.sizes)
        for dimension in dimensions
    ]
    return strategies.tuples(*sizes)
