"""FlagSparse's products of sparse matrices, in several formats, and solutions of sparse triangles."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, plain

REPOSITORY = "flagos-ai/FlagSparse"
COMMIT = "5663f45b4b45b7945dc77c963d0803e063a90435"
FOLDERS = ("src",)
BARE = ("flagsparse",)
# Of each row, and how many columns a dense matrix has.
FILLED, COLUMNS = 8, 64
SHAPES = ((1, 100), (2, 333), (3, 1000), (4, 777), (1, 5000), (2, 4096))


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"flagsparse.sparse_operations.{module}"), name)(*arguments, **more)


def numbers(*shape: int) -> torch.Tensor:
    """Random numbers in full precision."""
    return plain(*shape, dtype=torch.float32)


def matrix(rows: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, tuple[int, int]]:
    """What is filled of a band below the diagonal, in which columns, where rows begin, and the size."""
    back = torch.arange(FILLED - 1, -1, -1, device=DEVICE)
    columns = (torch.arange(rows, device=DEVICE)[:, None] - back).clamp(min=0).view(-1).int()
    starts = torch.arange(rows + 1, device=DEVICE) * FILLED
    return numbers(rows * FILLED), columns, starts, (rows, rows)


def places(rows: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, tuple[int, int]]:
    """The same as a list: values, rows, columns."""
    values, columns, _, size = matrix(rows)
    return values, torch.arange(rows * FILLED, device=DEVICE) // FILLED, columns, size


def by_vector(batch: int, length: int) -> object:
    """Times a vector, by rows."""
    values, columns, starts, size = matrix(batch * length)
    return call("spmv_csr", "flagsparse_spmv_csr", values, columns, starts, numbers(size[1]), size)


def by_vector_columns(batch: int, length: int) -> object:
    """Times a vector, by columns."""
    values, rows, starts, size = matrix(batch * length)
    return call("spmv_csc", "flagsparse_spmv_csc", values, rows, starts, numbers(size[1]), size)


def by_vector_list(batch: int, length: int) -> object:
    """Times a vector, from a list."""
    values, rows, columns, size = places(batch * length)
    return call("spmv_coo", "flagsparse_spmv_coo", values, rows, columns, numbers(size[1]), size)


def by_matrix(batch: int, length: int) -> object:
    """Times a dense matrix, by rows."""
    values, columns, starts, size = matrix(batch * length)
    return call("spmm_csr", "flagsparse_spmm_csr", values, columns, starts, numbers(size[1], COLUMNS), size)


def by_matrix_fast(batch: int, length: int) -> object:
    """The same, by lengths of rows."""
    values, columns, starts, size = matrix(batch * length)
    return call("spmm_csr", "flagsparse_spmm_csr_opt", values, columns, starts, numbers(size[1], COLUMNS), size)


def by_matrix_second(batch: int, length: int) -> object:
    """The same, another one."""
    values, columns, starts, size = matrix(batch * length)
    made = values, columns, starts, numbers(size[1], COLUMNS), size
    return call("spmm_csr_opt_alg2", "flagsparse_spmm_csr_opt_alg2", *made)


def by_matrix_alpha(batch: int, length: int) -> object:
    """The same, a third one."""
    values, columns, starts, size = matrix(batch * length)
    made = values, columns, starts, numbers(size[1], COLUMNS), size
    return call("alpha_spmm_alg1", "flagsparse_alpha_spmm_alg1", *made)


def sample(batch: int, length: int) -> object:
    """A product of dense matrices where a sparse one is filled."""
    values, columns, starts, size = matrix(batch * length)
    made = values, columns, starts, numbers(size[0], COLUMNS), numbers(size[1], COLUMNS), size
    return call("sddmm_csr", "flagsparse_sddmm_csr", *made)


def pick(batch: int, length: int) -> object:
    """Entries of a vector, and back into it."""
    many = batch * length
    vector, where = numbers(4 * many), torch.arange(many, device=DEVICE) * 3
    picked = call("gather_scatter", "flagsparse_gather", vector, where)
    return call("gather_scatter", "flagsparse_scatter", vector, where, picked)


def solve(batch: int, length: int) -> object:
    """The solution of a triangle, of one right side and of several."""
    values, columns, starts, size = matrix(batch * length)
    made = values, columns, starts.int()
    call("spsm", "flagsparse_spsm_csr", *made, numbers(size[0], COLUMNS), size)
    return call("spsv", "flagsparse_spsv_csr", *made, numbers(size[0]), size)


OPERATORS = {
    "by_vector": by_vector,
    "by_vector_columns": by_vector_columns,
    "by_vector_list": by_vector_list,
    "by_matrix": by_matrix,
    "by_matrix_fast": by_matrix_fast,
    "by_matrix_second": by_matrix_second,
    "by_matrix_alpha": by_matrix_alpha,
    "sample": sample,
    "pick": pick,
    "solve": solve,
}
