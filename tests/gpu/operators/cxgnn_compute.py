"""CxGNN's sums over neighbors, products by relations and scores of edges."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEADS, plain

REPOSITORY = "xxcclong/CxGNN-Compute"
COMMIT = "88344aa34500deca388118886b6b51dedcfc0408"
BARE = ("cxgnncomp", "cxgnncomp.codegen")
UNUSED = ("cxgnncomp_backend",)
# Each node has some neighbors.
NEIGHBORS, RELATIONS, HIDDEN, WIDE = 8, 4, 64, 128


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"cxgnncomp.codegen.{module}"), name)(*arguments, **more)


def whole(*shape: int) -> torch.Tensor:
    """A tensor of 32 bits."""
    return plain(*shape, dtype=torch.float32)


def graph(batch: int, length: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The nodes of `batch` graphs, and where their neighbors begin and are."""
    nodes = batch * length
    begins = torch.arange(nodes + 1, device=DEVICE) * NEIGHBORS
    return whole(nodes, HIDDEN), begins, torch.arange(nodes * NEIGHBORS, device=DEVICE) % nodes


def neighbors(batch: int, length: int) -> object:
    """Sums over neighbors: plain, weighted and times the weights of a layer."""
    made = graph(batch, length)
    call("triton_spmm", "spmm_triton", *made, batch * length)
    call("triton_spmm", "spmm_triton", *made, batch * length, whole(made[2].shape[0]))
    return call("triton_spmm", "spmm_mm_triton", *made, whole(WIDE, HIDDEN), batch * length)


def relations(batch: int, length: int) -> object:
    """Sums over neighbors of several relations."""
    made = graph(batch, length)
    kinds = torch.zeros_like(made[2])
    return call("rgcn_kernel", "rgcn_triton", *made, kinds, whole(RELATIONS, HIDDEN, WIDE), batch * length)


def typed(batch: int, length: int) -> object:
    """Nodes times the weights of their kinds, in four orders."""
    made, weights, places = graph(batch, length)[0], whole(RELATIONS, HIDDEN, WIDE), graph(batch, length)[2]
    for chosen in ((None, None, False), (places, None, False), (places, None, True), (places, places, False)):
        many = batch * length if chosen[0] is None else places.shape[0]
        kinds = torch.zeros(many, device=DEVICE, dtype=torch.int64)
        call("triton_typed_matmul", "typed_matmul", made, weights, kinds, many, *chosen)


def edges(batch: int, length: int) -> object:
    """Scores of all edges."""
    made, _, places = graph(batch, length)
    scored = whole(batch * length, HIDDEN, HEADS)
    return call("triton_sddmm", "sddmm_dense", made, scored, places, places, places.shape[0])


OPERATORS = {"neighbors": neighbors, "relations": relations, "typed": typed, "edges": edges}
