"""neural-compressor's attention with operands of four and eight bits."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from tests.gpu.operators.tensors import HEADS, plain

if TYPE_CHECKING:
    from collections.abc import Callable

REPOSITORY = "intel/neural-compressor"
COMMIT = "9b47d09b8d135cdc73ea206e225892825ad700ca"
FOLDERS = ("benchmark/vllm-qdq-plugin/src",)
BARE = ("vllm_qdq_plugin", "vllm_qdq_plugin.sage3_attn")
WIDE = 128


def attention(config: str, **options: object) -> Callable[[int, int], object]:
    """Attention by the name of its formats."""

    def call(batch: int, length: int) -> object:
        q, k, v = (plain(batch, HEADS, length, WIDE) for _ in range(3))
        module = importlib.import_module("vllm_qdq_plugin.sage3_attn.sage3")
        return module.sageattn3_standalone(q, k, v, config=config, **options)

    return call


CONFIGS = (
    "mxfp4 mxfp4_s1 mxfp8_s1 mxfp4_s1_2level mxfp4_s1_e4m3 mixed_fp8qk_fp4pv mixed_fp4qk_fp8pv mxfp4_s1_vsmooth "
    "mxfp8_hw mxfp4_hw mixed_mxfp8qk_mxfp4pv_hw mixed_mxfp4qk_mxfp8pv_hw"
).split()
OPERATORS = {name.replace("_", "-"): attention(name) for name in CONFIGS} | {
    "nvfp4": attention("nvfp4", acc_dtype="bf16_both_dot"),
    "mxfp4-causal": attention("mxfp4", is_causal=True),
    "mxfp8-hw-causal": attention("mxfp8_hw", is_causal=True),
}
