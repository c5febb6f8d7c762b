"""Attributes of torch and Triton that a dry run sets, and sets back."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, MutableMapping

ABSENT = object()


class Patches:
    """The attributes that were set, with what they were before. `undo` restores them in the opposite order."""

    def __init__(self) -> None:
        self.places: list[tuple[Any, str, Any]] = []
        self._entries: list[tuple[MutableMapping[str, Any], str, Any]] = []

    def set(self, owner: Any, name: str, value: object) -> None:
        """Set the attribute `name` of a module, class or object."""
        self.places.append((owner, name, vars(owner).get(name, ABSENT)))
        setattr(owner, name, value)

    def set_existing(self, owner: Any, values: Mapping[str, object]) -> None:
        """Set those attributes in `values` that `owner` has in this version of its package."""
        for name, value in values.items():
            if name in vars(owner):
                self.set(owner, name, value)

    def set_variable(self, name: str, value: str) -> None:
        """Set an environment variable."""
        self.set_entry(os.environ, name, value)

    def set_entry(self, mapping: MutableMapping[str, Any], key: str, value: object) -> None:
        """Set an entry of a mapping."""
        self._entries.append((mapping, key, mapping.get(key, ABSENT)))
        mapping[key] = value

    def undo(self) -> None:
        """Restore every attribute and entry."""
        while self._entries:
            mapping, key, value = self._entries.pop()
            if value is ABSENT:
                mapping.pop(key, None)
            else:
                mapping[key] = value
        while self.places:
            owner, name, before = self.places.pop()
            if before is ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, before)


def replace_everywhere(pairs: Iterable[tuple[object, object]]) -> None:
    """Put the second of each pair where a module has the first; `posix` and `_io`, behind `os` and `io`, keep it."""
    new = {id(before): after for before, after in pairs}
    for module in [module for name, module in sys.modules.items() if name not in ("posix", "_io")]:
        for attribute, value in list(getattr(module, "__dict__", {}).items()):
            if id(value) in new:
                setattr(module, attribute, new[id(value)])
