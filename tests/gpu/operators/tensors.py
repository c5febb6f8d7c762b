"""Activations on the GPU, and the shapes at which operators are called: model sizes fixed, batch and length varied."""

from __future__ import annotations

import torch

DEVICE = "cuda"
HEADS, HEAD, HIDDEN, VOCABULARY = 4, 64, 512, 1000
PAGE, PAGES = 16, 640

# batch, length
ANY = ((1, 1), (2, 16), (3, 33), (5, 100), (6, 127), (7, 200), (1, 300), (2, 512), (4, 777), (3, 1000))
# For operators that take whole chunks alone.
CHUNKS = ((1, 128), (2, 256), (3, 384), (5, 512), (6, 640), (7, 896), (4, 1280), (2, 1664))


def normal(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    """A random tensor that wants its gradient."""
    return torch.randn(shape, device=DEVICE, dtype=dtype).requires_grad_()


def plain(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    """A random tensor without a gradient."""
    return torch.randn(shape, device=DEVICE, dtype=dtype)


def counts(values: list[int], dtype: torch.dtype = torch.int32) -> torch.Tensor:
    """Whole numbers on the device."""
    return torch.tensor(values, device=DEVICE, dtype=dtype)


def lengths(batch: int, length: int) -> list[int]:
    """One length for each sequence of a batch, the longest first."""
    return [max(1, length - 3 * i) for i in range(batch)]


def starts(lengths: list[int]) -> torch.Tensor:
    """Where each sequence begins, and the end."""
    return torch.nn.functional.pad(counts(lengths).cumsum(0), (1, 0)).to(torch.int32)


def page_table(batch: int, length: int) -> torch.Tensor:
    """The pages of each sequence, as wide as the longest needs."""
    wide = -(-length // PAGE)
    return (torch.arange(batch * wide, device=DEVICE, dtype=torch.int32) % PAGES).view(batch, wide)


def cache(heads: int = HEADS, head: int = HEAD) -> torch.Tensor:
    """Keys or values in pages."""
    return plain(PAGES, PAGE, heads, head, dtype=torch.float16)
