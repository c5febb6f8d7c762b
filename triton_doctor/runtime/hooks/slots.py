"""Putting something of ours where triton keeps something of its own, and putting back the very object."""

from __future__ import annotations

import functools
import sys
from types import FunctionType
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import ModuleType

ABSENT = object()


class Patch(Protocol):
    """Something of ours in triton, until it is restored. `place` is the attribute that it replaces."""

    place: tuple[int, str]
    is_restored: bool

    @property
    def is_ours(self) -> bool:
        """Return whether our replacement is still in place."""

    def restore(self) -> bool:
        """Restore the original value, once; False if somebody else has replaced ours since."""


class Slot:
    """One attribute of a class, a module or an object of triton's.

    What somebody else put there after us stays: then ours is still called by theirs, if they chained it, and passes
    everything on to `before`.
    """

    def __init__(self, owner: Any, name: str) -> None:
        self._owner = owner
        self._name = name
        self.place = id(owner), name
        self._ours: Any = ABSENT
        self.is_restored = False
        self._own = vars(owner).get(name, ABSENT)
        self.before = self._own if self._own is not ABSENT else getattr(owner, name)

    def fill(self, ours: Any) -> None:
        """Replace the attribute by `ours`; a function keeps its name, documentation and signature.

        torch.compile counts the parameters of `make_ir` to tell Tritons apart (torch 2.13 triton_kernel_wrap.py:515).
        """
        if isinstance(ours, FunctionType) and isinstance(self.before, FunctionType):
            functools.update_wrapper(ours, self.before)
        self._ours = ours
        setattr(self._owner, self._name, ours)

    @property
    def is_ours(self) -> bool:
        """Return whether our replacement is still in place."""
        return vars(self._owner).get(self._name, ABSENT) is self._ours

    def restore(self) -> bool:
        """Restore the original value, once; False if somebody else has replaced ours since."""
        if self.is_restored or not self.is_ours:
            return self.is_restored
        self.is_restored = True
        if self._own is ABSENT:
            delattr(self._owner, self._name)
        else:
            setattr(self._owner, self._name, self._own)
        return True


class KnobSlot:
    """A knob of triton's that holds one callable, seen by triton with ours before the program's.

    The knob belongs to the program: what it assigns, temporarily or for good, before or after us, is stored in the
    knobs' own `__dict__`, read back, copied and pickled as it would be without us. Only a read by `reader`, the module
    of triton's that calls the knob, gets both. So no assignment takes ours away.
    """

    def __init__(self, knobs: Callable[[], Any], name: str, *, reader: ModuleType) -> None:
        """Prepare to replace the knob `name`. `knobs` returns the current group, which tests may copy."""
        self._knobs = knobs
        self._name = name
        self._owner = next(owner for owner in type(knobs()).__mro__ if name in vars(owner))
        self.place = id(self._owner), name
        self._own = vars(self._owner)[name]
        self._reader = vars(reader)
        self._interception: _Interception | None = None
        self.is_restored = False

    def fill(self, combine: Callable[[Any], Any]) -> None:
        """Give the reader `combine(theirs)` from now on; `theirs` is the program's value, or None."""
        self._interception = _Interception(self._name, self._own, self._reader, combine)
        setattr(self._owner, self._name, self._interception)

    @property
    def is_ours(self) -> bool:
        """Return whether Triton's next read of the knob still gets our value."""
        return self._find(type(self._knobs())) is self._interception

    def restore(self) -> bool:
        """Make the knob a plain attribute again; False if somebody else has replaced it on the class since."""
        if self.is_restored or vars(self._owner).get(self._name) is not self._interception:
            return self.is_restored
        self.is_restored = True
        setattr(self._owner, self._name, self._own)
        return True

    def _find(self, kind: type) -> Any:
        return next((vars(owner)[self._name] for owner in kind.__mro__ if self._name in vars(owner)), None)


class _Interception:
    """The descriptor of a KnobSlot: a data descriptor, so that it comes before the `__dict__` of the knobs."""

    def __init__(self, name: str, default: Any, reader: dict[str, Any], combine: Callable[[Any], Any]) -> None:
        self._name = name
        self._default = default
        self._reader = reader
        self._combine = combine

    def __get__(self, knobs: Any, owner: type | None = None) -> Any:
        if knobs is None:
            return self._default
        theirs = vars(knobs).get(self._name, self._default)
        if sys._getframe(1).f_globals is self._reader:
            return self._combine(theirs)
        return theirs

    def __set__(self, knobs: Any, value: Any) -> None:
        vars(knobs)[self._name] = value

    def __delete__(self, knobs: Any) -> None:
        if self._name not in vars(knobs):
            raise AttributeError(self._name)
        del vars(knobs)[self._name]


def are_ours(replacements: Iterable[Patch]) -> bool:
    """Return whether no replacement was overwritten; of several in one place only the last is checked."""
    last = {replacement.place: replacement for replacement in replacements if not replacement.is_restored}
    return all(each.is_ours for each in last.values())
