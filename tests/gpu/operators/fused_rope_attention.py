"""Attention of images whose patches are rotated by their rows and columns on the way."""

from __future__ import annotations

import importlib

from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, normal

REPOSITORY = "v1kstrand/triton_fused_rope_flash_attn"
COMMIT = "984c03924c8de44d549cd049baafc0ab568e18d1"
# The name of the library's one file ends so.
FILE = "fa_rope_full "
SIDE, BASE = 14, 1e4


def attention(batch: int, length: int) -> object:
    """`batch` * `length` images of SIDE patches each way and one for all, forward and backward."""
    library = importlib.import_module(FILE)
    made = [normal(batch * length, HEADS, 1 + SIDE * SIDE, HEAD) for _ in range(3)]
    return library.sdpa_triton_fa_rope(*made, library.CosSinTable(BASE, SIDE, HEAD, DEVICE))


SHAPES = ((1, 1), (2, 1), (3, 2), (5, 3), (2, 16), (7, 8), (4, 33))
OPERATORS = {"attention": attention}
