"""TritonStudyGroup's softmax, products, attentions, gate, router, clusters and layer of stairs."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import CHUNKS, DEVICE, HEAD, HEADS, HIDDEN, normal, plain

REPOSITORY = "Starmys/TritonStudyGroup"
COMMIT = "1c6d1a120c98535fb482b749501022b2517695c5"
FOLDERS = (
    "2_Triton_Softmax",
    "3_Triton_GeMM",
    "6_Triton_Flash_Attn",
    "7_Triton_Fused_Kernels",
    "8_More_Triton_Kernels",
)
UNUSED = ("flash_attn", "pandas", "matplotlib", "matplotlib.pyplot", "faiss", "tqdm", "seaborn")
EXPERTS, CHOSEN, CENTERS, STAIRS, ROWS, COLUMNS = 16, 4, 128, 1024, 128, 32
SHAPES_OF = {
    "grid": ((1, 1024), (2, 1280), (3, 1536), (2, 2048)),
    "cluster": ((1, 256), (2, 512), (3, 777), (2, 1000)),
    "attend": CHUNKS,
    "sparse": CHUNKS,
}


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function or make an object of the library."""
    return getattr(importlib.import_module(module), name)(*arguments, **more)


def heads(batch: int, length: int) -> list[torch.Tensor]:
    """Queries, keys and values."""
    return [normal(batch, length, HEADS, HEAD) for _ in range(3)]


def softmax(batch: int, length: int) -> object:
    """Each feature's share."""
    return call("triton_softmax", "triton_softmax", plain(batch * length, STAIRS, dtype=torch.float32))


def product(batch: int, length: int) -> object:
    """All tokens through a layer."""
    made = plain(batch * length, HIDDEN, dtype=torch.float16), plain(HIDDEN, STAIRS, dtype=torch.float16)
    return call("triton_gemm", "triton_matmul", *made)


def attend(batch: int, length: int) -> object:
    """Attention to the tokens before, forward and backward, in one kernel and in two."""
    whole = call("triton_flash_attn", "triton_flash_attn_func", *heads(batch, length), causal=True)
    split = call("triton_flash_attn", "triton_flash_attn_split_bwd_func", *heads(batch, length), causal=True)
    return whole + split


def sparse(batch: int, length: int) -> object:
    """Attention to all tokens, to blocks and to columns."""
    made = [one.detach() for one in heads(batch, length)]
    rows, columns = -(-length // ROWS), -(-length // COLUMNS)
    call("sparse_attention", "triton_flash_attn_func", *made)
    for name, many in (("block_sparse", columns), ("pit_sparse", length)):
        count = torch.full((batch, HEADS, rows), many, device=DEVICE, dtype=torch.int32)
        places = torch.zeros(batch, HEADS, rows, many, device=DEVICE, dtype=torch.int32)
        call("sparse_attention", f"triton_{name}_flash_attn_func", *made, count, places, ROWS, COLUMNS)
    return None


def grid(batch: int, length: int) -> object:
    """Attention to the first tokens, the last, and a grid of an image's."""
    made = [plain(batch, length, HEADS, HEAD, dtype=torch.float16) for _ in range(3)]
    return call("grid_sparse_attention", "multimodal_grid_attention", *made, 64, 128, 64, length - 64, 4)


def gate(batch: int, length: int) -> object:
    """A gate."""
    return call("silu", "fused_silu", plain(batch * length, 2 * HIDDEN))


def route(batch: int, length: int) -> object:
    """The experts of each token."""
    return call("moe_routing", "fused_routing", plain(batch * length, HIDDEN), plain(EXPERTS, HIDDEN), EXPERTS, CHOSEN)


def cluster(batch: int, length: int) -> object:
    """Tokens to the nearest centers, and new centers."""
    made = plain(batch, HEADS, length, HEAD, dtype=torch.float16)
    return call(
        "k_means", "_triton_k_means_train", made.view(-1, length, HEAD), made.view(-1, length, HEAD)[:, :CENTERS]
    )


def stairs(batch: int, length: int) -> object:
    """A layer whose weight has the shape of stairs, forward and backward."""
    layer = call("stairs_shape_linear", "TritonMatryoshkaLinear", STAIRS, STAIRS).to(torch.float16).to(DEVICE)
    return layer(normal(batch * length, STAIRS, dtype=torch.float16))


OPERATORS = {
    "softmax": softmax,
    "product": product,
    "attend": attend,
    "sparse": sparse,
    "grid": grid,
    "gate": gate,
    "route": route,
    "cluster": cluster,
    "stairs": stairs,
}
