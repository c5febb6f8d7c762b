"""Modules to Project: which kernel a launch starts, which function a call reaches, across files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.model import Module, Project

if TYPE_CHECKING:
    from collections.abc import Sequence


def link(modules: Sequence[Module]) -> Project:
    """The project that `modules` make."""
    return Project(modules=tuple(modules))
