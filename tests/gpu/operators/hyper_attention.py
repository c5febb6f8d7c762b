"""HyperAttention: attention that looks at keys in the same bucket and at some others."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, normal, plain

REPOSITORY = "amirzandieh/HyperAttention"
COMMIT = "aa5bb4572088dfa23c206a83a4388310ea791272"
PROJECTIONS, SHORTEST = 7, 512
# Whole blocks of 256, and of their halves where nothing sees what comes later.
SHAPES = ((1, 256), (2, 512), (3, 1024), (1, 2048), (4, 1024), (2, 4096), (1, 8192))
ANY_LENGTH = ((1, 16), (2, 33), (3, 100), (4, 127), (5, 200), (1, 777), (2, 1000))
BLOCKS = ((1, 512), (2, 768), (3, 1024), (1, 1280), (4, 1536), (2, 2048), (1, 2560))


def attend(batch: int, length: int, *, causal: bool, smooth: bool = False) -> object:
    """Attention as a model has it, forward and backward."""
    kind = importlib.import_module("hyper_attention").HyperAttention
    made = kind(HEAD, PROJECTIONS, min_seq_len=SHORTEST, smooth_block=smooth).to(DEVICE, torch.bfloat16)
    return made(*(normal(batch, HEADS, length, HEAD) for _ in range(3)), causal=causal)


def flash(batch: int, length: int) -> object:
    """Attention to all that came before, forward and backward."""
    attention = importlib.import_module("src.flash_attn_triton").flash_attn_func
    return attention(*(normal(batch, length, HEADS, HEAD) for _ in range(3)), None, True, None)


def buckets(batch: int, length: int) -> object:
    """The bucket of each token."""
    kind = importlib.import_module("src.angular_lsh_triton").AngularLSHTriton
    return kind(PROJECTIONS, (1, 1, HEAD)).to(DEVICE, torch.bfloat16).hash_triton(plain(batch, HEADS, length, HEAD))


OPERATORS = {
    "causal": lambda batch, length: attend(batch, length, causal=True),
    "all": lambda batch, length: attend(batch, length, causal=False),
    "smooth": lambda batch, length: attend(batch, length, causal=False, smooth=True),
    "flash": flash,
    "buckets": buckets,
}
SHAPES_OF = {"flash": ANY_LENGTH, "buckets": ANY_LENGTH, "all": BLOCKS, "smooth": BLOCKS}
