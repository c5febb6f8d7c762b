"""turboquant's keys and values of 3 and 4 bits, and attention to them."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, PAGE, PAGES, counts, lengths, page_table, plain

REPOSITORY = "pitcany/turboquant"
COMMIT = "08e9bf07568ae7e4cb43eb39c134d5a4acc4cbdf"
UNUSED = ("vllm", "scipy", "scipy.integrate", "scipy.stats", "scipy.special", "scipy.optimize")
HEADS, HELD, BITS, SPLITS = 8, 2, 3, 8


def find(module: str, name: str) -> Any:
    """A function or class of the library."""
    return getattr(importlib.import_module(module), name)


def layout() -> Any:
    """Where the parts of one token are."""
    return find("vllm_plugin.attention", "_CompressedLayout")(HEAD, key_mse_bits=2, key_qjl_bits=1, val_mse_bits=BITS)


def levels(bits: int) -> dict[str, torch.Tensor]:
    """The values that numbers are rounded to, and what lies between."""
    made = torch.linspace(-0.2, 0.2, 2**bits, device=DEVICE)
    signs, turned = torch.ones(HEAD, device=DEVICE), torch.eye(HEAD, device=DEVICE)
    return {"centroids": made, "boundaries": (made[1:] + made[:-1]) / 2, "sigma": signs, "Pi": turned}


def rounding() -> tuple[SimpleNamespace, SimpleNamespace]:
    """How keys are rounded, and how values are."""
    keys = SimpleNamespace(
        d=HEAD, mse=SimpleNamespace(**levels(BITS - 1)), S=torch.eye(HEAD, device=DEVICE), qjl_dim=HEAD
    )
    return keys, SimpleNamespace(d=HEAD, **levels(BITS))


def described(keys: SimpleNamespace, values: SimpleNamespace) -> dict[str, object]:
    """What attention to rounded keys and values asks for."""
    return {
        "key_centroids": keys.mse.centroids,
        "val_centroids": values.centroids,
        "key_pi_t": keys.mse.Pi.T,
        "val_pi": values.Pi,
        "s_t": keys.S.T,
        "heads_per_kv": HEADS // HELD,
        "qjl_dim": keys.qjl_dim,
        "sm_scale": 0.125,
        "rotation": "wht",
        "key_sigma": keys.mse.sigma,
        "val_sigma": values.sigma,
    }


def compress(batch: int, length: int) -> object:
    """All keys and values rounded, in two kernels and in one."""
    made = [plain(batch * length * HELD, HEAD, dtype=torch.float32) for _ in range(2)]
    for name in ("_compress_fused", "_compress_fused_pack"):
        find("vllm_plugin.compress_utils", name)(*made, layout(), *rounding())
    return None


def split(_batch: int, length: int) -> object:
    """Attention of one token to `length` rounded ones, in parts."""
    keys, values = rounding()
    packed = torch.zeros(length, HELD, layout().total_bytes, device=DEVICE, dtype=torch.uint8)
    made = plain(1, HEADS, HEAD, dtype=torch.float32), packed, layout()
    more = described(keys, values) | {"key_pi": keys.mse.Pi, "causal": True, "pos_offset": length - 1}
    attend = find("vllm_plugin.triton_wrapper", "turboquant_decode_attention")
    return attend(*made, num_kv_splits=SPLITS, use_triton=True, **more)


def paged(batch: int, length: int) -> object:
    """Attention of one token of each sequence to rounded ones in pages."""
    pages = plain(PAGES, PAGE, HELD, layout().fp16_elems, dtype=torch.float16)
    held = page_table(batch, length), counts(lengths(batch, length))
    made = plain(batch, HEADS, HEAD, dtype=torch.float32), pages, *held, layout()
    return find("vllm_plugin.triton_wrapper", "fused_decode_attention")(*made, **described(*rounding()))


OPERATORS = {"compress": compress, "split": split, "paged": paged}
