"""Flash-SD-KDE's densities of samples of one and of sixteen features, and samples that are moved to sharpen them."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, plain

REPOSITORY = "Elliotepsteino/Flash-SD-KDE"
COMMIT = "a333b87207832c970b26903b30910b6bd34a7684"
FEATURES, WIDTH = 16, 0.5


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(module), name)(*arguments, **more)


def samples(many: int, *features: int) -> torch.Tensor:
    """`many` samples."""
    return plain(many, *features, dtype=torch.float32)


def density(batch: int, length: int, *features: int, **more: object) -> object:
    """How dense 16 * `length` samples are at 16 * `batch` places, and by a correction."""
    made = samples(16 * length, *features), samples(16 * batch, *features), WIDTH
    call("flash_sd_kde", "kde_eval", *made, **more)
    return call("flash_sd_kde", "kde_eval_linearized", *made, **more)


def plain_density(batch: int, length: int) -> object:
    """One feature."""
    return density(batch, length)


def wide_density(batch: int, length: int) -> object:
    """Sixteen features."""
    return density(batch, length, FEATURES)


def added_density(batch: int, length: int) -> object:
    """Sixteen features and one, added up in memory."""
    density(batch, length, kde_backend="atomic")
    return density(batch, length, FEATURES, kde_backend="atomic", autotune=False)


def untuned_density(batch: int, length: int) -> object:
    """Sixteen features with the library's own blocks."""
    return density(batch, length, FEATURES, autotune=False, use_precomputed_norms=False)


def sharpened(batch: int, length: int) -> object:
    """Samples that are moved, in one of three ways."""
    made = samples(16 * batch * length, FEATURES), WIDTH
    for way in ("flash_sd_kde", "ordered_splitk", "symmetric_atomic"):
        call("flash_sd_kde", "emp_sd_kde_fit_transform", *made, emp_score_backend=way)


def kernels(batch: int, length: int) -> object:
    """The kernels that the first version had, of one feature and of sixteen."""
    more = {"device": DEVICE, "synchronize": False}
    made = samples(16 * length), samples(16 * batch), WIDTH
    call("kernels.flash_sd_kde", "gaussian_kde_triton", *made, **more)
    call("kernels.flash_sd_kde", "gaussian_kde_score_triton", *made, **more)
    made = samples(16 * length, FEATURES), samples(16 * batch, FEATURES), WIDTH
    call("kernels.flash_sd_kde", "gaussian_kde_triton_nd", *made, **more)
    return call("kernels.flash_sd_kde", "empirical_sd_kde_triton_nd", *made[::2], **more)


OPERATORS = {
    "density": plain_density,
    "density-wide": wide_density,
    "density-added": added_density,
    "density-untuned": untuned_density,
    "sharpened": sharpened,
    "kernels": kernels,
}
