"""speculators' losses between the logits of a draft and of its target."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from tests.gpu.operators.tensors import VOCABULARY, normal, plain

if TYPE_CHECKING:
    from collections.abc import Callable

REPOSITORY = "vllm-project/speculators"
COMMIT = "c05b95b303f7d4f21e8d7624e0ffa1c2d9b4d73b"
FOLDERS = ("src",)
BARE = ("speculators", "speculators.losses")


def loss(name: str) -> Callable[[int, int], object]:
    """One loss, of all tokens in one row."""

    def call(batch: int, length: int) -> object:
        made = normal(1, batch * length, VOCABULARY), plain(1, batch * length, VOCABULARY)
        return getattr(importlib.import_module("speculators.losses.fused"), f"fused_{name}_loss")(*made)

    return call


NAMES = ("kl_div", "reverse_kl_div", "js_div", "ce", "tv", "nla", "lk_hybrid")
OPERATORS = {name.replace("_", "-"): loss(name) for name in NAMES}
