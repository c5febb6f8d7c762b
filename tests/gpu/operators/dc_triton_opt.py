"""dc_triton_opt's attention whose heads are mixed before and after the softmax, in a window."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import counts, lengths, plain

REPOSITORY = "Lisennlp/dc_triton_opt"
COMMIT = "5326e67e1c9e66d39be7ad66fbf97a92bd2ffba0"
UNUSED = ("flash_attn",)
HEADS, HEAD, GROUPS, WINDOW, CHUNK = 32, 128, 8, 112, 16
# Each length compiles anew, for a while.
SHAPES = ((1, 1), (2, 16), (3, 100), (5, 256), (2, 777), (4, 1000))


def mixed(module: str, name: str, batch: int, length: int, many: int = 6, **more: object) -> object:
    """Attention with `many` weights of each head and token."""
    half = {"dtype": torch.float16}
    made = [plain(batch, length, HEADS, HEAD, **half) for _ in range(3)]
    weights = tuple(plain(batch, length, HEADS, **half) for _ in range(many))
    forward = getattr(importlib.import_module(module), name).forward
    return forward(*made, weights, HEAD**-0.5, WINDOW, counts(lengths(batch, length)), **more)


def one_kernel(version: str, batch: int, length: int, name: str = "TritonDCOneKernel", many: int = 6) -> object:
    """One of the library's kernels that do all at once, or do it before or after."""
    module = f"triton_dc_onekernel_{version}"
    return mixed(module, name, batch, length, many, G=GROUPS, chunk_size=CHUNK)


def ranked(module: str, name: str, batch: int, length: int, *, narrow: bool, **more: object) -> object:
    """Attention whose heads are mixed by weights of rank one."""
    half = {"dtype": torch.float16}
    made = [plain(batch, length, HEADS, HEAD, **half) for _ in range(3)]
    weights = [plain(batch, length, HEADS, **half) for _ in range(4)]
    if not narrow:
        weights = [weight.unsqueeze(2 if i % 2 else -1) for i, weight in enumerate(weights)]
    forward = getattr(importlib.import_module(module), name).forward
    return forward(*made, *weights, HEAD**-0.5, WINDOW, **more)


def residual(batch: int, length: int) -> object:
    """Four kernels."""
    return mixed("triton_dc_residual", "TritonDCResidual", batch, length)


def residual_kept(batch: int, length: int) -> object:
    """Four kernels that keep scores and probabilities."""
    more = {"store_qk": True, "store_post_probs": True}
    return mixed("triton_dc_residual", "TritonDCResidual", batch, length, **more)


def residual_grouped(batch: int, length: int) -> object:
    """Four kernels on groups of heads."""
    return mixed("triton_dc_residual", "TritonDCResidual4K", batch, length, G=GROUPS)


def fused(batch: int, length: int) -> object:
    """Three kernels."""
    return mixed("triton_dc_fused", "TritonDCResidualFused", batch, length)


def grouped(batch: int, length: int) -> object:
    """Kernels of groups of heads, and their sums."""
    return mixed("triton_dc_grouped", "TritonDCGrouped", batch, length)


def flash(batch: int, length: int) -> object:
    """Flash attention in the middle."""
    return mixed("dc_attn_fa2_triton", "DCAttentionFA2", batch, length)


def three_kernels(batch: int, length: int) -> object:
    """Weights of rank one in three kernels."""
    made = "triton_3k_dc_rank1_group", "TritonDCRank1_3K_Grouped"
    return ranked(*made, batch, length, narrow=True, n_groups=GROUPS)


def atomic(batch: int, length: int) -> object:
    """Weights of rank one, added up in memory."""
    return ranked("triton_atg_dc", "TritonDCRank1D0Atg", batch, length, narrow=True)


def outputs(batch: int, length: int) -> object:
    """Weights of rank one on queries and on outputs."""
    many = counts(lengths(batch, length))
    return ranked("triton_dc_PostAfterPV", "TritonDCRank1PreQPostOut", batch, length, narrow=False, seq_lens=many)


def before(batch: int, length: int) -> object:
    """Heads are mixed before the softmax."""
    return one_kernel("Prev0", batch, length, many=3)


def after(batch: int, length: int) -> object:
    """Heads are mixed after the softmax."""
    return one_kernel("Postv0", batch, length, many=3)


def after_two(batch: int, length: int) -> object:
    """Heads are mixed after the softmax, in two kernels."""
    return one_kernel("Post2K", batch, length, many=3)


def third(batch: int, length: int) -> object:
    """The third version of one kernel."""
    return one_kernel("v3", batch, length)


def fourth(batch: int, length: int) -> object:
    """The fourth, which keeps four heads' scores."""
    return one_kernel("v4", batch, length)


def fifth(batch: int, length: int) -> object:
    """The fifth, of four heads in each group."""
    return one_kernel("v5_hpg4", batch, length)


def hopper(batch: int, length: int) -> object:
    """The fourth for another GPU."""
    return one_kernel("v4_h100", batch, length)


def hopper_probabilities(batch: int, length: int) -> object:
    """The fourth for another GPU, with probabilities that are mixed."""
    return one_kernel("v4_h100", batch, length, "TritonDCOneKernelMixedProbs")


def parallel(batch: int, length: int) -> object:
    """The fourth in parts that run beside each other."""
    return one_kernel("v4_h100_parallel", batch, length)


OPERATORS = {
    "residual": residual,
    "residual-kept": residual_kept,
    "residual-grouped": residual_grouped,
    "fused": fused,
    "grouped": grouped,
    "flash": flash,
    "three-kernels": three_kernels,
    "atomic": atomic,
    "outputs": outputs,
    "before": before,
    "after": after,
    "after-two": after_two,
    "third": third,
    "fourth": fourth,
    "fifth": fifth,
    "hopper": hopper,
    "hopper-probabilities": hopper_probabilities,
    "parallel": parallel,
}
