"""TRD208: counts that change with each call, and cost variants as 1, as a multiple of 16 and as neither."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.finding import Facts, Finding, Location, Severity
from triton_doctor.static.project.calls.surroundings import pointers
from triton_doctor.static.project.launches.launches import launches_of, origin_of, spelled_out
from triton_doctor.static.python.ir import Attr, BinaryOp, Call, Conditional, Const, Expr, Name, Unpacked, dotted
from triton_doctor.static.rules import Rule
from triton_doctor.static.variability.models.torch import ALLOCATING, KEEPING, LIKE
from triton_doctor.static.variability.queries.kernel_hints import interpreter_of
from triton_doctor.static.variability.queries.parameters import in_autotune_key, parameters
from triton_doctor.static.variability.values.lattice import AbstractNumber, Variability

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.function import Argument
    from triton_doctor.static.python.module import Kernel
    from triton_doctor.static.variability.queries.parameters import Parameter

CODE = "TRD208"
# Methods and functions of torch that return tensors, recognized by name: most arguments of a launch are such.
_TENSORS = ALLOCATING | LIKE | KEEPING | {"contiguous", "view", "reshape", "flatten", "squeeze", "unsqueeze"}


class _Count(NamedTuple):
    """An integer that changes with each call; `classes` is its number of specialization classes."""

    name: str
    argument: Argument
    number: AbstractNumber
    classes: int


class _Candidate(NamedTuple):
    """An argument that may be a count, as far as its expression shows."""

    name: str
    argument: Argument
    aligned: bool
    origin: Expr

    @property
    def whole(self) -> bool:
        """Whether a value that is read out of data is certainly an integer."""
        return isinstance(self.origin, Call) and dotted(self.origin.func) in ("len", "int")


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each kernel, at the launch with the most variants: with two counts, or one from the data."""
    interpreter = interpreter_of(project)
    unbounded = {parameter.kernel.key for parameter in parameters(project) if _compiles_for_each_value(parameter)}
    for kernel in project.kernels():
        if kernel.key in unbounded:
            continue  # three classes for each of many variants are a minor cost
        launches = [
            launch
            for launch in launches_of(project).get(kernel.key, ())
            if not interpreter.call_graph.is_no_program(launch.module, launch.function, launch.launch.arms)
        ]
        every = [(launch, tuple(_candidates(launch, kernel))) for launch in launches]
        if any(_may_have_counts(candidates) for _, candidates in every):
            addresses = pointers(project, kernel)
            every = [(launch, tuple(count for count in own if count.name not in addresses)) for launch, own in every]
        # nearly every kernel has one size for masking
        if any(_has_counts(project, launch, candidates) for launch, candidates in every):
            counted = [(launch, tuple(_counts(project, launch, candidates))) for launch, candidates in every]
            found = [(launch, counts) for launch, counts in counted if counts]
            launch, counts = max(found, key=lambda pair: prod(count.classes for count in pair[1]))
            if len(counts) > 1 or counts[0].number.from_data:
                yield _finding(kernel, launch, counts, [other for other, _ in found if other is not launch])


def _compiles_for_each_value(parameter: Parameter) -> bool:
    worst = parameter.worst
    return parameter.param.is_constexpr and worst is not None and worst.kind is Variability.PER_CALL


def _may_have_counts(candidates: Sequence[_Candidate]) -> bool:
    """Return whether `candidates` may contain two counts, or one from the data."""
    return len(candidates) > 1 or any(candidate.whole for candidate in candidates)


def _has_counts(project: Project, launch: LinkedLaunch, candidates: Sequence[_Candidate]) -> bool:
    """Return whether `candidates` contain two counts, or one from the data; evaluates only as many as needed."""
    # Arguments of the function come last, since they require its callers.
    ordered = sorted(candidates, key=lambda candidate: isinstance(candidate.origin, Name))
    found = 0
    while ordered and (found or _may_have_counts(ordered)):
        for count in _counts(project, launch, (ordered.pop(0),)):
            found += 1
            if found > 1 or count.number.from_data:
                return True
    return False


def _candidates(launch: LinkedLaunch, kernel: Kernel) -> Iterator[_Candidate]:
    arguments = spelled_out(launch, kernel)
    for param in kernel.params:
        argument = arguments.get(param.name)
        if argument is None or param.is_constexpr or param.name in kernel.do_not_specialize:
            continue
        if param.name not in kernel.uses.read:
            continue  # TRD202 says to remove it
        if in_autotune_key(kernel, param):
            continue
        origin = origin_of(launch, argument.value)
        if not isinstance(argument.value, Const) and _may_be_a_count(launch, origin):
            yield _Candidate(param.name, argument, param.name not in kernel.do_not_align, origin)


def _counts(project: Project, launch: LinkedLaunch, candidates: Sequence[_Candidate]) -> Iterator[_Count]:
    interpreter = interpreter_of(project)
    point = interpreter.at(launch)
    for candidate in candidates:
        number = interpreter.number(candidate.argument.value, point)
        if number.only_shown:
            continue  # an argument only benchmarks pass may be no count: a scale may be a tensor elsewhere
        if number.decide() is Variability.PER_CALL and (not number.from_data or candidate.whole):
            classes = _classes(number, aligned=candidate.aligned)
            if classes > 1:
                yield _Count(candidate.name, candidate.argument, number, classes)


def _may_be_a_count(launch: LinkedLaunch, origin: Expr) -> bool:
    """Return whether `origin` may be a count: no tensor, stride or fraction, and not multiplied by 16 or the like."""
    match origin:
        case Call(Attr(_, "stride")):
            return False
        case Unpacked(value):
            return _may_be_a_count(launch, value)
        case Conditional(test, options) if test is not None:
            return all(_may_be_a_count(launch, option) for option in options)
        case Call(Attr(_, name)) if name in _TENSORS:
            return False
        case Name(name):
            params = launch.function.params
            return not any(param.name == name and param.annotation == "Tensor" for param in params)
        case BinaryOp("/", _):
            return False
        case BinaryOp("*", operands):
            return not any(
                isinstance(operand, Const) and type(operand.value) is int and operand.value % 16 == 0
                for operand in operands
            )
        case _:
            return True


def _classes(number: AbstractNumber, *, aligned: bool) -> int:
    """Return how many of the classes 1, multiples of 16 (if `aligned`) and others the bounds allow."""
    may_be_one = number.low is None or number.low <= 1
    sixteen = number.high is None or number.high >= 16 or number.low is None or number.low <= 0
    return may_be_one + (sixteen and aligned) + 1


def _finding(kernel: Kernel, launch: LinkedLaunch, counts: tuple[_Count, ...], others: list[LinkedLaunch]) -> Finding:
    names = [f"`{count.name}`" for count in counts]
    named = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    variants = prod(count.classes for count in counts)
    first = counts[0]
    unread = [name for name in names if name[1:-1] not in kernel.uses.read]
    listed = ", ".join(f'"{count.name}"' for count in counts if count.name in kernel.uses.read)
    advice = (
        [f"remove {' and '.join(unread)}: the kernel never reads {'them' if unread[1:] else 'it'}"] if unread else []
    )
    if listed:
        advice.append(
            f"`@triton.jit(do_not_specialize=[{listed}])` compiles one variant for all values; use it if the kernel "
            "gains nothing from divisibility by 16"
        )
    return Finding(
        path=launch.module.path,
        span=first.argument.span,
        code=CODE,
        severity=Severity.INFO,
        message=(
            f"{named} of `{kernel.name}` {'differ' if len(names) > 1 else 'differs'} between calls; Triton compiles "
            f"separate variants for 1, multiples of 16 and other values: up to {variants} here"
        ),
        advice="; ".join(advice),
        facts=Facts(
            kernel=kernel.name,
            kernel_location=Location(kernel.path, kernel.line),
            parameter=first.name if len(counts) == 1 else None,
            launch=launch.launch.span,
            variability=Variability.PER_CALL.label,
            bound=variants,
            also=tuple(sorted({Location(other.module.path, other.launch.span.line) for other in others})),
        ),
        trail=tuple(dict.fromkeys(note.step() for note in first.number.trail)),
    )


RULE = Rule(code=CODE, check=check)
