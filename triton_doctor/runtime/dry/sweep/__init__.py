"""Sweeps: a function is called dry at many sizes, to see which dimension moves which part of its kernels' cache keys.

Comes in: a function that takes sizes as keywords and makes its own tensors, and the sizes. Goes out: for each kernel
the parts of its key that moved, each with the dimensions and the formula that it follows, and how its values grow.

- `dimensions` chooses the points: each dimension alone, some of the product, some beyond the ends.
- `observation` calls the function at a point, and reads what its kernels' keys had there.
- `fit`, `polynomials` and `step_functions` make `size_formulas` from points and values.
- `learning` decides whether a formula is certain, or which further point would decide.
- `attribution` does that for each part that moved; `swept` holds the result, `text` and `json` write it.

With `rows = cdiv(batch*length, 132)` as a constexpr: 60 points are called; `cdiv(batch*length, k)` fits them for k from
130 to 133, so the sweep calls (7, 4093), where these differ, and so on until one k is left.
"""

from __future__ import annotations

import contextlib
import inspect
import time
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.dry.sweep.attribution import Attribution, LearnedFormulas
from triton_doctor.runtime.dry.sweep.dimensions import choose_points, far_points, read_dimensions
from triton_doctor.runtime.dry.sweep.observation import observe
from triton_doctor.runtime.dry.sweep.random_search import find_unpredicted, require_hypothesis
from triton_doctor.runtime.dry.sweep.summary import summarize
from triton_doctor.runtime.watch import make_header

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Literal

    from triton_doctor.runtime.dry.sweep.dimensions import Dimension, Point
    from triton_doctor.runtime.dry.sweep.observation import Observation
    from triton_doctor.runtime.dry.sweep.swept import Sweep

# Points beyond those of the plan, to tell formulas apart.
DECIDING = 100
# A function that raises at as many points does so everywhere.
ENOUGH_ERRORS = 16
# A search that finds as many points has shown that the function follows something else than its sizes.
MOST_FOUND = 5


def sweep(
    function: Callable[..., object],
    vary: Mapping[str, object],
    *,
    fixed: Iterable[str] = (),
    target: str | None = None,
    unknown: Literal["guess", "stop"] = "guess",
    search: int = 0,
) -> Sweep:
    """Run `function` dry at many sizes; return how each dimension changes the cache keys of its kernels.

    `function` takes the dimensions as int keywords, makes its own tensors on `cuda`, and may return a tensor, from
    which backward is run. `vary` maps each dimension to a range, from which sizes are chosen (`range(1, 4097)`,
    `"1..4096"`), or a list of sizes. `fixed` names dimensions that a model fixes, rather than a call. `target` and
    `unknown` are as for `dry_run`, which this enters unless it is active. `search` is the number of additional
    points at which hypothesis looks for unpredicted variants. Raises DoctorError if every call fails.
    """
    dimensions = read_dimensions(vary, fixed)
    return run_sweep(lambda: function, dimensions, target=target, unknown=unknown, search=search)


def run_sweep(
    load: Callable[[], Callable[..., object]],
    dimensions: tuple[Dimension, ...],
    *,
    target: str | None,
    unknown: Literal["guess", "stop"],
    search: int,
) -> Sweep:
    """Sweep the function that `load` returns, as `sweep` describes; `load` is called inside the dry run."""
    started_ns = time.perf_counter_ns()
    if search:
        require_hypothesis()
    with go_dry(target, unknown):
        function = load()
        require_parameters(function, dimensions)
        started_s = time.perf_counter()
        made_from, held_back = choose_points(dimensions)
        observations: dict[Point, Observation] = {}
        for point in (*made_from, *held_back):
            observations[point] = _call(function, dimensions, point)
            if len(observations) == ENOUGH_ERRORS and not _any_complete(observations):
                break
        if not _any_complete(observations):
            first_error = next(seen.error for seen in observations.values())
            raise DoctorError(
                f"`{_name(function)}` raised at the first {len(observations)} points: {first_error}",
                hint="call it once inside `with triton_doctor.dry_run():` to see where",
            )
        far = {point: _call(function, dimensions, point) for point in far_points(dimensions)}
        beyond = {point: seen for point, seen in far.items() if seen.is_complete}
        found: list[Point] = []
        while True:
            attribution = _learn(function, dimensions, observations, beyond, frozenset(held_back))
            if not search or len(found) == MOST_FOUND:
                break
            tried, new = find_unpredicted(
                dimensions, lambda point: _call(function, dimensions, point), attribution.is_predicted, search
            )
            observations |= tried
            if new is None:
                break
            found.append(new)
        return summarize(
            dimensions,
            observations,
            attribution,
            tuple(found),
            header=make_header(started_ns),
            took_s=time.perf_counter() - started_s,
        )


def _any_complete(observations: Mapping[Point, Observation]) -> bool:
    return any(seen.is_complete for seen in observations.values())


def _learn(
    function: Callable[..., object],
    dimensions: tuple[Dimension, ...],
    observations: dict[Point, Observation],
    beyond: Mapping[Point, Observation],
    held_back: frozenset[Point],
) -> Attribution:
    """Observe further points until the formulas that fit agree. Points that raise are ignored."""
    memory = LearnedFormulas()
    asked = 0
    while True:
        usable = {point: seen for point, seen in (observations | dict(beyond)).items() if seen.is_complete}
        attribution = Attribution(dimensions, held_back, usable, memory)
        points = [point for point in attribution.find_points() if point not in observations][: DECIDING - asked]
        if not points:
            return attribution
        asked += len(points)
        observations |= {point: _call(function, dimensions, point) for point in points}


def require_parameters(function: Callable[..., object], dimensions: Sequence[Dimension]) -> None:
    """Raise DoctorError unless `function` accepts the dimensions and has no other required parameters."""
    if not callable(function):
        raise DoctorError(f"cannot call {function!r}", hint="give a function that takes the dimensions as keywords")
    try:
        inspect.signature(function).bind(**{dimension.name: 1 for dimension in dimensions})
    except TypeError as error:
        takes = inspect.signature(function).parameters
        strangers = [dimension.name for dimension in dimensions if dimension.name not in takes]
        reason = f"does not take {', '.join(strangers)}" if strangers else f"needs more than the dimensions: {error}"
        raise DoctorError(
            f"`{_name(function)}` {reason}",
            hint=f"it is called with each dimension as a keyword; it takes {', '.join(takes)}",
        ) from error
    except ValueError:  # a callable whose signature nobody knows
        return


@contextlib.contextmanager
def go_dry(target: str | None, unknown: Literal["guess", "stop"]) -> Iterator[None]:
    """Run dry for `target`; keeps an outer dry run if `target` is None."""
    from triton_doctor.runtime.dry import dry_run
    from triton_doctor.runtime.dry.dry_process import active_gpu

    if active_gpu() is not None and target is None:
        yield
        return
    with dry_run(target=target, unknown=unknown):
        yield


def _call(function: Callable[..., object], dimensions: Sequence[Dimension], point: Point) -> Observation:
    return observe(function, {dimension.name: size for dimension, size in zip(dimensions, point, strict=True)})


def _name(function: Callable[..., object]) -> str:
    return str(getattr(function, "__qualname__", function))
