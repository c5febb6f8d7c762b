"""How far names, values and calls are followed: the one table of limits, and the one rule for cycles.

Launches are linked to kernels, and values, literals and integers are evaluated, across assignments and calls.
Each of these queries stops where this module says.
"""

from __future__ import annotations

from functools import partial
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
# A kernel or a literal passes through few names and `__init__` files; each may have several definitions.
MOST_NAMES = 8
# A measured call launches a kernel, or waits for one, through a wrapper or two; each may call a hundred functions.
MOST_WRAPPERS = 3
# Behind every position of a question.
_NOWHERE = 1 << 30


class Evaluations:
    """What is being evaluated. A question that leads back to itself gets the answer that its asker gives for that."""

    def __init__(self) -> None:
        """Nothing is being evaluated."""
        self._active: dict[Hashable, int] = {}  # questions that wait for their answers, with their positions
        self._answers: dict[Hashable, object] = {}
        self._led_back = _NOWHERE  # the first of these positions that some later question led back to

    def once(self, key: Hashable, answer: Callable[[], Answer], otherwise: Other) -> Answer | Other:
        """`answer()` to the question that `key` names; `otherwise` where that question is being answered already."""
        position = self._active.get(key)
        if position is not None:
            self._led_back = min(self._led_back, position)
            return otherwise
        self._active[key] = len(self._active)
        try:
            return answer()
        finally:
            del self._active[key]

    def follow(self, answer: Callable[[], Answer]) -> tuple[Answer, bool]:
        """`answer()`, and whether it is whole: nothing below it led back to a question that waits for this one."""
        before, self._led_back = self._led_back, _NOWHERE
        is_whole = False
        try:
            found = answer()
            is_whole = self._led_back >= len(self._active)
        finally:
            self._led_back = before if is_whole else min(before, self._led_back)
        return found, is_whole

    def keep(self, key: Hashable, answer: Callable[[], Answer]) -> Answer:
        """`answer()`, kept where it is whole."""
        if key in self._answers:
            return cast("Answer", self._answers[key])
        found, is_whole = self.follow(answer)
        if is_whole:
            self._answers[key] = found
        return found

    def answer(self, key: Hashable, answer: Callable[[], Answer], *, neutral: Other, beyond: Other) -> Answer | Other:
        """`answer()`, kept where it is whole; `beyond` where MOST_NAMES questions led to this one.

        `neutral` where the question led to itself: what adds nothing to the other answers.
        """
        if key in self._answers:
            return cast("Answer", self._answers[key])
        if len(self._active) >= MOST_NAMES:
            self._led_back = -1  # from elsewhere the way here may be shorter
            return beyond
        return self.keep(key, partial(self.once, key, answer, neutral))
