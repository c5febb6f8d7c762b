"""ExecuTorch's operators in Triton: attention, its decoding, weights and caches of four bits, experts."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HIDDEN, plain

REPOSITORY = "pytorch/executorch"
COMMIT = "cff6f4dd32e630945b7188512c1f2b4f102b05ad"
BARE = ("backends", "backends.cuda", "backends.cuda.triton", "backends.cuda.triton.kernels")
HEADS, GROUPS, LONGEST, WIDE, GROUP, EXPERTS, CHOSEN = 8, 2, 4096, 1024, 32, 8, 2
SHAPES = ((1, 16), (2, 33), (3, 100), (4, 256), (1, 777), (2, 1024))
STEPS = ((1, 1), (2, 1), (3, 1), (4, 1), (7, 1))
CACHES = ((1, 16), (2, 33), (3, 100), (4, 777), (1, 3000), (2, 4096))


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"backends.cuda.triton.kernels.{module}"), name)(*arguments, **more)


def packed(*shape: int) -> torch.Tensor:
    """Pairs of four bits."""
    return torch.randint(-127, 127, shape, device=DEVICE, dtype=torch.int8)


def prefill(batch: int, length: int) -> object:
    """Attention of a prompt, causal."""
    made = plain(batch, HEADS, length, HEAD), plain(batch, GROUPS, length, HEAD), plain(batch, GROUPS, length, HEAD)
    return call("sdpa", "sdpa", *made, is_causal=True, enable_gqa=True)


def prefill_cached(batch: int, length: int) -> object:
    """Attention of a prompt to a whole cache, of which a mask says what is there."""
    made = plain(batch, HEADS, length, HEAD), *(plain(batch, GROUPS, LONGEST, HEAD) for _ in "kv")
    mask = torch.ones(batch, 1, length, LONGEST, device=DEVICE, dtype=torch.bool)
    return call("sdpa", "sdpa", *made, mask, enable_gqa=True)


def decode(batch: int, length: int) -> object:
    """Attention of one token to what came before."""
    made = plain(batch, HEADS, 1, HEAD), *(plain(batch, GROUPS, length, HEAD) for _ in "kv")
    return call("sdpa", "sdpa_decode_splitk", *made, enable_gqa=True)


def decode_few(batch: int, length: int) -> object:
    """Attention of three tokens to what came before."""
    made = plain(batch, HEADS, 3, HEAD), *(plain(batch, GROUPS, length, HEAD) for _ in "kv")
    return call("sdpa", "sdpa_small_query_splitk", *made, enable_gqa=True)


def decode_packed(batch: int, length: int) -> object:
    """Attention of one token to a cache of four bits."""
    kept = [torch.randint(0, 255, (batch, GROUPS, length, HEAD // 2), device=DEVICE, dtype=torch.uint8) for _ in "kv"]
    norms = [plain(batch, GROUPS, length, 1) for _ in "kv"]
    made = plain(batch, HEADS, 1, HEAD), kept[0], norms[0], kept[1], norms[1]
    return call("tq4_sdpa", "tq4_sdpa", *made, plain(16, dtype=torch.float32), plain(HEAD, HEAD, dtype=torch.float32))


def multiply(batch: int, length: int) -> object:
    """Tokens times a weight of four bits."""
    made = plain(batch * length, HIDDEN), packed(WIDE, HIDDEN // 2), plain(WIDE, HIDDEN // GROUP)
    return call("int4_matmul", "int4_matmul", *made, GROUP)


def multiply_one(*_: int) -> object:
    """One token times a weight of four bits, and the weight made wide."""
    weight = packed(WIDE, HIDDEN // 2), plain(WIDE, HIDDEN // GROUP)
    call("int4_matmul", "dequant_w4_to_bf16", *weight, GROUP)
    return call("int4_matmul", "int4_matvec", plain(1, HIDDEN), *weight, GROUP)


def experts(batch: int, length: int, name: str) -> object:
    """A layer of experts whose weights have four bits."""
    tokens = batch * length
    weights = (
        *(packed(EXPERTS, 2 * WIDE, HIDDEN // 2), plain(EXPERTS, 2 * WIDE, HIDDEN // GROUP)),
        *(packed(EXPERTS, HIDDEN, WIDE // 2), plain(EXPERTS, HIDDEN, WIDE // GROUP)),
    )
    routes = plain(tokens, CHOSEN, dtype=torch.float32), torch.randint(EXPERTS, (tokens, CHOSEN), device=DEVICE)
    return call("fused_moe", name, plain(tokens, HIDDEN), *weights, *routes, CHOSEN, EXPERTS, GROUP)


def route(batch: int, length: int) -> object:
    """The experts of each token."""
    return call("topk", "topk", plain(batch * length, EXPERTS), CHOSEN)[0]


def step(batch: int, _: int) -> object:
    """A step of the gated delta rule."""
    made = plain(batch, 2 * GROUPS * HEAD + HEADS * HEAD), plain(batch, HEADS), plain(batch, HEADS)
    kept = plain(batch, HEADS, HEAD, HEAD)
    return call("fused_deltanet_decode", "fused_deltanet_decode", *made, plain(HEADS), plain(HEADS), kept)[0]


OPERATORS = {
    "prefill": prefill,
    "prefill_cached": prefill_cached,
    "decode": decode,
    "decode_few": decode_few,
    "decode_packed": decode_packed,
    "multiply": multiply,
    "multiply_one": multiply_one,
    "experts": lambda batch, length: experts(batch, length, "fused_moe"),
    "experts_sorted": lambda batch, length: experts(batch, length, "fused_moe_batched_gemm"),
    "experts_small": lambda batch, length: experts(batch, length, "fused_moe_batched_gemm_int8"),
    "route": route,
    "step": step,
}
SHAPES_OF = {"decode": CACHES, "decode_few": CACHES, "decode_packed": CACHES, "step": STEPS}
