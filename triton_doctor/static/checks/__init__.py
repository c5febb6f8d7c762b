"""The static rules: a code, and the function that yields its findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from triton_doctor.finding import Finding
from triton_doctor.static.checks import constexpr_never_read, constexpr_varies_per_call
from triton_doctor.static.model import Project

Check: TypeAlias = Callable[[Project], Iterator[Finding]]

CHECKS: dict[str, Check] = {
    constexpr_varies_per_call.CODE: constexpr_varies_per_call.check,
    constexpr_never_read.CODE: constexpr_never_read.check,
}
