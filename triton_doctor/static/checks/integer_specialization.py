"""TRD208: counts that change with each call, and cost a variant as 1, as a multiple of 16 and as neither."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.finding import Facts, Finding, Place, Severity
from triton_doctor.static.expression import Apply, Attr, Call, Choice, Const, Expr, Name, Part, dotted
from triton_doctor.static.flow.kinds import Kind, Scalar
from triton_doctor.static.flow.torch_calls import ALLOCATING, KEEPING, LIKE
from triton_doctor.static.launched import flow_of, launches_of, origin_of, spelled_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.model import Kernel, LinkedLaunch, Project
    from triton_doctor.static.model_function import Argument

CODE = "TRD208"
# Methods and functions of torch that give tensors, told by name alone: most arguments of a launch are.
_TENSORS = ALLOCATING | LIKE | KEEPING | {"contiguous", "view", "reshape", "flatten", "squeeze", "unsqueeze"}


class _Count(NamedTuple):
    """An integer that changes with each call, and in how many classes of values."""

    name: str
    argument: Argument
    scalar: Scalar
    classes: int


def check(project: Project) -> Iterator[Finding]:
    """One finding a kernel, at the launch with the most variants: of two counts or more, or of one from the data."""
    for kernel in project.kernels():
        found = [
            (launch, counts)
            for launch in launches_of(project).get(kernel.key, ())
            if (counts := tuple(_counts(project, launch, kernel)))
        ]
        if found:
            launch, counts = max(found, key=lambda one: prod(count.classes for count in one[1]))
            if len(counts) == 1 and not counts[0].scalar.from_data:
                continue  # nearly every kernel has one size that it masks with
            yield _finding(kernel, launch, counts, [other for other, _ in found if other is not launch])


def _counts(project: Project, launch: LinkedLaunch, kernel: Kernel) -> Iterator[_Count]:
    flow = flow_of(project)
    arguments = spelled_out(launch, kernel)
    for param in kernel.params:
        argument = arguments.get(param.name)
        if argument is None or param.is_constexpr or param.name in kernel.do_not_specialize:
            continue
        origin = origin_of(launch, argument.value)
        if isinstance(argument.value, Const) or not _may_be_a_count(launch, origin):
            continue
        scalar = flow.scalar(argument.value, flow.at(launch))
        if scalar.settled() is Kind.PER_CALL and (not scalar.from_data or _is_whole(origin)):
            classes = _classes(scalar, aligned=param.name not in kernel.do_not_align)
            if classes > 1:
                yield _Count(param.name, argument, scalar, classes)


def _may_be_a_count(launch: LinkedLaunch, origin: Expr) -> bool:
    """Whether it is no tensor, no stride, no fraction, and no multiple of 16 whatever the other factor is."""
    match origin:
        case Call(Attr(_, "stride")):
            return False
        case Part(value):
            return _may_be_a_count(launch, value)
        case Choice(test, options) if test is not None:
            return all(_may_be_a_count(launch, option) for option in options)
        case Call(Attr(_, name)) if name in _TENSORS:
            return False
        case Name(name):
            params = launch.function.params
            return not any(param.name == name and param.annotation == "Tensor" for param in params)
        case Apply("/", _):
            return False
        case Apply("*", operands):
            return not any(
                isinstance(one, Const) and type(one.value) is int and one.value % 16 == 0 for one in operands
            )
        case _:
            return True


def _is_whole(origin: Expr) -> bool:
    """Whether a value that is read out of the data is an integer for certain."""
    return isinstance(origin, Call) and dotted(origin.func) in ("len", "int")


def _classes(scalar: Scalar, *, aligned: bool) -> int:
    """Of 1, multiples of 16 where `aligned`, and others, how many the bounds leave."""
    one = scalar.low is None or scalar.low <= 1
    sixteen = scalar.high is None or scalar.high >= 16 or scalar.low is None or scalar.low <= 0
    return one + (sixteen and aligned) + 1


def _finding(kernel: Kernel, launch: LinkedLaunch, counts: tuple[_Count, ...], others: list[LinkedLaunch]) -> Finding:
    names = [f"`{count.name}`" for count in counts]
    named = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    variants = prod(count.classes for count in counts)
    first = counts[0]
    listed = ", ".join(f'"{count.name}"' for count in counts)
    return Finding(
        path=launch.module.path,
        span=first.argument.span,
        code=CODE,
        severity=Severity.INFO,
        message=(
            f"{named} of `{kernel.name}` {'change' if len(names) > 1 else 'changes'} with each call: as 1, a multiple "
            f"of 16 or neither, {variants} variants at the most"
        ),
        advice=f"`@triton.jit(do_not_specialize=[{listed}])` makes it one, where the kernel gains nothing by them",
        facts=Facts(
            kernel=kernel.name,
            kernel_place=Place(kernel.path, kernel.span.line),
            parameter=first.name if len(counts) == 1 else None,
            launch=launch.launch.span,
            variability=Kind.PER_CALL.label,
            bound=variants,
            also=tuple(sorted({Place(other.module.path, other.launch.span.line) for other in others})),
        ),
        trail=tuple(dict.fromkeys(note.step() for note in first.scalar.trail)),
    )
