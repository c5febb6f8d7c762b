"""TransformerEngine's Triton half: tokens to their experts and back, losses and biases of groups."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, VOCABULARY, counts, plain

REPOSITORY = "NVIDIA/TransformerEngine"
COMMIT = "d0067d0da6cb01811b8072a7d304f0e00344ce2b"
BARE = (
    "transformer_engine",
    "transformer_engine.common",
    "transformer_engine.pytorch",
    "transformer_engine.pytorch.triton",
)
EXPERTS, CHOSEN = 8, 2


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    found = importlib.import_module(f"transformer_engine.pytorch.triton.{module}")
    return getattr(found, name)(*arguments, **more)


def routes(tokens: int) -> torch.Tensor:
    """The rows of each token's experts; each takes the first ones."""
    chosen = torch.zeros(tokens, EXPERTS, device=DEVICE, dtype=torch.int32)
    chosen[:, :CHOSEN] = 1
    return call("permutation", "make_row_id_map", chosen, tokens, EXPERTS)


def permute(batch: int, length: int) -> object:
    """All tokens to their experts."""
    tokens = batch * length
    shares = plain(tokens, EXPERTS, dtype=torch.float32)
    made = plain(tokens, HIDDEN), routes(tokens), shares, None, None
    return call("permutation", "permute_with_mask_map", *made, tokens, EXPERTS, tokens * CHOSEN, HIDDEN, 0)


def unpermute(batch: int, length: int) -> object:
    """What the experts made back to the tokens, forward and backward."""
    tokens = batch * length
    shares, rows = plain(tokens, EXPERTS, dtype=torch.float32), routes(tokens)
    chosen = plain(tokens * CHOSEN, HIDDEN)
    sizes = tokens, EXPERTS
    call("permutation", "unpermute_with_mask_map", chosen, rows, shares, None, None, *sizes, HIDDEN)
    made = plain(tokens, HIDDEN), rows, chosen, shares, None
    name = "unpermute_with_mask_map_bwd_with_merging_probs"
    return call("permutation", name, *made, *sizes, tokens * CHOSEN, HIDDEN)


def chunks(batch: int, length: int) -> object:
    """The tokens of ranks sorted by experts."""
    tokens = batch * length
    sizes = counts([tokens // EXPERTS] * (EXPERTS - 1) + [tokens - tokens // EXPERTS * (EXPERTS - 1)])
    rows = call("permutation", "make_chunk_sort_map", sizes, counts(list(range(EXPERTS))), tokens, EXPERTS)
    shares = plain(tokens, dtype=torch.float32)
    return call("permutation", "sort_chunks_by_map", plain(tokens, HIDDEN), rows, shares, tokens, HIDDEN, True)


def loss(batch: int, length: int) -> object:
    """The loss of all tokens and its gradient."""
    target = torch.zeros(batch, length, device=DEVICE, dtype=torch.int64)
    made = call(
        "cross_entropy", "cross_entropy_forward", plain(batch, length, VOCABULARY), target, 0.0, True, None, -100
    )
    return call("cross_entropy", "cross_entropy_backward", made[1], plain(1, dtype=torch.float32)[0])


def biases(batch: int, length: int) -> object:
    """The gradients of the biases of groups of tokens."""
    tokens = batch * length
    ends = torch.arange(EXPERTS + 1, device=DEVICE, dtype=torch.int64) * tokens // EXPERTS
    return call("grouped_dbias_dscales", "compute_grouped_dbias", plain(tokens, HIDDEN), ends, EXPERTS)


OPERATORS = {
    "permute": permute,
    "unpermute": unpermute,
    "chunks": chunks,
    "loss": loss,
    "biases": biases,
}
