"""FlagBLAS's vectors, matrices by vectors and matrices by matrices: the length is a side, the batch makes it longer."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, counts, plain

REPOSITORY = "flagos-ai/FlagBLAS"
COMMIT = "30d38433f14eaf4f1aefcd520617646313d8597b"
FOLDERS = ("src",)
LOWER, PLAIN, TURNED, LEFT = 0, 0, 1, 0
WIDE, BAND, GROUPS = 1024, 16, 8


def call(name: str, *arguments: object) -> Any:
    """Call one of the library's functions."""
    return getattr(importlib.import_module("flag_blas"), name)(*arguments)


def whole(*shape: int) -> torch.Tensor:
    """A tensor of 32 bits."""
    return plain(*shape, dtype=torch.float32)


def vectors(batch: int, length: int) -> object:
    """Sums, copies, exchanges and rotations of long vectors."""
    size = batch * length * HIDDEN
    first, second = whole(size), whole(size)
    call("saxpy", size, 2.0, first, 1, second, 1)
    call("sscal", size, 0.5, first, 1)
    call("scopy", size, first, 1, second, 1)
    call("sswap", size, first, 1, second, 1)
    return call("srot", size, first, 1, second, 1, 0.6, 0.8)


def reductions(batch: int, length: int) -> object:
    """Products, norms, sums and the places of the largest of long vectors."""
    size = batch * length * HIDDEN
    first, result = whole(size), whole(1)
    call("sdot", size, first, 1, whole(size), 1, result)
    call("snrm2", size, first, 1, result)
    call("sasum", size, first, 1, result)
    return call("samax", size, first, 1, torch.zeros(1, device=DEVICE, dtype=torch.int32))


def by_vector(batch: int, length: int) -> object:
    """A matrix and its transpose by a vector, of 32 bits and of 16."""
    rows = batch * length
    for name, kind in (("sgemv", torch.float32), ("bfgemv", torch.bfloat16)):
        matrix, long, short = plain(rows, HIDDEN, dtype=kind), plain(rows, dtype=kind), plain(HIDDEN, dtype=kind)
        call(name, PLAIN, rows, HIDDEN, 1.0, matrix, HIDDEN, short, 1, 0.0, long, 1)
        call(name, TURNED, rows, HIDDEN, 1.0, matrix, HIDDEN, long, 1, 0.0, short, 1)
    return long


def outer(batch: int, length: int) -> object:
    """Products of two vectors and of one by itself added to a matrix."""
    rows = batch * length
    call("sger", rows, HIDDEN, 1.0, whole(rows), 1, whole(HIDDEN), 1, whole(rows, HIDDEN), HIDDEN)
    call("ssyr", LOWER, length, 1.0, whole(length), 1, whole(length, length), length)
    return call("ssyr2", LOWER, length, 1.0, whole(length), 1, whole(length), 1, whole(length, length), length)


def symmetric(_: int, length: int) -> object:
    """A symmetric matrix by a vector, whole, packed and as a band."""
    matrix, vector, result = whole(length, length), whole(length), whole(length)
    call("ssymv", LOWER, length, 1.0, matrix, length, vector, 1, 0.0, result, 1)
    packed = whole(length * (length + 1) // 2)
    call("sspmv", LOWER, length, 1.0, packed, vector, 1, 0.0, result, 1)
    band = whole(length, BAND + 1)
    return call("ssbmv", LOWER, length, BAND, 1.0, band, BAND + 1, vector, 1, 0.0, result, 1)


def triangular(_: int, length: int) -> object:
    """A triangular matrix by a vector, whole, packed and as a band."""
    given = LOWER, PLAIN, 0, length
    call("strmv", *given, whole(length, length), length, whole(length), 1)
    call("stpmv", *given, whole(length * (length + 1) // 2), whole(length), 1)
    return call("stbmv", *given, BAND, whole(length, BAND + 1), BAND + 1, whole(length), 1)


def solve(_: int, length: int) -> object:
    """The vector that a triangular matrix makes another of: whole, packed and as a band."""
    given = LOWER, PLAIN, 0, length
    call("strsv", *given, whole(length, length), length, whole(length), 1)
    call("stpsv", *given, whole(length * (length + 1) // 2), whole(length), 1)
    return call("stbsv", *given, BAND, whole(length, BAND + 1), BAND + 1, whole(length), 1)


def band(batch: int, length: int) -> object:
    """A matrix that is a band by a vector."""
    side = batch * length
    matrix = whole(side, 2 * BAND + 1)
    given = side, side, BAND, BAND, 1.0, matrix, 2 * BAND + 1, whole(side), 1, 0.0, whole(side), 1
    return call("sgbmv", PLAIN, *given)


def multiply(batch: int, length: int, name: str, kind: torch.dtype) -> object:
    """Rows by a weight, as it is and turned."""
    rows = batch * length
    left, result = plain(rows, HIDDEN, dtype=kind), plain(rows, WIDE, dtype=kind)
    for turned, weight in ((PLAIN, plain(HIDDEN, WIDE, dtype=kind)), (TURNED, plain(WIDE, HIDDEN, dtype=kind))):
        given = PLAIN, turned, rows, WIDE, HIDDEN, 1.0, left, HIDDEN, weight, weight.shape[1], 0.0, result, WIDE
        call(name, *given)
    return result


def multiply_triangular(batch: int, length: int) -> object:
    """A triangular matrix by rows."""
    rows = batch * length
    matrix, right = whole(HIDDEN, HIDDEN), whole(HIDDEN, rows)
    return call(
        "strmm", LEFT, LOWER, PLAIN, 0, HIDDEN, rows, 1.0, matrix, HIDDEN, right, rows, whole(HIDDEN, rows), rows
    )


def multiply_groups(batch: int, length: int) -> object:
    """Rows of each group by its weight."""
    shares = [batch * length // GROUPS] * GROUPS
    shares[0] += batch * length - sum(shares)
    ends = counts(shares).cumsum(0).to(torch.int32)
    return call("group_mm", plain(batch * length, HIDDEN), plain(GROUPS, HIDDEN, WIDE), ends)


OPERATORS = {
    "vectors": vectors,
    "reductions": reductions,
    "by_vector": by_vector,
    "outer": outer,
    "symmetric": symmetric,
    "triangular": triangular,
    "solve": solve,
    "band": band,
    "multiply": lambda batch, length: multiply(batch, length, "sgemm", torch.float32),
    "multiply_small": lambda batch, length: multiply(batch, length, "bfgemm", torch.bfloat16),
    "multiply_triangular": multiply_triangular,
    "multiply_groups": multiply_groups,
}
