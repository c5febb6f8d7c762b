"""The indexing kernels of text-generation-inference."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import DEVICE, counts, lengths, page_table, starts

REPOSITORY = "huggingface/text-generation-inference"
COMMIT = "db931fcf42da018a3657580c64bf2720f167f9ab"
FOLDERS = ("server",)
SERVER = "text_generation_server"
BARE = (SERVER, f"{SERVER}.models", f"{SERVER}.utils")
UNUSED = ("loguru",)


def indexing() -> object:
    """The module of the indexing kernels."""
    return importlib.import_module(f"{SERVER}.models.metadata_kernels")


def tables_to_padded(batch: int, length: int) -> object:
    each = lengths(batch, length)
    ragged = torch.zeros(sum(each), device=DEVICE, dtype=torch.int32)
    return indexing().block_tables_to_padded(max(each), starts(each), page_table(batch, length), ragged)


def tables_to_ragged(batch: int, length: int) -> object:
    each, cached = lengths(batch, length), [1] * batch
    table = torch.zeros(batch, max(each) + 1, device=DEVICE, dtype=torch.int32)
    named = {"input_lengths": each, "cache_lengths": cached, "max_current_length": max(each) + 1}
    tensors = {"input_lengths_tensor": counts(each), "cache_lengths_tensor": counts(cached)}
    return indexing().block_tables_to_ragged(block_tables=table, **named, **tensors)


def copy_next(batch: int, length: int) -> object:
    ids = torch.zeros(batch, length + 1, device=DEVICE, dtype=torch.int64)
    one = counts([1] * batch)
    accepted = starts([1] * batch)
    return indexing().copy_next_input_ids_inplace(1, ids, one - 1, one, one, torch.zeros_like(one), accepted)


def positions(batch: int, length: int) -> object:
    each = lengths(batch, length)
    out = [torch.zeros(sum(each), device=DEVICE, dtype=kind) for kind in (torch.int32, torch.int64)]
    return indexing().prepare_position_slot_ids(max(each), counts([0] * batch), starts(each), starts(each), *out)


def slots(batch: int, length: int) -> object:
    each = lengths(batch, length)
    kept = torch.arange(sum(each), device=DEVICE)
    return indexing().slots_filtering(max(each), kept, torch.empty_like(kept), starts(each), starts(each)[:-1])


OPERATORS = {
    "tables-to-padded": tables_to_padded,
    "tables-to-ragged": tables_to_ragged,
    "copy-next": copy_next,
    "positions": positions,
    "slots": slots,
}
