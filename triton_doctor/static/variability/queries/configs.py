"""The configs of a kernel's autotuner, and the names in its key that vary."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from triton_doctor.nesting import with_own_stack
from triton_doctor.phrases import join_words
from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.python.ir import Const, DictExpr, final_name
from triton_doctor.static.variability.models.python import CONFIG_PARAMETERS
from triton_doctor.static.variability.queries.kernel_hints import interpreter_of
from triton_doctor.static.variability.queries.parameters import parameters
from triton_doctor.static.variability.queries.queries import literals_at
from triton_doctor.static.variability.values.lattice import Variability
from triton_doctor.static.variability.values.values import (
    END,
    ListValue,
    ProgramPoint,
    SymbolicValue,
    TupleValue,
    UnfollowedCall,
    Union,
)

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Iterable,
        Iterator,
        Mapping,
    )

    from triton_doctor.finding import Finding
    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.module import Kernel
    from triton_doctor.static.variability.queries.parameters import Parameter
    from triton_doctor.static.variability.values.lattice import Literal
    from triton_doctor.static.variability.values.values import CallFrame, Value

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
    """Return whether the kernel may have several configs: one alone is not timed (triton 3.9 autotuner.py)."""
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
        lengths = [interpreter_of(project).length(config_list, frame) for config_list in lists]
        counts = {1 if length.high is not None and length.high <= 1 else length.literal for length in lengths}
        known = frozenset(count for count in counts if isinstance(count, int))
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
    later = (binding.order for bindings in function.bindings.values() for binding in bindings if binding.line > line)
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
        case ListValue(content, _):
            yield from _calls(content)
        case SymbolicValue(made=UnfollowedCall() as made) if final_name(made.call.func) == "Config":
            yield made
        case _:
            pass


AUTOTUNE_KEY, CONSTEXPR = "TRD301", "TRD201"


@cached_in_scan(most=1)
def varying_keys(project: Project) -> Mapping[tuple[str, str, int], tuple[Parameter, ...]]:
    """Return the parameters in the autotune key of each kernel that change with each call, by the kernel's key.

    Kernels with a single config are left out.
    """
    found = {}
    for key, of_kernel in groupby(parameters(project), key=lambda parameter: parameter.kernel.key):
        varying = tuple(
            parameter
            for parameter in of_kernel
            if parameter.in_autotune_key
            and parameter.worst is not None
            and parameter.worst.kind is Variability.PER_CALL
        )
        if varying and is_tuned(project, varying[0].kernel):
            found[key] = varying
    return found


def names_in_key(project: Project, parameter: Parameter) -> tuple[str, ...]:
    """Return the names in the kernel's key that change with each call; empty unless `parameter` is one of them."""
    names = tuple(varying.param.name for varying in varying_keys(project).get(parameter.kernel.key, ()))
    return names if parameter.param.name in names else ()


def describe_tuning(project: Project, parameter: Parameter, names: tuple[str, ...]) -> str:
    """Return the clause that ends a message about `parameter` if `names` of its kernel's key change; else empty."""
    if not names:
        return ""
    configs = describe_configs(project, parameter.kernel)
    others = [f"`{name}`" for name in names if name != parameter.param.name]
    also = f"; {join_words(others)} in the key {'change' if len(others) > 1 else 'changes'} too" if others else ""
    return f", and autotunes {configs} again: `{parameter.param.name}` is in the autotune key{also}"


def fold_tuning(findings: Iterable[Finding]) -> list[Finding]:
    """Return `findings` with each of TRD301 merged into that of TRD201 about the same parameter, if there is one.

    The severity is the greater of the two.
    """
    found = list(findings)
    tuning = {_subject(finding): finding for finding in found if finding.code == AUTOTUNE_KEY}
    if not tuning:
        return found
    folded = {_subject(finding) for finding in found if finding.code == CONSTEXPR}
    kept = []
    for finding in found:
        key = tuning.get(_subject(finding))
        if finding.code == CONSTEXPR and key is not None:
            finding = replace(finding, severity=max(finding.severity, key.severity))
        if finding.code != AUTOTUNE_KEY or _subject(finding) not in folded:
            kept.append(finding)
    return kept


def _subject(finding: Finding) -> tuple[object, ...]:
    return (finding.facts.kernel_location, finding.facts.kernel, finding.facts.parameter)
