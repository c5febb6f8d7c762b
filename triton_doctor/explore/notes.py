"""What the source says of the parameters of functions: names of axes, ranks, dtypes and choices."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from triton_doctor.explore.leading import LaunchGraph, Place
    from triton_doctor.explore.model import FunctionNotes


def read_notes(
    graph: LaunchGraph, keys: Mapping[Place, str], own: Callable[[str], str]
) -> dict[str, tuple[FunctionNotes, ...]]:
    """Return, for each of the entries `keys`, the notes of the functions that it leads to."""
    return {}
