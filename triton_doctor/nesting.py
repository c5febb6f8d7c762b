"""Nested text to what it says, however deep its reader is called from.

A reader calls itself for each level of nesting, and Python ends such calls at a depth that counts the callers too. Read
on a stack of its own, a text can be read or not by what it says alone: with a cache and without, by whoever asks.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Given = ParamSpec("Given")
Result = TypeVar("Result")


def with_own_stack(read: Callable[Given, Result], /, *args: Given.args, **kwargs: Given.kwargs) -> Result:
    """Return `read(*args, **kwargs)`. Raises RecursionError only where an empty stack is not enough for it.

    `read` is called a second time where the first ran out of stack.
    """
    try:
        return read(*args, **kwargs)
    except RecursionError:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(read, *args, **kwargs).result()
