"""Bytes of a file to an answer: could anything in it matter? Asked of every file, so it only searches."""

from __future__ import annotations

from triton_doctor.static.read_environment import python_may_set

# A launch needs no word of Triton in its file, `from .kernels import add` and `add[grid](x)` do; but it is always
# a subscript that is called. Of 4,719 files in sglang 0.5.23, 885 name Triton and 161 more have such a call.
SIGNS = (b"triton", b"](")


def may_matter(data: bytes) -> bool:
    """False only where nothing in `data`, a Python file, could define or launch a kernel or set up Triton."""
    return any(sign in data for sign in SIGNS) or python_may_set(data)
