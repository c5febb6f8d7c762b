"""SonicMoE's bookkeeping of which token goes to which expert, and the sum of what the experts gave."""

from __future__ import annotations

import importlib

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HIDDEN, plain

PACKAGE = Package("sonic-moe", "0.1.2.post1")
BARE = ("sonicmoe", "sonicmoe.functional")
UNUSED = (
    "cuda",
    "cuda.bindings",
    "cuda.bindings.driver",
    "cutlass",
    "cutlass.cute",
    "cutlass.cute.runtime",
    "cutlass.cutlass_dsl",
    "quack",
    "quack.gemm_interface",
)
EXPERTS, CHOSEN = 8, 2


def whole(size: int) -> torch.Tensor:
    """Room for whole numbers."""
    return torch.zeros(size, device=DEVICE, dtype=torch.int32)


def chosen_experts(tokens: int) -> torch.Tensor:
    """The experts of each token."""
    return torch.randint(0, EXPERTS, (tokens, CHOSEN), device=DEVICE, dtype=torch.int32)


def metadata(batch: int, length: int) -> None:
    """As many experts for each token."""
    tokens = batch * length
    function = importlib.import_module("sonicmoe.functional.triton_kernels").TC_topk_router_metadata_triton
    rows = [whole(tokens * CHOSEN) for _ in range(3)]
    function(chosen_experts(tokens), EXPERTS, whole(EXPERTS), whole(EXPERTS + 1), *rows)


def general_metadata(batch: int, length: int) -> None:
    """Any number of experts for each token."""
    tokens = batch * length
    function = importlib.import_module("sonicmoe.functional.triton_kernels").general_routing_router_metadata_triton
    sorted_tokens = torch.arange(tokens, device=DEVICE, dtype=torch.int32).repeat_interleave(CHOSEN)
    rows = [whole(tokens * CHOSEN) for _ in range(3)]
    experts = chosen_experts(tokens).view(-1)
    sizes = whole(EXPERTS), whole(EXPERTS + 1)
    function(sorted_tokens, experts, tokens, EXPERTS, *sizes, *rows, whole(tokens + 1))


def gather_and_sum(batch: int, length: int) -> None:
    """A weighted sum for each token."""
    tokens = batch * length
    rows = tokens * CHOSEN
    function = importlib.import_module("sonicmoe.functional.reduction_over_k_gather")
    where = torch.arange(rows, device=DEVICE, dtype=torch.int32), whole(tokens + 1)
    made = plain(rows, HIDDEN), plain(rows), plain(tokens, HIDDEN), *where
    function.token_gather_and_sum_varlen_K_triton(*made, tokens, CHOSEN, HIDDEN, False)


def router_backward(batch: int, length: int) -> None:
    """The gradient of the router's scores."""
    tokens = batch * length
    scores = [plain(tokens, EXPERTS, dtype=torch.float32) for _ in range(3)]
    top = plain(tokens, CHOSEN, dtype=torch.float32), plain(tokens, CHOSEN, dtype=torch.float32), chosen_experts(tokens)
    function = importlib.import_module("sonicmoe.functional.backward")._topk_softmax_bwd
    function(scores[0], scores[1], scores[2], *top, EXPERTS, CHOSEN)


OPERATORS = {
    "metadata": metadata,
    "general-metadata": general_metadata,
    "gather-and-sum": gather_and_sum,
    "router-backward": router_backward,
}
