"""LASP's linear attention over sequences in parallel, of one process."""

from __future__ import annotations

import importlib
from contextlib import ExitStack
from typing import TYPE_CHECKING
from unittest.mock import patch

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import CHUNKS, DEVICE, HEAD, HEADS, normal, plain

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("lasp", "0.0.1")
SHAPES = CHUNKS


def attention(name: str, *, states: bool, positions: bool = False) -> Callable[[int, int], object]:
    """Attention, forward and backward; one process is all there are."""

    def call(batch: int, length: int) -> object:
        package = importlib.import_module("lasp")
        manager = importlib.import_module("lasp.utils.seq_parallel_manager")
        manager._SEQUENCE_PARALLEL_WORLD_SIZE, manager._SEQUENCE_PARALLEL_RANK = 1, 0
        manager._SEQUENCE_PARALLEL_GROUP = object()
        made = [normal(batch, HEADS, length, HEAD) for _ in range(3)]
        more = [package.build_slope_tensor(HEADS).to(DEVICE, torch.float32)]
        if positions:
            more.append(torch.arange(length, device=DEVICE))
        more += [plain(batch, HEADS, HEAD, HEAD, dtype=torch.float32) for _ in range(2 * states)]
        with ExitStack() as alone:
            for function, result in (("get_rank", 0), ("get_world_size", 1), ("barrier", None)):
                alone.enter_context(patch.object(torch.distributed, function, lambda *_, result=result, **__: result))
            output = getattr(package, name)(*made, *more)
            torch.autograd.backward(output.float().sum())

    return call


OPERATORS = {
    "naive": attention("lasp_naive", states=False),
    "cached": attention("lasp_cache", states=True, positions=True),
    "fused": attention("lasp_fuse", states=True),
    "fused-parallel": attention("lasp_fuse_parallel", states=True),
    "lightning": attention("lightning_attn", states=False),
}
