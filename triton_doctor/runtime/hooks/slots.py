"""Putting something of ours where triton keeps something of its own, and putting back the very object."""

from __future__ import annotations

from typing import Any

ABSENT = object()


class Slot:
    """One attribute of a class, a module or an object of triton's.

    What somebody else put there after us stays: then ours is still called by theirs, if they chained it, and passes
    everything on to `before`.
    """

    def __init__(self, owner: Any, name: str) -> None:
        self._owner = owner
        self._name = name
        self._ours: Any = ABSENT
        self._restored = False
        self._own = vars(owner).get(name, ABSENT)
        self.before = self._own if self._own is not ABSENT else getattr(owner, name)

    def fill(self, ours: Any) -> None:
        """`ours` stands there from now."""
        self._ours = ours
        setattr(self._owner, self._name, ours)

    @property
    def is_ours(self) -> bool:
        """Whether ours still stands there."""
        return vars(self._owner).get(self._name, ABSENT) is self._ours

    def restore(self) -> bool:
        """Put back what was there, once; False when somebody else has put theirs since."""
        if self._restored or not self.is_ours:
            return self._restored
        self._restored = True
        if self._own is ABSENT:
            delattr(self._owner, self._name)
        else:
            setattr(self._owner, self._name, self._own)
        return True
