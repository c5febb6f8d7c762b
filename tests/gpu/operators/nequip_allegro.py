"""nequip-allegro's product of tensors over the edges of a graph."""

from __future__ import annotations

import importlib

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, normal

PACKAGE = Package("nequip-allegro", "0.8.3")
BARE = ("allegro", "allegro.nn", "allegro.nn._strided")
UNUSED = ("e3nn", "e3nn.o3", "e3nn.o3._irreps", "e3nn.o3._wigner", "e3nn.util", "e3nn.util.jit", "nequip", "nequip.nn")
UNUSED = (*UNUSED, "nequip.utils", "nequip.utils.dtype")
PATHS, FIRST, SECOND, THIRD, CHANNELS, NEIGHBORS = 3, 4, 4, 4, 32, 6


def add_up(edges: torch.Tensor, ids: torch.Tensor, dim: int = 0, dim_size: int | None = None) -> torch.Tensor:
    """The sum of each atom's edges, as nequip, which is not here, has it."""
    return torch.zeros(dim_size or 1, *edges.shape[1:], device=edges.device, dtype=edges.dtype).index_add(0, ids, edges)


def contract(batch: int, length: int) -> object:
    """`batch` structures of `length` atoms, each with its neighbors."""
    module = importlib.import_module("allegro.nn._strided._flashallegro")
    module.scatter = add_up  # type: ignore[attr-defined]
    # Each path couples some of the components; which ones makes no difference here.
    coupled = torch.zeros(PATHS, FIRST, SECOND, THIRD)
    for path in range(PATHS):
        for first in range(FIRST):
            coupled[path, first, (first + path) % SECOND, (first + 2 * path) % THIRD] = 1.0
    made = [one.to(DEVICE) for one in module._initialize_metadata(coupled)]
    atoms = batch * length
    edges = atoms * NEIGHBORS
    ids = torch.arange(edges, device=DEVICE) // NEIGHBORS
    forward, backward_1, backward_2 = made[0:3], made[3:6], made[6:9]
    values, paths = made[9:12], made[12:15]
    arguments = [forward[0], backward_1[0], backward_2[0], *forward[1:], values[0], paths[0]]
    arguments += [*backward_1[1:], values[1], paths[1], *backward_2[1:], values[2], paths[2]]
    inputs = [normal(edges, CHANNELS, FIRST, dtype=torch.float32), normal(atoms, CHANNELS, SECOND, dtype=torch.float32)]
    weights = torch.randn(PATHS, CHANNELS, device=DEVICE)
    sizes = THIRD, FIRST, SECOND, int(coupled.count_nonzero())
    return module._flashallegro_forward(*inputs, ids, "up", *arguments, weights, *sizes, torch.float32)


OPERATORS = {"contract": contract}
