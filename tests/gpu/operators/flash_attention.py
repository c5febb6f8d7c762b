"""The operators of ROCm's flash-attention that are written in Triton for any GPU."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, VOCABULARY, counts, lengths, normal, plain, starts

if TYPE_CHECKING:
    from collections.abc import Callable

REPOSITORY = "ROCm/flash-attention"
COMMIT = "b3ae4966b2567811880db10d9e040a775b99c7d7"
BARE = ("flash_attn", "flash_attn.ops")


def of(module: str) -> object:
    """One module of the package."""
    return importlib.import_module(f"flash_attn.{module}")


def layer_norm(*, residual: bool = False, second: bool = False, **options: object) -> Callable[[int, int], object]:
    """A norm; `second` with another input that is added and weights of its own."""

    def call(batch: int, length: int) -> object:
        more = {"residual": normal(batch, length, HIDDEN)} if residual else {}
        if second:
            more |= {"x1": normal(batch, length, HIDDEN), "weight1": normal(HIDDEN), "bias1": normal(HIDDEN)}
        made = normal(batch, length, HIDDEN), normal(HIDDEN), normal(HIDDEN)
        return of("ops.triton.layer_norm").layer_norm_fn(*made, **more, **options)

    return call


def rms_norm_module(batch: int, length: int) -> object:
    """The norm as a module."""
    layer = of("ops.triton.layer_norm").RMSNorm(HIDDEN, device=DEVICE, dtype=torch.bfloat16)
    return layer(normal(batch, length, HIDDEN))


def norm_linear(batch: int, length: int) -> object:
    """A norm and the projection behind it, under autocast."""
    weights = normal(HIDDEN, dtype=torch.float32), None, normal(2 * HIDDEN, HIDDEN, dtype=torch.float32), None
    with torch.autocast(DEVICE, torch.bfloat16):
        made = normal(batch, length, HIDDEN), *weights
        return of("ops.triton.layer_norm").layer_norm_linear_fn(*made, is_rms_norm=True)


def cross_entropy(**options: object) -> Callable[[int, int], object]:
    """The loss over the vocabulary."""

    def call(batch: int, length: int) -> object:
        labels = torch.randint(0, VOCABULARY, (batch * length,), device=DEVICE)
        made = normal(batch * length, VOCABULARY), labels
        return of("ops.triton.cross_entropy").cross_entropy_loss(*made, **options)

    return call


def rotary(**options: object) -> Callable[[int, int], object]:
    """The rotary embedding."""

    def call(batch: int, length: int) -> object:
        angles = [plain(length, HEAD // 2) for _ in range(2)]
        return of("ops.triton.rotary").apply_rotary(plain(batch, length, HEADS, HEAD), *angles, **options)

    return call


def rotary_packed(batch: int, length: int) -> object:
    """The same, of sequences one after the other, shifted."""
    each = lengths(batch, length)
    angles = [plain(max(each) + batch, HEAD // 2) for _ in range(2)]
    packed = {"cu_seqlens": starts(each), "max_seqlen": max(each), "seqlen_offsets": counts(list(range(batch)))}
    return of("ops.triton.rotary").apply_rotary(plain(sum(each), HEADS, HEAD), *angles, **packed)


def attention(*, causal: bool, bias: bool = False) -> Callable[[int, int], object]:
    """The first Triton version of the attention."""

    def call(batch: int, length: int) -> object:
        made = (normal(batch, length, HEADS, HEAD, dtype=torch.float16) for _ in range(3))
        slopes = plain(1, HEADS, 1, length, dtype=torch.float16) if bias else None
        return of("flash_attn_triton").flash_attn_func(*made, slopes, causal)

    return call


def attention_packed(batch: int, length: int) -> object:
    """The same, of one tensor that holds query, key and value."""
    made = normal(batch, length, 3, HEADS, HEAD, dtype=torch.float16)
    return of("flash_attn_triton").flash_attn_qkvpacked_func(made, None, True)


OPERATORS = {
    "layer-norm": layer_norm(),
    "layer-norm-residual": layer_norm(residual=True, prenorm=True, residual_in_fp32=True),
    "layer-norm-dropout": layer_norm(dropout_p=0.1, return_dropout_mask=True),
    "layer-norm-two": layer_norm(residual=True, second=True),
    "rms-norm": layer_norm(is_rms_norm=True, zero_centered_weight=True),
    "rms-norm-module": rms_norm_module,
    "norm-linear": norm_linear,
    "cross-entropy": cross_entropy(),
    "cross-entropy-smooth": cross_entropy(label_smoothing=0.1, lse_square_scale=1e-4, inplace_backward=True),
    "rotary": rotary(),
    "rotary-interleaved": rotary(interleaved=True, conjugate=True),
    "rotary-packed": rotary_packed,
    "attention": attention(causal=False),
    "attention-causal": attention(causal=True),
    "attention-bias": attention(causal=True, bias=True),
    "attention-packed": attention_packed,
}
