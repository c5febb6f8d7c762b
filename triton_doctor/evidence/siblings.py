"""What a run saw of one parameter, to others that are the same axis of the same tensor, in kernels that it did not run.

`one[grid](x, x.shape[1])` and `two[grid](x, x.shape[1])` of one function get the same number: five values that were
seen of the first confirm what is said of the second, and show it where reading left it open.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.evidence.verdicts import of_dry_runs, of_values
from triton_doctor.finding import Evidence, Finding, Severity, Verdict
from triton_doctor.static.variability.queries.description import describe_value, facts
from triton_doctor.static.variability.queries.parameters import Parameters
from triton_doctor.static.variability.values.dims import Dim, DimProduct
from triton_doctor.static.variability.values.lattice import Variability

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from triton_doctor.evidence.seen import RecordedKernel
    from triton_doctor.evidence.whose import KernelKey
    from triton_doctor.static.project.project import Project
    from triton_doctor.static.variability.queries.parameters import Parameter

CONSTEXPR, UNREAD = "TRD201", "TRD202"
OF_VALUES = frozenset({CONSTEXPR, UNREAD})


class SeenAxis(NamedTuple):
    """What was seen of an axis, as a parameter of some kernel: confirmed or cleared."""

    parameter: Parameter
    evidence: Evidence

    def moved(self) -> Evidence:
        """The evidence as that of a sibling, which cost nothing itself."""
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
    """`findings`, of which those that no run exercised follow their siblings, and what siblings alone show."""
    every = Parameters(project)
    found = [one for kernel in project.kernels() for one in every.of(kernel, lambda _, param: param.is_constexpr)]
    axes = _read_axes(found, seen)
    if not axes:
        return list(findings)
    of_place = {(one.kernel.path, one.kernel.line, one.param.name): one for one in found}
    moved, told = [], set[tuple[str, int, str]]()
    for finding in findings:
        place = finding.facts.kernel_location
        if place is not None and finding.facts.parameter is not None:
            key = (place.path, place.line, finding.facts.parameter)
            told.add(key)
            parameter = of_place.get(key)
            if parameter is not None and finding.code in OF_VALUES:
                finding = _moved(finding, axes.get(sole_axis(parameter)))
        moved.append(finding)
    return [*moved, *_shown_by_siblings(found, axes, seen, told)]


def sole_axis(parameter: Parameter) -> Dim | None:
    """The axis of a tensor that `parameter` is at all of its launches; None where it is none, or one of several."""
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
    """The axes of which runs saw many values, or too few in many launches; many outweigh few."""
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
    """What the values of a constexpr say; None where they are too few to tell."""
    values = seen.constexpr_values(name)
    if not values:
        return None
    evidence = of_values(seen, name, values, "value")
    swept = seen.swept("constexpr", name)
    if swept is not None and swept.per_model:
        evidence = replace(evidence, verdict=Verdict.CLEARED, text=f"{swept.tell()}, which a model fixes")
    evidence = of_dry_runs(evidence, dry=seen.dry, guessed=seen.guessed)
    return evidence if evidence.verdict in (Verdict.CONFIRMED, Verdict.CLEARED) else None


def _moved(finding: Finding, axis: SeenAxis | None) -> Finding:
    """`finding` with the verdict on its axis, where it has none of its own; down to info if cleared."""
    own = finding.evidence
    if axis is None or own is None or own.verdict is not Verdict.NOT_EXERCISED:
        return finding
    cleared = axis.evidence.verdict is Verdict.CLEARED
    return replace(finding, severity=Severity.INFO if cleared else finding.severity, evidence=axis.moved())


def _shown_by_siblings(
    parameters: Iterable[Parameter],
    axes: Mapping[Dim | None, SeenAxis],
    seen: Mapping[KernelKey, RecordedKernel],
    told: Collection[tuple[str, int, str]],
) -> Iterable[Finding]:
    """A finding for each parameter that reading leaves open, whose axis changed in a run that did not launch it."""
    for parameter in parameters:
        kernel = parameter.kernel
        axis = axes.get(sole_axis(parameter))
        is_open = parameter.worst is None and (kernel.path, kernel.line, parameter.param.name) not in told
        if axis is None or axis.evidence.verdict is not Verdict.CONFIRMED or not is_open or kernel.key in seen:
            continue
        source = next(one for one in parameter.sources if one.kind is Variability.UNKNOWN)
        yield Finding(
            path=source.path,
            span=source.span,
            code=UNREAD if parameter.use == "unread" else CONSTEXPR,
            severity=Severity.WARNING,
            message=f"`{parameter.param.name}` recompiles `{kernel.name}` for each value of {describe_value(source)}",
            facts=facts(parameter, source),
            evidence=replace(axis.moved(), verdict=Verdict.ADDED),
        )
