"""TRD207: a launch option that follows the data, or that equal launches of one kernel spell differently."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.finding import Facts, Finding, Place, Severity
from triton_doctor.static.project.launches import hides_arguments, launches_of, spelled_out
from triton_doctor.static.python.ir import Const
from triton_doctor.static.python.printing import spell
from triton_doctor.static.variability.lattice import Kind
from triton_doctor.static.variability.launch_hints import flow_of
from triton_doctor.static.variability.parameter_uses import LAUNCH_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.python.module import Kernel

CODE = "TRD207"
# Of an NVIDIA target (triton 3.9 backends/nvidia/compiler.py CUDAOptions).
DEFAULTS: Mapping[str, Expr] = {"num_warps": Const(4), "num_stages": Const(3), "num_ctas": Const(1)}


class _Spelling(NamedTuple):
    """The options of a launch, in the order in which they are given."""

    launch: LinkedLaunch
    options: tuple[tuple[str, Expr], ...]

    @property
    def meaning(self) -> frozenset[tuple[str, Expr]]:
        """What they come to, defaults left out."""
        return frozenset((name, value) for name, value in self.options if DEFAULTS.get(name) != value)


def check(project: Project) -> Iterator[Finding]:
    """One finding a launch and option that varies; one a kernel that is launched with two spellings."""
    for kernel in project.kernels():
        own = {param.name for param in kernel.params}
        spellings = []
        for launch in launches_of(project).get(kernel.key, ()):
            arguments = spelled_out(launch, kernel)
            options = {name: one for name, one in arguments.items() if name in LAUNCH_OPTIONS and name not in own}
            for name in options:
                yield from _varying(project, launch, kernel, name)
            if not hides_arguments(launch):
                spellings.append(_Spelling(launch, tuple((name, one.value) for name, one in options.items())))
        if kernel.autotune is None:
            yield from _respelled(kernel, spellings)


def _varying(project: Project, launch: LinkedLaunch, kernel: Kernel, name: str) -> Iterator[Finding]:
    argument = spelled_out(launch, kernel)[name]
    if isinstance(argument.value, Const):
        return
    flow = flow_of(project)
    scalar = flow.scalar(argument.value, flow.at(launch))
    if scalar.settled() is not Kind.PER_CALL:
        return
    steps = dict.fromkeys(note.step() for note in scalar.trail)
    yield Finding(
        path=launch.module.path,
        span=argument.span,
        code=CODE,
        severity=Severity.WARNING,
        message=f"`{name}` recompiles `{kernel.name}` for each value of `{spell(argument.value)}`",
        advice=f"choose `{name}` from a few fixed values: each is a variant of its own",
        facts=Facts(
            kernel=kernel.name,
            kernel_place=Place(kernel.path, kernel.span.line),
            parameter=name,
            launch=launch.launch.span,
            variability=Kind.PER_CALL.label,
            bound=scalar.bound,
        ),
        trail=tuple(steps),
    )


def _respelled(kernel: Kernel, spellings: list[_Spelling]) -> Iterator[Finding]:
    """The first launch that says otherwise what an earlier one said."""
    by_meaning: dict[frozenset[tuple[str, Expr]], _Spelling] = {}
    for second in spellings:
        first = by_meaning.setdefault(second.meaning, second)
        if first.options != second.options:
            yield _finding(kernel, first, second)
            return


def _finding(kernel: Kernel, first: _Spelling, second: _Spelling) -> Finding:
    path, span = second.launch.module.path, second.launch.launch.span
    place = Place(first.launch.module.path, first.launch.launch.span.line)
    return Finding(
        path=path,
        span=span,
        code=CODE,
        severity=Severity.INFO,
        message=(
            f"`{kernel.name}` is launched with {_told(second)} here and {_told(first)} on line {place.line}"
            f"{f' of {place.path}' if place.path != path else ''}: the same options under two keys, so the kernel "
            "is loaded for each"
        ),
        advice="pass the same options in the same order at every launch, including those left at their defaults",
        facts=Facts(kernel=kernel.name, kernel_place=Place(kernel.path, kernel.span.line), launch=span, also=(place,)),
    )


def _told(spelling: _Spelling) -> str:
    given = ", ".join(f"{name}={spell(value)}" for name, value in spelling.options)
    return f"`{given}`" if given else "no options"
