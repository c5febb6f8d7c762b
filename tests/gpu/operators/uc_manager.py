"""UCM's attention with a second rotation for far tokens, its hash codes and its rotation of cached blocks."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, cache, counts, lengths, page_table, plain, starts

PACKAGE = Package("uc-manager-cuda-cu129", "0.8.1")
BARE = ("ucm", "ucm.sparse", "ucm.sparse.rerope", "ucm.sparse.blend", "ucm.sparse.gsa_on_device")
UNUSED = ("vllm", "vllm.logger", "ucm.logger")
BITS, PAGE, PAGES = 128, 16, 640


def halves(*shape: int) -> torch.Tensor:
    """Half precision."""
    return plain(*shape, dtype=torch.float16)


def far_rotated(batch: int, length: int) -> object:
    """All tokens of a batch, over pages."""
    tokens, longest = sum(lengths(batch, length)), length
    queries = [halves(tokens, HEADS, HEAD) for _ in range(2)]
    out = torch.empty_like(queries[0])
    given: dict[str, Any] = {"q": queries[0], "q2": queries[1], "k": cache(), "k2": cache(), "v": cache(), "out": out}
    given |= {"cu_seqlens_q": starts(lengths(batch, length)), "max_seqlen_q": longest, "max_seqlen_k": longest}
    given |= {"seqused_k": counts(lengths(batch, length)), "softmax_scale": 0.125, "causal": True, "softcap": 0}
    given |= {"rerope_window": 32, "window_size": (-1, -1), "block_table": page_table(batch, length)}
    module = importlib.import_module("ucm.sparse.rerope.triton_unified_attention_rerope")
    return module.unified_attention_rerope(**given, q_descale=None, k_descale=None, v_descale=None)


def rotate_blocks(batch: int, length: int) -> object:
    """As many cached blocks as the tokens fill."""
    blocks = -(-batch * length // PAGE)
    ids = torch.arange(blocks, device=DEVICE) % PAGES
    function = importlib.import_module("ucm.sparse.blend.blockwise_rope").block_wise_rope_forward
    return function(cache(), ids, torch.ones_like(ids), halves(1, 4096, HEAD))


OPERATORS = {"far-rotated": far_rotated, "rotate-blocks": rotate_blocks}
