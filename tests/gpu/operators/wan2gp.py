"""Wan2GP's sparse attention of videos, its norm with rotation, and what its language models keep."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEADS, HIDDEN, PAGE, PAGES, plain

REPOSITORY = "deepbeepmeep/Wan2GP"
COMMIT = "8681e9f777f9f847f74a0bdefd13d5b9a6efe12d"
# What is more than attention in its folder imports much.
BARE = ("postprocessing", "postprocessing.flashvsr")
HEAD, SPARSE_HEAD, SUNK = 128, 64, 128
# Tokens of a video.
SHAPES = ((1, 200), (2, 512), (1, 777), (2, 1000), (1, 1560), (3, 2048), (1, 4680), (1, 8190))
TOKENS = ((1, 1), (2, 16), (3, 33), (5, 100), (1, 300), (2, 512), (4, 777))


def attend(batch: int, length: int, **more: object) -> object:
    """Sparse attention of all tokens."""
    kernels = importlib.import_module("shared.sol_attn")
    return kernels.sol_attn(*(plain(batch, length, HEADS, HEAD) for _ in "qkv"), **more)


def rotate(batch: int, length: int) -> object:
    """Queries and keys, normed and rotated in place."""
    query, key = plain(batch, length, HEADS, HEAD), plain(batch, length, HEADS, HEAD)
    made = query, key, plain(HEAD), plain(HEAD), plain(1, length, 1, HEAD // 2, 2)
    importlib.import_module("shared.sol_attn").qk_rms_norm_rope_(*made, 1e-6)
    return query


def chosen(batch: int, length: int) -> object:
    """Attention of eight bits to those blocks that a mask chose."""
    made = [plain(batch, HEADS, length, SPARSE_HEAD) for _ in "qkv"]
    mask = torch.ones(batch, HEADS, -(-length // 128), -(-length // 64), device=DEVICE, dtype=torch.int8)
    return importlib.import_module("postprocessing.flashvsr.sparse_sage.core").sparse_sageattn(made, mask)


def keep(batch: int, length: int) -> object:
    """Keys and values of a prompt into pages, whole and in eight bits."""
    store: Any = importlib.import_module("shared.llm_engines.nanovllm.layers.attention").store_kvcache
    made = [plain(batch * length, HEADS, HEAD) for _ in "kv"]
    places = (torch.arange(batch * length, device=DEVICE) % (PAGES * PAGE)).to(torch.int32)
    kept = [torch.empty(PAGES, PAGE, HEADS, HEAD, device=DEVICE, dtype=torch.int8) for _ in "kv"]
    scales = [torch.empty(PAGES, PAGE, HEADS, HEAD // 32, device=DEVICE, dtype=torch.float16) for _ in "kv"]
    store(*made, *kept, places, *scales, use_triton_kv_cache=True)
    return store(*made, *(plain(PAGES, PAGE, HEADS, HEAD) for _ in "kv"), places, use_triton_kv_cache=True)


def norm(batch: int, length: int) -> object:
    """A norm of all tokens, without and with what is added before."""
    made = importlib.import_module("shared.llm_engines.nanovllm.layers.layernorm").RMSNorm(HIDDEN)
    made = made.to(DEVICE, torch.bfloat16)
    tokens = plain(batch * length, HIDDEN)
    with torch.inference_mode():
        made(tokens)
        return made(tokens, plain(batch * length, HIDDEN))[0]


OPERATORS = {
    "attend": attend,
    "attend_exactly": lambda batch, length: attend(batch, length, thresh_type="exact"),
    "attend_sunk": lambda batch, length: attend(batch, length, sink_tokens=SUNK),
    "attend_small": lambda batch, length: attend(batch, length, int8_qk=True),
    "attend_smaller": lambda batch, length: attend(batch, length, int8_qk=True, int8_pv=True),
    "attend_small_exactly": lambda batch, length: attend(batch, length, int8_qk=True, thresh_type="exact"),
    "rotate": rotate,
    "chosen": chosen,
    "keep": keep,
    "norm": norm,
}
SHAPES_OF = {"keep": TOKENS, "norm": TOKENS}
