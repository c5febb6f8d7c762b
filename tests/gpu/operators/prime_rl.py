"""prime-rl's tokens and weights in eight bits, and the index of sparse attention."""

from __future__ import annotations

import importlib
from typing import Any

from tests.gpu.operators.tensors import HIDDEN, counts, plain

REPOSITORY = "PrimeIntellect-ai/prime-rl"
COMMIT = "559b44772e471d1538537b8805cc77f3824a5e64"
FOLDERS = ("src",)
BARE = ("prime_rl", "prime_rl.trainer", "prime_rl.trainer.models", "prime_rl.trainer.models.kernels")
EXPERTS, WIDE, INDEX_HEADS, INDEX_HEAD, CHOSEN = 4, 1024, 8, 128, 64


def call(module: str, name: str, *arguments: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"prime_rl.trainer.models.kernels.{module}"), name)(*arguments)


def tokens(batch: int, length: int) -> object:
    """All tokens in eight bits, and their transpose for the gradient."""
    made = plain(batch * length, HIDDEN)
    call("fp8_utils", "per_token_cast_to_fp8_triton", made, False)
    return call("fp8_utils", "per_token_cast_to_fp8_tp_triton", made, False)


def grouped(batch: int, length: int) -> object:
    """Tokens of each expert in eight bits, and back into one row of tokens."""
    ends = [batch * length * (i + 1) // EXPERTS for i in range(EXPERTS)]
    made = plain(batch * length, HIDDEN)
    total, padded, _, owner, sizes, begins, held, blocks = call("fp8_utils", "build_grouped_layout", counts(ends))
    call("fp8_utils", "grouped_per_token_cast_to_fp8_triton", made, padded, owner, begins, held, blocks, False)
    name = "grouped_per_channel_cast_to_fp8_rowmajor_triton"
    call("fp8_utils", name, made, padded, owner, begins, held, sizes, blocks, False)
    rows = plain(padded, HIDDEN)
    return call("fp8_utils", "unpack_rows_triton", rows, total, owner, begins, held, blocks)


def weights(batch: int, length: int) -> object:
    """The weights of a layer and of its experts, at every step."""
    call("fp8_utils", "grouped_per_block_cast_to_fp8_triton", plain(EXPERTS, WIDE, HIDDEN), False)
    return call("fp8_utils", "per_block_cast_to_fp8_tp_triton", plain(WIDE, HIDDEN), False)


def index(batch: int, length: int) -> object:
    """The keys that each query is to see; sequences lie one after another."""
    total = batch * length
    queries, keys, shares = plain(total, INDEX_HEADS, INDEX_HEAD), plain(total, INDEX_HEAD), plain(total, INDEX_HEADS)
    begins = counts([i // length * length for i in range(total)])
    ends = counts([i + 1 for i in range(total)])
    return call("fp8_indexer", "fp8_indexer", queries, keys, shares, begins, ends, CHOSEN)


OPERATORS = {"tokens": tokens, "grouped": grouped, "weights": weights, "index": index}
