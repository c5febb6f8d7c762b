"""Record a library's public operators while batch and length vary: `python tests/gpu/record_library.py OUT LIBRARY`.

Needs a GPU, or `--target cuda:90` to compile without one. An operator that fails is named, and does not end the rest.
Tuning is cut to one config, so that time goes to shapes rather than to rounds of timing. Model sizes stay fixed: what
varies in the recording is due to batch and length alone.
"""

from __future__ import annotations

import argparse
import importlib
import time
from pathlib import Path
from typing import TYPE_CHECKING

import torch
import triton

from triton_doctor import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SHAPES = (
    (1, 1),
    (2, 16),
    (3, 33),
    (4, 64),
    (5, 100),
    (6, 127),
    (8, 128),
    (1, 255),
    (2, 300),
    (3, 512),
    (4, 777),
    (1, 1024),
)
HEADS, HEAD, HIDDEN, VOCABULARY = 4, 64, 512, 1000

FLA_MODULES = {
    "fla.modules.l2norm": "l2norm",
    "fla.modules.layernorm": "layer_norm rms_norm group_norm",
    "fla.modules.activations": "swish logsigmoid swiglu",
    "fla.modules.token_shift": "token_shift",
}
FLA_ATTENTION = {
    "fla.ops.attn": "parallel_attn",
    "fla.ops.forgetting_attn": "parallel_forgetting_attn",
    "fla.ops.gla": "chunk_gla fused_recurrent_gla",
    "fla.ops.simple_gla": "chunk_simple_gla fused_recurrent_simple_gla parallel_simple_gla",
    "fla.ops.retention": "chunk_retention fused_recurrent_retention parallel_retention",
    "fla.ops.linear_attn": "chunk_linear_attn fused_recurrent_linear_attn",
    "fla.ops.delta_rule": "chunk_delta_rule fused_recurrent_delta_rule",
    "fla.ops.gated_delta_rule": "chunk_gated_delta_rule fused_recurrent_gated_delta_rule",
    "fla.ops.hgrn": "chunk_hgrn fused_recurrent_hgrn",
    "fla.ops.based": "parallel_based fused_chunk_based",
}


def tune_one_config() -> None:
    """From here on `@triton.autotune` keeps the first config of each kernel."""
    original = triton.autotune

    def one(configs: list[triton.Config], *rest: object, **named: object) -> object:
        return original(configs[:1], *rest, **named)

    triton.autotune = one


def activations(batch: int, length: int, device: str) -> dict[str, torch.Tensor]:
    """What the operators' parameters are called, each in the layout (batch, length, heads, head)."""
    per_head = (batch, length, HEADS, HEAD)
    made = {name: torch.randn(per_head, device=device, dtype=torch.bfloat16) for name in ("q", "k", "v")}
    gate = torch.nn.functional.logsigmoid(torch.randn(batch, length, HEADS, device=device))
    made |= {"g": gate, "beta": gate.exp().to(torch.bfloat16)}
    return {name: value.requires_grad_() for name, value in made.items()}


def fla_core(device: str) -> Iterator[tuple[str, Callable[[int, int], object]]]:
    """The operators of fla-core, by name."""
    import inspect

    for module, names in FLA_ATTENTION.items():
        for name in names.split():

            def call(batch: int, length: int, module: str = module, name: str = name) -> object:
                function = getattr(importlib.import_module(module), name)
                made = activations(batch, length, device)
                if "gla" in name and "simple" not in name:
                    made["g"] = made["gk"] = torch.nn.functional.logsigmoid(torch.randn_like(made["q"]))
                if "hgrn" in name:
                    made = {x: torch.randn(batch, length, HIDDEN, device=device).requires_grad_() for x in ("x", "g")}
                wanted = inspect.signature(function).parameters
                return function(**{key: value for key, value in made.items() if key in wanted})

            yield name, call
    weight = torch.ones(HIDDEN, device=device, requires_grad=True)
    for module, names in FLA_MODULES.items():
        for name in names.split():

            def call(batch: int, length: int, module: str = module, name: str = name) -> object:
                function = getattr(importlib.import_module(module), name)
                x = torch.randn(batch, length, HIDDEN, device=device, requires_grad=True)
                match name:
                    case "layer_norm" | "rms_norm":
                        return function(x, weight, None)
                    case "group_norm":
                        return function(x, weight, None, num_groups=8)
                    case "swiglu":
                        return function(x, torch.randn_like(x))
                    case "token_shift":
                        return function(x, weight)
                return function(x)

            yield name, call


def cut_cross_entropy(device: str) -> Iterator[tuple[str, Callable[[int, int], object]]]:
    """Its one operator, with and without a shift of the targets."""
    classifier = torch.randn(VOCABULARY, HIDDEN, device=device, dtype=torch.bfloat16, requires_grad=True)

    def call(batch: int, length: int, *, shift: bool) -> object:
        function = importlib.import_module("cut_cross_entropy").linear_cross_entropy
        hidden = torch.randn(batch, length, HIDDEN, device=device, dtype=torch.bfloat16, requires_grad=True)
        targets = torch.randint(0, VOCABULARY, (batch, length), device=device)
        return function(hidden, classifier, targets, shift=shift)

    yield "linear_cross_entropy", lambda batch, length: call(batch, length, shift=False)
    yield "linear_cross_entropy, shifted", lambda batch, length: call(batch, length, shift=True)


LIBRARIES = {"fla_core": fla_core, "cut_cross_entropy": cut_cross_entropy}


def first_tensor(result: object) -> torch.Tensor:
    """What to differentiate of an operator's result."""
    while isinstance(result, tuple | list):
        result = result[0]
    assert isinstance(result, torch.Tensor)
    return result


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("--target")
    parser.add_argument("--seconds", type=float, default=90)
    chosen = parser.parse_args()
    started = time.monotonic()
    tune_one_config()
    chosen.out.mkdir(parents=True, exist_ok=True)
    device = "cpu" if chosen.target else "cuda"
    with record(chosen.out / f"{chosen.library}.jsonl", target=chosen.target) as recording:
        for name, call in LIBRARIES[chosen.library](device):
            failed, done = "", 0
            for batch, length in SHAPES:
                if time.monotonic() - started > chosen.seconds:
                    failed = "out of time"
                    break
                try:
                    torch.autograd.backward(first_tensor(call(batch, length)).float().sum())
                    done += 1
                except Exception as error:  # one failing operator must not end the rest
                    failed = f"{type(error).__name__}: {str(error)[:120]}"
            print(f"{name}: {done} of {len(SHAPES)} shapes {failed}", flush=True)
    print(f"{chosen.library}: {len(recording.compiled)} compiled, {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
