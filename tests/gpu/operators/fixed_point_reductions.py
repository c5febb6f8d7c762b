"""Fixed-point reductions for vLLM: casts, a norm, products and attention over pages."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import (
    HEAD,
    HEADS,
    HIDDEN,
    PAGE,
    PAGES,
    counts,
    lengths,
    page_table,
    plain,
    starts,
)

REPOSITORY = "Gursukh/vLLM-Triton-Fixed-Point-Reductions"
COMMIT = "f0e56993151e0da5d556c479e502d7577b26bd91"
BARE = ("fxpr_vllm",)
SHARED, WIDE, BITS, FRACTION = 2, 1024, 32, 16
CACHES = ((1, 1), (2, 16), (3, 100), (4, 777), (2, 1000), (1, 3000), (2, 4096))


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"fxpr_vllm._triton.{module}"), name)(*arguments, **more)


def cast(batch: int, length: int) -> object:
    """All tokens as whole numbers and back."""
    whole = call("casts", "float_to_fixed_run", plain(batch, length, HIDDEN, dtype=torch.float32), BITS, FRACTION)
    return call("casts", "fixed_to_float_run", whole, 32, FRACTION)


def norm(batch: int, length: int) -> object:
    """The norm of all tokens, with and without what is added to them."""
    tokens, weight = plain(batch * length, HIDDEN), plain(HIDDEN)
    call("rms_norm", "rms_norm_fxp_run", tokens, weight, 1e-6)
    return call("rms_norm", "rms_norm_fxp_residual_run", tokens, plain(batch * length, HIDDEN), weight, 1e-6)


def multiply(batch: int, length: int) -> object:
    """All tokens times a weight."""
    return call("gemm", "gemm_fxp_run", plain(batch * length, HIDDEN), plain(HIDDEN, WIDE), None, BITS, FRACTION)


def multiply_biased(batch: int, length: int) -> object:
    """All tokens of 16 bits times a weight, with a bias."""
    tokens, weight, bias = (
        plain(*shape, dtype=torch.float16) for shape in ((batch * length, HIDDEN), (HIDDEN, WIDE), (WIDE,))
    )
    return call("gemm", "gemm_fxp_run", tokens, weight, bias, BITS, FRACTION)


def attend(queries: list[int], held: list[int], wide: int, window: int = 0) -> torch.Tensor:
    """Attention of the last `queries` of each sequence to what is held of it."""
    query = plain(sum(queries), HEADS * SHARED, HEAD)
    kept, result = plain(PAGES, 2, PAGE, HEADS, HEAD), torch.empty_like(query)
    places = starts(queries), counts(held), page_table(len(held), wide)
    given = max(queries), None, True, None, BITS, FRACTION, 0.0, window, 0
    call("attention", "unified_attention_fxp_run", query, kept, result, *places, *given)
    return result


def prefill(batch: int, length: int) -> object:
    """Attention of prompts."""
    held = lengths(batch, length)
    return attend(held, held, length)


def prefill_near(batch: int, length: int) -> object:
    """Attention of prompts to what came a little before."""
    held = lengths(batch, length)
    return attend(held, held, length, 128)


def decode(batch: int, length: int) -> object:
    """Attention of one token of each sequence."""
    return attend([1] * batch, lengths(batch, length), length)


OPERATORS = {
    "cast": cast,
    "norm": norm,
    "multiply": multiply,
    "multiply_biased": multiply_biased,
    "prefill": prefill,
    "prefill_near": prefill_near,
    "decode": decode,
}
SHAPES_OF = {"decode": CACHES}
