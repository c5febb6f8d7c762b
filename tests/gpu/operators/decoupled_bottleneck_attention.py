"""Attention whose keys have a part for meaning and one for place: decoding from caches of four and eight bits."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.gpu.operators.tensors import DEVICE, HEADS, HIDDEN, plain

if TYPE_CHECKING:
    from types import ModuleType

REPOSITORY = "TheApeMachine/decoupled-bottleneck-attention"
COMMIT = "eee67df362704fde88e620bad4719023e8bbedc0"
FOLDERS = (".", "experiments")
MEANING, PLACE, VALUES, LONGEST = 128, 256, 256, 4096
# How many tokens are kept.
SHAPES = ((1, 16), (2, 100), (3, 127), (5, 300), (1, 777), (2, 1000), (4, 2000), (1, 4000))
LAST = "v30_transformer_decoupled_bottleneck_instrumented_fixed"


def cache(module: ModuleType, batch: int, length: int, fused: str, recent: int) -> object:
    """A cache of `length` tokens, of which the last `recent` are kept in whole, too."""
    kinds = {"k_sem_cfg": "q4_0", "k_geo_cfg": "q8_0", "v_cfg": "q4_0"}
    kept = module.DecoupledLayerKVCache(
        batch_size=batch,
        max_seq_len=LONGEST,
        k_sem_dim=MEANING,
        k_geo_dim=PLACE,
        v_dim=VALUES,
        device=torch.device(DEVICE),
        **{name: module.KVCacheTensorConfig(kind=kind, qblock=32, residual_len=recent) for name, kind in kinds.items()},
    )
    kept.append(*(plain(batch, length, wide, dtype=torch.float32) for wide in (MEANING, PLACE, VALUES)))
    kept.fused = fused
    return kept


def settings(config: type, **more: object) -> object:
    """A model's settings."""
    sizes = {"n_layer": 1, "n_head": HEADS, "d_model": HIDDEN, "d_ff": 2 * HIDDEN, "embed_dim": HIDDEN}
    widths = {"attn_dim": VALUES, "sem_dim": MEANING, "geo_dim": PLACE}
    return config(vocab_size=128, block_size=LONGEST, attn_mode="decoupled", **sizes, **widths, **more)


def layer(batch: int, length: int, fused: str, recent: int = 0, *, empty: bool = False) -> object:
    """One token, by the package's layer; it may look at nothing at all where `empty`."""
    attention = importlib.import_module("production.attention_impl.decoupled_attention")
    config = importlib.import_module("production.model.config").ModelConfig
    made = attention.DecoupledBottleneckAttention(settings(config, null_attn=empty)).to(DEVICE).eval()
    kept = cache(importlib.import_module("production.kvcache_backend"), batch, length, fused, recent)
    with torch.no_grad():
        token = plain(batch, 1, HIDDEN, dtype=torch.float32)
        return made(token, attn_mask=None, cache=kept, pos_offset=length)[0]


def script(batch: int, length: int, fused: str, recent: int = 0) -> object:
    """One token, by the layer of the last one-file version."""
    module = importlib.import_module(LAST)
    made = module.DecoupledBottleneckAttention(settings(module.ModelConfig)).to(DEVICE).eval()
    kept = cache(module, batch, length, fused, recent)
    with torch.no_grad():
        token = plain(batch, 1, HIDDEN, dtype=torch.float32)
        return made(token, attn_mask=None, cache=kept, pos_offset=length)[0]


OPERATORS = {
    "one_pass": lambda batch, length: layer(batch, length, "triton1pass"),
    "one_pass_recent": lambda batch, length: layer(batch, length, "triton1pass", 64),
    "one_pass_empty": lambda batch, length: layer(batch, length, "triton1pass", empty=True),
    "two_passes": lambda batch, length: layer(batch, length, "triton2pass"),
    "two_passes_recent": lambda batch, length: layer(batch, length, "triton2pass", 64),
    "two_passes_empty": lambda batch, length: layer(batch, length, "triton2pass", empty=True),
    "script_one_pass": lambda batch, length: script(batch, length, "triton1pass"),
    "script_two_passes": lambda batch, length: script(batch, length, "triton2pass", 64),
}
