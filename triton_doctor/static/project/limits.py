"""How far names, values and calls are followed: the one table of limits, and the one rule for cycles.

Launches are linked to kernels, and values, literals, integers and configs are evaluated, across assignments and calls.
Each of these queries stops where this module says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

Answer = TypeVar("Answer")
Other = TypeVar("Other")

# A size passes through few functions between its source and a kernel; each level multiplies the work.
MOST_DEPTH = 5
# So many callers tell how often an argument changes; a helper that is called from hundreds of places is not read on.
MOST_CALLERS = 16
# A name that is stored in so many places, `weight` or `device`, is everybody's.
MOST_STORES = 64
# A kernel, a literal or a list of configs passes through few names and `__init__` files; each may have several
# definitions.
MOST_NAMES = 8
# A measured call launches a kernel, or waits for one, through a wrapper or two; each may call a hundred functions.
MOST_WRAPPERS = 3


class Evaluations:
    """What is being evaluated. A question that leads back to itself gets the answer that its asker gives for that."""

    def __init__(self) -> None:
        """Nothing is being evaluated."""
        self._active: set[Hashable] = set()
        self._answers: dict[Hashable, object] = {}
        self.cut = 0  # how many questions were not followed to their end

    def once(self, key: Hashable, answer: Callable[[], Answer], otherwise: Other) -> Answer | Other:
        """`answer()` to the question that `key` names; `otherwise` where that question is being answered already."""
        if key in self._active:
            self.cut += 1
            return otherwise
        self._active.add(key)
        try:
            return answer()
        finally:
            self._active.discard(key)

    def keep(self, key: Hashable, answer: Callable[[], Answer]) -> Answer:
        """`answer()`, kept where nothing below it was cut off."""
        if key in self._answers:
            return cast("Answer", self._answers[key])
        cut = self.cut
        found = answer()
        if self.cut == cut:
            self._answers[key] = found
        return found

    def answer(self, key: Hashable, answer: Callable[[], Answer], *, neutral: Other, beyond: Other) -> Answer | Other:
        """`answer()`, kept where nothing below it was cut off; `beyond` where MOST_NAMES questions led to this one.

        `neutral` where the question led to itself: what adds nothing to the other answers.
        """
        if key in self._answers:
            return cast("Answer", self._answers[key])
        if len(self._active) >= MOST_NAMES:
            self.cut += 1
            return beyond
        cut = self.cut
        found = self.once(key, answer, neutral)
        if self.cut == cut:
            self._answers[key] = found
        return found
