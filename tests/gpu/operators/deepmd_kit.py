"""DeePMD-kit's kernels of neighbours and edges: environments, convolutions, mixes by degree, forces."""

from __future__ import annotations

import importlib
import os
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, normal, plain

REPOSITORY = "deepmodeling/deepmd-kit"
COMMIT = "bc902daf747d93c5d7314338d287fd2dd0a7e32c"
PARTS = ("deepmd", "deepmd.kernels", "deepmd.kernels.triton", "deepmd.dpmodel", "deepmd.dpmodel.utils")
BARE = (*PARTS, "deepmd.kernels.triton.dpa1", "deepmd.kernels.triton.sezm")
UNUSED = ("array_api_compat",)
NEAR, TYPES, WIDE, DEGREE, RANK, CHANNELS = 48, 4, 64, 2, 2, 64
# Without it the library computes with torch.
os.environ["DP_TRITON_INFER"] = "3"
# Frames, atoms.
SHAPES = ((1, 7), (2, 33), (3, 100), (4, 192), (1, 777), (2, 1000))


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"deepmd.kernels.triton.{module}"), name)(*arguments, **more)


def numbers(*shape: int) -> torch.Tensor:
    """Random numbers in full precision."""
    return plain(*shape, dtype=torch.float32)


def wanted(*shape: int) -> torch.Tensor:
    """Random numbers in full precision that want their gradient."""
    return normal(*shape, dtype=torch.float32)


def environment(batch: int, length: int) -> object:
    """Each atom's neighbours, by distance and direction, forward and backward."""
    near = torch.randint(-1, length, (batch, length, NEAR), device=DEVICE)
    kinds = torch.randint(TYPES, (batch, length), device=DEVICE)
    made = wanted(batch, length, 3), near, kinds, numbers(TYPES, NEAR, 4), numbers(TYPES, NEAR, 4)
    return call("env_mat", "env_mat", *made, 6.0, 0.5)[0]


def environment_edges(batch: int, length: int) -> object:
    """Edges by distance and direction, forward and backward."""
    edges = batch * length * NEAR
    kinds, mask = torch.randint(TYPES, (edges,), device=DEVICE), torch.ones(edges, device=DEVICE, dtype=torch.bool)
    made = wanted(edges, 3), kinds, numbers(TYPES, 4), numbers(TYPES, 4)
    return call("env_mat", "edge_env_mat", *made, 6.0, 0.5, edge_mask=mask)


def convolve(batch: int, length: int) -> object:
    """Each atom's neighbours summed by moments, forward and backward."""
    atoms = batch * length
    made = wanted(atoms, NEAR, 2 * WIDE), wanted(atoms, NEAR, WIDE), torch.ones(2 * WIDE, device=DEVICE)
    pairs = numbers(TYPES * TYPES, 2 * WIDE), torch.randint(TYPES * TYPES, (atoms * NEAR,), device=DEVICE)
    return call("dpa1.se_conv", "se_conv", *made, *pairs, wanted(atoms, NEAR), wanted(atoms, NEAR, 4), 2, 0, 1)


def convolve_edges(batch: int, length: int) -> object:
    """Edges summed by atom, forward and backward."""
    atoms = batch * length
    edges = atoms * NEAR
    made = wanted(edges, 2 * WIDE), wanted(edges, WIDE), torch.ones(2 * WIDE, device=DEVICE)
    pairs = numbers(TYPES * TYPES, 2 * WIDE), torch.randint(TYPES * TYPES, (edges,), device=DEVICE)
    ends = torch.arange(edges, device=DEVICE) // NEAR, torch.ones(edges, device=DEVICE, dtype=torch.bool)
    return call("dpa1.edge_conv", "edge_conv", *made, *pairs, wanted(edges), wanted(edges, 4), *ends, atoms, 2, 0, 1)


def embed(batch: int, length: int) -> object:
    """The last product of the embedding of edges."""
    made = numbers(batch * length * NEAR, WIDE), numbers(WIDE, 2 * WIDE), numbers(2 * WIDE)
    return call("dpa1.gemm_fp16x3", "embed_last_gemm", *made)


def mix(batch: int, length: int) -> object:
    """Edges' features mixed by degree, forward and backward."""
    edges, leading = batch * length * NEAR, DEGREE + 1
    kernel = wanted(edges, leading * leading + DEGREE * DEGREE, RANK)
    made = kernel, wanted(edges, leading + 2 * DEGREE, CHANNELS), numbers(RANK, CHANNELS)
    return call("sezm.radial_mix", "radial_mix_block", *made, DEGREE)


def turn(batch: int, length: int) -> object:
    """Powers of edges' rotations, forward and backward."""
    table = [1, 1, 0, 0, 0, 2, 0, 0, 0, 0, 1, 1, 2, 0, 0, 0]
    return call("sezm.wigner_monomials", "wigner_monomials", wanted(batch * length * NEAR, 4), table, 2)


def multiply(batch: int, length: int) -> object:
    """Edges' features times a weight of two blocks, forward and backward."""
    made = wanted(2, batch * length * NEAR, 4 * CHANNELS), wanted(2, 4 * CHANNELS, 4 * CHANNELS)
    half = 2 * CHANNELS
    blocks = [(0, half, 0, half), (half, 2 * half, half, 2 * half)]
    return call("sezm.so2_block_gemm", "block_diag_gemm", *made, blocks)


def force(batch: int, length: int) -> object:
    """The force on each atom from its edges."""
    atoms = batch * length
    edges = atoms * NEAR
    order, ends = torch.arange(edges, device=DEVICE), torch.arange(atoms + 1, device=DEVICE) * NEAR
    return call(
        "sezm.force_assembly", "edge_force_assembly", numbers(edges, 3), numbers(edges, 3), order, ends, order, ends
    )[0]


OPERATORS = {
    "environment": environment,
    "environment_edges": environment_edges,
    "convolve": convolve,
    "convolve_edges": convolve_edges,
    "embed": embed,
    "mix": mix,
    "turn": turn,
    "multiply": multiply,
    "force": force,
}
