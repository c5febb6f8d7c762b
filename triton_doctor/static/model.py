"""What reading yields: plain values that hold no syntax tree."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One Python file, as far as Triton is concerned."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """All modules of one scan, linked: `launches_resolved` of `launches` lead to a kernel that was read."""

    modules: tuple[Module, ...]
    kernels: int = 0
    launches: int = 0
    launches_resolved: int = 0
