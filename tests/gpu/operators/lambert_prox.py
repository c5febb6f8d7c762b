"""Steps of a solver that takes noise out of images: proximal points, and those with differences, of Lambert-prox."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import plain

REPOSITORY = "bobrun043/lambert-prox-pdhg-triton"
COMMIT = "97f59bbcefd073784f821cba61fefb28b8394d18"
TALL, STEP = 16, 0.5
SEEN = ("gaussian", "poisson_intensity", "poisson_nll", "kl")
ALONE = ("xlogx", "exp", "neglog")


def images(batch: int, length: int, channels: int = 1) -> torch.Tensor:
    """Images of TALL rows and `length` columns."""
    return plain(batch, channels, TALL, length, dtype=torch.float32)


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(module), name)(*arguments, **more)


def near(batch: int, length: int) -> object:
    """Points near those of an image, for each kind of noise."""
    module = "triton_prox_canonical_v1"
    for kind in (*SEEN, "poisson_log"):
        call(module, f"prox_{kind}_axpy", *(images(batch, length) for _ in range(3)), STEP)
    for kind in ALONE:
        call(module, f"prox_{kind}_axpy", images(batch, length), images(batch, length), STEP)
    return None


@torch.no_grad()
def fused(batch: int, length: int) -> object:
    """The same by a kernel for each kind."""
    module = "triton_prox_fused_candidate_v2"
    for kind in SEEN:
        call(module, f"prox_{kind}_axpy", *(images(batch, length) for _ in range(3)), STEP)
    for kind in ALONE:
        call(module, f"prox_{kind}_axpy", images(batch, length), images(batch, length), STEP)
    return None


def dual(batch: int, length: int) -> object:
    """A step of the differences between neighbours."""
    made = images(batch, length), images(batch, length, 2), STEP, STEP
    call("triton_stencil_candidate_v5", "launch_dual_tv", *made)
    return call("triton_stencil_canonical_v1", "launch_dual_tv", *made)


def primal(batch: int, length: int) -> object:
    """A step of the image."""
    made = images(batch, length), images(batch, length, 2), images(batch, length), STEP, "kl", images(batch, length)
    call("triton_stencil_candidate_v5", "launch_primal_div_prox", *made)
    return call("triton_stencil_canonical_v1", "launch_primal_div_prox", *made)


OPERATORS = {"near": near, "fused": fused, "dual": dual, "primal": primal}
