"""Names that end a matrix which a function allocates: the width of its output, whatever they were read from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.python.ir import Attr, Name, Pack
from triton_doctor.static.variability.models.torch import ALLOCATING, NEW

if TYPE_CHECKING:
    from triton_doctor.static.python.function import Function
    from triton_doctor.static.python.ir import Call


@cached_in_scan()
def output_widths(function: Function) -> frozenset[str]:
    """`N` of `torch.empty((M, N))` and of `x.new_empty(*x.shape[:-1], N)`."""
    found = (_width(site.call) for site in function.calls)
    return frozenset(name for name in found if name is not None)


def _width(call: Call) -> str | None:
    match call.func:
        case Attr(_, name) | Name(name) if name in ALLOCATING or name in NEW:
            sizes = call.args
            if sizes and isinstance(sizes[0], Pack):
                sizes = sizes[0].items
            if len(sizes) == 2 and isinstance(sizes[1], Name):
                return sizes[1].id
    return None
