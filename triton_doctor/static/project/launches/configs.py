"""Autotune configs to how many they are at least and what they set, where the code says so."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from triton_doctor.static.python.function import Function
from triton_doctor.static.python.ir import (
    BinaryOp,
    Call,
    Comprehension,
    Conditional,
    Const,
    DictExpr,
    Expr,
    Name,
    Star,
    TupleExpr,
    dotted,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.module import Kernel, Module

    _Pick = Callable[[list[int]], int]

# Configs come out of a function or two, and of a constant.
_MOST_STEPS = 4


def config_count(project: Project, kernel: Kernel) -> int | None:
    """How many configs the kernel is tuned over at least, before any pruning; None where that cannot be told."""
    module = project.modules.get(kernel.path)
    tuned = kernel.autotune
    if tuned is None or tuned.configs is None or module is None:
        return None
    return _count(project, module, None, tuned.configs, _MOST_STEPS)


def is_tuned(project: Project, kernel: Kernel) -> bool:
    """Whether the kernel may have several configs: one is taken without timing it (triton 3.9 autotuner.py)."""
    module = project.modules.get(kernel.path)
    tuned = kernel.autotune
    if tuned is None or tuned.configs is None or module is None:
        return tuned is not None and tuned.config_count != 1
    return _count(project, module, None, tuned.configs, _MOST_STEPS, max) != 1


def describe_configs(project: Project, kernel: Kernel) -> str:
    """`all 4 configs`; `its configs` where some are pruned, or nobody can tell how many there are."""
    tuned = kernel.autotune
    count = config_count(project, kernel)
    return f"all {count} configs" if tuned is not None and count and not tuned.prunes else "its configs"


def config_tables(project: Project, kernel: Kernel) -> Iterator[tuple[dict[str, Expr], frozenset[str]]]:
    """What each config that is spelled out gives parameters, and the options that it sets."""
    module = project.modules.get(kernel.path)
    tuned = kernel.autotune
    if tuned is not None and tuned.configs is not None and module is not None:
        for config in _configs(project, module, None, tuned.configs, _MOST_STEPS):
            named = dict(config.keywords)
            table = config.args[0] if config.args else named.get("kwargs")
            positional = ("kwargs", "num_warps", "num_stages", "num_ctas", "maxnreg")[: len(config.args)]
            if isinstance(table, DictExpr) and None not in named:
                entries = {key.value: value for key, value in table.items if isinstance(key, Const)}
                entries_by_name = {name: value for name, value in entries.items() if isinstance(name, str)}
                options = (name for name, value in named.items() if name and value != Const(None))
                yield entries_by_name, frozenset({*positional, *options})


def _count(
    project: Project, module: Module, function: Function | None, expr: Expr, steps: int, of_options: _Pick = min
) -> int | None:
    """How many configs `expr` makes; `of_options` picks one count where it makes one list or another."""
    if steps == 0:
        return None
    match expr:
        case TupleExpr(items):
            counts = [
                _count(project, module, function, item.value, steps, of_options) if isinstance(item, Star) else 1
                for item in items
            ]
            return _sum(counts)
        case Comprehension(_, _, source, False, further, False):
            return _product([_length(project, module, function, one, steps, of_options) for one in (source, *further)])
        case Conditional(test, options) if test is not None:
            counts = [_count(project, module, function, option, steps, of_options) for option in options]
            known = [count for count in counts if count is not None]
            return of_options(known) if len(known) == len(counts) else None
        case BinaryOp("+", operands):
            return _sum([_count(project, module, function, operand, steps, of_options) for operand in operands])
        case Name() | Call(_, (), ()):
            found = _followed(project, module, function, expr)
            return _count(project, *found, steps - 1, of_options) if found is not None else None
        case Call(Name("list" | "tuple"), (inner,), ()):
            return _count(project, module, function, inner, steps, of_options)
        case _:
            return None


def _length(
    project: Project, module: Module, function: Function | None, expr: Expr, steps: int, of_options: _Pick
) -> int | None:
    """How many items a loop goes over."""
    match expr:
        case Call(Name("range"), bounds, ()) if all(_is_int(bound) for bound in bounds):
            return len(range(*(bound.value for bound in bounds)))  # type: ignore[union-attr, arg-type]
        case Call(func, sources, ()) if (dotted(func) or "").rpartition(".")[2] == "product":
            return _product([_length(project, module, function, one, steps, of_options) for one in sources])
        case _:
            return _count(project, module, function, expr, steps, of_options)


def _is_int(expr: Expr) -> bool:
    return isinstance(expr, Const) and isinstance(expr.value, int) and (expr.value != 0)


def _configs(project: Project, module: Module, function: Function | None, expr: Expr, steps: int) -> Iterator[Call]:
    if steps == 0:
        return
    match expr:
        case TupleExpr(items):
            for item in items:
                yield from _configs(project, module, function, item, steps)
        case Star(inner) | Comprehension(inner):
            yield from _configs(project, module, function, inner, steps)
        case BinaryOp("+", operands):
            for operand in operands:
                yield from _configs(project, module, function, operand, steps)
        case Call(func) if (dotted(func) or "").rpartition(".")[2] == "Config":
            yield expr
        case Name() | Call(_, (), ()):
            found = _followed(project, module, function, expr)
            if found is not None:
                yield from _configs(project, *found, steps - 1)
        case _:
            pass


def _followed(
    project: Project, module: Module, function: Function | None, expr: Expr
) -> tuple[Module, Function | None, Expr] | None:
    """What a name is bound to, or the one thing that a function returns, with where that stands."""
    if isinstance(expr, Name):
        if function is not None and expr.id in function.bindings:
            bindings = function.bindings[expr.id]
            grows = any(stored for stored in function.calls if _appends(stored.call, expr.id))
            return (module, function, bindings[0].value) if len(bindings) == 1 and not grows else None
        home, own = project.names.defining(module, expr.id) or (module, expr.id)
        top = home.functions.get("<module>")
        bound = top.bindings.get(own, ()) if top is not None else ()
        grows = top is not None and any(_appends(site.call, own) for site in top.calls)
        return (home, top, bound[0].value) if len(bound) == 1 and not grows else None
    if isinstance(expr, Call):
        callee = project.names.dotted(module, dotted(expr.func) or "?")
        if isinstance(callee, Function) and len(callee.returns) == 1:
            return (project.names.home(callee), callee, callee.returns[0].value)
    return None


def _appends(call: Call, name: str) -> bool:
    """Whether a call makes the list longer: `configs.append(...)`."""
    base, _, method = (dotted(call.func) or "").rpartition(".")
    return base == name and method in ("append", "extend", "insert")


def _sum(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _product(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return prod(known) if len(known) == len(counts) else None
