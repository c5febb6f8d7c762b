"""ReSampling's scan of complex states."""

from __future__ import annotations

import importlib

import torch

from tests.gpu.operators.tensors import normal

REPOSITORY = "mignogales/ReSampling"
COMMIT = "bd09183f61af3cebd66ccc47e4cbdc255c4468c8"
FOLDERS = ("models",)
STATES = 32


def scan(batch: int, length: int) -> object:
    """All states of `batch` sequences, forward and backward."""
    gates = torch.view_as_complex(normal(STATES, 2, dtype=torch.float32))
    tokens = torch.view_as_complex(normal(batch, length, STATES, 2, dtype=torch.float32))
    return torch.view_as_real(importlib.import_module("triton_kernels").triton_parallel_scan(gates, tokens))


OPERATORS = {"scan": scan}
