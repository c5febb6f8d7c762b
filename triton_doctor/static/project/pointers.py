"""Kernels to the parameters that they load from or store to: tensors, unless the kernel asks what they are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.scan_caches import cached_in_scan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.module import Kernel

_ACCESS = re.compile(rb"\.(?:load|store|atomic_[a-z]+|make_block_ptr|make_tensor_descriptor)\s*\(\s*(\w+)")
# `if isinstance(n, tl.tensor) and n.dtype.is_ptr(): n = tl.load(n)` takes a number as well.
_ASKED = re.compile(rb"\bisinstance\s*\(\s*(\w+)|\b(\w+)\.dtype\.is_ptr\b")


def pointers(project: Project, kernel: Kernel) -> frozenset[str]:
    """The names with which the address of an access in the text of `kernel` begins: `x` of `tl.load(x + i)`."""
    lines = _lines(project.modules.source(kernel.path))
    text = b"\n".join(lines[kernel.span.line - 1 : kernel.span.end_line])
    asked = {name for names in _ASKED.findall(text) for name in names}
    return frozenset(name.decode("utf-8", "replace") for name in _ACCESS.findall(text) if name not in asked)


@cached_in_scan(most=1)
def _lines(source: bytes) -> Sequence[bytes]:
    return source.split(b"\n")
