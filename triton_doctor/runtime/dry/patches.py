"""Attributes of torch and Triton that a dry run sets, and sets back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

ABSENT = object()


class Patches:
    """The attributes that were set, with what they were before. `undo` restores them in the opposite order."""

    def __init__(self) -> None:
        self.places: list[tuple[Any, str, Any]] = []
        self._variables: list[tuple[str, str | None]] = []

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
        self._variables.append((name, os.environ.get(name)))
        os.environ[name] = value

    def undo(self) -> None:
        """Restore every attribute and variable."""
        while self._variables:
            variable, value = self._variables.pop()
            if value is None:
                os.environ.pop(variable, None)
            else:
                os.environ[variable] = value
        while self.places:
            owner, name, before = self.places.pop()
            if before is ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, before)
