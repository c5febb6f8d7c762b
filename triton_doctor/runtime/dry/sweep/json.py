"""A sweep as plain values: schema 1 of `triton-doctor sweep --output-format json`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.runtime.dry.sweep.dimensions import Dimension, Point
    from triton_doctor.runtime.dry.sweep.swept import Moved, Sweep, SweptKernel

SCHEMA = 1


def describe_sweep(sweep: Sweep) -> dict[str, object]:
    """Convert `sweep` to plain JSON values. Every key is always present, null where it does not apply."""
    return {
        "schema": SCHEMA,
        "dimensions": [_dimension(dimension) for dimension in sweep.dimensions],
        "points": len(sweep.points),
        "launches": sweep.launches,
        "seconds": round(sweep.took_s, 3),
        "pretended": sweep.recording.pretended,
        "stopped": [{"sizes": _sizes(sweep.dimensions, point), "error": error} for point, error in sweep.stopped],
        "found_by_search": [_sizes(sweep.dimensions, point) for point in sweep.found],
        "guesses": [
            {
                "question": guess.question,
                "path": None if guess.site is None else guess.site.path,
                "line": None if guess.site is None else guess.site.line,
            }
            for guess in sweep.guesses
        ],
        "kernels": [_kernel(kernel) for kernel in sweep.kernels],
    }


def _dimension(dimension: Dimension) -> dict[str, object]:
    return {
        "name": dimension.name,
        "first": dimension.first if dimension.is_range else dimension.sizes[0],
        "last": dimension.last if dimension.is_range else dimension.sizes[-1],
        "sizes": None if dimension.is_range else list(dimension.sizes),
        "fixed": dimension.is_fixed,
    }


def _sizes(dimensions: Sequence[Dimension], point: Point) -> dict[str, int]:
    return {dimension.name: size for dimension, size in zip(dimensions, point, strict=True)}


def _kernel(kernel: SweptKernel) -> dict[str, object]:
    return {
        "kernel": kernel.name.name,
        "module": kernel.name.module,
        "path": kernel.name.path,
        "line": kernel.name.line,
        "launch_sites": [{"path": site.path, "line": site.line} for site in kernel.sites],
        "points": kernel.points,
        "condition": None if kernel.condition is None else str(kernel.condition),
        "variants": kernel.variants,
        "variants_per_model": kernel.per_model,
        "autotune_rounds": kernel.rounds,
        "configs_tried": kernel.tried,
        "moved": [_moved(moved) for moved in kernel.moved],
    }


def _moved(moved: Moved) -> dict[str, object]:
    explanation = moved.explanation
    return {
        "part": moved.part.kind,
        "name": moved.part.name,
        "values": list(moved.values),
        "values_over_all_sizes": explanation.count,
        "follows": list(explanation.follows),
        "formula": None if explanation.formula is None else str(explanation.formula),
        "growth": explanation.growth.value,
        "per_model": moved.is_fixed,
    }
