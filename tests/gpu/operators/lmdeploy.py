"""Operators of lmdeploy's PyTorch engine."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import (
    DEVICE,
    HEAD,
    HEADS,
    HIDDEN,
    PAGE,
    VOCABULARY,
    cache,
    counts,
    lengths,
    page_table,
    plain,
    starts,
)

HALF = torch.float16
CUDA = "lmdeploy.pytorch.kernels.cuda"
BARE = ("lmdeploy", "lmdeploy.pytorch", "lmdeploy.pytorch.kernels", CUDA, f"{CUDA}.moe", "lmdeploy.pytorch.backends")
UNUSED = tuple(
    "transformers pydantic pydantic.dataclasses fastapi openai PIL huggingface_hub tokenizers psutil ray".split()
)
EXPERTS, CHOSEN, GUESSED = 8, 2, 3


def of(module: str) -> object:
    """One module of the kernels."""
    return importlib.import_module(f"{CUDA}.{module}")


def rms_norm(batch: int, length: int) -> object:
    rows, weight = plain(batch, length, HIDDEN, dtype=HALF), plain(HIDDEN, dtype=HALF)
    of("rms_norm").rms_norm(rows, weight)
    of("rms_norm").rms_norm(rows, weight, residual=plain(batch, length, HIDDEN, dtype=HALF))


def rotary(batch: int, length: int) -> object:
    made = [plain(batch * length, HEADS, HEAD, dtype=HALF) for _ in range(2)]
    return of("apply_rotary_pos_emb").apply_rotary_pos_emb(*made, *(plain(batch * length, HEAD) for _ in range(2)))


def prefill(batch: int, length: int) -> object:
    each = lengths(batch, length)
    query = plain(sum(each), HEADS, HEAD, dtype=HALF)
    keys = [plain(HEADS, sum(each), HEAD, dtype=HALF) for _ in range(2)]
    begins = starts(each)[:-1]
    named = {"q_start_loc": begins, "kv_start_loc": begins, "q_seqlens": counts(each), "kv_seqlens": counts(each)}
    return of("flashattention").flash_attn_varlen_func(query, *keys, max_seqlen_q=max(each), causal=True, **named)


def decode(batch: int, length: int) -> object:
    query = plain(batch, HEADS, HEAD, dtype=HALF)
    return of("pagedattention").flash_attn_with_kvcache(
        query, cache(), cache(), counts(lengths(batch, length)), page_table(batch, length), max_seqlen_q=1
    )


def fill_cache(batch: int, length: int) -> object:
    each = lengths(batch, length)
    states = [plain(sum(each), HEADS, HEAD, dtype=HALF) for _ in range(2)]
    where = starts(each)[:-1], counts(each), counts(each), max(each), page_table(batch, length)
    return of("fill_kv_cache").fill_kv_cache(*states, cache(), cache(), *where)


def flatten_cache(batch: int, length: int) -> object:
    each = lengths(batch, length)
    table = page_table(batch, length)
    return of("flatten_kv_cache").flatten_kv_cache(cache(), cache(), counts(each), table, out_size=sum(each))


def sample(batch: int, length: int) -> object:
    scores = torch.rand(batch, VOCABULARY, device=DEVICE).sort(descending=True).values
    places = [torch.zeros(batch, device=DEVICE, dtype=torch.int64) for _ in range(2)]
    return of("multinomial_sampling").multinomial_sampling(scores, *places)


def silu(batch: int, length: int) -> object:
    of("activation").silu_and_mul(plain(batch * length, 2 * HIDDEN, dtype=HALF))
    masked = plain(EXPERTS, batch * length, 2 * HIDDEN, dtype=HALF)
    return of("activation").silu_and_mul_moe_ep(masked, counts([batch] * EXPERTS))


def eight_bits(batch: int, length: int) -> object:
    kernels = of("w8a8_triton_kernels")
    weight, scale = torch.ones(HIDDEN, HIDDEN, device=DEVICE, dtype=torch.int8), torch.ones(HIDDEN, 1, device=DEVICE)
    kernels.per_token_quant_int8(plain(batch, length, HIDDEN, dtype=HALF), 1e-6)
    rows, by_row = kernels.rms_norm_dynamic_quant(
        plain(batch, length, HIDDEN, dtype=HALF), plain(HIDDEN, dtype=HALF), 1e-6
    )
    return kernels.matmul_kernel_dynamic_quant(rows, weight, by_row, scale)


def blocked_gemm(batch: int, length: int) -> object:
    kernels = of("blocked_gemm_fp8")
    rows, scale = kernels.quant_fp8(plain(batch * length, HIDDEN, dtype=HALF), 128)
    weight = plain(HIDDEN, HIDDEN).to(torch.float8_e4m3fn).t()
    return kernels.blocked_gemm_fp8(rows, scale, weight, torch.ones(HIDDEN // 128, HIDDEN // 128, device=DEVICE))


def experts(batch: int, length: int) -> object:
    kernels = of("moe.fused_moe")
    rows = plain(batch * length, HIDDEN, dtype=HALF)
    up, down = plain(EXPERTS, 2 * HIDDEN, HIDDEN, dtype=HALF), plain(EXPERTS, HIDDEN, HIDDEN, dtype=HALF)
    weights, chosen = torch.rand(batch * length, EXPERTS, device=DEVICE).topk(CHOSEN)
    return kernels.fused_moe(rows, up, down, weights.to(HALF), chosen, CHOSEN, renormalize=True)


def routing(batch: int, length: int) -> object:
    scores = torch.rand(batch * length, 256, device=DEVICE)
    return of("moe.route_noaux_tc").fused_noaux_tc_routing(scores, torch.rand(256, device=DEVICE))


def top_k(batch: int, length: int) -> object:
    each = lengths(batch, max(length, 64))
    scores = torch.rand(batch, max(each), device=DEVICE)
    return of("bitonic_topk").bitonic_topk(scores, counts([1] * batch), counts(each), 64)


def lora(batch: int, length: int) -> object:
    each, rank = lengths(batch, length), 16
    a, b = plain(rank * 2, HIDDEN, dtype=HALF), plain(rank * 2, HIDDEN, dtype=HALF)
    scaling, begins, ranks = torch.ones(2, device=DEVICE), counts([0, rank]), counts([rank, rank])
    where = starts(each)[:-1], counts(each), counts([i % 2 for i in range(batch)])
    rows = plain(sum(each), HIDDEN, dtype=HALF)
    return of("fused_lora").fused_lora(rows, a, b, scaling, begins, ranks, *where, max_rank=rank, max_seqlen=max(each))


def gated_delta(batch: int, length: int) -> object:
    q, k = (plain(batch, length, HEADS, HEAD) for _ in range(2))
    gates = [plain(batch, length, 2 * HEADS) for _ in range(2)]
    biases = [plain(2 * HEADS, dtype=torch.float32) for _ in range(2)]
    return of("gated_delta_preprocess").gated_delta_preprocess(q, k, *gates, *biases, 2)


def speculate(batch: int, length: int) -> object:
    kernels = of("rejection_sampling")
    long = torch.int64
    drafted, wanted = (torch.zeros(batch, GUESSED, device=DEVICE, dtype=long) for _ in range(2))
    out = torch.zeros(batch, GUESSED + 1, device=DEVICE, dtype=long)
    last, rejected, bonus = (torch.zeros(batch, device=DEVICE, dtype=long) for _ in range(3))
    kernels.greedy_rejection_sample(out, rejected, last, drafted, wanted, bonus, None)
    probabilities = torch.rand(batch, GUESSED, VOCABULARY, device=DEVICE)
    kernels.sample_recovered_tokens(wanted, drafted, probabilities, probabilities, torch.rand_like(probabilities))


def sparse_indices(batch: int, length: int) -> object:
    kernels = of("v4_sparse_indices")
    each = counts(lengths(batch, length))
    table = page_table(batch, length)
    kernels.build_decode_window_sparse_indices(each, each, torch.zeros(batch, device=DEVICE, dtype=torch.bool), 128)
    kernels.build_decode_prefix_compressed_sparse_indices(each, table, PAGE, 4)
    chosen = torch.zeros(batch, 1, 64, device=DEVICE, dtype=torch.int32)
    kernels.build_decode_compressed_sparse_indices(chosen, table, PAGE, 4)


OPERATORS = {
    "rms-norm": rms_norm,
    "rotary": rotary,
    "prefill": prefill,
    "decode": decode,
    "fill-cache": fill_cache,
    "flatten-cache": flatten_cache,
    "sample": sample,
    "silu": silu,
    "eight-bits": eight_bits,
    "blocked-gemm": blocked_gemm,
    "experts": experts,
    "routing": routing,
    "top-k": top_k,
    "lora": lora,
    "gated-delta": gated_delta,
    "speculate": speculate,
    "sparse-indices": sparse_indices,
}
