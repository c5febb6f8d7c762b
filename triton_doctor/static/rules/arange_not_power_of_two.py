"""TRD502: `tl.arange` over a known number of elements that is no power of two, which does not compile."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.finding import Facts, Finding, Location, Severity, Span
from triton_doctor.static.project.launches.launches import (
    expects_error,
    hides_arguments,
    is_expected_to_fail,
    launches_of,
    spelled_out,
)
from triton_doctor.static.python.ir import BinaryOp, Const, Expr, Name, every_part
from triton_doctor.static.python.module import is_for_a_fork
from triton_doctor.static.python.printing import spell
from triton_doctor.static.rules import Rule
from triton_doctor.static.variability.queries.configs import find_configs
from triton_doctor.static.variability.queries.queries import find_literals, find_module_literals

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.module import Arange, Kernel


CODE = "TRD502"


class _GivenNumber(NamedTuple):
    """A number passed for the parameter `name`, and where it is written."""

    name: str
    number: int
    path: str
    span: Span
    launch: Span | None


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each call of `arange` with literals, at the call.

    One for each parameter, at the first bad value.
    """
    for kernel in project.kernels():
        reported: set[str] = set()
        if kernel.jit_span is None or not kernel.uses.aranges or is_for_a_fork(project.modules[kernel.path]):
            continue
        for arange in kernel.uses.aranges:
            names = _names(arange)
            if not names:
                yield from _in_literals(project, kernel, arange)
            elif len(names) == 1 and not arange.conditional and not names & reported:
                (name,) = names
                for value in _values(project, kernel, name):
                    count = _count(arange, {name: value.number})
                    # Zero or fewer is a default that no launch uses.
                    if count is not None and count > 0 and not _is_power_of_two(count):
                        reported.add(name)
                        yield _in_parameter(kernel, arange, value, count)
                        break


def _names(arange: Arange) -> frozenset[str]:
    return frozenset(part.id for part in every_part(arange.start, arange.end) if isinstance(part, Name))


def _values(project: Project, kernel: Kernel, name: str) -> Iterator[_GivenNumber]:
    """Yield the literals that launches, the default and configs give a constexpr."""
    param = next((param for param in kernel.params if param.name == name and param.is_constexpr), None)
    if param is None:
        return
    for launch in launches_of(project).get(kernel.key, ()):
        if expects_error(launch):
            continue
        argument = spelled_out(launch, kernel).get(name)
        if argument is not None:
            for literal in find_literals(project, launch, argument.value):
                if type(literal.value) is int:
                    yield _GivenNumber(name, literal.value, launch.module.path, argument.span, launch.launch.span)
        elif (
            param.default is not None and not hides_arguments(launch) and not kernel.heuristics and not kernel.autotune
        ):
            for module_literal in find_module_literals(project, kernel.path, param.default, param.span.line):
                if type(module_literal.value) is int:
                    yield _GivenNumber(name, module_literal.value, kernel.path, param.span, None)
    for config in find_configs(project, kernel):
        for config_value in config.parameters.get(name, ()):
            if kernel.autotune is not None and type(config_value.value) is int:
                yield _GivenNumber(name, config_value.value, kernel.path, kernel.autotune.span, None)


def _count(arange: Arange, values: Mapping[str, int]) -> int | None:
    start, end = _number(arange.start, values), _number(arange.end, values)
    return end - start if start is not None and end is not None else None


def _number(expr: Expr, values: Mapping[str, int]) -> int | None:
    match expr:
        case Const(value) if type(value) is int:
            return value
        case Name(name):
            return values.get(name)
        case BinaryOp(op, (left, right)):
            first, other = _number(left, values), _number(right, values)
            if first is None or other is None:
                return None
            match op:
                case "+":
                    return first + other
                case "-":
                    return first - other
                case "*":
                    return first * other
                case "//" if other:
                    return first // other
    return None


def _is_power_of_two(count: int) -> bool:
    return count > 0 and count & (count - 1) == 0


def _in_literals(project: Project, kernel: Kernel, arange: Arange) -> Iterator[Finding]:
    count = _count(arange, {})
    if count is not None and not _is_power_of_two(count) and not is_expected_to_fail(project, kernel):
        yield Finding(
            path=kernel.path,
            span=arange.span,
            code=CODE,
            severity=Severity.ERROR,
            message=(
                f"`tl.arange` of {count} elements in `{kernel.name}` does not compile: {count} is not a power of two"
            ),
            advice=_advice(count),
            facts=Facts(kernel=kernel.name, kernel_location=Location(kernel.path, kernel.line)),
        )


def _in_parameter(kernel: Kernel, arange: Arange, value: _GivenNumber, count: int) -> Finding:
    param = next(param for param in kernel.params if param.name == value.name)
    what = f"`{spell(arange.end)}`" if arange.start == Const(0) else f"`{spell(arange.start)}` to `{spell(arange.end)}`"
    return Finding(
        path=value.path,
        span=value.span,
        code=CODE,
        severity=Severity.ERROR,
        message=(
            f"`{kernel.name}` does not compile when `{value.name}` is {value.number}: its `tl.arange` over {what} then "
            f"has {count} elements, which is not a power of two"
        ),
        advice=_advice(count),
        facts=Facts(
            kernel=kernel.name,
            kernel_location=Location(kernel.path, kernel.line),
            parameter=value.name,
            parameter_location=Location(kernel.path, param.span.line),
            launch=value.launch,
            use="compile_time",
        ),
    )


def _advice(count: int) -> str:
    return f"use {1 << max(count - 1, 0).bit_length()}, and mask the elements beyond the end"


RULE = Rule(code=CODE, check=check)
