"""How far names, values and calls are followed: the table of limits, and the evaluation of queries with cycles.

Linking launches, and evaluating values, literals and integers, all stop at these limits.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

Answer = TypeVar("Answer")
Other = TypeVar("Other")

# Depth of calls. A size passes through few functions between its source and a kernel; each level multiplies the work.
MOST_DEPTH = 4
# Callers of a function. So many show how often an argument changes; helpers with hundreds of callers are not followed
# further.
MOST_CALLERS = 16
# Steps by name. A kernel or a literal passes through few names and `__init__` files; each may have several definitions.
MOST_NAMES = 8
# Depth of measured calls. They launch a kernel, or wait for one, through a wrapper or two; each may call a hundred
# functions.
MOST_WRAPPERS = 3
# Greater than any position of a query.
_NOWHERE = 1 << 30


class Evaluations:
    """Evaluates queries that may lead back to themselves. Results are cached unless they depend on such a cycle.

    A query is identified by a key. It is active while it is being evaluated; its position is the number of active
    queries below it on the stack.
    """

    def __init__(self) -> None:
        """Start without active queries."""
        self._active: dict[Hashable, int] = {}  # active queries, with their positions
        self._results: dict[Hashable, object] = {}
        self._lowest_cycle = _NOWHERE  # the lowest position that a query above it led back to

    def guard(self, key: Hashable, compute: Callable[[], Answer], on_cycle: Other) -> Answer | Other:
        """Return `compute()`, with the query `key` active meanwhile; `on_cycle` if it is active already."""
        position = self._active.get(key)
        if position is not None:
            self._lowest_cycle = min(self._lowest_cycle, position)
            return on_cycle
        self._active[key] = len(self._active)
        try:
            return compute()
        finally:
            del self._active[key]

    def track(self, compute: Callable[[], Answer]) -> tuple[Answer, bool]:
        """Return `compute()`, and whether it is complete: it did not lead back to a query that is still active."""
        before, self._lowest_cycle = self._lowest_cycle, _NOWHERE
        is_complete = False
        try:
            result = compute()
            is_complete = self._lowest_cycle >= len(self._active)
        finally:
            self._lowest_cycle = before if is_complete else min(before, self._lowest_cycle)
        return result, is_complete

    def memoize(self, key: Hashable, compute: Callable[[], Answer]) -> Answer:
        """Return `compute()`, cached under `key` if it is complete."""
        if key in self._results:
            return cast("Answer", self._results[key])
        result, is_complete = self.track(compute)
        if is_complete:
            self._results[key] = result
        return result

    def evaluate(
        self, key: Hashable, compute: Callable[[], Answer], *, on_cycle: Other, beyond_limit: Other
    ) -> Answer | Other:
        """Return `compute()`, cached if it is complete; `beyond_limit` if MOST_NAMES queries are active.

        `on_cycle` is the result of a query that leads to itself: a value that adds nothing to the others.
        """
        if key in self._results:
            return cast("Answer", self._results[key])
        if len(self._active) >= MOST_NAMES:
            self._lowest_cycle = -1  # incomplete: fewer queries may lead here from elsewhere
            return beyond_limit
        return self.memoize(key, partial(self.guard, key, compute, on_cycle))
