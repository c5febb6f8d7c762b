"""Adds findings for recompiles that recorded runs saw and static analysis did not report."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.evidence import rules_behind
from triton_doctor.evidence.kernel_matching import is_program
from triton_doctor.evidence.verdicts import MANY, RETUNED, UNREAD, VARYING, confirmed
from triton_doctor.finding import Evidence, Facts, Finding, Location, Severity, Verdict
from triton_doctor.phrases import join_words
from triton_doctor.runtime.cause_table import CAUSES, CONSTEXPR, TUNED_AGAIN
from triton_doctor.runtime.event import CompileEvent
from triton_doctor.runtime.remedies import find_change
from triton_doctor.static.variability.queries.description import facts
from triton_doctor.static.variability.queries.parameters import Parameters
from triton_doctor.static.variability.values.lattice import Variability

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from triton_doctor.evidence.kernel_matching import KernelKey
    from triton_doctor.evidence.recorded_kernels import Price, RecordedKernel
    from triton_doctor.runtime.event import Scalar
    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.module import Kernel, Param
    from triton_doctor.static.variability.queries.parameters import Parameter, ParameterSource

OF_A_CONSTEXPR = frozenset({VARYING, UNREAD, "TRD206"})
LONGEST = 80
NAMES_SHOWN = 4


def unpredicted(
    project: Project,
    seen: Mapping[KernelKey, RecordedKernel],
    findings: Collection[Finding],
    advised: Mapping[KernelKey, Collection[str]],
) -> Iterator[Finding]:
    """Yield a finding for each repeated cause of compiles that none of `findings` predicts.

    `advised` are the constexprs that the report of the run advises to take out of a kernel's key. Parameters are judged
    by the current source: one that is no longer a constexpr was fixed after the run.
    """
    reported = defaultdict[tuple[str, str | None, int | None], set[str | None]](set)
    for finding in findings:
        place = finding.facts.kernel_location
        if place is not None:
            reported[finding.code, place.path, place.line].add(finding.facts.parameter)
            if finding.facts.autotune_keys:
                reported[RETUNED, place.path, place.line].add(finding.facts.parameter)
    every = Parameters(project)
    for kernel in project.kernels():
        if kernel.key in seen:
            of_kernel = {code: reported[code, kernel.path, kernel.line] for code in _codes()}
            yield from _of_kernel(kernel, every, seen[kernel.key], of_kernel, advised.get(kernel.key, ()))


def _codes() -> frozenset[str]:
    causes = (code for cause in CAUSES for code in rules_behind(cause))
    return frozenset({*causes, *CAUSES, *OF_A_CONSTEXPR, RETUNED})


def _of_kernel(
    kernel: Kernel,
    every: Parameters,
    seen: RecordedKernel,
    reported: Mapping[str, set[str | None]],
    advised: Collection[str],
) -> Iterator[Finding]:
    by_configs = seen.configured | (kernel.autotune.sets or frozenset() if kernel.autotune is not None else frozenset())
    reported_constexprs = set[str | None]().union(*(reported[code] for code in OF_A_CONSTEXPR))
    for parameter in every.of(kernel, lambda kernel, param: param.is_constexpr and param.name not in by_configs):
        values = seen.constexpr_values(parameter.param.name)
        many = len(values) >= MANY or parameter.param.name in advised
        if (
            parameter.param.name not in reported_constexprs
            and many
            and not _is_per_model(seen, "constexpr", parameter.param.name)
        ):
            yield _constexpr(parameter, seen, values)
    key = kernel.autotune.key if kernel.autotune is not None else ()
    if not reported[RETUNED]:
        most = max(key, key=lambda name: len(seen.key_values(name)), default=None)
        many = most is not None and len(seen.key_values(most)) >= MANY
        if most is not None and many and not _is_per_model(seen, "autotune key", most):
            yield _tuning(kernel, most, seen, seen.key_values(most))
    yield from _causes(kernel, seen, reported)


def _is_per_model(seen: RecordedKernel, part: str, name: str) -> bool:
    """Return whether a sweep found that this part of the key follows something that is fixed for a model."""
    swept = seen.swept(part, name)
    return swept is not None and swept.per_model


def _constexpr(parameter: Parameter, seen: RecordedKernel, values: Sequence[Scalar]) -> Finding:
    kernel, name = parameter.kernel, parameter.param.name
    price = seen.price(lambda change: change.name == name, with_first=True)
    source = _launched(parameter, seen) or parameter.worst or next(iter(parameter.sources), None)
    at_launch = source is not None and source.kind is not Variability.FIXED
    powers = all(type(value) is int and value.bit_count() == 1 for value in values)
    return Finding(
        path=source.path if source is not None and at_launch else kernel.path,
        span=source.span if source is not None and at_launch else parameter.param.span,
        code=UNREAD if parameter.use == "unread" else VARYING,
        severity=Severity.INFO if powers else Severity.ERROR,
        message=f"`{name}` recompiled `{kernel.name}` in a run: {shown(values)}",
        advice=find_change(CONSTEXPR, [name], {}),
        facts=facts(parameter, source),
        evidence=_added(seen, f"{len(values):,} values seen", price, values=len(values)),
    )


def _launched(parameter: Parameter, seen: RecordedKernel) -> ParameterSource | None:
    """Return the source at the launch that compiled most often; None if that launch has moved since the run."""
    sites = Counter(cause.event.launch_site for cause in seen.causes)
    for site, _ in sites.most_common():
        for source in parameter.sources:
            path, span = source.launch.module.path, source.launch.launch.span
            here = site is not None and source.path == path and span.line <= site.line <= span.end_line
            if site is not None and here and is_program(path, site.path):
                return source
    return None


def _tuning(kernel: Kernel, name: str, seen: RecordedKernel, values: Sequence[Scalar]) -> Finding:
    price = seen.price(lambda change: change.part == "tuning" and change.name == name, with_first=True)
    param = next((param for param in kernel.params if param.name == name), None)
    return Finding(
        path=kernel.path,
        span=param.span if param is not None else kernel.span,
        code=RETUNED,
        severity=Severity.ERROR,
        message=f"`{kernel.name}` was tuned again in a run for each value of `{name}`: {shown(values)}",
        advice=find_change(TUNED_AGAIN, [name], {}),
        facts=_facts(kernel, param),
        evidence=_added(seen, f"{len(values):,} values seen", price, values=len(values)),
    )


def _causes(kernel: Kernel, seen: RecordedKernel, reported: Mapping[str, set[str | None]]) -> Iterator[Finding]:
    """Yield one finding for each of the other causes, with all the parameters that had it."""
    params = {param.name: param for param in kernel.params}
    names = defaultdict[str, dict[str, None]](dict)
    events = defaultdict[str, list[CompileEvent]](list)
    most = Counter[str]()
    for process in seen.processes:
        counts = Counter[str]()
        for cause in process.causes:
            # A round of tuning tries its configs whatever the program does.
            if isinstance(cause.event, CompileEvent) and not cause.event.tuning and CAUSES[cause.code].phrase:
                counts[cause.code] += 1
                events[cause.code].append(cause.event)
                names[cause.code] |= {change.name: None for change in cause.changes if change.code == cause.code}
        most |= counts
    for cause_code, changed in sorted(names.items()):
        code = next(iter(rules_behind(cause_code)), cause_code)
        price = seen.price_of(events[cause_code])
        kept = [name for name in changed if name in params]
        # Once or twice in each of many processes is not again and again.
        if most[cause_code] < MANY or reported[code] or (changed.keys() <= set(kernel.do_not_specialize)):
            continue
        first = params[kept[0]] if kept else None
        quoted = join_words(quote(kept)) if kept else None
        what = f"{quoted} of `{kernel.name}`" if quoted else f"`{kernel.name}`"
        yield Finding(
            path=kernel.path,
            span=first.span if first is not None else kernel.span,
            code=code,
            severity=Severity.WARNING,
            message=f"{what} {CAUSES[cause_code].phrase} in a run, and compiled or loaded each time",
            advice=find_change(cause_code, kept, {}),
            facts=_facts(kernel, first if len(kept) == 1 else None),
            evidence=_added(seen, f"{price.times:,} changes seen", price),
        )


def _added(seen: RecordedKernel, what: str, price: Price, *, values: int | None = None) -> Evidence:
    return replace(confirmed(seen, what, price, values=values), verdict=Verdict.ADDED, dry=seen.dry)


def _facts(kernel: Kernel, param: Param | None) -> Facts:
    return Facts(
        kernel=kernel.name,
        kernel_location=Location(kernel.path, kernel.line),
        parameter=param.name if param is not None else None,
        parameter_location=Location(kernel.path, param.span.line) if param is not None else None,
    )


def quote(names: Sequence[str]) -> Sequence[str]:
    """Quote the first four of `names`, and append "N more" for the rest."""
    quoted = [f"`{name}`" for name in names[:NAMES_SHOWN]]
    return [*quoted, f"{len(names) - NAMES_SHOWN} more"] if len(names) > NAMES_SHOWN else quoted


def shown(values: Sequence[Scalar]) -> str:
    """Format the first of `values` as Python literals, up to 80 characters, then "..."."""
    text = ""
    for at, value in enumerate(values):
        more = f"{text}, {value!r}" if text else repr(value)
        if len(more) > LONGEST and at:
            return f"{text}, ..."
        text = more
    return text
