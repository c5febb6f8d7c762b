"""Jet-Nemotron's convolutions with kernels of their own for each token."""

from __future__ import annotations

import importlib
from typing import Any

from tests.gpu.operators.tensors import HIDDEN, normal, plain, starts

REPOSITORY = "NVlabs/Jet-Nemotron"
COMMIT = "94cbd12404637950722a09f70c8649ff1b1f2793"
BARE = ("jetai", "jetai.modeling", "jetai.modeling.hf")
WIDE = 4
SHAPES = ((1, 7), (2, 33), (3, 100), (4, 256), (1, 777), (2, 1024))
STEPS = ((1, 1), (2, 1), (3, 1), (4, 1), (7, 1))


def call(module: str, name: str, *arguments: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"jetai.modeling.hf.{module}"), name)(*arguments)


def convolve(batch: int, length: int) -> object:
    """All tokens of a batch, forward and backward."""
    made = normal(batch, length, HIDDEN), normal(batch, length, HIDDEN, WIDE)
    return call("dconv_fwdbwd", "dynamic_conv_triton_autograd", *made)


def convolve_packed(batch: int, length: int) -> object:
    """Sequences in a row."""
    ends = starts([length] * batch).long()
    made = plain(1, batch * length, HIDDEN), plain(1, batch * length, HIDDEN, WIDE)
    return call("dconv_fwdbwd", "dynamic_conv_triton_autograd", *made, ends)


def prefill(batch: int, length: int) -> object:
    """The tokens of a prompt after those in the cache."""
    made = plain(batch, length, HIDDEN), plain(batch, length, HIDDEN, WIDE), plain(batch, WIDE, HIDDEN)
    return call("dconv_fwd_cache", "dynamic_conv_triton_cache", *made)


def prefill_first(batch: int, length: int) -> object:
    """The tokens of a prompt with nothing before them."""
    made = plain(batch, length, HIDDEN), plain(batch, length, HIDDEN, WIDE)
    return call("dconv_fwd_cache", "dynamic_conv_triton_cache", *made)


def step(batch: int, _: int) -> object:
    """One token for each sequence."""
    made = plain(batch, 1, HIDDEN), plain(batch, HIDDEN, WIDE), plain(batch, HIDDEN, WIDE)
    return call("dconv_step", "causal_conv_step_triton", *made)


OPERATORS = {
    "convolve": convolve,
    "convolve_packed": convolve_packed,
    "prefill": prefill,
    "prefill_first": prefill_first,
    "step": step,
}
SHAPES_OF = {"step": STEPS}
