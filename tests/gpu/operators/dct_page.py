"""DCT-Page's decoding: pages of keys are compressed, scored, chosen and put together."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, plain

REPOSITORY = "Yoongon-Kim/DCT-Page"
COMMIT = "f1a2be4eda116e6f0cdf62b9ad5ef9eddcf9a9ea"
HEADS, GROUPS, PAGE, SMALL, CHOSEN, SINK, RECENT = 8, 2, 32, 4, 8, 4, 128
SHAPES = ((1, 777), (2, 1000), (3, 2048), (4, 5000), (1, 20000), (2, 40000))


def call(name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module("triton_kernels"), name)(*arguments, **more)


def pages(length: int) -> int:
    """How many pages are between the first tokens and the last ones."""
    return (length - SINK - RECENT) // PAGE


def compress(batch: int, length: int) -> object:
    """All pages of a prompt, compressed."""
    return call("compress_pages_triton", plain(batch, GROUPS, pages(length), PAGE, HEAD), plain(SMALL, PAGE))


def score(batch: int, length: int, how: str, among: str) -> object:
    """A token's scores of all pages."""
    made = plain(batch, HEADS, 1, HEAD), plain(batch, GROUPS, pages(length), SMALL, HEAD)
    return call("score_pages_triton", *made, how, among, HEADS // GROUPS)


def choose(batch: int, length: int) -> object:
    """The pages with the highest scores, in their order and not."""
    scores = plain(batch, GROUPS, pages(length), dtype=torch.float32)
    call("topk_sort", scores, CHOSEN, sort_ascending=False)
    return call("topk_sort", scores, CHOSEN)


def pack(batch: int, length: int) -> object:
    """The pages with the highest scores, into a table of those to attend to."""
    scores = plain(batch, GROUPS, pages(length), dtype=torch.float32)
    recent = torch.arange(-3, 1, device=DEVICE, dtype=torch.int32)
    table = torch.zeros(batch, GROUPS, 1 + CHOSEN + len(recent), device=DEVICE, dtype=torch.int32)
    last = torch.full((batch,), pages(length), device=DEVICE, dtype=torch.int32)
    return call("topk_sort_and_pack_triton", scores, table, 1, CHOSEN, last, recent)


def parts(batch: int, length: int) -> list[torch.Tensor]:
    """First keys and values, last ones, and the chosen pages; the last ones grow until they are a page."""
    tail = length - SINK - pages(length) * PAGE
    ends = [plain(batch, GROUPS, many, HEAD) for many in (SINK, SINK, tail, tail)]
    chosen = torch.arange(CHOSEN, device=DEVICE, dtype=torch.int32).expand(batch, GROUPS, CHOSEN).contiguous()
    return [*ends, chosen]


def paged(batch: int, length: int, size: int = PAGE) -> list[torch.Tensor]:
    """Keys and values in pages."""
    return [plain(batch, GROUPS, pages(length), size, HEAD) for _ in range(2)]


def drop(batch: int, length: int) -> object:
    """Keys and values without the pages that were not chosen."""
    return call("assemble_kv_drop_triton", *paged(batch, length), *parts(batch, length))[0]


def assemble(batch: int, length: int) -> object:
    """Keys and values with the other pages compressed."""
    made = *paged(batch, length), *paged(batch, length, SMALL), *parts(batch, length)
    return call("assemble_kv_split_triton", *made)[0]


def rotate(batch: int, _: int) -> object:
    """A token's query at its position."""
    made = plain(batch, HEADS, 1, HEAD), plain(HEAD), plain(HEAD), plain(batch, HEADS, 1, HEAD)
    return call("apply_rope_q_direct", *made)


OPERATORS = {
    "compress": compress,
    "score": lambda batch, length: score(batch, length, "max", "mean"),
    "score_most": lambda batch, length: score(batch, length, "max", "max"),
    "score_sum": lambda batch, length: score(batch, length, "sum", "max"),
    "choose": choose,
    "pack": pack,
    "drop": drop,
    "assemble": assemble,
    "rotate": rotate,
}
