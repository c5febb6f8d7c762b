"""Grouped cross attention of chunks to the chunks that were retrieved for them."""

from __future__ import annotations

import importlib

from tests.gpu.operators.tensors import HEAD, normal

REPOSITORY = "ant-research/long-context-modeling"
COMMIT = "aa7fa60216ce99c59375487dad0464d7767fdeb4"
HEADS, GROUPS, CHUNK, RETRIEVED = 8, 2, 64, 8
SHAPES = ((1, 64), (2, 200), (3, 640), (4, 1000), (1, 2048), (2, 4000))


def attend(batch: int, length: int) -> object:
    """All chunks of a batch, forward and backward."""
    chunks = batch * -(-length // CHUNK)
    made = normal(chunks, HEADS, CHUNK, HEAD), *(normal(chunks, GROUPS, RETRIEVED, CHUNK, HEAD) for _ in "kv")
    return importlib.import_module("ltriton.gca").attention(*made, normal(chunks, RETRIEVED), HEAD**-0.5, 0.0)


OPERATORS = {"attend": attend}
