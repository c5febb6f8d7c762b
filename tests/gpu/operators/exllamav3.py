"""exllamav3's attention over pages, of heads and of latents, and the layers beside it; not the kernels of fla."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, VOCABULARY, counts, lengths, plain, starts

PACKAGE = Package("exllamav3", "1.6.5")
BARE = (
    "exllamav3",
    "exllamav3.util",
    "exllamav3.modules",
    "exllamav3.modules.attention_fn",
    "exllamav3.modules.quant",
    "exllamav3.modules.quant.exl3_lib",
)
HELD, PAGE, PAGES, LATENT, ROTATED = HEADS // 2, 256, 64, 128, 32


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"exllamav3.{module}"), name)(*arguments, **more)


def halves(*shape: int) -> torch.Tensor:
    """Half precision."""
    return plain(*shape, dtype=torch.float16)


def table(batch: int, length: int) -> torch.Tensor:
    """The pages of each sequence, as wide as the longest needs."""
    wide = -(-length // PAGE)
    return (torch.arange(batch * wide, device=DEVICE, dtype=torch.int32) % PAGES).view(batch, wide)


def paged(name: str, tokens: int | None, *, longer: int = 0) -> Any:
    """New tokens of each sequence, `tokens` or all of them, appended to its pages; `longer` how much was there."""

    def run(batch: int, length: int) -> object:
        fresh = tokens or length
        caches = [halves(PAGES, PAGE, HELD, HEAD) for _ in range(2)]
        made = halves(batch, fresh, HEADS, HEAD), *(halves(batch, fresh, HELD, HEAD) for _ in range(2)), *caches
        before = length if tokens else longer
        held = counts([before] * batch)
        return call("modules.attention_fn.triton_paged", name, *made, table(batch, before + fresh), held, causal=True)

    return run


def packed(batch: int, length: int) -> object:
    """Sequences of several lengths, one after another."""
    each = lengths(batch, length)
    made = halves(sum(each), HEADS, HEAD), *(halves(sum(each), HELD, HEAD) for _ in range(2))
    return call("modules.attention_fn.triton_paged", "varlen_attn_triton", *made, starts(each), max(each), causal=True)


def latents() -> tuple[torch.Tensor, torch.Tensor]:
    """Latents in pages, and what of keys is rotated."""
    return halves(PAGES, PAGE, LATENT), halves(PAGES, PAGE, ROTATED)


def append_latents(batch: int, length: int) -> object:
    """All tokens' latents into pages, and a row for an index."""
    made = halves(batch, length, LATENT), halves(batch, length, ROTATED), *latents()
    pages = table(batch, length), counts([0] * batch)
    module = "modules.attention_fn.mla_triton"
    call(module, "mla_plane_append", halves(batch, length, HEAD), halves(PAGES, PAGE, HEAD), *pages)
    return call(module, "mla_kv_append", *made, *pages)


def absorb(batch: int, length: int) -> object:
    """Queries into latents and latents into values."""
    tokens = batch * length
    module = "modules.attention_fn.mla_triton"
    call(module, "mla_absorb", halves(tokens, HEADS, HEAD + ROTATED), halves(LATENT, HEADS * HEAD), HEADS, HEAD)
    return call(module, "mla_unfold", halves(HEADS, tokens, LATENT), halves(LATENT, HEADS * HEAD), HEAD)


def latent_attention(name: str, tokens: int | None) -> Any:
    """New tokens of each sequence, `tokens` or all of them, against latents."""

    def run(batch: int, length: int) -> object:
        fresh = tokens or length
        queries = halves(HEADS, batch * fresh, LATENT), halves(batch * fresh, HEADS, ROTATED)
        pages = table(batch, length + fresh), counts([length if tokens else 0] * batch)
        return call("modules.attention_fn.mla_triton", name, *queries, *latents(), *pages, batch, fresh)

    return run


def hessian(batch: int, length: int) -> object:
    """The products of all tokens with themselves."""
    module = importlib.import_module("exllamav3.modules.quant.exl3_lib.hessian_packed")
    held = torch.zeros(module.packed_numel(HIDDEN), device=DEVICE)
    return module.accumulate_(held, halves(batch * length, HIDDEN))


def measure(batch: int, length: int) -> object:
    """Likelihoods of tokens, and how far two models are apart."""
    logits = halves(batch, length, VOCABULARY)
    call("util.measures", "compute_kl_div", logits, logits, VOCABULARY)
    tokens = torch.zeros(batch, length, device=DEVICE, dtype=torch.int64)
    return call("util.measures", "compute_target_log_probs", logits, tokens, VOCABULARY)


OPERATORS = {
    "decode": paged("paged_attn_triton_decode", 1),
    "prefill": paged("paged_attn_triton_prefill", None),
    "continue": paged("paged_attn_triton_prefill", None, longer=300),
    "grouped": paged("paged_attn_triton_longq", None),
    "plain": paged("paged_attn_triton", None),
    "packed": packed,
    "append-latents": append_latents,
    "absorb": absorb,
    "latent-decode": latent_attention("mla_attn_triton_decode", 1),
    "latent-prefill": latent_attention("mla_attn_triton_prefill", None),
    "hessian": hessian,
    "measure": measure,
}
