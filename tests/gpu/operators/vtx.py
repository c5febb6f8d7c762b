"""Vortex' Hyena operators: short, medium and long convolutions behind gates."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import CHUNKS, DEVICE, HEAD, HEADS, plain, starts

PACKAGE = Package("vtx", "1.1.0")
BARE = (
    "vortex",
    "vortex.ops",
    "vortex.ops.hyena_x",
    "vortex.ops.hyena_se",
    "vortex.ops.embedding",
    "vortex.ops.conv",
    "vortex.ops.conv.local_causal_conv1d",
)
UNUSED = ("causal_conv1d",)
CHANNELS, TAPS, GROUPS = 128, 7, 4
SHAPES_OF = {"hyena-x": CHUNKS, "hyena-x-chunks": CHUNKS, "chunked": CHUNKS}


def call(module: str, name: str, *arguments: Any, **more: Any) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"vortex.ops.{module}"), name)(*arguments, **more)


def floats(*shape: int) -> torch.Tensor:
    """Single precision."""
    return plain(*shape, dtype=torch.float32)


def short(batch: int, length: int) -> object:
    """A filter of a few taps."""
    made = [plain(batch, CHANNELS, length) for _ in range(3)]
    return call("hcs_interface", "hcs_conv", *made, plain(CHANNELS, 1, TAPS), plain(CHANNELS))


def medium(batch: int, length: int) -> object:
    """A filter as long as the sequence, by a Fourier transform."""
    made = plain(batch, CHANNELS, length), floats(CHANNELS, length), floats(CHANNELS)
    return call("hcm_interface", "hcm_fft_conv", *made, None)


def long(batch: int, length: int) -> object:
    """A filter of modes."""
    times = torch.arange(length, device=DEVICE, dtype=torch.float32)
    modes = call("hcl_interface", "_hcl_compute_filter", floats(CHANNELS, 16), floats(CHANNELS, 16), times)
    made = [plain(1, CHANNELS, length) for _ in range(2)]
    return call(
        "hcl_interface", "hcl_fft_conv", modes.view(1, CHANNELS, length), *made, floats(CHANNELS), length, 2 * length
    )


def hyena_x(name: str) -> Any:
    """Filters of queries, keys and values in one kernel."""

    def run(batch: int, length: int) -> object:
        made = [plain(batch, CHANNELS, length) for _ in range(3)]
        return call("hyena_x.triton_indirect_fwd", name, *made, plain(3 * CHANNELS, TAPS))

    return run


def rotate(batch: int, length: int) -> object:
    """The rotation of each head."""
    angles = [plain(length, HEAD // 2) for _ in range(2)]
    return call("embedding.rotary", "apply_rotary", plain(batch, length, HEADS, HEAD), *angles)


def chunked(batch: int, length: int) -> object:
    """Filters of groups of channels, by chunks."""
    made = [plain(batch, length, GROUPS, CHANNELS // GROUPS) for _ in range(3)]
    return call(
        "hyena_se.fwd", "two_pass_fwd_grouped", *made, plain(GROUPS, 1, 4), version="v1", CHUNK_SIZE=128, BLOCK_D=32
    )


def last_states(batch: int, length: int) -> object:
    """The last tokens of each sequence."""
    made = plain(batch * length, CHANNELS), starts([length] * batch), 4
    return call("conv.local_causal_conv1d.causal_conv1d_varlen", "causal_conv1d_varlen_states", *made)


OPERATORS = {
    "short": short,
    "medium": medium,
    "long": long,
    "hyena-x": hyena_x("hyena_x_bdl_fwd"),
    "hyena-x-chunks": hyena_x("hyena_x_bdl_dchunk_fwd"),
    "rotate": rotate,
    "chunked": chunked,
    "last-states": last_states,
}
