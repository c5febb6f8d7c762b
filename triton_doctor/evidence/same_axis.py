"""Transfers what a run saw of one parameter to parameters that are the same axis of the same tensor in other kernels.

`first[grid](x, x.shape[1])` and `second[grid](x, x.shape[1])` of one function get the same number: five values that
were seen of the first confirm a finding about the second, and raise one where static analysis left it open.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.evidence.verdicts import UNREAD, VARYING, of_dry_runs, of_values
from triton_doctor.finding import Evidence, Finding, Severity, Verdict
from triton_doctor.static.variability.queries.description import describe_value, facts
from triton_doctor.static.variability.queries.parameters import Parameters
from triton_doctor.static.variability.values.dims import Dim, DimProduct
from triton_doctor.static.variability.values.lattice import Variability

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from triton_doctor.evidence.kernel_matching import KernelKey
    from triton_doctor.evidence.recorded_kernels import RecordedKernel
    from triton_doctor.static.project.project import Project
    from triton_doctor.static.variability.queries.parameters import Parameter

OF_VALUES = frozenset({VARYING, UNREAD})


class SeenAxis(NamedTuple):
    """A verdict, confirmed or cleared, on a parameter that is an axis of a tensor."""

    parameter: Parameter
    evidence: Evidence

    def moved(self) -> Evidence:
        """Return the evidence for another parameter of the same axis, without the cost."""
        name, kernel = self.parameter.param.name, self.parameter.kernel.name
        return Evidence(
            verdict=self.evidence.verdict,
            text=f"{self.evidence.text.partition(',')[0]} of the same axis, `{name}` of `{kernel}`",
            values=self.evidence.values,
            dry=self.evidence.dry,
        )


def move_siblings(
    project: Project, seen: Mapping[KernelKey, RecordedKernel], findings: Iterable[Finding]
) -> list[Finding]:
    """Return `findings` with verdicts copied from parameters of the same axis, followed by the findings that this adds.

    Only findings that no run exercised receive such a verdict.
    """
    every = Parameters(project)
    found = [
        parameter for kernel in project.kernels() for parameter in every.of(kernel, lambda _, param: param.is_constexpr)
    ]
    axes = _read_axes(found, seen)
    if not axes:
        return list(findings)
    of_place = {(parameter.kernel.path, parameter.kernel.line, parameter.param.name): parameter for parameter in found}
    moved, reported = [], set[tuple[str, int, str]]()
    for finding in findings:
        place = finding.facts.kernel_location
        if place is not None and finding.facts.parameter is not None:
            key = (place.path, place.line, finding.facts.parameter)
            reported.add(key)
            parameter = of_place.get(key)
            if parameter is not None and finding.code in OF_VALUES:
                finding = _moved(finding, axes.get(sole_axis(parameter)))
        moved.append(finding)
    return [*moved, *_shown_by_siblings(found, axes, seen, reported)]


def sole_axis(parameter: Parameter) -> Dim | None:
    """Return the tensor axis that all launches pass as `parameter`; None where it is no axis, or one of several."""
    sizes = {source.number.size for source in parameter.sources}
    size = sizes.pop() if len(sizes) == 1 else None
    match size:
        case DimProduct((Dim() as axis,), ()):
            return axis
        case _:
            return None


def _read_axes(
    parameters: Sequence[Parameter], seen: Mapping[KernelKey, RecordedKernel]
) -> Mapping[Dim | None, SeenAxis]:
    """Return the verdict on each axis that a run saw as a constexpr. Confirmed wins over cleared."""
    axes: dict[Dim | None, SeenAxis] = {}
    for parameter in parameters:
        kernel, axis = seen.get(parameter.kernel.key), sole_axis(parameter)
        if kernel is None or axis is None:
            continue
        evidence = _read_values(kernel, parameter.param.name)
        if evidence is not None and (axis not in axes or evidence.verdict is Verdict.CONFIRMED):
            axes[axis] = SeenAxis(parameter, evidence)
    return axes


def _read_values(seen: RecordedKernel, name: str) -> Evidence | None:
    """Judge a constexpr by its values; None where there are too few to decide."""
    values = seen.constexpr_values(name)
    if not values:
        return None
    evidence = of_values(seen, name, values, "value")
    swept = seen.swept("constexpr", name)
    if swept is not None and swept.per_model:
        evidence = replace(evidence, verdict=Verdict.CLEARED, text=f"{swept.describe()}, which a model fixes")
    evidence = of_dry_runs(evidence, dry=seen.dry, guessed=seen.guessed)
    return evidence if evidence.verdict in (Verdict.CONFIRMED, Verdict.CLEARED) else None


def _moved(finding: Finding, axis: SeenAxis | None) -> Finding:
    """Return `finding` with the verdict on its axis if it has none of its own; its severity is info if cleared."""
    own = finding.evidence
    if axis is None or own is None or own.verdict is not Verdict.NOT_EXERCISED:
        return finding
    cleared = axis.evidence.verdict is Verdict.CLEARED
    return replace(finding, severity=Severity.INFO if cleared else finding.severity, evidence=axis.moved())


def _shown_by_siblings(
    parameters: Iterable[Parameter],
    axes: Mapping[Dim | None, SeenAxis],
    seen: Mapping[KernelKey, RecordedKernel],
    reported: Collection[tuple[str, int, str]],
) -> Iterable[Finding]:
    """Yield a finding for each undecided parameter whose axis varied in a run that did not launch its kernel."""
    for parameter in parameters:
        kernel = parameter.kernel
        axis = axes.get(sole_axis(parameter))
        is_open = parameter.worst is None and (kernel.path, kernel.line, parameter.param.name) not in reported
        if axis is None or axis.evidence.verdict is not Verdict.CONFIRMED or not is_open or kernel.key in seen:
            continue
        source = next(source for source in parameter.sources if source.kind is Variability.UNKNOWN)
        yield Finding(
            path=source.path,
            span=source.span,
            code=UNREAD if parameter.use == "unread" else VARYING,
            severity=Severity.WARNING,
            message=f"`{parameter.param.name}` recompiles `{kernel.name}` for each value of {describe_value(source)}",
            facts=facts(parameter, source),
            evidence=replace(axis.moved(), verdict=Verdict.ADDED),
        )
