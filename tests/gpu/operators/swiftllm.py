"""swiftLLM's kernels of a Llama with a paged cache."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, PAGE, PAGES, counts, lengths, plain, starts

REPOSITORY = "interestingLSY/swiftLLM"
COMMIT = "682cf9a28f97f7490409981a2f181528f377eb5d"
BARE = ("swiftllm", "swiftllm.worker", "swiftllm.worker.kernels")
UNUSED = ("swiftllm.model_config", "swiftllm.engine_config", "transformers")
HELD, LAYERS, REQUESTS, ROOM, WIDE = HEADS // 2, 2, 16, 128, 1024
MODEL = SimpleNamespace(num_layers=LAYERS, num_q_heads=HEADS, num_kv_heads=HELD, head_dim=HEAD)
ENGINE = SimpleNamespace(block_size=PAGE, max_blocks_per_seq=ROOM, max_seqs_in_block_table=REQUESTS)


def call(module: str, name: str, *arguments: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"swiftllm.worker.kernels.{module}"), name)(*arguments)


def half(*shape: int) -> torch.Tensor:
    """Half precision, as the engine has it."""
    return plain(*shape, dtype=torch.float16)


def state(batch: int, length: int, *, prompts: bool) -> SimpleNamespace:
    """What the engine knows of a step: prompts alone, or one token of each request alone.

    The pieces of a sequence are as long as the engine makes them.
    """
    sizes = lengths(batch, length)
    tokens, piece = sum(sizes) if prompts else batch, 2048
    while HELD * sum(sizes) / piece < 1024 and piece // 2 >= 64 and length / (piece // 2) <= 128:
        piece //= 2
    return SimpleNamespace(
        batch_size=batch,
        num_tokens=tokens,
        seq_ids=torch.arange(batch, device=DEVICE, dtype=torch.int32),
        softmax_scale=HEAD**-0.5,
        num_prefill_seqs=batch if prompts else 0,
        num_prefill_tokens=tokens if prompts else 0,
        prefill_seq_start_locs=starts(sizes)[:-1].contiguous(),
        prefill_seq_lens=counts(sizes),
        max_prefill_len=length if prompts else 0,
        num_decoding_seqs=0 if prompts else batch,
        decoding_seq_lens=counts(sizes),
        max_decoding_len=0 if prompts else length,
        seq_block_size=piece,
        num_seq_blocks=-(-length // piece),
        position_cos=plain(tokens, HEAD // 2, dtype=torch.float32),
        position_sin=plain(tokens, HEAD // 2, dtype=torch.float32),
    )


def caches() -> list[torch.Tensor]:
    """Keys and values of all layers in pages."""
    return [half(PAGES, LAYERS, HELD, PAGE, HEAD) for _ in range(2)]


def table() -> torch.Tensor:
    """The pages of each request."""
    return torch.zeros(REQUESTS, ROOM, device=DEVICE, dtype=torch.int32)


def prefill(batch: int, length: int) -> object:
    """Prompts, whose keys and values are kept."""
    step = state(batch, length, prompts=True)
    query = half(step.num_tokens, HEADS, HEAD)
    keys, values = half(step.num_tokens, HELD, HEAD), half(step.num_tokens, HELD, HEAD)
    call("rotary_emb", "rotary_embedding_inplace", query, keys, step)
    call("kvcache_mgmt", "store_kvcache", keys, values, *caches(), table(), MODEL, ENGINE, step, 0)
    return call("prefill_attn", "prefill_attention", query, keys, values, torch.empty_like(query), MODEL, ENGINE, step)


def decode(batch: int, length: int) -> object:
    """One token of each request against its pages."""
    step = state(batch, length, prompts=False)
    query = half(batch, HEADS, HEAD)
    keys, values = half(batch, HELD, HEAD), half(batch, HELD, HEAD)
    kept = caches()
    call("kvcache_mgmt", "store_kvcache", keys, values, *kept, table(), MODEL, ENGINE, step, 0)
    out = half(batch, HEADS * HEAD)
    return call("paged_attn", "paged_attention", query, *kept, table(), MODEL, ENGINE, step, 0, out)


def pages(batch: int, length: int) -> object:
    """Pages for new requests, and pages given back."""
    held = torch.zeros(REQUESTS, device=DEVICE, dtype=torch.int32)
    needed = torch.full((batch,), -(-length // PAGE), device=DEVICE, dtype=torch.int32)
    requests = torch.arange(batch, device=DEVICE, dtype=torch.int32)
    free = torch.arange(batch * -(-length // PAGE), device=DEVICE, dtype=torch.int32)
    call("block_mgmt", "set_block_table_and_num_seq_alloc_blocks", held, table(), free, requests, needed)
    marks = torch.zeros(PAGES, device=DEVICE, dtype=torch.bool)
    return call("block_mgmt", "unset_block_table_and_num_seq_alloc_blocks", held, table(), requests, marks)


def norm(batch: int, length: int) -> object:
    """Norms of all tokens, and the gate."""
    tokens = batch * length
    call("rmsnorm", "rmsnorm_inplace", half(tokens, HIDDEN), half(HIDDEN), 1e-5)
    call("rmsnorm", "fused_add_rmsnorm_inplace", half(tokens, HIDDEN), half(tokens, HIDDEN), half(HIDDEN), 1e-5)
    return call("silu_and_mul", "silu_and_mul_inplace", half(tokens, 2 * WIDE))


OPERATORS = {"prefill": prefill, "decode": decode, "pages": pages, "norm": norm}
