"""DoubleSparse's attention of one token to the keys that a few channels choose."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, plain

REPOSITORY = "andy-yang-1/DoubleSparse"
COMMIT = "b0575e638a279d9b2bdd2359dc3fcb5616a1c67a"
FOLDERS = ("models/triton_kernels",)
HEADS, HEAD, CHANNELS, CHOSEN = 8, 128, 16, 128
# Each token chooses CHOSEN of the keys.
SHAPES = ((1, 128), (2, 256), (3, 384), (5, 512), (6, 640), (7, 1024), (4, 1280), (2, 2048))
SHAPES_OF = {"ordered": ((1, 128), (2, 256), (5, 512), (7, 1024))}


def call(module: str, name: str, *arguments: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(module), name)(*arguments)


def half(*shape: int) -> torch.Tensor:
    """A tensor of 16 bits."""
    return plain(*shape, dtype=torch.float16)


def heads(batch: int, length: int) -> list[torch.Tensor]:
    """A token of each sequence, all keys and values, and where the answer goes."""
    return [half(batch, HEADS, HEAD), *(half(batch * length, HEADS, HEAD) for _ in range(2)), half(batch, HEADS, HEAD)]


def channels() -> torch.Tensor:
    """The channels of each head."""
    return torch.arange(CHANNELS, device=DEVICE).repeat(HEADS, 1)


def masks(batch: int, length: int) -> list[torch.Tensor]:
    """Nothing is hidden."""
    return [torch.zeros(batch, many, device=DEVICE, dtype=torch.float16) for many in (length, CHOSEN)]


def labels(batch: int, length: int) -> object:
    """The channels of all keys."""
    made = half(batch * length, HEADS, HEAD), channels(), half(batch * length, HEADS, CHANNELS), CHANNELS
    return call("channel", "get_label_tensor", *made)


def attend(batch: int, length: int) -> object:
    """Attention to the chosen keys."""
    made = half(batch, HEADS, CHANNELS), half(batch * length, HEADS, CHANNELS), half(batch, HEADS, length)
    call("attention", "att", *heads(batch, length), *made, channels(), CHOSEN, CHANNELS, *masks(batch, length))
    return None


def rounded(batch: int, length: int) -> object:
    """Attention to the keys that channels of 8 bits choose."""
    small = torch.zeros(batch * length, HEADS, CHANNELS, device=DEVICE, dtype=torch.int8)
    made = half(batch, HEADS, CHANNELS), small, half(batch * length, HEADS), half(batch, HEADS, length)
    call("attention", "att_int8", *heads(batch, length), *made, channels(), CHOSEN, CHANNELS, *masks(batch, length))
    return None


def centered(batch: int, length: int) -> object:
    """How alike tokens are by channels of 8 bits with a center."""
    small = torch.zeros(batch * length, HEADS, CHANNELS, device=DEVICE, dtype=torch.int8)
    made = half(batch, HEADS, CHANNELS), small, half(batch * length, HEADS), half(batch * length, HEADS)
    return call("bgemv_int8_zeros", "bgemv_int8", *made, half(batch, HEADS, length))


def sparq(batch: int, length: int) -> object:
    """Attention to the keys that each token's largest channels choose."""
    made = half(batch, HEADS, CHANNELS), half(batch * length, HEADS, CHANNELS)
    call("sparq", "sparq_att", *heads(batch, length), *made, CHANNELS, CHOSEN, masks(batch, length)[1])
    return None


def bare(batch: int, length: int) -> object:
    """Attention to chosen keys without a mask."""
    chosen = torch.zeros(batch, HEADS, CHOSEN, device=DEVICE, dtype=torch.int64)
    return call("sparse", "fwd_sparse_no_mask", *heads(batch, length), chosen)


def ordered(batch: int, length: int) -> object:
    """All keys in the order of their likeness."""
    made = half(batch, HEADS, CHANNELS), half(batch * length, HEADS, CHANNELS)
    return call("heavy", "get_heavy", *made, torch.zeros(batch, HEADS, length, device=DEVICE, dtype=torch.int64))


OPERATORS = {
    "labels": labels,
    "attend": attend,
    "rounded": rounded,
    "centered": centered,
    "sparq": sparq,
    "bare": bare,
    "ordered": ordered,
}
