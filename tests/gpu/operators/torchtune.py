"""torchtune's order of tokens by expert."""

from __future__ import annotations

import importlib

from tests.gpu.operators.tensors import counts

REPOSITORY = "pytorch/torchtune"
COMMIT = "bd2a0fc7c31430972728494fa01aaeeb0ebf1ba1"
BARE = ("torchtune", "torchtune.modules", "torchtune.modules.moe")
EXPERTS, ALIGNMENT = 8, 16


def permute(batch: int, length: int) -> object:
    """Indices that bring the tokens of one expert together."""
    tokens = counts([batch * length // EXPERTS + i % 3 for i in range(EXPERTS)])
    module = importlib.import_module("torchtune.modules.moe.indices")
    return module.generate_permute_indices(tokens, EXPERTS, 1, ALIGNMENT)


OPERATORS = {"permute": permute}
