"""Autotune configs to how many they are at least and what they set, where the code says so."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from triton_doctor.static.project.limits import MOST_DEPTH
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
from triton_doctor.static.python.reaching_definitions import reaching_definitions
from triton_doctor.static.variability.launch_hints import interpreter_of
from triton_doctor.static.variability.models.triton import CONFIG_PARAMETERS
from triton_doctor.static.variability.program_point import ProgramPoint, end_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.module import Kernel
    from triton_doctor.static.variability.interpreter import Interpreter

    _Pick = Callable[[list[int]], int]

_Answer = TypeVar("_Answer")


def config_count(project: Project, kernel: Kernel) -> int | None:
    """How many configs the kernel is tuned over at least, before any pruning; None where that cannot be told."""
    source = _source(project, kernel)
    return _count(source, min) if source is not None else None


def is_tuned(project: Project, kernel: Kernel) -> bool:
    """Whether the kernel may have several configs: one is taken without timing it (triton 3.9 autotuner.py)."""
    source = _source(project, kernel)
    if source is None:
        return kernel.autotune is not None and kernel.autotune.config_count != 1
    return _count(source, max) != 1


def describe_configs(project: Project, kernel: Kernel) -> str:
    """`all 4 configs`; `its configs` where some are pruned, or nobody can tell how many there are."""
    tuned = kernel.autotune
    count = config_count(project, kernel)
    return f"all {count} configs" if tuned is not None and count and not tuned.prunes else "its configs"


def config_tables(project: Project, kernel: Kernel) -> Iterator[tuple[dict[str, Expr], frozenset[str]]]:
    """What each config that is spelled out gives parameters, and the options that it sets."""
    source = _source(project, kernel)
    if source is not None:
        for config in _calls_of_config(source):
            named = dict(config.keywords)
            table = config.args[0] if config.args else named.get("kwargs")
            positional = CONFIG_PARAMETERS[: len(config.args)]
            if isinstance(table, DictExpr) and None not in named:
                entries = {key.value: value for key, value in table.items if isinstance(key, Const)}
                entries_by_name = {name: value for name, value in entries.items() if isinstance(name, str)}
                options = (name for name, value in named.items() if name and value != Const(None))
                yield entries_by_name, frozenset({*positional, *options})


class _Source(NamedTuple):
    """An expression that makes configs, and the point where it is evaluated."""

    interpreter: Interpreter
    expr: Expr
    point: ProgramPoint

    def inner(self, expr: Expr) -> _Source:
        return self._replace(expr=expr)


def _source(project: Project, kernel: Kernel) -> _Source | None:
    """What makes the configs of `kernel`; None where it is not tuned, or the decorator does not show them."""
    module = project.modules.get(kernel.path)
    top = module.functions.get("<module>") if module is not None else None
    if module is None or top is None or kernel.autotune is None or kernel.autotune.configs is None:
        return None
    interpreter = interpreter_of(project)
    return _Source(interpreter, kernel.autotune.configs, end_of(interpreter.frame(module, top)))


def _count(source: _Source, of_options: _Pick) -> int | None:
    """How many configs `source` makes; `of_options` picks one count where it makes one list or another."""
    match source.expr:
        case TupleExpr(items):
            return _sum(_count(source.inner(one.value), of_options) if isinstance(one, Star) else 1 for one in items)
        case Comprehension(_, _, over, False, further, False):
            return _product(_length(source.inner(one), of_options) for one in (over, *further))
        case Conditional(test, options) if test is not None:
            counts = [_count(source.inner(option), of_options) for option in options]
            known = [count for count in counts if count is not None]
            return of_options(known) if len(known) == len(counts) else None
        case BinaryOp("+", operands):
            return _sum(_count(source.inner(operand), of_options) for operand in operands)
        case Name() | Call(_, (), ()):
            return _answer(source, partial(_count, of_options=of_options), (_count, of_options), None)
        case Call(Name("list" | "tuple"), (made,), ()):
            return _count(source.inner(made), of_options)
        case _:
            return None


def _length(source: _Source, of_options: _Pick) -> int | None:
    """How many items a loop goes over."""
    match source.expr:
        case Call(Name("range"), bounds, ()) if all(_is_int(bound) for bound in bounds):
            return len(range(*(bound.value for bound in bounds)))  # type: ignore[union-attr, arg-type]
        case Call(func, factors, ()) if (dotted(func) or "").rpartition(".")[2] == "product":
            return _product(_length(source.inner(one), of_options) for one in factors)
        case _:
            return _count(source, of_options)


def _is_int(expr: Expr) -> bool:
    return isinstance(expr, Const) and isinstance(expr.value, int) and (expr.value != 0)


def _calls_of_config(source: _Source) -> tuple[Call, ...]:
    """Each `triton.Config(...)` that is spelled out."""
    match source.expr:
        case TupleExpr(parts) | BinaryOp("+", parts):
            return tuple(config for part in parts for config in _calls_of_config(source.inner(part)))
        case Star(made) | Comprehension(made):
            return _calls_of_config(source.inner(made))
        case Call(func) if (dotted(func) or "").rpartition(".")[2] == "Config":
            return (source.expr,)
        case Name() | Call(_, (), ()):
            return _answer(source, _calls_of_config, (_calls_of_config,), ())
        case _:
            return ()


def _answer(
    source: _Source, ask: Callable[[_Source], _Answer], question: tuple[object, ...], nothing: _Answer
) -> _Answer:
    """What `ask` says of the one definition of a name, or of the one thing that a function returns."""
    point = source.point
    key = (*question, source.expr, point.frame, point.order)

    def follow() -> _Answer:
        defining = _followed(source)
        return ask(defining) if defining is not None else nothing

    return source.interpreter.evaluations.answer(key, follow, neutral=nothing, beyond=nothing)


def _followed(source: _Source) -> _Source | None:
    interpreter, expr, point = source
    frame = point.frame
    if isinstance(expr, Name):
        return _assigned(interpreter, expr.id, point)
    if isinstance(expr, Call):
        function = interpreter.callers.reached(frame.module, frame.function, expr.func)
        if function is not None and len(function.returns) == 1 and frame.depth < MOST_DEPTH:
            (returned,) = function.returns
            inner = interpreter.frame(interpreter.project.names.home(function), function, frame.depth + 1)
            return _Source(interpreter, returned.value, ProgramPoint(inner, returned.order))
    return None


def _assigned(interpreter: Interpreter, name: str, point: ProgramPoint) -> _Source | None:
    """The one assignment of `name`, here, in an outer scope or in another module; None where a call makes it longer."""
    frame = point.frame
    module, function = frame.module, frame.function
    bindings = function.bindings.get(name, ())
    if name in function.globals or (not bindings and any(param.name == name for param in function.params)):
        return None
    if bindings:
        found = reaching_definitions(function, name, point.order, point.arms)
        if len(bindings) > 1 or not found.bindings or any(_appends(site.call, name) for site in function.calls):
            return None
        (only,) = bindings
        is_passed = not found.certain and any(param.name == name for param in function.params)
        inner = ProgramPoint(frame, only.order, only.arms)
        return _Source(interpreter, only.value, inner) if not is_passed else None
    outer = module.functions.get(function.parent or "<module>")
    if function.qualname == "<module>" or outer is None:
        imported = interpreter.project.names.defining(module, name) if name in module.imports else None
        module, name = imported if imported is not None else (module, name)
        outer = module.functions.get("<module>") if imported is not None else None
    if outer is None or frame.depth >= MOST_DEPTH:
        return None
    return _assigned(interpreter, name, end_of(interpreter.frame(module, outer, frame.depth + 1)))


def _appends(call: Call, name: str) -> bool:
    """Whether a call makes the list longer: `configs.append(...)`."""
    base, _, method = (dotted(call.func) or "").rpartition(".")
    return base == name and method in ("append", "extend", "insert")


def _sum(counts: Iterable[int | None]) -> int | None:
    known = list(counts)
    return None if None in known else sum(filter(None, known))


def _product(counts: Iterable[int | None]) -> int | None:
    known = list(counts)
    return None if None in known else prod(count for count in known if count is not None)
