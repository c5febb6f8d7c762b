"""chitu's cache, rotations, products of 8 bits and attention to latents."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, PAGE, PAGES, counts, lengths, page_table, plain

REPOSITORY = "thu-pacman/chitu"
COMMIT = "6261b7a06d348b865154dab5d018168bd92e75da"
BARE = ("chitu",)
HEADS, HEAD, LATENT, TURNED, SPLITS, BLOCK = 16, 128, 512, 64, 4, 128


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"chitu.{module}"), name)(*arguments, **more)


def small(*shape: int) -> torch.Tensor:
    """A tensor of 8 bits."""
    return plain(*shape).to(torch.float8_e4m3fn)


def append(batch: int, length: int) -> object:
    """One token of each sequence into pages."""
    pages, tokens = plain(PAGES, PAGE, HEADS, HEAD), plain(batch, HEADS, HEAD)
    held = counts([many - 1 for many in lengths(batch, length)])
    return call("ops", "append_to_paged_kv_cache", pages, page_table(batch, length), tokens, held)


def rotate(batch: int, length: int) -> object:
    """Positions as rotations, in two layouts."""
    tokens = plain(batch * length, HEADS, HEAD), plain(batch * length, 2, HEAD)
    angles = [plain(batch * length, HEAD, dtype=torch.float32) for _ in range(2)]
    call("ops", "apply_rotary_pos_emb_triton", *tokens, *angles, rotary_type="hf-llama")
    angles = [plain(batch * length, HEAD // 2, dtype=torch.float32) for _ in range(2)]
    call("ops", "apply_rotary_pos_emb_triton", *tokens, *angles, rotary_type="llama")
    return None


def product(batch: int, length: int) -> object:
    """Tokens rounded to 8 bits and through a layer of 8 bits."""
    rounded, scales = call("ops", "act_quant_deepseek_v3", plain(batch, length, HIDDEN))
    weight = small(HIDDEN, HIDDEN), plain(HIDDEN // BLOCK, HIDDEN // BLOCK, dtype=torch.float32)
    return call("ops", "fp8_gemm_deepseek_v3", rounded, scales, *weight)


def soft(batch: int, length: int) -> object:
    """Tokens through a layer of 8 bits that no instruction reads, and its weights."""
    scales = plain(HIDDEN // BLOCK, HIDDEN // BLOCK, dtype=torch.float32)
    weight = torch.zeros(HIDDEN, HIDDEN, device=DEVICE, dtype=torch.uint8)
    call("ops", "weight_dequant_soft_fp8_deepseek_v3", weight, scales)
    call("ops", "weight_dequant_deepseek_v3", small(HIDDEN, HIDDEN), scales)
    return call("ops", "soft_fp8_gemm_deepseek_v3", plain(batch, length, HIDDEN), weight, scales)


def latent(batch: int, length: int) -> object:
    """Attention of one token to cached latents."""
    query, pages = plain(batch, HEADS, LATENT), plain(PAGES, PAGE, LATENT + TURNED)
    turned, out = plain(batch, HEADS, TURNED), plain(batch, HEADS, LATENT)
    parts = plain(batch, HEADS, SPLITS, LATENT + 1, dtype=torch.float32)
    many = page_table(batch, length), counts(lengths(batch, length))
    made = query, turned, pages[..., :LATENT], pages[..., LATENT:], out, *many, parts, SPLITS, 0.1, PAGE
    return call("triton_decode_attention", "mla_decode", *made)


OPERATORS = {"append": append, "rotate": rotate, "product": product, "soft": soft, "latent": latent}
