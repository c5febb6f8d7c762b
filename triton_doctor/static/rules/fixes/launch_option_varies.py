"""TRD207: one spelling of the options at every launch of the kernel that means the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.plan import Change, DropArgument, GiveArgument, Plan, Replace, Safety
from triton_doctor.static.project.launches import spelled_out
from triton_doctor.static.project.surroundings import kernel_of, launches
from triton_doctor.static.python.ir import Const
from triton_doctor.static.variability.parameter_uses import LAUNCH_OPTIONS

if TYPE_CHECKING:
    from triton_doctor.finding import Finding
    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.function import Argument
    from triton_doctor.static.python.module import Kernel

# Spelled out or left out, these are the same on every target; `num_stages` is 3 on NVIDIA and 2 on AMD.
_SAME_EVERYWHERE = frozenset({"num_warps", "num_ctas"})


def plan(project: Project, finding: Finding) -> Plan | None:
    """Give the launch the options of the first that it equals; None for an option that varies."""
    kernel = kernel_of(project, finding)
    if kernel is None or finding.facts.parameter is not None or len(finding.facts.also) != 1:
        return None
    (place,) = finding.facts.also
    here = [
        one for one in launches(project, kernel) if (one.module.path, one.launch.span) == (finding.path, finding.span)
    ]
    first = [
        one for one in launches(project, kernel) if (one.module.path, one.launch.span.line) == (place.path, place.line)
    ]
    if len(here) != 1 or len(first) != 1 or len(here[0].kernels) != 1:
        return None
    own, wanted = _options(here[0], kernel), _options(first[0], kernel)
    if not all(isinstance(one.value, Const) for one in (*own.values(), *wanted.values())):
        return None
    texts = [f"{name}={one.value.value!r}" for name, one in wanted.items() if isinstance(one.value, Const)]
    added = own.keys() ^ wanted.keys()
    return Plan(
        safety=Safety.SAFE if added <= _SAME_EVERYWHERE else Safety.UNSAFE,
        title=f"launch `{kernel.name}` with {', '.join(f'`{text}`' for text in texts) or 'no options'}",
        changes=tuple(_changes(here[0], list(own.values()), texts)),
    )


def _options(launch: LinkedLaunch, kernel: Kernel) -> dict[str, Argument]:
    names = LAUNCH_OPTIONS - {param.name for param in kernel.params}
    return {name: one for name, one in spelled_out(launch, kernel).items() if name in names}


def _changes(launch: LinkedLaunch, own: list[Argument], texts: list[str]) -> list[Change]:
    path, call = launch.module.path, launch.launch.span
    changes: list[Change] = [
        Replace(path, call, argument.span, text) for argument, text in zip(own, texts, strict=False)
    ]
    changes += [DropArgument(path, call, argument.span) for argument in own[len(texts) :]]
    if len(texts) > len(own):
        changes.append(GiveArgument(path, call, ", ".join(texts[len(own) :])))
    return changes
