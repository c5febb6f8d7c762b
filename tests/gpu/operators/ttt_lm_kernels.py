"""Test-time training of a language model, a token for each sequence."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import TYPE_CHECKING

import torch

from tests.gpu.operators.tensors import DEVICE, plain

if TYPE_CHECKING:
    from types import ModuleType

REPOSITORY = "test-time-training/ttt-lm-kernels"
COMMIT = "99851e6dcc44060952a5618f0131a5ca6d7f6519"
BARE = ("mamba_ssm", "mamba_ssm.ops", "mamba_ssm.ops.triton")
UNUSED = (
    "transformers",
    "transformers.configuration_utils",
    "transformers.generation",
    "transformers.utils",
    "causal_conv1d",
)
LACKING = {"generation": "GreedySearchDecoderOnlyOutput", "configuration_utils": "PretrainedConfig"}
HIDDEN, HEADS, CHUNK, TAPS = 256, 4, 16, 4
PARTS = {"TTTLinearFast": ("W1", "b1"), "TTTMLPFast": ("W1", "b1", "W2", "b2")}


def layers() -> ModuleType:
    """The library's layers. It imports names that later releases of transformers lack, and that no layer needs."""
    for module, name in LACKING.items():
        vars(importlib.import_module(f"transformers.{module}")).setdefault(name, object)
    return importlib.import_module("ttt.modeling_ttt")


@torch.no_grad()
def decode(name: str, batch: int, length: int) -> object:
    """The token at `length`, and the last of its chunk."""
    sizes = {"hidden_size": HIDDEN, "num_attention_heads": HEADS, "mini_batch_size": CHUNK, "conv_kernel": TAPS}
    config = SimpleNamespace(**sizes, rope_theta=1e4, ttt_base_lr=1.0, use_compile=False)
    layer = getattr(layers(), name)(config, 0).to(DEVICE, torch.float16)
    kept = {"conv_cache": {0: plain(batch, HIDDEN, TAPS, dtype=torch.float16)}}
    for part in PARTS[name]:
        weight = getattr(layer, part).data
        tiled = weight.tile((batch, *(1,) * (weight.dim() - 1)))
        kept |= {f"{part}_init": {0: tiled}, f"{part}_grad": {0: torch.zeros_like(tiled)}}
    cache = SimpleNamespace(params_dict=kept, seqlen_offset=length)
    tokens = plain(batch, 1, HIDDEN, dtype=torch.float16)
    places = torch.full((batch, 1), length, device=DEVICE)
    layer(tokens, None, places, cache, False, False)
    return layer(tokens, None, places, cache, False, True)


def linear(batch: int, length: int) -> object:
    """A matrix for each head."""
    return decode("TTTLinearFast", batch, length)


def two_layers(batch: int, length: int) -> object:
    """Two matrices for each head."""
    return decode("TTTMLPFast", batch, length)


OPERATORS = {"linear": linear, "two-layers": two_layers}
