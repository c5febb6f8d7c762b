"""fairchem-core's rotations of features from atoms to edges and back, and its gate over edges."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, normal, plain

PACKAGE = Package("fairchem-core", "2.24.0")
BARE = (
    "fairchem",
    "fairchem.core",
    "fairchem.core.models",
    "fairchem.core.models.uma",
    "fairchem.core.models.uma.triton",
)
CHANNELS, NEIGHBORS, FEATURES = 128, 6, 9
# `batch` structures of `length` atoms.
SHAPES = ((1, 1), (2, 5), (1, 17), (3, 20), (2, 33), (1, 64), (2, 50), (3, 77), (1, 100), (2, 129))


def call(module: str, name: str) -> Any:
    """A name of the library, its operators registered."""
    importlib.import_module("fairchem.core.models.uma.triton.custom_ops")
    return getattr(importlib.import_module(f"fairchem.core.models.uma.triton.{module}"), name)


def floats(*shape: int) -> torch.Tensor:
    """Single precision that wants its gradient."""
    return normal(*shape, dtype=torch.float32)


def edges_of(atoms: int) -> torch.Tensor:
    """Each atom and its neighbors."""
    return (torch.arange(atoms * NEIGHBORS, device=DEVICE) // NEIGHBORS).expand(2, -1).contiguous()


def rotations(edges: int) -> torch.Tensor:
    """A rotation for each edge."""
    return plain(edges, FEATURES, FEATURES, dtype=torch.float32).requires_grad_()


def to_edges(batch: int, length: int) -> object:
    """Features of atoms, rotated for each edge."""
    atoms = batch * length
    made = floats(atoms, FEATURES, CHANNELS), edges_of(atoms), rotations(atoms * NEIGHBORS)
    return call("node_to_edge_wigner_permute", "NodeToEdgeWignerPermuteFunction").apply(*made)


def back(batch: int, length: int) -> object:
    """Features of edges, rotated back."""
    edges = batch * length * NEIGHBORS
    made = floats(edges, FEATURES, CHANNELS), rotations(edges)
    return call("permute_wigner_inv_edge_to_node", "PermuteWignerInvEdgeToNodeFunction").apply(*made)


def fused(batch: int, length: int) -> object:
    """The same, with what follows and what comes before."""
    atoms = batch * length
    edges = atoms * NEIGHBORS
    radial = floats(edges, 12 * CHANNELS)
    made = floats(atoms, FEATURES, CHANNELS), edges_of(atoms), rotations(edges), radial
    call("fused_wigner", "wigner_conv1_fused_op")(*made, CHANNELS)
    parts = [floats(edges, wide * CHANNELS) for wide in (3, 4, 2)]
    return call("fused_wigner", "wigner_inv_conv2_fused_op")(*parts, rotations(edges), CHANNELS)


def gate(batch: int, length: int) -> object:
    """A gate over edges."""
    edges = batch * length * NEIGHBORS
    return call("packed_gate", "packed_gate_op")(*(floats(edges, wide * CHANNELS) for wide in (5, 4, 2)), CHANNELS)


OPERATORS = {"to-edges": to_edges, "back": back, "fused": fused, "gate": gate}
