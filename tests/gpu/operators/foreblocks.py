"""Foreblocks' state spaces, graphs, attention, caches in pages, experts, norms and patches."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, counts, lengths, normal, plain, starts

REPOSITORY = "lseman/foreblocks"
COMMIT = "bca34dc0684e76e898ef1df34200322be1eba5d8"
FOLDERS = ("src",)
BARE = (
    "foreblocks",
    *(f"foreblocks.{name}" for name in ("modules", "modules.attention", "modules.attention.cache", "models")),
    *(f"foreblocks.models.{name}" for name in ("transformer", "transformer.features")),
)
HELD, STATE, RANK, WIDTH, CHUNK = HEADS // 2, 16, 32, 4, 64
NODES, EDGES, EXPERTS, WIDE = 64, 256, 8, 256
PATCH, STEP, BLOCK, BLOCKS = 16, 8, 128, 64
CACHES = ((1, 1), (2, 16), (3, 100), (4, 512), (2, 1000), (1, 3100), (2, 4096), (1, 5000), (1, 8000))


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"foreblocks.{module}"), name)(*arguments, **more)


def convolve(batch: int, length: int) -> object:
    """A convolution that sees nothing later, forward and backward."""
    made = normal(batch, HIDDEN, length), normal(HIDDEN, WIDTH), normal(HIDDEN)
    return call("ops.mamba.causal_conv1d", "causal_depthwise_conv1d", *made)


def steps_and_gate(batch: int, length: int) -> object:
    """How far each head steps, and a norm with a gate; that one forward and backward."""
    call("ops.mamba.fused_dt", "fused_dt", normal(batch, length, RANK), normal(HEADS, RANK), normal(HEADS))
    call("ops.mamba.triton_ops", "dt_prep", normal(batch, length, HEADS), normal(HEADS))
    made = normal(batch, length, HIDDEN), normal(batch, length, HIDDEN), normal(HIDDEN)
    return call("ops.mamba.triton_ops", "fused_out", *made)


def scan(batch: int, length: int) -> object:
    """The states of all steps, chunk by chunk, forward and backward."""
    kind = torch.float32
    steps = torch.nn.functional.softplus(normal(batch, length, HEADS, dtype=kind))
    made = normal(batch, length, HEADS, HEAD, dtype=kind), steps, -torch.exp(normal(HEADS, dtype=kind))
    states = [normal(batch, length, HEADS, STATE, dtype=kind) for _ in range(2)]
    return call("ops.mamba.ssd", "chunked_ssd_forward", *made, *states, normal(HEADS, dtype=kind), CHUNK, True)


def messages(batch: int, length: int) -> object:
    """What the nodes of a graph send each other in all steps."""
    kind = torch.float32
    start, end = (torch.randint(NODES, (EDGES,), device=DEVICE) for _ in range(2))
    series = plain(batch, length, NODES, HEAD, dtype=kind)
    call("ops.graph.message_passing", "triton_message_passing", series, start, end, plain(EDGES, dtype=kind))
    sent = plain(batch, length, EDGES, HEAD, dtype=kind), end, NODES, batch, length, HEAD
    call("ops.graph.message_passing", "triton_scatter_add", *sent)
    return call("ops.graph.message_passing", "triton_scatter_mean", *sent)


def linear_attention(batch: int, length: int) -> object:
    """Linear attention to what came before, and a norm with a gate, as programs that do not train call them."""
    made = [plain(batch, HEADS, length, HEAD) for _ in range(3)]
    call("ops.attention.chunked_causal_linear_attention", "fused_recurrent_causal_linear_attn", *made)
    weight = plain(HEADS, HEAD)
    return call("ops.attention.fused_norm_gate", "fused_rmsnorm_sigmoid_gate", made[0], made[1], weight)


def rotate(batch: int, length: int) -> object:
    """Queries and keys rotated, with the heads before the steps and after."""
    angles = plain(length, HEAD // 2), plain(length, HEAD // 2)
    made = plain(batch, HEADS, length, HEAD), plain(batch, HELD, length, HEAD), *angles
    call("ops.attention.fused_rope", "triton_apply_rope", *made)
    return call("ops.attention.fused_rope", "triton_apply_rope_bthd", plain(batch, length, HEADS, HEAD), *angles)


def decode_paged(batch: int, length: int) -> object:
    """Attention of one step to a cache in pages."""
    kind = torch.bfloat16
    sizes = {"block_size": BLOCK, "max_blocks": BLOCKS * batch, "device": torch.device(DEVICE), "dtype": kind}
    cache = call("modules.attention.cache.paged", "PagedKVCache", batch, HELD, HEAD, **sizes)
    cache.append(plain(batch, HELD, length, HEAD), plain(batch, HELD, length, HEAD))
    made = plain(batch, HEADS, 1, HEAD), cache, HEADS // HELD, HEAD**-0.5
    return call("ops.attention.paged_decode", "triton_paged_decode", *made, counts([length - 1] * batch))


def attention(batch: int, length: int) -> object:
    """Attention to what came before, forward and backward."""
    made = [normal(batch, HEADS, length, HEAD) for _ in range(3)]
    return call("experimental.attention_kernels", "flash_attn_func", *made, causal=True)


def decode(batch: int, length: int) -> object:
    """Attention of one step to a cache of keys and values."""
    kept = [plain(batch * HEADS, length, HEAD) for _ in range(2)]
    held = counts([size for size in lengths(batch, length) for _ in range(HEADS)])
    return call("experimental.attention_kernels", "flash_attn_decode", plain(batch, HEADS, 1, HEAD), *kept, held)


def experts(batch: int, length: int) -> object:
    """A layer of experts whose tokens lie one after another, forward and backward."""
    shares = [batch * length // EXPERTS] * EXPERTS
    shares[0] += batch * length - sum(shares)
    weights = normal(EXPERTS, HIDDEN, 2 * WIDE), normal(EXPERTS, WIDE, HIDDEN)
    given = {"B12_cat_prepacked": weights[0], "B3_cat_prepacked": weights[1], "training": True}
    return call("ops.kernels.swiglu", "grouped_mlp_swiglu", normal(batch * length, HIDDEN), starts(shares), (), **given)


def norms(batch: int, length: int) -> object:
    """Norms, what bends, a gate, and the softmax of scores, forward and backward."""
    tokens = normal(batch, length, HIDDEN)
    layer = importlib.import_module("foreblocks.ops.kernels.layer_norm").LayerNormTritonFunction
    softened = call("ops.kernels.softmax", "triton_softmax", normal(batch, length, HIDDEN))
    added = call("ops.kernels.rms_norm", "fused_add_rmsnorm", tokens, softened, normal(HIDDEN), 1e-6)
    normed = call("ops.kernels.rms_norm", "rms_norm", added, normal(HIDDEN))
    bent = call("ops.kernels.gelu", "triton_gelu", layer.apply(normed, normal(HIDDEN), normal(HIDDEN), 1e-5))
    return call("ops.kernels.swiglu", "swiglu_gate", bent, normal(batch, length, HIDDEN))


def patches(batch: int, length: int) -> object:
    """A series in patches and put together again, forward and backward."""
    kernels = importlib.import_module("foreblocks.models.transformer.features.patching")
    cut, join = (
        getattr(kernels, name)(HEAD, PATCH, STEP).to(DEVICE) for name in ("PatchTokenizer", "PatchDetokenizer")
    )
    return join(*cut(normal(batch, length, HEAD, dtype=torch.float32)))


OPERATORS = {
    "convolve": convolve,
    "steps_and_gate": steps_and_gate,
    "scan": scan,
    "messages": messages,
    "linear_attention": linear_attention,
    "rotate": rotate,
    "decode_paged": decode_paged,
    "attention": attention,
    "decode": decode,
    "experts": experts,
    "norms": norms,
    "patches": patches,
}
SHAPES_OF = {"decode_paged": CACHES, "decode": CACHES}
