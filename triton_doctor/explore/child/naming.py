"""What names say of made-up arguments: kinds of parameters, roles of axes, and the sizes that they are given first."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container


def _whole(*names: str) -> re.Pattern[str]:
    return re.compile(f"({'|'.join(names)})", re.IGNORECASE)


BATCH = _whole(r"b|batch.*|bs|bsz|bh|z|n_?batch|nb")
HEADS = _whole(r"h|[hn]?h[qkv]|[hq]_h|kv_?h|h_.*|n?_?heads?.*|num_.*heads?|nh|g|n?groups?|head|e|.*experts?")
LENGTH = _whole(
    r"[tlsnm]|seq.*|.*len.*|n_ctx|n?_?tokens?|num_tokens|n?_?rows?|ctx|[lst]_?[qk]|steps|n_.*|num_.*|.*edges|m_.*|bt|total.*|frames"
)
WIDTH = _whole(
    r"[dkvcfipr]|d[kvq]|d_.*|.*dim.*|hidden.*|.*features?|.*channels?|n?_?cols|.*size|embed.*|hd|dh|ch|rank|in_.*|out_.*|width"
    r"|inner.*|d?state.*|vocab.*"
)
# Sizes by role: none is shared between roles, and each is what such an axis may well be.
SIZES = {
    "batch": (2, 3, 5, 7, 6),
    "heads": (4, 8, 12, 16, 20, 24),
    "length": (128, 192, 256, 320, 384, 448, 640, 704),
    "width": (64, 32, 16, 256, 512, 96, 48, 80, 160),
}

FLOATS = _whole(
    r".*eps|epsilon|.*percent.*|.*_eps|.*scale|scaling|alpha|beta[12]?|p|.*dropout.*|lr|momentum|temperature|.*softcap.*|.*threshold"
    r"|theta|base|tau|limit|.*factor|weight_decay|.*smoothing|sigma|lambda_|.*ratio|v_?th|.*decay|lower|upper|.*slope|clamp.*"
)
FLAGS = _whole(
    r".*causal|is_.*|use_.*|has_.*|return_.*|train(ing)?|in_?place|reverse|trans(pose)?_.*|output_.*|need_.*|requires_.*"
    r"|head_first|normalize.*|(apply|do|store|save|with|enable|allow|no|add)_.*|inclusive|exclusive|bidirectional"
    r"|recompute.*|keepdim|deterministic|.*bias"
)
INTEGERS = _whole(
    r"[nmkbthdcijls]|n?_?rows|n?_?cols|length|tokens|(n|num|in|out|d|dim|max|min)_.*|.*size|.*_?dim|.*len|block.*|top_?k|window.*|.*heads?|.*groups?|axis"
    r"|.*bits|stride|ndim|chunk.*|seq.*|batch.*|.*features|.*channels|hidden.*|.*rank|order|degree|depth|layers|.*steps"
    r"|vocab.*|.*_idx|.*index|kernel_size|padding|dilation|.*experts?|.*count|width|height|l_?max|b[tckvmn]|.*_block.*|n_ctx"
    r"|.*stages|.*warps|head.*"
)
INTEGER_TENSORS = re.compile(
    r"(idx|index|indices|ids|labels?|targets?|positions?|pos$|table|offsets?|seq_?lens?|lengths|lens$|cu_|counts?|expert|topk"
    r"|slots?|mapping|ptr$|indptr|sorted|perm)",
    re.IGNORECASE,
)
MASKS = re.compile(r"(mask|is_|valid|keep|flag)", re.IGNORECASE)
OFFSETS = re.compile(r"cu_|indptr|offset", re.IGNORECASE)
LENGTHS = re.compile(r"seq_?lens|lengths|_len$|lens$", re.IGNORECASE)
WEIGHTS = _whole(r"w[0-9qkvo]?|weights?|.*weight.*|.*_w|w_.*|bias|.*_bias|bias_.*|b[0-9]|gamma|beta|a_log|d|dt_bias|u")
VECTORS = re.compile(r"bias|gamma|beta|^b\d?$|^(w|weight)$|norm", re.IGNORECASE)
ATTENTION = _whole(r"[qkvo]|d[oqkv]|g|query|key|value|(query|key|value)_states")
# Integers whose usual value no role gives.
USUAL_INTEGERS = (
    (re.compile(r"^(dim|axis)$", re.IGNORECASE), -1),
    (re.compile(r"ignore_index", re.IGNORECASE), -100),
    (re.compile(r"group_?size", re.IGNORECASE), 32),
    (re.compile(r"block|chunk|^B[TCKVMNDQHLS]$|tile", re.IGNORECASE), 64),
    (re.compile(r"top_?k|n_?groups?|num_groups|stages|layers|depth", re.IGNORECASE), 2),
    (re.compile(r"experts|bits|warps", re.IGNORECASE), 4),
)


def role_of(name: str) -> str:
    """Return the role of an axis or int of that name: batch, heads, length, width or none."""
    if "dim" in name.lower():
        return "width"
    roles = (("batch", BATCH), ("heads", HEADS), ("length", LENGTH), ("width", WIDTH))
    return next((role for role, pattern in roles if pattern.fullmatch(name)), "")


def role_at(index: int, rank: int) -> str:
    """Return the role of an axis without a name, by its place."""
    if index == rank - 1:
        return "width"
    if rank >= 4:
        return ("batch", "heads", "length", "length", "length")[min(index, 4)]
    return "batch" if index == 0 and rank == 3 else "length"


def choose_size(role: str, taken: Container[int]) -> int:
    """Return a size for `role` that is not `taken`."""
    usual = SIZES[role]
    return next(size for size in itertools.chain(usual, itertools.count(usual[-1] + 16, 16)) if size not in taken)


def usual_integer(name: str) -> int | None:
    """Return the usual value of an int of that name; None where its role gives it."""
    return next((value for pattern, value in USUAL_INTEGERS if pattern.search(name)), None)


def usual_rank(name: str) -> int:
    """Return the rank of a tensor of that name; 0 where the name says nothing."""
    if WEIGHTS.fullmatch(name):
        return 1 if VECTORS.search(name) else 2
    if ATTENTION.fullmatch(name):
        return 4
    return 1 if INTEGER_TENSORS.search(name) else 0


def usual_dtype(name: str) -> tuple[str, str]:
    """Return the dtype and fill of a tensor of that name: floating where the name says nothing."""
    if OFFSETS.search(name):
        return "int32", "offsets"
    if LENGTHS.search(name):
        return "int32", "lengths"
    if INTEGER_TENSORS.search(name):
        return "int64", "zeros"
    return ("bool", "") if MASKS.search(name) else ("float", "")
