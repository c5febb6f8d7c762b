"""Names bound to `apply` of an autograd function: `scale = Scale.apply` makes `scale(x)` run `Scale.forward`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.database.dependencies import declare_query
from triton_doctor.static.python.ir import Attr, dotted
from triton_doctor.static.sources.source_text import TextPattern

if TYPE_CHECKING:
    from triton_doctor.static.python.function import Function
    from triton_doctor.static.python.module import Module

# Between the class, the dot and `apply`: whitespace, comments, and closing parentheses.
_BETWEEN = rb"(?:[\s\\)]|#[^\n]*\n)*"
_BEFORE = re.compile(rb"(?<![A-Za-z0-9_])")
_APPLY = re.compile(_BETWEEN + rb"\." + _BETWEEN + rb"apply(?![A-Za-z0-9_])")


def is_applied(function: Function) -> bool:
    """Return whether `function` is the `forward` of a class, which autograd runs for `apply`."""
    return function.class_name is not None and function.name == "forward"


def applied_class(module: Module, name: str) -> str | None:
    """Return the class, as written, if the only binding of `name` at the top level of `module` is `apply` of it."""
    bindings = module.top.bindings.get(name, ())
    if len(bindings) != 1:
        return None
    value = bindings[0].value
    return dotted(value.base) if isinstance(value, Attr) and value.name == "apply" else None


def read_applied_names(module: Module, class_name: str) -> tuple[str, ...]:
    """Return the top-level names of `module` bound to `apply` of a class with the last name `class_name`."""
    found = ((name, applied_class(module, name)) for name in module.top.bindings)
    return tuple(name for name, owner in found if owner is not None and owner.rpartition(".")[2] == class_name)


@cached_in_scan()
def apply_pattern(class_name: str) -> TextPattern:
    """Return a pattern that matches every `apply` of the class."""
    return TextPattern(class_name, _BEFORE, _APPLY)


APPLIED_NAMES = declare_query("applied names", read_applied_names, apply_pattern)
