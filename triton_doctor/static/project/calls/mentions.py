"""What a module does with a name: only import it, export it, use its value, or use it in functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.calls.call_graph import is_test_function
from triton_doctor.static.project.calls.operators import describes, only_registers
from triton_doctor.static.project.database.dependencies import declare_query
from triton_doctor.static.python.ir import Attr, Call, Const, Name, Subscript, every_part
from triton_doctor.static.sources.source_text import TextPattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.python.function import BranchArm, Function
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.python.module import Module

_BEFORE = re.compile(rb"(?<![A-Za-z0-9_])(?<!def )")
_AFTER = re.compile(rb"(?![A-Za-z0-9_])")
_GLOBALS = b"globals()"


class Mentions(NamedTuple):
    """The uses of a name in a module: in the exports of a package, as a value at the top level, in `functions`.

    `library` is the first part of the module it is imported from, `a` for `from a.b import name`; None if not imported.
    """

    is_exported: bool
    is_valued: bool
    functions: tuple[str, ...]
    library: str | None


@cached_in_scan()
def read_mentions(module: Module, name: str) -> Mentions | None:
    """Return the uses of `name` in `module`, functions by qualified name; None if it only imports the name."""
    is_package = module.path.endswith("__init__.py")
    top = module.top
    functions = tuple(
        function.qualname
        for function in module.functions.values()
        if function is not top and not function.is_for_main and not is_test_function(function) and _uses(function, name)
    )
    imported = module.imports.get(name)
    found = Mentions(
        is_exported=is_package and not functions and any(import_.member == name for import_ in module.imports.values()),
        is_valued=any(_names(expr, name) for expr in _expressions(top, name))
        or (imported is not None and _hands_out_names(module)),
        functions=functions,
        library=imported.module.partition(".")[0]
        if imported is not None and imported.member and not imported.level
        else None,
    )
    return found if found.is_exported or found.is_valued or functions else None


@cached_in_scan()
def _hands_out_names(module: Module) -> bool:
    """Return whether `module` passes `globals()` on or looks computed names up in it: any imported name may be used."""
    return module.top.holds(_GLOBALS) and any(
        _looks_up(site.call) or any(map(_is_namespace, site.call.args))
        for function in module.functions.values()
        if function.holds(_GLOBALS)
        for site in function.calls
    )


def _is_namespace(expr: Expr) -> bool:
    return isinstance(expr, Call) and expr.func == Name("globals")


def _looks_up(call: Call) -> bool:
    """Return whether `call` is `globals().get(name)` or `globals()[name](...)` with a `name` that is no literal."""
    match call.func:
        case Attr(base, "get") if _is_namespace(base):
            return bool(call.args) and not isinstance(call.args[0], Const)
        case Subscript(base, key) if _is_namespace(base):
            return not isinstance(key, Const)
        case _:
            return False


@cached_in_scan()
def use_pattern(name: str) -> TextPattern:
    """Return a pattern that matches every use of `name`, but not its definition."""
    return TextPattern(name, _BEFORE, _AFTER)


MENTIONS = declare_query("mentions", read_mentions, use_pattern)


def _uses(function: Function, name: str) -> bool:
    """Return whether reachable code of `function` uses `name`, other than in a decorator that describes an operator."""
    times = function.text.count(use_pattern(name)) - sum(
        describes(decorator, name) for decorator in function.decorators
    )
    return times > 0 and times > function.text.count_unreachable(use_pattern(name))


def is_alias(value: Expr, name: str) -> bool:
    """Return whether `value` is `name`, or `apply` of it, so that a name bound to it is an alias."""
    match value:
        case Name(found) | Attr(Name(found), "apply"):
            return found == name
        case _:
            return False


def _expressions(function: Function, name: str) -> Iterator[Expr]:
    """Yield the expressions of assignments and calls, except under a main guard and those that only alias `name`."""
    bindings = [binding for found in function.bindings.values() for binding in found if not _is_for_main(binding.arms)]
    values = (binding.value for binding in bindings if not is_alias(binding.value, name))
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
