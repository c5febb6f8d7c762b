"""The operators of mamba-ssm that are written in Triton."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from tests.gpu.operators.tensors import CHUNKS, DEVICE, HEAD, HEADS, HIDDEN, counts, normal, plain

if TYPE_CHECKING:
    from collections.abc import Callable

BARE = ("mamba_ssm",)
GROUPS, STATE, CHUNK = 1, 64, 64


def layer_norm(**options: object) -> Callable[[int, int], object]:
    """The norm with a residual."""

    def call(batch: int, length: int) -> object:
        from mamba_ssm.ops.triton.layer_norm import layer_norm_fn

        weight, bias = normal(HIDDEN), normal(HIDDEN)
        made = normal(batch, length, HIDDEN), weight, bias
        return layer_norm_fn(*made, residual=normal(batch, length, HIDDEN), **options)

    return call


def gated_norm(batch: int, length: int) -> object:
    """The norm under a gate."""
    from mamba_ssm.ops.triton.layernorm_gated import rmsnorm_fn

    return rmsnorm_fn(normal(batch, length, HIDDEN), normal(HIDDEN), None, z=normal(batch, length, HIDDEN))


def swiglu(batch: int, length: int) -> object:
    """The activation."""
    from mamba_ssm.ops.triton.k_activations import swiglu as apply

    return apply(normal(batch, length, 2 * HIDDEN))


def state_update(batch: int, length: int) -> object:
    """One step of decoding."""
    from mamba_ssm.ops.triton.selective_state_update import selective_state_update

    x, dt = plain(batch, HEADS, HEAD), plain(batch, HEADS, HEAD)
    b, c = plain(batch, GROUPS, STATE), plain(batch, GROUPS, STATE)
    weights = {"D": plain(HEADS, HEAD), "dt_bias": plain(HEADS, HEAD), "z": plain(batch, HEADS, HEAD)}
    state = plain(batch, HEADS, HEAD, STATE)
    return selective_state_update(state, x, dt, plain(HEADS, HEAD, STATE), b, c, **weights)


def scan(*, varied: bool) -> Callable[[int, int], object]:
    """The scan in chunks; `varied` with a gate, a skip and several sequences in one row."""

    def call(batch: int, length: int) -> object:
        from mamba_ssm.ops.triton.ssd_combined import mamba_chunk_scan_combined

        x, dt = normal(batch, length, HEADS, HEAD), normal(batch, length, HEADS, dtype=torch.float32)
        b, c = normal(batch, length, GROUPS, STATE), normal(batch, length, GROUPS, STATE)
        decay = -torch.rand(HEADS, device=DEVICE)
        more: dict[str, object] = {}
        if varied:
            row = torch.zeros(batch, length, device=DEVICE, dtype=torch.int32)
            more = {"D": normal(HEADS, dtype=torch.float32), "z": normal(batch, length, HEADS, HEAD), "seq_idx": row}
        return mamba_chunk_scan_combined(x, dt, decay, b, c, CHUNK, dt_softplus=True, **more)

    return call


def siso(batch: int, length: int) -> object:
    """The third generation's attention."""
    from mamba_ssm.ops.triton.mamba3.mamba3_siso_combined import mamba3_siso_combined

    q, k, v = (normal(batch, length, HEADS, HEAD) for _ in range(3))
    decay, step = -plain(batch, HEADS, length, dtype=torch.float32).abs(), plain(batch, HEADS, length).abs().float()
    biases = [normal(HEADS, HEAD, dtype=torch.float32) for _ in range(2)]
    angles = plain(batch, length, HEADS, HEAD // 4, dtype=torch.float32)
    trap = plain(batch, HEADS, length)
    return mamba3_siso_combined(q, k, v, decay, step, trap, *biases, angles, chunk_size=CHUNK)


def siso_step(batch: int, length: int) -> object:
    """One step of it."""
    from mamba_ssm.ops.triton.mamba3.mamba3_siso_step import mamba3_siso_step

    q, k, v = (plain(batch, HEADS, HEAD) for _ in range(3))
    gates = [plain(batch, HEADS, dtype=torch.float32) for _ in range(3)]
    biases = [plain(HEADS, HEAD, dtype=torch.float32) for _ in range(2)]
    angles, turned = (plain(batch, HEADS, HEAD // 4, dtype=torch.float32) for _ in range(2))
    held = turned, plain(batch, HEADS, HEAD, HEAD, dtype=torch.float32), *(plain(batch, HEADS, HEAD) for _ in range(2))
    return mamba3_siso_step(q, k, v, *gates, *biases, angles, Input_States=held)


def angles(batch: int, length: int) -> object:
    """Angles summed over steps, forward and backward."""
    from mamba_ssm.ops.triton.mamba3.angle_dt import angle_dt_bwd, angle_dt_fwd

    angle = plain(batch, length, HEADS, HEAD // 4, dtype=torch.float32)
    step = plain(batch, HEADS, length, dtype=torch.float32)
    out = angle_dt_fwd(angle, step, chunk_size=CHUNK)
    angle_dt_bwd(torch.ones_like(out), angle, step, chunk_size=CHUNK)


def segments(batch: int, length: int) -> object:
    """Sums within chunks, and the gradients that go with them."""
    from mamba_ssm.ops.triton.mamba3 import mamba3_mimo_utils as utils

    rows = [plain(batch, HEADS, length, dtype=torch.float32) for _ in range(4)]
    squares = [plain(batch, HEADS, length // CHUNK, CHUNK, CHUNK, dtype=torch.float32) for _ in range(2)]
    utils.compute_dacs_segsum_triton(rows[0], CHUNK)
    utils.bwd_dtrap_ddt_triton(*rows, CHUNK)
    utils.bwd_dadt_fused_triton(*squares, *rows, CHUNK)


def packed_states(batch: int, length: int) -> object:
    """The states at the ends of packed sequences."""
    from mamba_ssm.ops.triton.ssd_chunk_state import chunk_state_varlen

    chunks = length // CHUNK
    b, x = plain(length, GROUPS, STATE), plain(length, HEADS, HEAD)
    dt, decay = (plain(HEADS, chunks, CHUNK, dtype=torch.float32) for _ in range(2))
    ends = counts(sorted({0, *(length * i // batch for i in range(1, batch)), length}))
    return chunk_state_varlen(b, x, dt, decay, ends, plain(chunks, HEADS, HEAD, STATE, dtype=torch.float32))


OPERATORS = {
    "layer-norm": layer_norm(),
    "rms-norm": layer_norm(is_rms_norm=True, prenorm=False, residual_in_fp32=True),
    "gated-norm": gated_norm,
    "swiglu": swiglu,
    "state-update": state_update,
    "scan": scan(varied=False),
    "scan-varied": scan(varied=True),
    "siso": siso,
    "siso-step": siso_step,
    "angles": angles,
    "segments": segments,
    "packed-states": packed_states,
}
SHAPES_OF = {"segments": CHUNKS, "packed-states": CHUNKS}
