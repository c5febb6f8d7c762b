"""vllm-factory's attention of encoders, and the layers beside it."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, counts, lengths, plain

PACKAGE = Package("vllm-factory", "0.2.1")
BARE = ("kernels",)
BUCKETS = 32


def call(module: str, name: str, *arguments: Any, **more: Any) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"kernels.{module}"), name)(*arguments, **more)


def halves(*shape: int) -> torch.Tensor:
    """Half precision."""
    return plain(*shape, dtype=torch.float16)


def of_tokens(batch: int, length: int) -> list[torch.Tensor]:
    """Queries, keys and values."""
    return [halves(batch, HEADS, length, HEAD) for _ in range(3)]


def with_positions(batch: int, length: int) -> object:
    """A bias by how far tokens are apart."""
    made = *of_tokens(batch, length), plain(BUCKETS, HEADS, dtype=torch.float16)
    return call("flash_attention_rpb", "flash_attention_rpb_final", *made, BUCKETS, 128, False, use_autotune=False)


def disentangled(batch: int, length: int) -> object:
    """Scores of positions beside those of tokens."""
    sizes = counts(lengths(batch, length))
    positions = [halves(batch, HEADS, length, 64) for _ in range(2)]
    more = {"position_buckets": 32, "max_relative_distance": 128}
    return call(
        "flash_deberta_attention", "flash_deberta_attention", *of_tokens(batch, length), sizes, *positions, **more
    )


def grouped(batch: int, length: int) -> object:
    """Several heads of queries to one of keys, with caps."""
    made = halves(batch, HEADS, length, HEAD), halves(batch, 2, length, HEAD), halves(batch, 2, length, HEAD)
    return call("flash_t5gemma2_attention", "flash_t5gemma2_attention", *made, softcap=50.0)


def gated(batch: int, length: int) -> object:
    """A gated unit."""
    made = [plain(batch, length, HIDDEN) for _ in range(2)]
    return call("ff_fused", "fused_gelu_mul_dropout", *made, act_fn="gelu")


def gated_strided(batch: int, length: int) -> object:
    """Another gated unit."""
    made = [plain(batch, length, HIDDEN) for _ in range(2)]
    return call("fused_glu_mlp", "fused_gelu_mul_dropout", *made)


def residual(batch: int, length: int) -> object:
    """A sum after dropout."""
    made = [plain(batch, length, HIDDEN) for _ in range(2)]
    return call("fused_dropout_residual", "fused_dropout_residual", *made, 0.1, True)


def residual_norm(batch: int, length: int) -> object:
    """A sum after a norm and dropout."""
    made = [plain(batch, length, HIDDEN) for _ in range(2)]
    name = "fused_gemma_rms_norm_dropout_residual"
    return call(name, name, *made, plain(HIDDEN), dropout_p=0.1, training=True)


def norm(batch: int, length: int) -> object:
    """A norm."""
    made = plain(batch, length, HIDDEN), (HIDDEN,), plain(HIDDEN), plain(HIDDEN)
    return call("fused_layernorm", "fused_layernorm", *made)


def rotate(batch: int, length: int) -> object:
    """A norm and a rotation of each head."""
    made = [plain(batch, length, HEADS, HEAD) for _ in range(2)]
    weights = [plain(HEAD), plain(HEAD), plain(batch, length, HEAD), plain(batch, length, HEAD)]
    return call("fused_qk_norm_rope", "fused_qk_norm_rope", *made, *weights)


def rotate_plainly(batch: int, length: int) -> object:
    """A rotation of each head."""
    made = plain(batch, length, HEADS, HEAD), plain(batch, length, HEAD), plain(batch, length, HEAD)
    return call("fused_rope_global", "fused_rope_apply", *made)


def embed(batch: int, length: int) -> object:
    """Scaled embeddings."""
    ids = torch.zeros(batch, length, device=DEVICE, dtype=torch.int64)
    made = plain(batch, length, HIDDEN), ids, 22.6, 5, plain(HIDDEN)
    return call("fused_embed_scale_eoi", "fused_embed_scale_eoi", *made)


OPERATORS = {
    "with-positions": with_positions,
    "disentangled": disentangled,
    "grouped": grouped,
    "gated": gated,
    "gated-strided": gated_strided,
    "residual": residual,
    "residual-norm": residual_norm,
    "norm": norm,
    "rotate": rotate,
    "rotate-plainly": rotate_plainly,
    "embed": embed,
}
