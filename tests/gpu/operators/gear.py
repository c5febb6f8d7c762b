"""GEAR's keys and values in few bits."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, plain

REPOSITORY = "opengear-project/GEAR"
COMMIT = "efe0bfe2b5a35b22122f7cefab5cde9db13a66cd"
FOLDERS = ("cuda_supported_gear/quant",)
UNUSED = ("ipdb", "kivi_gemv", "timeit_v2", "models", "models.utils_quant")
GROUP, BITS = 64, 2
SHAPES = ((1, 64), (2, 128), (3, 192), (5, 320), (6, 448), (7, 640), (4, 1280), (2, 1664))


def call(module: str, name: str, *arguments: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(module), name)(*arguments)


def pack_keys(batch: int, length: int) -> object:
    """Keys packed along the tokens, of which there are whole groups."""
    keys = plain(batch, HEADS, HEAD, length, dtype=torch.float16)
    return call("new_pack", "triton_quantize_and_pack_along_last_dim", keys, GROUP, BITS)


def pack_values(batch: int, length: int) -> object:
    """Values packed along the head, with what is lost."""
    values = plain(batch, HEADS, length, HEAD, dtype=torch.float16)
    return call("new_pack", "triton_quantize_and_pack_along_last_dim_witherror", values, GROUP, BITS)


def scores(batch: int, length: int) -> object:
    """One query against the packed keys."""
    query = plain(batch, HEADS, 1, HEAD, dtype=torch.float16)
    packed = torch.zeros(batch, HEADS, HEAD, length * BITS // 32, device=DEVICE, dtype=torch.int32)
    scales, zeros = (plain(batch, HEADS, HEAD, length // GROUP, dtype=torch.float16) for _ in range(2))
    return call("matmul", "triton_bmm_fA_qB_outer", GROUP, query, packed, scales, zeros, BITS)


OPERATORS = {"pack-keys": pack_keys, "pack-values": pack_values, "scores": scores}
