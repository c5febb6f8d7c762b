"""Pages that a token's attention is worth, the attention to them, and what is kept outside the device."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, PAGE, counts, lengths, plain

REPOSITORY = "Js-Hwang1/amass-kv"
COMMIT = "eafeab7cc32f43e3be0143bcfbe17a6ae7031c16"
FOLDERS = ("src",)
# What an engine is started with.
HELD, SHARED, HEAD, REQUESTS, PAGES, BLOCKS, TOKENS, SPLIT, HOT = 2, 4, 128, 16, 256, 4096, 8192, 128, 512
SIZES = {"num_layers": 1, "num_blocks": BLOCKS, "n_kv": HELD, "page": PAGE, "max_reqs": REQUESTS, "max_pages": PAGES}
# Sequences that are decoded.
SHAPES = ((1, 100), (2, 300), (3, 777), (5, 1000), (8, 2000), (16, 3000), (1, 4000))
PROMPTS = ((1, 16), (2, 33), (3, 100), (5, 127), (1, 777), (2, 1000), (4, 2000))


def state(kind: str, **more: object) -> Any:
    """What is known of all pages."""
    made = getattr(importlib.import_module("amass.selection"), kind)
    return made(DEVICE, G=SHARED, head_dim=HEAD, **SIZES, **more)


def table() -> torch.Tensor:
    """The pages of all sequences that the engine may have."""
    return torch.arange(REQUESTS * PAGES, device=DEVICE, dtype=torch.int32).view(REQUESTS, PAGES)


def select(batch: int, length: int, name: str, kept: Any) -> tuple[torch.Tensor, ...]:
    """Which pages each sequence's next token attends to."""
    given = plain(batch, HELD * SHARED, HEAD), table()[:batch], counts(lengths(batch, length))
    getattr(importlib.import_module("amass.selection"), name)(kept, 0, *given, batch, HEAD**-0.5)
    return given


def decode(batch: int, length: int) -> object:
    """One token of each sequence to the pages that were chosen for it."""
    attention = importlib.import_module("amass.attention")
    kept = state("R8State")
    kept.D = kept.d
    attention.ensure_stage_b_buffers(kept, DEVICE, SPLIT)
    query, pages, many = select(batch, length, "select_pages_r8", kept)
    held = plain(BLOCKS, 2, PAGE, HELD, HEAD)
    out, values = torch.empty_like(query), attention.ResidentVSource(held)
    attention.sparse_paged_decode_batched(query, held, pages, many, kept, out, values, scale=HEAD**-0.5)
    return out


def staging() -> Any:
    """Where values stay until they are copied out."""
    made = importlib.import_module("amass.tier.staging").Staging
    return made(d=HEAD, max_tokens=TOKENS, dtype=torch.bfloat16, device=DEVICE, **SIZES)


def residency() -> Any:
    """Which pages are on the device."""
    made = importlib.import_module("amass.tier.residency").Residency
    return made(hot_slots=HOT, d=HEAD, dtype=torch.bfloat16, device=DEVICE, **SIZES)


def pool() -> torch.Tensor:
    """All pages, as they are kept outside."""
    return torch.zeros(1, BLOCKS, HELD, PAGE, HEAD, device=DEVICE, dtype=torch.int16)


def stage(batch: int, length: int) -> object:
    """The values of prompts, staged and copied out."""
    kept, held = staging(), residency()
    many, begins = counts([length] * batch), torch.arange(batch + 1, device=DEVICE, dtype=torch.int32) * length
    held.invalidate_written(table()[:batch], many, begins)
    kept.begin_step(table()[:batch], many, begins, length, batch * length, pool(), held.pool_valid)
    tokens = [plain(batch * length, HELD, HEAD) for _ in "kv"]
    return kept.scatter_kv(0, *tokens, batch * length)


def gather(batch: int, length: int) -> object:
    """The pages that were chosen, brought onto the device."""
    kept = state("R8State")
    _, pages, many = select(batch, length, "select_pages_r8", kept)
    return residency().gather(0, kept.page_table, kept.page_cnt, pages, many, batch, staging(), pool())


OPERATORS = {
    "select": lambda batch, length: select(batch, length, "select_pages_r8", state("R8State"))[0],
    "select_packed": lambda batch, length: select(
        batch, length, "select_pages_r8", state("R8State", vk_bits=4, c_bits=4)
    )[0],
    "select_quad": lambda batch, length: select(batch, length, "select_pages_quad", state("QuadState"))[0],
    "select_quad_normed": lambda batch, length: select(
        batch, length, "select_pages_quad", state("QuadState", combine="nrm")
    )[0],
    "select_keys": lambda batch, length: select(
        batch, length, "select_pages_clse", state("QuadState", coords="lse", combine="nrm")
    )[0],
    "select_keys_wide": lambda batch, length: select(
        batch, length, "select_pages_clse", state("QuadState", coords="lse", rank=4)
    )[0],
    "decode": decode,
    "stage": stage,
    "gather": gather,
}
SHAPES_OF = {"stage": PROMPTS}
