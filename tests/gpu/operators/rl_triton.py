"""rl-triton's advantages, returns, traces and targets of `batch` environments' `length` steps."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, plain

REPOSITORY = "simonsays1980/rl-triton"
COMMIT = "ee985e6391b3fa4eb8a1f6b1e0ae6ead5216a79a"
FOLDERS = ("src",)
ACTIONS, KEPT = 8, 0.99
LONG = ((1, 5000), (2, 20000), (1, 70000), (1, 200000), (3, 150000))
SHAPES_OF = {"long-advantages": LONG, "long-returns": LONG}


def call(name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module("rl_triton"), name)(*arguments, **more)


def steps(batch: int, length: int) -> torch.Tensor:
    """One number for each step."""
    return plain(batch, length, dtype=torch.float32)


def ends(batch: int, length: int) -> torch.Tensor:
    """Where nothing ends."""
    return torch.zeros(batch, length, device=DEVICE)


def advantages(batch: int, length: int) -> object:
    """How much better each step was than expected."""
    last = plain(batch, dtype=torch.float32)
    made = steps(batch, length), steps(batch, length), ends(batch, length)
    return call("compute_gae", *made, gamma=KEPT, last_value=last)


def cut(batch: int, length: int) -> object:
    """How much better each step was, where episodes can be cut."""
    made = steps(batch, length), steps(batch, length), ends(batch, length), ends(batch, length)
    return call("compute_gae", *made, bootstrap_values=steps(batch, length))


def mixed(batch: int, length: int) -> object:
    """Returns between one step's and all steps'."""
    return call("compute_lambda_returns", steps(batch, length), steps(batch, length), ends(batch, length))


def returns(batch: int, length: int) -> object:
    """All rewards to come."""
    return call("compute_discounted_returns", steps(batch, length), ends(batch, length))


def traces(batch: int, length: int) -> object:
    """What of the gradients before is left."""
    return call("compute_eligibility_traces", steps(batch, length), ends(batch, length), KEPT, KEPT)


def sums(batch: int, length: int) -> object:
    """Sums since each episode began."""
    return call("compute_episodic_prefix_sum", steps(batch, length), ends(batch, length))


def targets(batch: int, length: int) -> object:
    """Targets and advantages by V-trace."""
    made = [steps(batch, length) for _ in range(4)]
    return call("compute_vtrace", *made, ends(batch, length), last_value=plain(batch, dtype=torch.float32))


def fused_targets(batch: int, length: int) -> object:
    """Targets and advantages by V-trace in one kernel."""
    made = [steps(batch, length) for _ in range(4)]
    name = importlib.import_module("rl_triton.ops.vtrace_fused").compute_vtrace_fused
    return name(*made, ends(batch, length), last_value=plain(batch, dtype=torch.float32))


def retraced(batch: int, length: int) -> tuple[torch.Tensor, ...]:
    """What both ways of retracing take."""
    shares = torch.softmax(plain(batch, length, ACTIONS, dtype=torch.float32), -1), torch.sigmoid(steps(batch, length))
    chosen = torch.zeros(batch, length, device=DEVICE, dtype=torch.int64)
    values = steps(batch, length), plain(batch, length, ACTIONS, dtype=torch.float32)
    return *shares, *values, chosen, steps(batch, length), ends(batch, length), ends(batch, length)


def retrace(batch: int, length: int) -> object:
    """Targets and advantages by retracing."""
    return call("compute_retrace", *retraced(batch, length), KEPT)


def fused_retrace(batch: int, length: int) -> object:
    """Targets and advantages by retracing in one kernel."""
    module = importlib.import_module("rl_triton.ops.retrace_fused")
    return module.compute_retrace_fused(*retraced(batch, length), KEPT)


OPERATORS = {
    "advantages": advantages,
    "long-advantages": advantages,
    "cut": cut,
    "mixed": mixed,
    "returns": returns,
    "long-returns": returns,
    "traces": traces,
    "sums": sums,
    "targets": targets,
    "fused-targets": fused_targets,
    "retrace": retrace,
    "fused-retrace": fused_retrace,
}
