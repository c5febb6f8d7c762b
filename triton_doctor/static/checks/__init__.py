"""The static rules: a code, and the function that yields its findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from triton_doctor.finding import Finding
from triton_doctor.static.model import Project

Check: TypeAlias = Callable[[Project], Iterator[Finding]]

CHECKS: dict[str, Check] = {}
