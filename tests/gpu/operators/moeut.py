"""MoEUT's product of tokens with the weights of their experts."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, normal, plain

REPOSITORY = "RobertCsordas/moeut"
COMMIT = "87f04973d3db3ad7cb4ca67a0750241e40210d3c"
BARE = ("moeut",)
EXPERTS, CHOSEN, WIDE = 8, 2, 128


def experts(batch: int, length: int) -> object:
    """Each token to two experts, and back."""
    library = importlib.import_module("moeut.cvmm")
    chosen = torch.arange(batch * length * CHOSEN, device=DEVICE).view(batch, length, CHOSEN) % EXPERTS
    up = library.cvmm_prepare_sel2(chosen)
    hidden = library.cvmm(normal(batch, length, HIDDEN), up, normal(EXPERTS, HIDDEN, WIDE))
    down = up.clone()
    down.reduction_weight = plain(batch, length, CHOSEN)
    down.sel_index = down.out_index
    down.out_index = None
    return library.cvmm(hidden, down, normal(EXPERTS, WIDE, HIDDEN))


def one_expert(batch: int, length: int) -> object:
    """Each token to one expert."""
    library = importlib.import_module("moeut.cvmm")
    chosen = torch.arange(batch * length, device=DEVICE).view(batch, length) % EXPERTS
    return library.cvmm(normal(batch, length, HIDDEN), chosen, normal(EXPERTS, HIDDEN, WIDE))


OPERATORS = {"experts": experts, "one-expert": one_expert}
