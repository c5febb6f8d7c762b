"""MP-Sparse-Attn's attention of mixed precision, and its roundings."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

import torch

from tests.gpu.operators.tensors import CHUNKS, HEAD, HEADS, plain

REPOSITORY = "yifu-ding/MP-Sparse-Attn"
COMMIT = "0fb4503ad4d7ea408fb7e1285fc2e4ae629236a6"
BARE = ("spas_sage_attn",)
FOLDERS = (".", "ours")
SHAPES = CHUNKS


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library, which imports one that it compiles."""
    if "spas_sage_attn._qattn" not in sys.modules:
        sys.modules["spas_sage_attn._qattn"] = ModuleType("spas_sage_attn._qattn")
    return getattr(importlib.import_module(module), name)(*arguments, **more)


def half(batch: int, length: int) -> torch.Tensor:
    """Queries, keys or values."""
    return plain(batch, HEADS, length, HEAD, dtype=torch.float16)


def routed(batch: int, length: int) -> object:
    """Attention to the blocks that matter, of all tokens and of those before."""
    for causal in (False, True):
        made = [half(batch, length) for _ in range(3)]
        call("online_routing", "online_routing_attn", *made, is_causal=causal, skip_thresh=0.1)
    return None


def rounded(batch: int, length: int) -> object:
    """Queries and keys to 8 bits and to 4."""
    for name in ("quant_fpxint8", "quant_mxfp8e5", "quant_mxfp4"):
        call("quant_mxint8", name, half(batch, length), half(batch, length))
    return None


def faster(batch: int, length: int) -> object:
    """Queries and keys to 4 bits, faster."""
    return call("quant_mxint8_optimized", "quant_mxfp4_optimized", half(batch, length), half(batch, length))


OPERATORS = {"routed": routed, "rounded": rounded, "faster": faster}
