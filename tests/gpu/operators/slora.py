"""The kernels of S-LoRA that its newest release still runs on a new Triton."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, VOCABULARY, counts, lengths, plain, starts

REPOSITORY = "S-LoRA/S-LoRA"
COMMIT = "c1ddf488781ea7f551cd0bb07bfd097124c93411"
MODEL = "slora.models.llama.triton_kernel"
BASE = "slora.common.basemodel.triton_kernel"
BARE = ("slora", "slora.models", "slora.models.llama", "slora.common", "slora.common.basemodel")
HALF = torch.float16
GROUP = 128


def of(module: str) -> object:
    """One module of the kernels."""
    return importlib.import_module(module)


def half(*shape: int) -> torch.Tensor:
    """A random tensor in half precision."""
    return plain(*shape, dtype=HALF)


def packed(batch: int, length: int) -> tuple[list[int], torch.Tensor, torch.Tensor, torch.Tensor]:
    """The lengths, where each token lies, where each sequence begins, and the lengths on the device."""
    each = lengths(batch, length)
    places = torch.arange(batch * max(each), device=DEVICE, dtype=torch.int32).view(batch, -1)
    return each, places, starts(each)[:-1], counts(each)


def rms_norm(batch: int, length: int) -> object:
    return of(f"{MODEL}.rmsnorm").rmsnorm_forward(half(batch * length, HIDDEN), half(HIDDEN), 1e-6)


def rotary(batch: int, length: int) -> object:
    angles = [half(batch * length, HEAD // 2) for _ in range(2)]
    return of(f"{MODEL}.rotary_emb").rotary_emb_fwd(half(batch * length, HEADS, HEAD), *angles)


def scores(batch: int, length: int) -> object:
    each, *where = packed(batch, length)
    query, keys, out = half(batch, HEADS, HEAD), half(batch * length, HEADS, HEAD), half(HEADS, sum(each))
    return of(f"{MODEL}.token_attention_nopad_att1").token_att_fwd(query, keys, out, *where, max(each))


def scores_eight_bits(batch: int, length: int) -> object:
    each, *where = packed(batch, length)
    keys = torch.ones(batch * length, HEADS, HEAD, device=DEVICE, dtype=torch.int8)
    made = half(batch, HEADS, HEAD), keys, half(batch * length, HEADS, 1), half(HEADS, sum(each))
    return of(f"{MODEL}.token_attention_nopad_att1").token_att_fwd_int8k(*made, *where, max(each))


def softmax(batch: int, length: int) -> object:
    each, _, *where = packed(batch, length)
    logits, out = half(HEADS, sum(each)), half(HEADS, sum(each))
    return of(f"{MODEL}.token_attention_nopad_softmax").token_softmax_fwd(logits, *where, out, max(each))


def reduce_values(batch: int, length: int) -> object:
    each, *where = packed(batch, length)
    made = half(HEADS, sum(each)), half(batch * length, HEADS, HEAD), half(batch, HEADS, HEAD)
    return of(f"{MODEL}.token_attention_nopad_reduceV").token_att_fwd2(*made, *where, max(each))


def reduce_eight_bits(batch: int, length: int) -> object:
    each, *where = packed(batch, length)
    values = torch.ones(batch * length, HEADS, HEAD, device=DEVICE, dtype=torch.int8)
    made = half(HEADS, sum(each)), values, half(batch * length, HEADS, 1), half(batch, HEADS, HEAD)
    return of(f"{MODEL}.token_attention_nopad_reduceV").token_att_fwd2_int8v(*made, *where, max(each))


def softmax_reduce(batch: int, length: int) -> object:
    each, *where = packed(batch, length)
    made = half(HEADS, sum(each)), half(batch * length, HEADS, HEAD), half(batch, HEADS, HEAD)
    return of(f"{MODEL}.token_attention_softmax_and_reducev").token_softmax_reducev_fwd(*made, *where, max(each), 0)


def copy(batch: int, length: int) -> object:
    made, places = half(batch * length, HEADS, HEAD), torch.arange(batch * length, device=DEVICE, dtype=torch.int32)
    return of(f"{BASE}.destindex_copy_kv").destindex_copy_kv(made, places, torch.empty_like(made))


def copy_quantized(batch: int, length: int) -> object:
    made, places = half(batch * length, HEADS, HEAD), torch.arange(batch * length, device=DEVICE, dtype=torch.int32)
    out = torch.empty_like(made, dtype=torch.int8), half(batch * length, HEADS, 1)
    return of(f"{BASE}.destindex_copy_kv").destindex_copy_quantize_kv(made, places, *out)


def penalty(batch: int, length: int) -> object:
    each = lengths(batch, length)
    seen = torch.arange(sum(each), device=DEVICE, dtype=torch.int32) % VOCABULARY
    made = half(batch, VOCABULARY), half(batch), half(batch), seen, torch.ones_like(seen), starts(each)
    return of(f"{BASE}.apply_penalty").apply_penalty(*made, max(each))


def eight_bits(batch: int, length: int) -> object:
    kernels = of(f"{BASE}.quantize_gemm_int8")
    weight, scale, _ = kernels.quantize_int8(half(HIDDEN, HIDDEN))
    return kernels.matmul_int8(*kernels.quantize_int8_perrow(half(batch * length, HIDDEN)), weight, scale)


def dequantize_eight_bits(batch: int, length: int) -> object:
    kernels = of(f"{BASE}.dequantize_gemm_int8")
    return kernels.matmul_dequantize_int8(half(batch * length, HIDDEN), *kernels.quantize_int8(half(HIDDEN, HIDDEN)))


def four_bits(name: str) -> object:
    """Weights of four bits; `name` is the way to multiply by them."""

    def call(batch: int, length: int) -> object:
        weight = torch.ones(HIDDEN // 8, HIDDEN, device=DEVICE, dtype=torch.int32)
        zeros = torch.ones(HIDDEN // GROUP, HIDDEN // 8, device=DEVICE, dtype=torch.int32)
        made = half(batch * length, HIDDEN), weight, half(HIDDEN // GROUP, HIDDEN), zeros, GROUP
        return getattr(of(f"{BASE}.dequantize_gemm_int4"), name)(*made)

    return call


OPERATORS = {
    "rms-norm": rms_norm,
    "rotary": rotary,
    "scores": scores,
    "scores-eight-bits": scores_eight_bits,
    "softmax": softmax,
    "reduce-values": reduce_values,
    "reduce-eight-bits": reduce_eight_bits,
    "softmax-reduce": softmax_reduce,
    "copy": copy,
    "copy-quantized": copy_quantized,
    "penalty": penalty,
    "eight-bits": eight_bits,
    "dequantize-eight-bits": dequantize_eight_bits,
    "four-bits": four_bits("matmul_dequantize_int4_s1"),
    "four-bits-split": four_bits("matmul_dequantize_int4_s2"),
    "four-bits-gptq": four_bits("matmul_dequantize_int4_gptq"),
}
