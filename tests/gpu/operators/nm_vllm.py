"""The sampler of nm-vllm."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.gpu.operators.tensors import DEVICE, plain

if TYPE_CHECKING:
    from collections.abc import Callable

REPOSITORY = "neuralmagic/nm-vllm"
COMMIT = "04da6631e206a3a808150112dd81a20c71128333"
LAYERS = "vllm.model_executor.layers"
BARE = ("vllm", "vllm.model_executor", LAYERS)


def sampler(*, best: int = 1, **options: object) -> Callable[[int, int], object]:
    """Sampling from as many probabilities as there are positions, with a seed for each row."""

    def call(batch: int, length: int) -> object:
        probabilities = torch.softmax(plain(batch, length, dtype=torch.float32), dim=-1)
        seeds = torch.arange(batch, device=DEVICE).unsqueeze(1)
        more = {"logprobs": torch.log(probabilities), **options} if options else {}
        return importlib.import_module(f"{LAYERS}.ops.sample").sample(probabilities, seeds, max_best_of=best, **more)

    return call


def uniform(batch: int, length: int) -> object:
    seeds = torch.arange(batch, device=DEVICE)
    function = importlib.import_module(f"{LAYERS}.ops.rand").seeded_uniform
    return function(batch, length, seeds=seeds, dtype=torch.float32, device=DEVICE)


OPERATORS = {
    "sample": sampler(),
    "sample-best": sampler(best=3),
    "sample-logprobs": sampler(save_logprobs=True, modify_greedy_probs=True),
    "uniform": uniform,
}
