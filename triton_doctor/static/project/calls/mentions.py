"""Modules to what they do with a name: import it only, export it, use its value, or name it in functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.calls.call_graph import is_test_function
from triton_doctor.static.project.calls.operators import describes, only_registers
from triton_doctor.static.project.database.dependencies import declare_query
from triton_doctor.static.python.ir import Attr, Const, Name, every_part
from triton_doctor.static.sources.source_text import TextPattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.python.function import BranchArm, Function
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.python.module import Module

_BEFORE = re.compile(rb"(?<![A-Za-z0-9_])(?<!def )")
_AFTER = re.compile(rb"(?![A-Za-z0-9_])")


class Mentions(NamedTuple):
    """What a module does with a name: a package exports it, its top level uses the value, `functions` say it.

    `library` is the first name of the module that it is imported from, `a` of `from a.b import name`; else None.
    """

    is_exported: bool
    is_valued: bool
    functions: tuple[str, ...]
    library: str | None


@cached_in_scan()
def read_mentions(module: Module, name: str) -> Mentions | None:
    """What `module` does with `name`, by the qualified names of its functions; None where it only imports it."""
    is_package = module.path.endswith("__init__.py")
    top = module.top
    functions = tuple(
        one.qualname
        for one in module.functions.values()
        if one is not top and not one.is_for_main and not is_test_function(one) and _says(one, name)
    )
    imported = module.imports.get(name)
    found = Mentions(
        is_exported=is_package and not functions and any(one.member == name for one in module.imports.values()),
        is_valued=any(_names(expr, name) for expr in _expressions(top, name)),
        functions=functions,
        library=imported.module.partition(".")[0]
        if imported is not None and imported.member and not imported.level
        else None,
    )
    return found if found.is_exported or found.is_valued or functions else None


@cached_in_scan()
def mention(name: str) -> TextPattern:
    """What the text of every use of `name` has, and that of its definition has not."""
    return TextPattern(name, _BEFORE, _AFTER)


MENTIONS = declare_query("mentions", read_mentions, mention)


def _says(function: Function, name: str) -> bool:
    """Whether `function` says `name` where it comes to, other than as the operator that it describes."""
    times = function.text.count(mention(name)) - sum(describes(one, name) for one in function.decorators)
    return times > 0 and times > function.text.count_unreachable(mention(name))


def is_alias(value: Expr, name: str) -> bool:
    """Whether a name that is bound to `value` is another for `name`, or for `apply` of it."""
    match value:
        case Name(found) | Attr(Name(found), "apply"):
            return found == name
        case _:
            return False


def _expressions(function: Function, name: str) -> Iterator[Expr]:
    """The expressions of assignments and calls, but for those for `__main__`, and that only give `name` another."""
    bindings = [one for found in function.bindings.values() for one in found if not _is_for_main(one.arms)]
    values = (one.value for one in bindings if not is_alias(one.value, name))
    calls = (site.call for site in function.calls if not _is_for_main(site.arms))
    return every_part(*values, *(call for call in calls if not only_registers(call, name)))


def _is_for_main(arms: tuple[BranchArm, ...]) -> bool:
    return any(arm.is_main for arm in arms)


def _names(expr: Expr, name: str) -> bool:
    match expr:
        case Name(found) | Attr(_, found) | Const(str(found)):
            return found == name
        case _:
            return False
