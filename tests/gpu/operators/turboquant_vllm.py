"""turboquant-vllm's attention over compressed keys and values."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, counts, lengths, page_table, plain

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("turboquant-vllm", "1.5.0")
BARE = ("turboquant_vllm", "turboquant_vllm.triton")
HELD, LEVELS, PAGE, PAGES = HEADS // 2, 16, 16, 640
# A token's compressed keys and values, and their norms.
BYTES = HELD * (HEAD + 8)


def call(module: str, name: str, *arguments: Any, **more: Any) -> object:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"turboquant_vllm.triton.{module}"), name)(*arguments, **more)


def halves(*shape: int) -> torch.Tensor:
    """Half precision."""
    return plain(*shape, dtype=torch.float16)


def floats(*shape: int) -> torch.Tensor:
    """Single precision."""
    return plain(*shape, dtype=torch.float32)


def codes(*shape: int) -> torch.Tensor:
    """Two levels in each byte."""
    return torch.randint(0, 255, shape, device=DEVICE, dtype=torch.uint8)


def attention(batch: int, length: int) -> object:
    """Keys and values as they are."""
    keys, values = (halves(batch, HELD, length, HEAD) for _ in range(2))
    return call("flash_attention", "triton_flash_attention", halves(batch, HEADS, length, HEAD), keys, values)


def compressed_keys(batch: int, length: int) -> object:
    """Compressed keys."""
    keys = codes(batch, HELD, length, HEAD // 2), floats(batch, HELD, length)
    made = *keys, floats(LEVELS), floats(HEAD, HEAD), halves(batch, HELD, length, HEAD)
    return call("flash_attention_tq4", "triton_flash_attention_tq4", halves(batch, HEADS, length, HEAD), *made)


def compressed(batch: int, length: int) -> object:
    """Compressed keys and values."""
    made = [codes(batch, HELD, length, HEAD // 2), floats(batch, HELD, length)] * 2
    made += [floats(LEVELS), floats(HEAD, HEAD)]
    return call("flash_attention_tq4_kv", "triton_flash_attention_tq4_kv", halves(batch, HEADS, length, HEAD), *made)


def scores(batch: int, length: int) -> object:
    """Queries against compressed keys."""
    made = halves(batch, HEADS, 1, HEAD), codes(batch, HELD, length, HEAD // 2), floats(batch, HELD, length)
    heads = {"n_q_heads": HEADS, "n_kv_heads": HELD}
    return call("fused_qk_attention", "fused_qk_scores", *made, floats(LEVELS), 0.125, **heads)


def paged(module: str) -> Callable[[int, int], object]:
    """Attention over pages, a token of each sequence, or all tokens of one."""

    def run(batch: int, length: int) -> object:
        prefill = "prefill" in module
        sequences = 1 if prefill else batch
        made = [halves(length if prefill else batch, HEADS, HEAD), codes(PAGES, PAGE, BYTES)]
        made += [page_table(sequences, length), counts(lengths(sequences, length)), floats(LEVELS), floats(HEAD, HEAD)]
        return call(
            module, module.removesuffix("_attention") if prefill else "fused_paged_tq4_decode", *made, HELD, HEAD, PAGE
        )

    return run


def compress(batch: int, length: int) -> object:
    """Compress all tokens."""
    made = floats(HEAD, HEAD // 2), floats(HEAD, HEAD // 2), floats(LEVELS - 1)
    return call("tq4_compress", "tq4_compress", halves(batch * length, HELD, HEAD), *made)


def decompress(batch: int, length: int) -> object:
    """Decompress all tokens."""
    tokens = batch * length
    made = codes(tokens, HELD, HEAD // 2), floats(tokens, HELD, 1), floats(LEVELS)
    return call("tq4_decompress", "tq4_decompress", *made)


OPERATORS = {
    "attention": attention,
    "compressed-keys": compressed_keys,
    "compressed": compressed,
    "scores": scores,
    "paged-decode": paged("fused_paged_tq4_attention"),
    "paged-prefill": paged("fused_paged_tq4_int8_prefill"),
    "compress": compress,
    "decompress": decompress,
}
