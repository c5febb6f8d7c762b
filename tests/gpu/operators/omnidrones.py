"""OmniDrones' advantages, rotations, observations and rewards: the batch is environments, the length is steps."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, plain

REPOSITORY = "vukrosic/OmniDrones-optimized"
COMMIT = "879db20b5768e11e0004ec00b0aa77c0059224ce"
BARE = (
    "omni_drones",
    *(f"omni_drones.{name}" for name in ("utils", "learning", "learning.utils", "learning.ppo", "learning.modules")),
)
AGENTS, OBSERVED = 3, 32


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(module), name)(*arguments, **more)


def whole(*shape: int) -> torch.Tensor:
    """A tensor of 32 bits."""
    return plain(*shape, dtype=torch.float32)


def ended(*shape: int) -> torch.Tensor:
    """Where an episode ended."""
    return torch.rand(shape, device=DEVICE) < 0.05


def rollout(*shape: int) -> tuple[torch.Tensor, ...]:
    """Rewards, where episodes ended, values, and those of the next steps."""
    return whole(*shape), ended(*shape), whole(*shape), whole(*shape)


def advantages(batch: int, length: int) -> object:
    """The advantages of all steps, environments first."""
    return call("omni_drones.learning.utils.gae", "compute_gae", *rollout(batch, length, AGENTS))


def advantages_by_step(batch: int, length: int) -> object:
    """The advantages of all steps, steps first."""
    return call("omni_drones.learning.utils.gae", "compute_gae_", *rollout(length, batch, AGENTS))


def advantages_of_policy(batch: int, length: int) -> object:
    """The advantages of all steps and their norm, as a policy takes them."""
    module = call("omni_drones.learning.ppo.common", "GAE", 0.99, 0.95).to(DEVICE)
    found = module(*rollout(batch, length, AGENTS, 1))[0]
    return call("omni_drones.learning.ppo.common", "normalize_advantages", found)


def advantages_alone(batch: int, length: int) -> object:
    """The advantages of one agent in each environment."""
    made = whole(length, batch), whole(length, batch), ended(length, batch).float()
    return call("triton_kernels", "gae_triton", *made)


def rotate(batch: int, length: int) -> object:
    """Vectors rotated by quaternions and back, products and matrices of quaternions."""
    turns, vectors = whole(batch, length, 4), whole(batch, length, 3)
    call("omni_drones.utils.torch", "quat_rotate", turns, vectors)
    call("omni_drones.utils.torch", "quat_rotate_inverse", turns, vectors)
    call("omni_drones.utils.torch", "quaternion_to_rotation_matrix", turns)
    return call("omni_drones.utils.torch", "quat_mul", turns, whole(batch, length, 4))


def reward(batch: int, length: int) -> object:
    """Rewards of all environments, for flying and for hovering."""
    many = batch * length
    call("triton_kernels", "reward_triton", *(whole(many, 3) for _ in range(4)), whole(many, 4))
    made = whole(many, 3), whole(many, 3), *(whole(many) for _ in range(4))
    return call("triton_kernels", "hover_reward_triton", *made)


OPERATORS = {
    "advantages": advantages,
    "advantages_by_step": advantages_by_step,
    "advantages_of_policy": advantages_of_policy,
    "advantages_alone": advantages_alone,
    "rotate": rotate,
    "reward": reward,
}
