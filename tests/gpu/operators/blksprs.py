"""Block-sparse products, softmaxes, attention, changes of layout, gathers and sums of rows of blksprs."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import CHUNKS, DEVICE, HEAD, HEADS, HIDDEN, counts, normal, plain

REPOSITORY = "FelixSchoen/blksprs"
COMMIT = "b27dc1d0a86bef7f02cb87a1fefe30bad1ee41da"
BLOCK, COARSE, SMALL, DISTANCES = 32, 64, 16, 16
SHAPES = CHUNKS


def ops() -> Any:
    """The library's operations, with plain tensors, which it takes as well as those of its own class."""
    library = importlib.import_module("blksprs")
    library.BlksprsTensor.wrap = staticmethod(lambda tensor: tensor)
    return library.ops


def layout(slices: int, rows: int, columns: int, block: int = BLOCK) -> torch.Tensor:
    """Two of three blocks of a matrix."""
    places = torch.arange(rows // block, device=DEVICE)[:, None] + torch.arange(columns // block, device=DEVICE)
    return (places % 3 != 1).expand(slices, -1, -1).contiguous()


def sparse(slices: int, rows: int, columns: int, block: int = BLOCK) -> tuple[Any, torch.Tensor]:
    """A sparse matrix of 32 bits that wants its gradient, and its layout."""
    held = layout(slices, rows, columns, block)
    return ops().to_sparse(normal(slices, rows, columns, dtype=torch.float32), held, block), held


def scores(batch: int, length: int) -> tuple[Any, torch.Tensor]:
    """Scores of all pairs of tokens, and their layout."""
    return sparse(batch * HEADS, length, length)


def product(batch: int, length: int) -> object:
    """The scores of queries and keys, forward and backward."""
    made = *sparse(batch * HEADS, length, HEAD), *sparse(batch * HEADS, HEAD, length)
    return ops().matmul(*made, layout(batch * HEADS, length, length), BLOCK)


def softmax(batch: int, length: int) -> object:
    """Scores to shares at once, forward and backward."""
    return ops().softmax(*scores(batch, length), BLOCK)


def regular(batch: int, length: int) -> object:
    """Scores to shares in several steps, forward and backward."""
    return ops().softmax(*scores(batch, length), BLOCK, flag_fused=False)


def dense(batch: int, length: int) -> object:
    """Tokens to sparse ones and back, with a layout that is read from them, forward and backward."""
    tokens = normal(batch, length, HIDDEN, dtype=torch.float32)
    importlib.import_module("blksprs").layouting.build_sparsity_layout(tokens.detach(), BLOCK)
    held = layout(batch, length, HIDDEN)
    return ops().to_dense(ops().to_sparse(tokens, held, BLOCK), held, BLOCK)


def adapt(batch: int, length: int) -> object:
    """Tokens in larger blocks, forward and backward."""
    tokens, held = sparse(batch, length, HIDDEN)
    return ops().adapt_layout(tokens, held, BLOCK, COARSE, layout(batch, length, HIDDEN, COARSE))[0]


def transpose(batch: int, length: int) -> object:
    """Rows to columns, forward and backward."""
    return ops().transpose(*sparse(batch, length, HIDDEN), BLOCK)[0]


def repeat(batch: int, length: int) -> object:
    """Tokens once more, each after the other and all after all, forward and backward."""
    tokens, held = sparse(batch, length, HIDDEN)
    ops().repeat_interleave(tokens, held, 2, BLOCK)
    return ops().repeat(tokens, held, (1, 2, 1), BLOCK)[0]


def split(batch: int, length: int) -> object:
    """Features to heads and back, forward and backward."""
    parts, held = ops().split(*sparse(batch, length, HIDDEN), HEADS, 2, BLOCK)
    return ops().merge(parts, held, HEADS, 2, BLOCK)[0]


def gather(batch: int, length: int) -> object:
    """Rows at other places, forward and backward."""
    tokens, held = sparse(batch, length, HIDDEN)
    places = ops().to_sparse(torch.zeros(batch, length, HIDDEN, device=DEVICE, dtype=torch.int64), held, BLOCK)
    return ops().gather(tokens, held, 1, places, held, BLOCK)


def scatter(batch: int, length: int) -> object:
    """Rows summed at other places, forward and backward."""
    tokens, held = sparse(batch, length, HIDDEN)
    places = ops().to_sparse(torch.zeros(batch, length, HIDDEN, device=DEVICE, dtype=torch.int64), held, BLOCK)
    return ops().scatter_reduce(tokens, held, 1, places, held, BLOCK)


def rows(batch: int, length: int) -> object:
    """Sums and largest numbers of rows, and rows with those added."""
    tokens, held = scores(batch, length)
    tokens = tokens.detach()
    ops().misc.row_wise_sum(tokens, held, BLOCK)
    largest, _ = ops().misc.row_wise_max(tokens, held, BLOCK, flag_slice_only=True)
    return ops().misc.row_wise_sub(tokens, held, largest, BLOCK)


def pairs(batch: int, length: int) -> object:
    """The sums of one number of each token with one of each other."""
    made = [plain(batch, length, dtype=torch.float32) for _ in range(2)]
    return ops().misc.broadcast_add(*made, layout(batch, length, length), BLOCK)


def linear(batch: int, length: int) -> object:
    """A layer of sparse tokens, forward and backward."""
    utils = importlib.import_module("blksprs").utils
    layer = torch.nn.Linear(HIDDEN, HIDDEN, device=DEVICE)
    return utils.apply_torch_linear(*sparse(batch, length, HIDDEN), BLOCK, layer)[0]


def heads(batch: int, length: int) -> tuple[Any, ...]:
    """Queries, keys and values, and the layout of each."""
    return tuple(one for _ in range(3) for one in sparse(batch * HEADS, length, HEAD, SMALL))


def attention(batch: int, length: int) -> object:
    """Attention to some blocks of tokens, forward and backward."""
    return ops().flash_attention(*heads(batch, length), layout(batch * HEADS, length, length, SMALL), SMALL)


def causal(batch: int, length: int) -> object:
    """Attention to the tokens before, forward and backward."""
    held = [length - SMALL * (i % 2) for i in range(batch) for _ in range(HEADS)]
    held[0] = length
    layouts = importlib.import_module("blksprs").layouting
    seen = layouts.build_causal_self_attention_layout(counts(held), SMALL)
    return ops().flash_attention(*heads(batch, length), seen, SMALL, causal_lengths=counts(held))


def relative(batch: int, length: int) -> object:
    """Attention that sees how far tokens are from each other, forward and backward."""
    places = torch.arange(length, device=DEVICE).expand(batch * HEADS, -1).contiguous()
    table = normal(batch * HEADS, 2 * DISTANCES + 1, HEAD, dtype=torch.float32)
    seen = layout(batch * HEADS, length, length, SMALL)
    more = places, places, table, -DISTANCES, DISTANCES
    return ops().flash_attention_relative_embedding(*heads(batch, length), seen, SMALL, *more)


OPERATORS = {
    "product": product,
    "softmax": softmax,
    "regular": regular,
    "dense": dense,
    "adapt": adapt,
    "transpose": transpose,
    "repeat": repeat,
    "split": split,
    "gather": gather,
    "scatter": scatter,
    "rows": rows,
    "pairs": pairs,
    "linear": linear,
    "attention": attention,
    "causal": causal,
    "relative": relative,
}
