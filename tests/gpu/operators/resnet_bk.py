"""Project MUSE's (ResNet-BK's) hyperbolic attention, norms, distances, products, embeddings and scans."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, normal, plain

REPOSITORY = "neko-jpg/Project-ResNet-BK-An-O-N-Language-Model-Architecture"
COMMIT = "cff86b645a9f1618fdf7a4e834f416ddbd0f7a10"
WIDE, RANK, FACTOR, WORDS = 1024, 16, 32, 100


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library, or make one of its modules."""
    return getattr(importlib.import_module(f"src.kernels.{module}"), name)(*arguments, **more)


def whole(*shape: int) -> torch.Tensor:
    """A tensor of 32 bits."""
    return plain(*shape, dtype=torch.float32)


def learned(*shape: int) -> torch.Tensor:
    """A tensor of 32 bits that wants its gradient."""
    return normal(*shape, dtype=torch.float32)


def attend(batch: int, length: int, module: str, name: str) -> object:
    """Attention by distances in a curved space to what came before, forward and backward."""
    curvature, sharpness = (torch.tensor(1.0, device=DEVICE) for _ in "cb")
    return call(module, name, *(learned(batch, HEADS, length, HEAD) for _ in range(3)), curvature, sharpness)


def attend_fused(batch: int, length: int) -> object:
    """Attention with what is added to it, where nothing is learned."""
    curvature, sharpness = (torch.tensor(1.0, device=DEVICE) for _ in "cb")
    made = [whole(batch, HEADS, length, HEAD) for _ in range(4)]
    return call("flash_hyperbolic_triton", "flash_hyperbolic_attention_fused", *made, curvature, sharpness)


def layer(batch: int, length: int, module: str, name: str) -> object:
    """A layer of attention where nothing is learned."""
    made = call(module, name, HEADS * HEAD, HEADS).to(DEVICE)
    with torch.no_grad():
        return made(whole(batch, length, HEADS * HEAD))


def prefetch(batch: int, length: int) -> object:
    """Attention whose keys are fetched before they are needed, and as they come."""
    layer(batch, length, "prefetch_hyperbolic_triton", "StreamingHyperbolicAttention")
    made = [whole(batch, HEADS, length, HEAD) for _ in range(3)]
    return call("prefetch_hyperbolic_triton", "prefetch_hyperbolic_attention", *made)


def distances(batch: int, length: int) -> object:
    """The distances of all pairs of tokens, by tiles, of eight bits and in flat space."""
    made = whole(batch, HEADS, length, HEAD), whole(batch, HEADS, length, HEAD)
    call("register_tiled_distance_triton", "register_tiled_hyperbolic_distance", *made)
    call("quantized_hyperbolic_triton", "int8_hyperbolic_distance", *made)
    return call("vietoris_rips_triton", "pairwise_distances_gpu", whole(batch, length, HEAD))


def norm(batch: int, length: int) -> object:
    """The norm of all tokens, put into a curved space, forward and backward."""
    made = learned(batch, length, HIDDEN), learned(HIDDEN), learned(HIDDEN)
    return call("fused_ln_hyperbolic_triton", "fused_ln_hyperbolic", *made)


def add(batch: int, length: int) -> object:
    """Sums in a curved space."""
    tokens = [whole(batch, length, HIDDEN) for _ in range(4)]
    call("hyperbolic_mobius_chain", "mobius_add_fused", *tokens[:2])
    call("hyperbolic_mobius_chain", "mobius_chain_fused", *tokens)
    return call("hyperbolic_mobius_chain", "exp_map_fused", tokens[0])


def multiply(batch: int, length: int) -> object:
    """Tokens times weights of three values, and of complex numbers."""
    rows = batch * length
    signs = torch.randint(-1, 2, (HIDDEN, WIDE), device=DEVICE, dtype=torch.int8)
    call("bitnet_triton", "bitnet_matmul", plain(rows, HIDDEN, dtype=torch.float16), signs, whole(WIDE))
    parts = whole(rows, HIDDEN), whole(rows, HIDDEN), whole(HIDDEN, WIDE), whole(HIDDEN, WIDE)
    return call("complex_matmul", "complex_matmul", *parts)


def embed(batch: int, length: int) -> object:
    """Tokens from two small tables, with and without eight bits."""
    words = [torch.randint(WORDS, (batch, length), device=DEVICE) for _ in range(2)]
    width = FACTOR * FACTOR
    tables = [whole(WORDS, RANK, FACTOR) for _ in range(2)]
    call("tt_contraction", "tt_contraction_triton", *words, *tables, width)
    small = [(10 * table).to(torch.int8) for table in tables]
    return call("htt_triton", "htt_fused_contraction", *words, *small, whole(1), whole(1), width)


def scan(batch: int, length: int) -> object:
    """Sums of what came before and of what comes after."""
    series = whole(batch, HIDDEN, length)
    call("associative_scan", "fused_associative_scan", series)
    return call("associative_scan", "fused_associative_scan", series, reverse=True)


OPERATORS = {
    "attention": lambda batch, length: attend(
        batch, length, "hyperbolic_attention_triton", "hyperbolic_attention_triton"
    ),
    "enhanced": lambda batch, length: layer(batch, length, "enhanced_hyperbolic_triton", "EnhancedHyperbolicAttention"),
    "flash": lambda batch, length: attend(batch, length, "flash_hyperbolic_triton", "flash_hyperbolic_attention"),
    "flash_fused": attend_fused,
    "sparse": lambda batch, length: layer(batch, length, "sparse_hyperbolic_triton", "SparseHyperbolicAttention"),
    "tiled": lambda batch, length: layer(
        batch, length, "register_tiled_distance_triton", "RegisterTiledHyperbolicAttention"
    ),
    "prefetch": prefetch,
    "distances": distances,
    "norm": norm,
    "add": add,
    "multiply": multiply,
    "embed": embed,
}
