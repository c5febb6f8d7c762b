"""What callers pass, seen from an arm of the callee: those whose arguments rule the arm out do not count there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from triton_doctor.scan_caches import emptying_scan_caches
from triton_doctor.settings import load_settings
from triton_doctor.static.project.analysis.parts import whole_project
from triton_doctor.static.project.database.database import Database
from triton_doctor.static.sources.files import find_files
from triton_doctor.static.variability.queries.parameters import parameters

if TYPE_CHECKING:
    from pathlib import Path

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, SIZE: tl.constexpr):
    tl.store(x + tl.arange(0, 16), SIZE)
"""
# Tokens are the second axis of packed queries, and heads of others.
FOLD = """
def fold(q, pe=None, packed=False):
    {before}
    if {test}:
        heads = 64
    else:
        heads = q.shape[1]
    kernel[(1,)](q, heads)
"""
CALLERS = """
class Packed(torch.nn.Module):
    def __init__(self, num_heads):
        super().__init__()
        self.num_heads = num_heads

    def forward(self, x, tokens: torch.Tensor):
        rows = int(tokens.max().item())
        fold(x.view(self.num_heads, rows), {packed})


class Plain(torch.nn.Module):
    def __init__(self, num_heads):
        super().__init__()
        self.num_heads = num_heads

    def forward(self, x, tokens: torch.Tensor):
        rows = int(tokens.max().item())
        fold(x.view(rows, self.num_heads){plain})
"""


@emptying_scan_caches()
def kind_of_size(folder: Path, code: str) -> str:
    """How often `SIZE` of `kernel` is found to change."""
    (folder / "ops.py").write_text(KERNEL + code, encoding="utf-8")
    settings = load_settings(folder)
    project = whole_project(Database(list(find_files([folder], settings, cwd=folder))), settings, folder)
    (found,) = parameters(project)
    return found.worst.kind.label if found.worst is not None else "unknown"


@pytest.mark.parametrize(
    ("before", "test", "packed", "plain"),
    [
        ("", "pe is not None", "pe=x.reshape(rows, -1)", ""),
        ("", "pe is not None", "pe=x.reshape(rows, -1)", ", pe=None"),
        ("split = pe is not None", "split", "x.reshape(rows, -1)", ""),
        ("split = pe is not None and packed", "split", "x.reshape(rows, -1), True", ""),
        ("", "packed", "packed=True", ""),
        ("", "not (not packed)", "packed=True", ", packed=False"),
        ("packed = packed or q.is_cuda", "packed", "packed=True", ""),
        ("", "packed == 'thd'", "packed='thd'", ", packed='bshd'"),
        ("", "packed in ('thd', 'th')", "packed='th'", ""),
    ],
)
def test_caller_whose_arguments_rule_an_arm_out_says_nothing_there(
    before: str, test: str, packed: str, plain: str, tmp_path: Path
) -> None:
    code = FOLD.format(before=before, test=test) + CALLERS.format(packed=packed, plain=plain)

    assert kind_of_size(tmp_path, code) == "per_model"


@pytest.mark.parametrize(
    ("before", "test", "packed", "plain"),
    [
        # What is passed is not known, or the name is bound anew to what is not.
        ("", "pe is not None", "pe=tokens.mask", ""),
        ("packed = packed and q.is_cuda", "packed", "packed=True", ""),
        ("", "packed", "**tokens.options", ""),
    ],
)
def test_caller_that_may_come_to_an_arm_counts_there(
    before: str, test: str, packed: str, plain: str, tmp_path: Path
) -> None:
    code = FOLD.format(before=before, test=test) + CALLERS.format(packed=packed, plain=plain)

    assert kind_of_size(tmp_path, code) == "per_call"
