"""Autotune keys whose values change with each call: each new value starts a round of tuning.

TRD301 reports such a name. If TRD201 reports the same parameter as a constexpr, the finding of TRD301 becomes part of
that of TRD201, so that one argument is not reported twice.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.variability.queries.configs import describe_configs, is_tuned
from triton_doctor.static.variability.queries.parameters import parameters
from triton_doctor.static.variability.values.lattice import Variability

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from triton_doctor.finding import Finding
    from triton_doctor.static.project.project import Project
    from triton_doctor.static.variability.queries.parameters import Parameter

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
    names = tuple(one.param.name for one in varying_keys(project).get(parameter.kernel.key, ()))
    return names if parameter.param.name in names else ()


def describe_tuning(project: Project, parameter: Parameter, names: tuple[str, ...]) -> str:
    """Return the clause that ends a message about `parameter` if `names` of its kernel's key change; else empty."""
    if not names:
        return ""
    configs = describe_configs(project, parameter.kernel)
    others = [f"`{name}`" for name in names if name != parameter.param.name]
    also = f"; {join_words(others)} in the key {'change' if len(others) > 1 else 'changes'} too" if others else ""
    return f", and autotunes {configs} again: `{parameter.param.name}` is in the autotune key{also}"


def join_words(words: list[str]) -> str:
    """Return `a`, `a and b`, or `a, b and c`."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def fold_tuning(findings: Iterable[Finding]) -> list[Finding]:
    """Return `findings` with each of TRD301 merged into that of TRD201 about the same parameter, if there is one.

    The severity is the greater of the two.
    """
    found = list(findings)
    tuning = {_subject(one): one for one in found if one.code == AUTOTUNE_KEY}
    if not tuning:
        return found
    folded = {_subject(one) for one in found if one.code == CONSTEXPR}
    kept = []
    for one in found:
        key = tuning.get(_subject(one))
        if one.code == CONSTEXPR and key is not None:
            one = replace(one, severity=max(one.severity, key.severity))
        if one.code != AUTOTUNE_KEY or _subject(one) not in folded:
            kept.append(one)
    return kept


def _subject(finding: Finding) -> tuple[object, ...]:
    return (finding.facts.kernel_location, finding.facts.kernel, finding.facts.parameter)
