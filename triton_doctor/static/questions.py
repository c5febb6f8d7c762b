"""What is asked of a module of which no more needs to be known: what a name is there, who calls it, who keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.flow.callers import calls_told
from triton_doctor.static.flow.setters import stores_somewhere
from triton_doctor.static.names import name_told
from triton_doctor.static.plans.subject import is_used_otherwise

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from triton_doctor.static.model import Module

# By the names that the askers use. What they say is compared by its `repr`: it has to be a plain value.
QUESTIONS: Mapping[str, Callable[[Module, str], object]] = {
    "calls": calls_told,
    "stores": stores_somewhere,
    "name": name_told,
    "uses": is_used_otherwise,
}
