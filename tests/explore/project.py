"""Projects of a few lines, and what a sweep finds in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.explore.entries import Found, find_entries
from triton_doctor.settings import load_settings
from triton_doctor.static.sources.workspace import find_workspace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

KERNEL = """\
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n), mask=offsets < n)


def scale(x):
    rows, width = x.shape
    y = torch.empty_like(x)
    scale_kernel[(rows,)](x, y, width, BLOCK=triton.next_power_of_2(width))
    return y
"""


def find_in(folder: Path, files: Mapping[str, str], *paths: str, names: tuple[str, ...] = ()) -> Found:
    """Return what is found in a project of these `files`, looked at from `paths` in it."""
    for path, text in {"pyproject.toml": "", **files}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    named = [folder / path for path in paths or (".",)]
    return find_entries(find_workspace(named, load_settings(folder), cwd=folder), names=names)
