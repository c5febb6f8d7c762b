"""Caches of what functions say of modules, projects and names, which are emptied when a scan ends.

What a cache holds it keeps alive: a module, its text, the lines of it. A process that scans once need not care; an
editor's server scans after each key, and would keep every text that ever was in the editor.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Given = ParamSpec("Given")
Result = TypeVar("Result")

_EMPTYINGS: list[Callable[[], None]] = []


def cached_in_scan(most: int | None = None) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
    """Cache the results of a function by its arguments until the scan ends; at most the latest `most`."""

    def keep(function: Callable[Given, Result]) -> Callable[Given, Result]:
        kept = lru_cache(maxsize=most)(function)
        _EMPTYINGS.append(kept.cache_clear)
        return kept  # type: ignore[return-value]  # its arguments are those of `function`, which typeshed cannot say

    return keep


@contextmanager
def emptying_scan_caches() -> Iterator[None]:
    """Empty the caches of `cached_in_scan` at the end; decorates or surrounds what scans."""
    try:
        yield
    finally:
        for empty in _EMPTYINGS:
            empty()
