"""flash-maxsim's scores of queries against documents."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import torch

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import DEVICE, normal, plain

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("flash-maxsim", "0.3.0")
WIDE, QUERY, QUERIES = 128, 32, 4


def of(module: str) -> object:
    """One module of the package."""
    return importlib.import_module(f"flash_maxsim.{module}")


def half(*shape: int) -> torch.Tensor:
    """A random tensor in half precision."""
    return plain(*shape, dtype=torch.float16)


def score(module: str, name: str, **options: object) -> Callable[[int, int], object]:
    """One query against a batch of documents."""

    def call(batch: int, length: int) -> object:
        return getattr(of(module), name)(half(QUERY, WIDE), half(batch, length, WIDE), **options)

    return call


def score_many(name: str) -> Callable[[int, int], object]:
    """Several queries against a batch of documents."""

    def call(batch: int, length: int) -> object:
        return getattr(of("flash_maxsim"), name)(half(QUERIES, QUERY, WIDE), half(batch, length, WIDE))

    return call


def train(module: str, name: str, *, one: bool = False) -> Callable[[int, int], object]:
    """Scores with gradients; `one` of a single query."""

    def call(batch: int, length: int) -> object:
        queries = (QUERY, WIDE) if one else (QUERIES, QUERY, WIDE)
        q, d = normal(*queries, dtype=torch.float16), normal(batch, length, WIDE, dtype=torch.float16)
        return getattr(of(module), name)(q, d)

    return call


def pairs(batch: int, length: int) -> object:
    """Pairs of equal lengths."""
    return of("flash_maxsim_pairs_dense").flash_maxsim_pairs_dense(half(batch, QUERY, WIDE), half(batch, length, WIDE))


def pairs_of_lengths(batch: int, length: int) -> object:
    """Pairs of several lengths."""
    module = of("flash_maxsim_varlen")
    documents = [half(max(1, length - 3 * i), WIDE) for i in range(batch)]
    return module.flash_maxsim_varlen(*module.pack_pairs([half(QUERY, WIDE) for _ in range(batch)], documents))


def packed(batch: int, length: int) -> object:
    """One query against documents one after the other."""
    module = of("flash_maxsim_varlen")
    documents = module.pack_docs([half(max(1, length - 3 * i), WIDE) for i in range(batch)])
    return module.flash_maxsim_packed(half(QUERY, WIDE), *documents)


def rerank(batch: int, length: int) -> object:
    """Candidates of each query."""
    return of("flash_maxsim_rerank").flash_maxsim_rerank_padded(half(batch, QUERY, WIDE), half(batch, 5, length, WIDE))


def eight_bits(*, kind: str) -> Callable[[int, int], object]:
    """Documents in eight bits."""

    def call(batch: int, length: int) -> object:
        module = of("flash_maxsim_quant")
        q, d = half(QUERY, WIDE), half(batch, length, WIDE)
        if kind == "affine":
            return module.flash_maxsim_int8(q, *module.quantize_int8(d))
        document = module.quantize_int8_symmetric(d)
        function = module.flash_maxsim_int8_symmetric if kind == "symmetric" else module.flash_maxsim_int8x8
        return function(q, *document)

    return call


def sparse(batch: int, length: int) -> object:
    """Some tokens of the query alone."""
    chosen = torch.zeros(batch, 8, device=DEVICE, dtype=torch.int32)
    return of("flash_maxsim_sparse").flash_maxsim_sparse(half(QUERY, WIDE), half(batch, length, WIDE), chosen)


def contrast(batch: int, length: int) -> object:
    """One step of contrastive training, with as many queries as documents."""
    q, d = (normal(batch, size, WIDE, dtype=torch.float16) for size in (QUERY, length))
    return of("flash_maxsim_contrastive").colbert_contrastive_step(q, d)


def chamfer(module: str, name: str) -> Callable[[int, int], object]:
    """The distance of two clouds of points."""

    def call(batch: int, length: int) -> object:
        clouds = (normal(batch * length, 64, dtype=torch.float32), normal(length, 64, dtype=torch.float32))
        return getattr(of(module), name)(*clouds)

    return call


OPERATORS = {
    "score": score("flash_maxsim", "flash_maxsim"),
    "score-persistent": score("flash_maxsim", "flash_maxsim_persistent"),
    "score-reuse": score("flash_maxsim_advanced", "flash_maxsim_qreuse"),
    "score-split": score("flash_maxsim_advanced", "flash_maxsim_splitk"),
    "score-heuristic": score("flash_maxsim_exp", "flash_maxsim_heuristic"),
    "score-many": score_many("flash_maxsim_batched"),
    "train": train("flash_maxsim", "flash_maxsim_train", one=True),
    "train-many": train("flash_maxsim_batched_train", "flash_maxsim_batched_train"),
    "train-fused": train("flash_maxsim_fusedbwd_proposal", "flash_maxsim_batched_train_fused"),
    "train-persistent": train("flash_maxsim_persistbwd_proposal", "flash_maxsim_batched_train_persistbwd"),
    "train-sorted": train("flash_maxsim_sortbwd_proposal", "flash_maxsim_batched_train_sortbwd"),
    "train-inverse": train("flash_maxsim_invgrid_proposal", "flash_maxsim_invgrid_train"),
    "train-eight-bits": train("flash_maxsim_int8_train", "flash_maxsim_int8_batched_train"),
    "pairs": pairs,
    "pairs-of-lengths": pairs_of_lengths,
    "packed": packed,
    "rerank": rerank,
    "eight-bits": eight_bits(kind="affine"),
    "eight-bits-symmetric": eight_bits(kind="symmetric"),
    "eight-bits-both": eight_bits(kind="both"),
    "sparse": sparse,
    "contrast": contrast,
    "chamfer": chamfer("flash_chamfer", "flash_chamfer_train"),
    "chamfer-inverse": chamfer("flash_chamfer_invgrid", "flash_chamfer_invgrid_train"),
}
