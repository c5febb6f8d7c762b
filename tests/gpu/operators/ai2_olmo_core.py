"""OLMo-core's copies of tokens to experts, and its quantization with shared exponents."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HIDDEN, counts, plain

PACKAGE = Package("ai2-olmo-core", "3.0.0")
BARE = ("olmo_core", "olmo_core.kernels", "olmo_core.ops")
EXPERTS, CHOSEN, SCORED = 8, 2, 512


def call(module: str, name: str, *arguments: Any, **more: Any) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"olmo_core.{module}"), name)(*arguments, **more)


def ends(rows: int) -> torch.Tensor:
    """Where the rows of each expert end."""
    return counts([rows * (expert + 1) // EXPERTS for expert in range(EXPERTS)])


def order(rows: int) -> list[torch.Tensor]:
    """Which row goes where, and to which expert."""
    indices = torch.arange(rows, device=DEVICE, dtype=torch.int32)
    return [indices, indices % EXPERTS]


def gather(batch: int, length: int) -> object:
    """Rows in the order of experts, and back."""
    tokens = batch * length
    rows = tokens * CHOSEN
    given = *order(rows), plain(rows), ends(rows), CHOSEN
    moved = call("kernels.moe", "gather", plain(tokens, HIDDEN), *given)
    call("kernels.moe", "scatter_wgrad", moved, plain(tokens, HIDDEN), *order(rows), ends(rows), CHOSEN)
    return call("kernels.moe", "scatter", moved, *given)


def binned(batch: int, length: int) -> object:
    """As many rows for each expert as it may have."""
    tokens = batch * length
    rows, capacity = tokens * CHOSEN, -(-tokens * CHOSEN // EXPERTS)
    given = order(rows)[0], plain(rows), ends(rows)
    moved = call("kernels.moe", "binned_gather", plain(tokens, HIDDEN), *given, capacity, CHOSEN)
    return call("kernels.moe", "binned_scatter", moved, *given, CHOSEN)


def quantize(batch: int, length: int) -> object:
    """Each row."""
    return call("kernels.mxfp8_utils", "_quantize_to_mxfp8_triton", plain(batch * length, HIDDEN))


def quantize_gated(batch: int, length: int) -> object:
    """Each row, after a gated unit."""
    return call("kernels.mxfp8_utils", "_swiglu_quantize_rows_to_mxfp8_triton", plain(batch * length, 2 * HIDDEN))


def quantize_grouped(batch: int, length: int) -> object:
    """The rows of all experts one after another."""
    rows = batch * length
    function = "_quantize_grouped_2d_to_mxfp8_blocked_fused_triton"
    return call("kernels.mxfp8_utils", function, plain(rows, HIDDEN), ends(rows))


def gated(batch: int, length: int) -> object:
    """A gated unit of as many rows as there are."""
    rows = batch * length
    out = call("kernels.swiglu", "swiglu_valid_prefix", plain(rows, 2 * HIDDEN), counts([rows]))
    call("kernels.swiglu", "swiglu_backward_valid_prefix", plain(rows, 2 * HIDDEN), out, counts([rows]))
    return out


def choose(batch: int, length: int) -> object:
    """The best experts of many."""
    return call("ops.moe_top16", "top16_native_indices", plain(batch * length, SCORED, dtype=torch.float32))


def of_documents(batch: int, length: int) -> object:
    """The experts that each document may use."""
    scores = plain(batch, length, SCORED, dtype=torch.float32)
    segments = torch.zeros(batch, length, device=DEVICE, dtype=torch.int64)
    pools = torch.full((batch, length), 8, device=DEVICE)
    return call("ops.emo_document_pool", "document_pool_keep_mask", scores, segments, pools)


OPERATORS = {
    "gather": gather,
    "binned": binned,
    "quantize": quantize,
    "quantize-gated": quantize_gated,
    "quantize-grouped": quantize_grouped,
    "gated": gated,
    "choose": choose,
    "of-documents": of_documents,
}
