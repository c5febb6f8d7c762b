"""PyJuice's probabilistic circuits: a hidden Markov model, learned by steps of expectation and maximization."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, VOCABULARY

PACKAGE = Package("pyjuice", "2.6.3")
UNUSED = ("networkx", "numba", "tqdm", "matplotlib", "matplotlib.pyplot")
STEPS, LATENTS = 4, 64


@functools.cache
def circuit() -> Any:
    """The circuit on the device."""
    library = importlib.import_module("pyjuice")
    return library.compile(library.structures.HMM(STEPS, LATENTS, VOCABULARY)).to(DEVICE)


def sequences(batch: int, length: int) -> torch.Tensor:
    """Sequences of as many steps as the circuit has."""
    return torch.zeros(batch * length, STEPS, device=DEVICE, dtype=torch.int64)


def learn(batch: int, length: int) -> object:
    """One step of learning."""
    made, data = circuit(), sequences(batch, length)
    made(data)
    made.backward(data, flows_memory=1.0)
    return made.mini_batch_em(step_size=0.1, pseudocount=0.1)


def marginal(batch: int, length: int) -> object:
    """The likelihood of sequences of which every other step is missing."""
    data = sequences(batch, length)
    missing = torch.zeros(batch * length, STEPS, device=DEVICE, dtype=torch.bool)
    return importlib.import_module("pyjuice").queries.marginal(circuit(), data, missing_mask=missing)


def conditional(batch: int, length: int) -> object:
    """What the missing steps of a sequence may be."""
    data = sequences(batch, length)
    missing = torch.zeros(batch * length, STEPS, device=DEVICE, dtype=torch.bool)
    return importlib.import_module("pyjuice").queries.conditional(circuit(), data, missing_mask=missing)


def likeliest(batch: int, length: int) -> object:
    """The most likely states of a sequence."""
    made, data = circuit(), sequences(batch, length)
    made(data, propagation_alg="MPE")
    return made.backward(data, flows_memory=0.0, propagation_alg="MPE")


OPERATORS = {"learn": learn, "marginal": marginal, "conditional": conditional, "likeliest": likeliest}
