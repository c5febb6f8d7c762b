"""The configs of an autotuned kernel: how many there are, and what they set, as far as the code shows."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from triton_doctor.nesting import with_own_stack
from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.python.ir import Const, DictExpr, final_name
from triton_doctor.static.variability.models.triton import CONFIG_PARAMETERS
from triton_doctor.static.variability.queries.launch_hints import interpreter_of
from triton_doctor.static.variability.queries.queries import literals_at
from triton_doctor.static.variability.values.program_point import END, ProgramPoint
from triton_doctor.static.variability.values.values import ListValue, SymbolicValue, TupleValue, UnfollowedCall, Union

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.module import Kernel
    from triton_doctor.static.variability.values.program_point import CallFrame
    from triton_doctor.static.variability.values.trace import Literal
    from triton_doctor.static.variability.values.values import Value

_Answer = TypeVar("_Answer")
# Rules query the kernels of one file, one rule after the other; few files have more.
_MOST_KEPT = 64


class Config(NamedTuple):
    """A `triton.Config(...)` that is spelled out: the literals that it sets parameters to, and its options.

    A parameter without literals is set to something that is not spelled out.
    """

    parameters: Mapping[str, tuple[Literal, ...]]
    options: frozenset[str]


def config_count(project: Project, kernel: Kernel) -> int | None:
    """Return the number of configs before pruning; None if unknown or varying."""
    counts = config_counts(project, kernel)
    return min(counts) if len(counts) == 1 else None


def is_tuned(project: Project, kernel: Kernel) -> bool:
    """Return whether the kernel may have several configs: a single one is used without timing (triton
    3.9 autotuner.py).
    """
    return kernel.autotune is not None and config_count(project, kernel) != 1


def describe_configs(project: Project, kernel: Kernel) -> str:
    """Return `all 4 configs`, or `its configs` if some are pruned or their number is unknown."""
    tuned, count = kernel.autotune, config_count(project, kernel)
    return f"all {count} configs" if tuned is not None and count and not tuned.prunes else "its configs"


@cached_in_scan(most=_MOST_KEPT)
def config_counts(project: Project, kernel: Kernel) -> frozenset[int]:
    """Return the possible numbers of configs: several if conditions choose, empty if unknown.

    A list of at most one has one: without configs, Triton makes one (triton 3.9 autotuner.py).
    """

    def count(value: Value, frame: CallFrame) -> frozenset[int]:
        lists = value.options if isinstance(value, Union) else (value,)
        lengths = [interpreter_of(project).length(one, frame) for one in lists]
        counts = {1 if one.high is not None and one.high <= 1 else one.literal for one in lengths}
        known = frozenset(one for one in counts if isinstance(one, int))
        return known if len(known) == len(counts) else frozenset()

    return _query_configs(project, kernel, count) or frozenset()


@cached_in_scan(most=_MOST_KEPT)
def find_configs(project: Project, kernel: Kernel) -> tuple[Config, ...]:
    """Return each config of the kernel that is spelled out."""
    interpreter, found = interpreter_of(project), list[Config]()
    for made in _query_configs(project, kernel, lambda value, _: [*_calls(value)]) or ():
        call, named = made.call, dict(made.call.keywords)
        table = call.args[0] if call.args else named.get("kwargs")
        if isinstance(table, DictExpr) and None not in named:
            entries = {key.value: value for key, value in table.items if isinstance(key, Const)}
            options = (name for name, value in named.items() if name and value != Const(None))
            parameters = {str(name): literals_at(interpreter, value, made.point) for name, value in entries.items()}
            found.append(Config(parameters, frozenset([*CONFIG_PARAMETERS[: len(call.args)], *options])))
    return tuple(found)


def _query_configs(project: Project, kernel: Kernel, query: Callable[[Value, CallFrame], _Answer]) -> _Answer | None:
    """Return the result of `query` for the list of configs of `kernel`; None if its decorator shows none."""
    module = project.modules.get(kernel.path)
    function = module.functions.get(kernel.made_in or "<module>") if module is not None else None
    if module is None or function is None or kernel.autotune is None or kernel.autotune.configs is None:
        return None
    line, configs = kernel.autotune.span.line, kernel.autotune.configs
    later = (one.order for bindings in function.bindings.values() for one in bindings if one.line > line)
    point = ProgramPoint(interpreter_of(project).frame(module, function), min(later, default=END), line=line)
    with suppress(RecursionError):
        return with_own_stack(lambda: query(interpreter_of(project).value(configs, point), point.frame))
    return None


def _calls(value: Value) -> Iterator[UnfollowedCall]:
    """Yield the calls of `Config` that created `value` or its items."""
    match value:
        case TupleValue(parts, _) | Union(parts):
            for part in parts:
                yield from _calls(part)
        case ListValue(one, _):
            yield from _calls(one)
        case SymbolicValue(made=UnfollowedCall() as made) if final_name(made.call.func) == "Config":
            yield made
        case _:
            pass
