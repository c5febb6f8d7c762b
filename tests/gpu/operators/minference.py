"""MInference's sparse attention and KIVI's packed keys; not the kernels that x-attention and TritonBench have."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import HEAD, HEADS, plain

if TYPE_CHECKING:
    from collections.abc import Callable

# A source distribution: unpack it into the package's folder by hand.
PACKAGE = Package("minference", "0.1.6.0")
FOLDERS = ("minference-0.1.6.0",)
BARE = ("minference", "minference.modules", "minference.ops")
UNUSED = (
    "flash_attn",
    "kivi_gemv",
    "transformers",
    "transformers.models",
    "transformers.models.llama",
    "transformers.models.llama.modeling_llama",
    "transformers.utils",
    "transformers.utils.import_utils",
)
CHOSEN, GROUP, BITS = 2, 64, 2
# Enough for several blocks.
LONG = ((1, 200), (2, 300), (1, 333), (3, 500), (2, 512), (1, 777), (2, 1000), (1, 1300))
# A packed group of keys after another.
GROUPS = ((1, 256), (2, 512), (3, 768), (5, 1280), (6, 1792), (7, 2304), (1, 2816), (2, 3328))
SHAPES_OF = {
    "block-sparse": LONG,
    "pack": GROUPS,
    "scores-of-packed": GROUPS,
}


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"minference.{module}"), name)(*arguments, **more)


def heads_first(batch: int, length: int) -> torch.Tensor:
    """Tokens of all heads, the heads before the tokens."""
    return plain(batch, HEADS, length, HEAD, dtype=torch.float16)


def block_sparse(batch: int, length: int) -> object:
    """The blocks whose means are alike."""
    made = [heads_first(batch, length) for _ in range(3)]
    return call("ops.block_sparse_flash_attention", "block_sparse_attention", *made, CHOSEN)


def one_token(batch: int, length: int) -> object:
    """One token of each sequence against all keys."""
    made = [plain(batch, tokens, HEADS, HEAD, dtype=torch.float16) for tokens in (1, length, length)]
    return call("ops.flash_attn_triton", "_flash_attn_triton_decoding", *made)


def packed(batch: int, length: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Keys in two bits, token by token, with scales and zeros."""
    keys = plain(batch, HEADS, HEAD, length, dtype=torch.float16)
    made: tuple[torch.Tensor, torch.Tensor, torch.Tensor] = call(
        "modules.kivi", "triton_quantize_and_pack_along_last_dim", keys, GROUP, BITS
    )
    return made


def pack(batch: int, length: int) -> object:
    """Keys to two bits."""
    return packed(batch, length)


def scores(batch: int, length: int) -> object:
    """One token of each sequence against packed keys."""
    queries = plain(batch, HEADS, 1, HEAD, dtype=torch.float16)
    return call("modules.kivi", "triton_bmm_fA_qB_outer", GROUP, queries, *packed(batch, length), BITS)


OPERATORS: dict[str, Callable[[int, int], object]] = {
    "block-sparse": block_sparse,
    "one-token": one_token,
    "pack": pack,
    "scores-of-packed": scores,
}
