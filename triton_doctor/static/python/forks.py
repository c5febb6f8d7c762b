"""Modules to whether they are written for a fork of Triton, whose limits are others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from triton_doctor.static.python.module import Module

# Hardware whose vendor ships a Triton of its own: Huawei Ascend (CANN), Cambricon, Kunlunxin, Enflame, Moore Threads,
# Tsingmicro, Iluvatar, MetaX.
_HARDWARE = frozenset(
    "ascend npu cann cambricon mlu kunlunxin enflame gcu mthreads musa tsingmicro iluvatar metax".split()
)
_WORD = re.compile(r"[a-z]+")


def is_for_a_fork(module: Module) -> bool:
    """Whether the path of the module, or what it imports, names such hardware."""
    named = [module.path, *(imported.module for imported in module.imports.values())]
    return any(not _HARDWARE.isdisjoint(_WORD.findall(name.lower())) for name in named)
