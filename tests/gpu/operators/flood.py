"""flood's attention to segments, linear attention, rotations, drafts, samples, products and roundings."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, VOCABULARY, counts, lengths, plain, starts

REPOSITORY = "alipay/PainlessInferenceAcceleration"
COMMIT = "78c9b002749f86a2dc601af3d02c5eaf6cc91507"
FOLDERS = ("flood",)
UNUSED = ("flood_cuda", "flash_attn_2_cuda", "flash_attn_3_cuda", "flash_attn", "flash_attn_interface", "flash_mla")
HEADS, HELD, HEAD, LATENT, DRAFT, BRANCHES, LONG, TABLE = 16, 4, 128, 576, 16, 4, 8, 65536


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"flood.ops.{module}"), name)(*arguments, **more)


def described(asked: list[int], held: list[int], mask: torch.Tensor | None = None) -> SimpleNamespace:
    """Sequences of which `asked` tokens are new and `held` are there."""
    return SimpleNamespace(
        batch_size=len(asked),
        q_offsets=starts(asked),
        k_offsets=starts(held),
        s_offsets=counts(list(range(len(asked)))),
        q_lengths=counts(asked),
        k_lengths=counts(held),
        s_scales=torch.ones(len(asked), device=DEVICE, dtype=torch.bfloat16),
        k_segs=counts([1] * len(asked)),
        max_seg=1,
        max_q_length=max(asked),
        max_k_length=max(held),
        qls=asked,
        kls=held,
        mask=mask,
    )


def attend(asked: list[int], held: list[int], mask: torch.Tensor | None = None) -> object:
    """Attention of new tokens to all that are there."""
    made = plain(sum(asked), HEADS, HEAD), plain(sum(held), HELD, HEAD), plain(sum(held), HELD, HEAD)
    return call("seg_attn", "seg_attn_fwd", *made, described(asked, held, mask))


def prefill(batch: int, length: int) -> object:
    """Attention of whole sequences."""
    return attend(lengths(batch, length), lengths(batch, length))


def decode(batch: int, length: int) -> object:
    """Attention of one token of each sequence."""
    return attend([1] * batch, lengths(batch, length))


def draft(batch: int, length: int) -> object:
    """Attention of a draft of 16 tokens of each sequence."""
    mask = torch.ones(batch, DRAFT, DRAFT, device=DEVICE, dtype=torch.int8).tril()
    return attend([DRAFT] * batch, [many + DRAFT for many in lengths(batch, length)], mask)


def latents(batch: int, length: int) -> object:
    """Attention of whole sequences, and of one token of each, to latents."""
    held = lengths(batch, length)
    for asked in (held, [1] * batch):
        made = plain(sum(asked), HEADS, LATENT), plain(sum(held), 1, LATENT)
        call("seg_mla", "seg_mla_fwd", *made, described(asked, held))
    return None


def linear(batch: int, length: int) -> object:
    """Linear attention of whole sequences, of one token of each and of a draft."""
    held, decay = lengths(batch, length), plain(HEADS, dtype=torch.float32)
    mask = torch.ones(batch, DRAFT, DRAFT, device=DEVICE, dtype=torch.int8).tril()
    for asked, given in ((held, None), ([1] * batch, None), ([DRAFT] * batch, mask)):
        made = [plain(sum(asked), HEADS, HEAD) for _ in range(3)]
        state = plain(batch, HEADS, HEAD, HEAD)
        call("seg_la", "seg_la_fwd", *made, state, decay, described(asked, asked, given))
    return None


def rotate(batch: int, length: int) -> object:
    """Norms and rotations of queries and keys, in one tensor and in two."""
    held = lengths(batch, length)
    weights = plain(HEAD), plain(HEAD), plain(4096, HEAD // 2, dtype=torch.float32)
    made = *weights, starts(held), torch.zeros(batch, device=DEVICE, dtype=torch.int32), max(held)
    heads = {"q_head": HEADS, "kv_head": HELD, "rotary_dim": HEAD}
    tokens = plain(sum(held), (HEADS + 2 * HELD) * HEAD)
    call("rope", "triton_qk_norm_and_rope_forward", tokens, *made, **heads)
    queries, keys, _ = tokens.view(-1, HEADS + 2 * HELD, HEAD).split([HEADS, HELD, HELD], dim=-2)
    call("rope", "triton_q_k_norm_and_rope_forward", queries, keys, *made, **heads)
    return None


def propose(batch: int, length: int) -> object:
    """Drafts remembered from `length` tokens and found for each sequence."""
    table = torch.zeros(TABLE, device=DEVICE), torch.zeros(TABLE, LONG, device=DEVICE, dtype=torch.int32)
    words = {"vocab": VOCABULARY, "branch_length": LONG, "branch_count": LONG}
    call("draft", "update_draft_table", list(range(length)), *table, table_size=TABLE, **words)
    return call("draft", "retrieve_draft_table", [[1, 2]] * batch, *table, table_size=TABLE, **words)


def verify(batch: int, _length: int) -> object:
    """Drafts compared to what came, and their states kept."""
    many = batch * BRANCHES * LONG
    words = torch.zeros(many, device=DEVICE, dtype=torch.int32)
    begins = torch.arange(batch, device=DEVICE, dtype=torch.int32)
    masks = torch.ones(batch, BRANCHES * LONG, BRANCHES * LONG, device=DEVICE, dtype=torch.int8)
    call("draft", "verify_draft", words, words, begins, masks, batch, BRANCHES, LONG)
    places = torch.zeros(batch * LONG, device=DEVICE, dtype=torch.int32)
    call("draft", "update_draft_cache", plain(TABLE // 16, HELD * HEAD), places, places)
    state, kept = plain(batch, HEADS * HEAD * HEAD), torch.zeros(batch, LONG, device=DEVICE, dtype=torch.int32)
    made = plain(many, HEADS, HEAD), plain(many, HEADS, HEAD), kept, plain(HEADS, dtype=torch.float32)
    call("draft", "update_draft_fix_size_cache", state, begins, *made)
    return None


def sample(batch: int, _length: int) -> object:
    """A word for each sequence."""
    ones = torch.ones(batch, device=DEVICE)
    made = plain(batch, VOCABULARY, dtype=torch.float32), ones, counts([20] * batch), ones, ones
    return call("sample", "sample_from_logit", *made, 20)


def whole(*shape: int) -> torch.Tensor:
    """Whole numbers of 8 bits."""
    return torch.zeros(shape, device=DEVICE, dtype=torch.int8)


def integers(batch: int, length: int) -> object:
    """Tokens rounded to whole numbers, and through layers of such."""
    tokens = batch * length
    call("quantization", "static_int8_quant", plain(tokens, HIDDEN), 0.1)
    _, scales = call("quantization", "dynamic_int8_quant", plain(tokens, HIDDEN))
    call("gemm", "static_int8_gemm_nt", whole(tokens, HIDDEN), whole(HIDDEN, HIDDEN), 0.1, 0.1, torch.bfloat16)
    made = whole(tokens, HIDDEN), whole(HIDDEN, HIDDEN), scales, plain(HIDDEN, dtype=torch.float32)
    return call("gemm", "dynamic_int8_gemm_nt", *made, torch.bfloat16)


def floats(batch: int, length: int) -> object:
    """Tokens rounded to floats of 8 bits, and through layers of such."""
    tokens, side = batch * length, HIDDEN // 128
    call("quantization", "block_quant", plain(HIDDEN, HIDDEN))
    rounded, scales = call("quantization", "tile_quant", plain(tokens, HIDDEN))
    weight = plain(HIDDEN, HIDDEN).to(torch.float8_e4m3fn), plain(side, side, dtype=torch.float32)
    call("gemm", "fp8_tb_gemm", rounded, scales, *weight, torch.bfloat16)
    rounded, scales = call("quantization", "per_token_group_quant_fp8", plain(tokens, HIDDEN), 128)
    return call("gemm", "w8a8_block_fp8_matmul", rounded, weight[0], scales, weight[1], [128, 128])


def norm(batch: int, length: int) -> object:
    """Norms of groups and a gate."""
    made = plain(batch * length, HIDDEN), plain(HIDDEN), plain(batch * length, HIDDEN)
    return call("norm", "triton_rms_groupnorm_sigmoid", *made, 1e-6, 128)


OPERATORS = {
    "prefill": prefill,
    "decode": decode,
    "draft": draft,
    "latents": latents,
    "linear": linear,
    "rotate": rotate,
    "propose": propose,
    "verify": verify,
    "sample": sample,
    "integers": integers,
    "floats": floats,
    "norm": norm,
}
