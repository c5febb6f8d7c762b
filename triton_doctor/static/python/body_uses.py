"""What a kernel's body does with its parameters, as `kernel_body.py` reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import ast
    from collections.abc import Mapping


class BodyUses(NamedTuple):
    """Names of parameters, by what is done with them; `needed`, `passes` and others as in `Kernel`.

    `aranges` are calls of `arange` with nothing that the body computes, and whether they stand in a branch.
    """

    needed: Mapping[str, str]
    blocks_only: frozenset[str]
    read: frozenset[str]
    walked: frozenset[str]
    replaced: frozenset[str]
    bounds: frozenset[str]
    passes: tuple[tuple[str, int | str, str], ...]
    computed: frozenset[str]
    outer: frozenset[str]
    aranges: tuple[tuple[ast.Call, bool], ...]
