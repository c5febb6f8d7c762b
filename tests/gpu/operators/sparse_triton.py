"""Convolutions, pools and dense spaces of points, of SparseTriton."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, normal

REPOSITORY = "ptj0225/SparseTriton"
COMMIT = "20345462ea462f17f33f1e3f504b86117119b5e6"
CHANNELS, WIDE, SIDE, TAPS = 32, 64, 24, 27


def library(module: str) -> Any:
    """A module of the library."""
    return importlib.import_module(f"sparsetriton.{module}")


def points(batch: int, length: int) -> Any:
    """`length` points of each of `batch` scenes."""
    first = torch.arange(length, device=DEVICE, dtype=torch.int32) * 7
    places = torch.stack((first // SIDE**2 % SIDE, first // SIDE % SIDE, first % SIDE), 1).repeat(batch, 1)
    scenes = torch.arange(batch, device=DEVICE, dtype=torch.int32).repeat_interleave(length)
    features = normal(batch * length, CHANNELS, dtype=torch.float32)
    made = features, torch.cat((scenes[:, None], places), 1)
    return importlib.import_module("sparsetriton").SparseTensor(*made, spatial_shape=(SIDE,) * 3, batch_size=batch)


def looked_up(scene: Any) -> tuple[Any, torch.Tensor]:
    """The table of a scene's points, and where a convolution looks for neighbours."""
    table = library("utils.hash").HashTable(2 * len(scene.C), device=scene.C.device)
    table.insert(scene.C)
    side = torch.arange(-1, 2, device=DEVICE, dtype=torch.int32)
    return table, torch.stack(torch.meshgrid(side, side, side, indexing="ij"), -1).reshape(TAPS, 3)


def prepared(batch: int, length: int) -> object:
    """A convolution whose neighbours are looked up beforehand, forward and backward."""
    scene = points(batch, length)
    table, offsets = looked_up(scene)
    module = library("nn.functional.conv.conv")
    found = module.compute_neighbor_indices(table, scene.C, offsets, scene.spatial_shape, 1, 1, 1)
    weight = normal(TAPS, CHANNELS, WIDE, dtype=torch.float32)
    return module.ConvPrecomputedNeighborGEMM.apply(scene.F, weight, found)


def hashed(batch: int, length: int) -> object:
    """A convolution that looks each neighbour up, forward and backward."""
    scene = points(batch, length)
    table, offsets = looked_up(scene)
    weight = normal(TAPS, CHANNELS, WIDE, dtype=torch.float32)
    held = offsets, table.table_keys, table.table_values, scene.spatial_shape, 1
    convolve = library("nn.functional.conv.conv").ConvHashOnTheFlyImplicitGEMM.apply
    return convolve(scene.F, weight, scene.C, *held)


def largest(batch: int, length: int) -> object:
    """The largest of points close to each other, forward and backward."""
    return library("nn.modules").SparsePooling(2, mode="max", stride=2)(points(batch, length)).F


def mean(batch: int, length: int) -> object:
    """The mean of points close to each other, forward and backward."""
    return library("nn.modules").SparsePooling(2, mode="avg", stride=2)(points(batch, length)).F


def dense(batch: int, length: int) -> object:
    """Points in a dense space, forward and backward."""
    return points(batch, length).dense()


OPERATORS = {
    "prepared": prepared,
    "hashed": hashed,
    "largest": largest,
    "mean": mean,
    "dense": dense,
}
