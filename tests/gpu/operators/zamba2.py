"""Zamba2's operators in Triton: norms, activation, decoding step and scan in chunks."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.gpu.operators.tensors import CHUNKS, DEVICE, HEAD, HEADS, HIDDEN, normal, plain

if TYPE_CHECKING:
    from collections.abc import Callable

REPOSITORY = "Zyphra/Zamba2"
COMMIT = "1b182f40f2257f822cc06dd785df53d67d691a15"
BARE = ("ops",)
UNUSED = ("causal_conv1d_cuda",)
GROUPS, STATE, CHUNK = 1, 64, 64


def of(module: str) -> object:
    """One module of the Triton operators."""
    return importlib.import_module(f"ops.triton.{module}")


def norm(module: str, name: str, **options: object) -> Callable[[int, int], object]:
    """A norm with a residual."""

    def call(batch: int, length: int) -> object:
        made = normal(batch, length, HIDDEN), normal(HIDDEN), normal(HIDDEN)
        return getattr(of(module), name)(*made, residual=normal(batch, length, HIDDEN), **options)

    return call


def norm_linear(module: str, **options: object) -> Callable[[int, int], object]:
    """A norm with the projection behind it."""

    def call(batch: int, length: int) -> object:
        made = normal(batch, length, HIDDEN), normal(HIDDEN), normal(HIDDEN), normal(2 * HIDDEN, HIDDEN), None
        return of(module).layer_norm_linear_fn(*made, **options)

    return call


def gated_norm(*, before: bool, groups: int) -> Callable[[int, int], object]:
    """The norm under a gate, over all features or in groups of them."""

    def call(batch: int, length: int) -> object:
        made = normal(batch, length, HIDDEN), normal(HIDDEN), None
        more = {"z": normal(batch, length, HIDDEN), "group_size": HIDDEN // groups, "norm_before_gate": before}
        return of("layernorm_gated").rmsnorm_fn(*made, **more)

    return call


def swiglu(batch: int, length: int) -> object:
    """The activation and its gradient, which are separate functions."""
    module = of("k_activations")
    both = plain(batch, length, 2 * HIDDEN)
    module._swiglu_bwd(both, torch.ones_like(module._swiglu_fwd(both)))


def state_update(batch: int, length: int) -> object:
    """One step of decoding."""
    rows = [plain(batch, HEADS, HEAD) for _ in range(3)]
    b, c = plain(batch, GROUPS, STATE), plain(batch, GROUPS, STATE)
    weights = {"D": plain(HEADS, HEAD), "dt_bias": plain(HEADS, HEAD), "z": rows[2]}
    state, decay = plain(batch, HEADS, HEAD, STATE), plain(HEADS, HEAD, STATE)
    return of("selective_state_update").selective_state_update(state, *rows[:2], decay, b, c, **weights)


def scan_inputs(batch: int, length: int) -> tuple[object, ...]:
    """The inputs of a scan in chunks."""
    x, dt = normal(batch, length, HEADS, HEAD), normal(batch, length, HEADS, dtype=torch.float32)
    b, c = normal(batch, length, GROUPS, STATE), normal(batch, length, GROUPS, STATE)
    return x, dt, -torch.rand(HEADS, device=DEVICE), b, c, CHUNK


def scan(*, varied: bool) -> Callable[[int, int], object]:
    """The scan in chunks; `varied` with a gate, a skip and several sequences in one row."""

    def call(batch: int, length: int) -> object:
        more: dict[str, object] = {}
        if varied:
            row = torch.zeros(batch, length, device=DEVICE, dtype=torch.int32)
            more = {"D": normal(HEADS, dtype=torch.float32), "z": normal(batch, length, HEADS, HEAD), "seq_idx": row}
        return of("ssd_combined").mamba_chunk_scan_combined(*scan_inputs(batch, length), dt_softplus=True, **more)

    return call


def scan_in_steps(batch: int, length: int) -> object:
    """The scan as three operators, one after the other."""
    return of("ssd_combined").mamba_chunk_scan(*scan_inputs(batch, length), dt_softplus=True)


OPERATORS = {
    "layer-norm": norm("layer_norm", "layer_norm_fn"),
    "rms-norm": norm("layer_norm", "rms_norm_fn", prenorm=False, residual_in_fp32=True),
    "layer-norm-simple": norm("layernorm", "layer_norm_fn"),
    "rms-norm-simple": norm("layernorm", "rms_norm_fn"),
    "norm-linear": norm_linear("layer_norm", is_rms_norm=True),
    "norm-linear-simple": norm_linear("layernorm"),
    "gated-norm": gated_norm(before=True, groups=1),
    "gated-norm-groups": gated_norm(before=False, groups=4),
    "swiglu": swiglu,
    "state-update": state_update,
    "scan": scan(varied=False),
    "scan-varied": scan(varied=True),
    "scan-in-steps": scan_in_steps,
}
SHAPES_OF = {"scan-in-steps": CHUNKS}
