"""The Triton kernels of unilm: YOCO's retention and rotary embedding, ReSA's decoding."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.gpu.operators.tensors import CHUNKS, DEVICE, HEAD, HEADS, counts, lengths, normal, plain, starts

if TYPE_CHECKING:
    from collections.abc import Callable

REPOSITORY = "microsoft/unilm"
COMMIT = "768a3c873f598bb9b4d4dfb9267b099e35f8fe56"
FOLDERS = ("YOCO/yoco/models", "ReSA")
BARE = ("decoder", "llm", "llm.kernel")
CHUNK, BLOCK, SELECTED = 64, 64, 16


def of(module: str) -> object:
    """One module of the kernels."""
    return importlib.import_module(module)


def angles(length: int) -> list[torch.Tensor]:
    """Cosines and sines of each position."""
    return [plain(length, HEAD // 2) for _ in range(2)]


def rotary(**options: object) -> Callable[[int, int], object]:
    """The rotary embedding, forward and backward."""

    def call(batch: int, length: int) -> object:
        return of("decoder.kernel.rotary").apply_rotary_emb(
            normal(batch, length, HEADS, HEAD), *angles(length), **options
        )

    return call


def rotary_packed(batch: int, length: int) -> object:
    """The same, of sequences that follow each other in one row."""
    each = lengths(batch, length)
    packed = {"cu_seqlens": starts(each), "max_seqlen": max(each)}
    return of("decoder.kernel.rotary").apply_rotary_emb(normal(sum(each), HEADS, HEAD), *angles(max(each)), **packed)


def rotary_shifted(batch: int, length: int) -> object:
    """The same, each sequence beginning at a position of its own."""
    shifts = counts([3 * i for i in range(batch)])
    made = normal(batch, length, HEADS, HEAD), *angles(length + 3 * batch)
    return of("decoder.kernel.rotary").apply_rotary_emb(*made, seqlen_offsets=shifts)


def gate_recurrent(*, state: bool) -> Callable[[int, int], object]:
    """The recurrence over chunks."""

    def call(batch: int, length: int) -> object:
        blocks = -(-length // CHUNK)
        decay = torch.rand(batch, HEADS, blocks, device=DEVICE, dtype=torch.float16).requires_grad_()
        more = [normal(batch, HEADS, HEAD, 2 * HEAD, dtype=torch.float16)] if state else []
        kv = normal(batch, HEADS, blocks, HEAD, 2 * HEAD, dtype=torch.float16)
        return of("decoder.kernel.gate_recurrent").chunk_gate_recurrent(kv, decay, *more)

    return call


def gate_retention(batch: int, length: int) -> object:
    """Retention in chunks, of which torch.compile has the inner part."""
    query, key, value = (normal(batch, HEADS, length, HEAD) for _ in range(3))
    gate = torch.nn.functional.logsigmoid(normal(batch, HEADS, length, dtype=torch.float32))
    return of("decoder.kernel.gate_recurrent").chunk_gate_retention(query, key, value, gate, CHUNK)


def decode(*, queries: int) -> Callable[[int, int], object]:
    """Attention to a cache, split as the multiprocessors have room."""

    def call(batch: int, length: int) -> object:
        key, value = (plain(batch, length, HEADS, HEAD) for _ in range(2))
        query = plain(batch, queries, 2 * HEADS, HEAD)
        each = counts([max(queries, one) for one in lengths(batch, length)])
        return of("llm.kernel.flash_attention_with_kv_cache").flash_attention_with_kv_cache(query, key, value, each)

    return call


def decode_sparse(batch: int, length: int) -> object:
    """Attention to chosen blocks of a cache."""
    key, value = (plain(batch, length, HEADS, HEAD) for _ in range(2))
    blocks = -(-length // BLOCK)
    chosen = torch.arange(min(blocks, SELECTED), device=DEVICE, dtype=torch.int32).expand(batch, HEADS, -1)
    made = plain(batch, 2 * HEADS, HEAD), key, value, counts(lengths(batch, length)), chosen
    return of("llm.kernel.flash_sparse_decoding").flash_block_sparse_decoding(*made, block_size=BLOCK)


OPERATORS = {
    "rotary": rotary(),
    "rotary-interleaved": rotary(interleaved=True),
    "rotary-inplace": lambda batch, length: of("decoder.kernel.rotary").apply_rotary(
        plain(batch, length, HEADS, HEAD), *angles(length), inplace=True
    ),
    "rotary-packed": rotary_packed,
    "rotary-shifted": rotary_shifted,
    "gate-recurrent": gate_recurrent(state=False),
    "gate-recurrent-state": gate_recurrent(state=True),
    "gate-retention": gate_retention,
    "decode": decode(queries=1),
    "decode-many": decode(queries=4),
    "decode-sparse": decode_sparse,
}
SHAPES_OF = {"gate-retention": CHUNKS}
