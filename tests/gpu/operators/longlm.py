"""LongLM's attention with near and grouped positions."""

from __future__ import annotations

import importlib
from typing import Any

from tests.gpu.operators.tensors import HEAD, HEADS, plain

REPOSITORY = "datamllab/LongLM"
COMMIT = "cdbbb061dc76438c46d7e1ddc500f8e4bf255574"
BARE = ("self_extend_patch",)
WINDOW = 64


def call(module: str, name: str, *arguments: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"self_extend_patch.{module}"), name)(*arguments)


def prompt(batch: int, length: int) -> object:
    """A prompt, with queries and keys of both kinds."""
    near_queries, near_keys, queries, keys, values = (plain(batch, HEADS, length, HEAD) for _ in range(5))
    made = near_queries, near_keys, queries, keys, values
    return call("selfextend_flash_attn_triton", "_self_extend_flash_forward_triton", *made, True, HEAD**-0.5, WINDOW)


def prefill(batch: int, length: int) -> object:
    """The same by the newer kernel."""
    made = [plain(batch, HEADS, length, HEAD) for _ in range(5)]
    return call("triton_selfextend_flash_attn", "prefill_flash_forward", *made, length, length, WINDOW)


OPERATORS = {"prompt": prompt, "prefill": prefill}
