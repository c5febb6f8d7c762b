"""RL-Kernel's attention, losses of policies and probabilities of words."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import ANY, DEVICE, HEAD, HEADS, HIDDEN, VOCABULARY, normal, plain

REPOSITORY = "RL-Align/RL-Kernel"
COMMIT = "202f0e30e56729d10f74586e37166fac91c00ac6"
# A group has at least two samples.
SHAPES_OF = {"policy": tuple(shape for shape in ANY if shape[0] > 1)}


def find(module: str, name: str) -> Any:
    """A function or class of the library."""
    return getattr(importlib.import_module(f"rl_engine.kernels.ops.triton.{module}"), name)


def words(batch: int, length: int) -> torch.Tensor:
    """A word for each token."""
    return torch.zeros(batch, length, device=DEVICE, dtype=torch.int64)


def attention(batch: int, length: int) -> object:
    """Attention to the tokens before, forward and backward."""
    made = [normal(batch, HEADS, length, HEAD, dtype=torch.float16) for _ in range(3)]
    return find("triton_attn", "triton_flash_attention")(*made, causal=True)


def policy(batch: int, length: int) -> object:
    """The loss of a policy, of as many samples of each prompt as the batch has, forward and backward."""
    logits = normal(batch, length, VOCABULARY), plain(batch, length, VOCABULARY)
    mask = torch.ones(batch, length, device=DEVICE)
    made = *logits, words(batch, length), plain(batch, length, dtype=torch.float32)
    rewards = plain(batch, dtype=torch.float32)
    loss = find("loss.grpo_loss", "TritonGRPOLossOp")()
    return loss(*made, rewards, mask, beta=0.04, samples_per_prompt=batch)[0]


def ratio(batch: int, length: int) -> object:
    """How much likelier words became, forward and backward."""
    logits = normal(batch, length, VOCABULARY), plain(batch, length, VOCABULARY)
    mask = torch.ones(batch, length, device=DEVICE)
    made = *logits, words(batch, length), mask, plain(batch, length, dtype=torch.float32)
    return find("loss.ratio_kl", "TritonRatioKLOp")()(*made)


def likelihood(batch: int, length: int) -> object:
    """How likely words are by the last layer, forward and backward."""
    made = normal(batch, length, HIDDEN), normal(VOCABULARY, HIDDEN), words(batch, length)
    return find("loss.linear_logp", "TritonLinearLogpOp")()(*made)


OPERATORS = {"attention": attention, "policy": policy, "ratio": ratio, "likelihood": likelihood}
