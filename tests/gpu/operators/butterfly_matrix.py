"""Products with butterfly matrices, and the Fourier transform by them."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import plain

REPOSITORY = "kiaghods/butterfly_matrix_kernel"
COMMIT = "eccc067ff288ca236ea9d3c29e12f84587e20db9"
FEATURES, STAGES = 64, 6
# Transforms are of powers of two.
POWERS = ((1, 16), (2, 32), (3, 64), (5, 128), (2, 512), (1, 1024), (3, 2048))
SHAPES_OF = {"transform": POWERS}


def product(batch: int, length: int) -> object:
    """All tokens times a matrix of FEATURES rows."""
    tokens = plain(batch, length, FEATURES, dtype=torch.float32)
    weights = [plain(FEATURES, 2, dtype=torch.float32) for _ in range(STAGES)]
    return importlib.import_module("triton_kernel").butterfly_mm_triton(tokens, weights)


def transform(batch: int, length: int) -> object:
    """The spectra of `batch` signals."""
    return importlib.import_module("triton_fft_kernel").fft_triton(plain(batch, length, 2, dtype=torch.float32))


OPERATORS = {"product": product, "transform": transform}
