"""TRD209: a tensor argument that begins at a varying element of another, which may be aligned to 16 bytes or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.finding import Facts, Finding, Location, Severity
from triton_doctor.static.project.launches.launches import launches_of, origin_of, spelled_out
from triton_doctor.static.python.ir import Attr, BinaryOp, Call, Const, Expr, Slice, Subscript, TupleExpr
from triton_doctor.static.python.printing import spell
from triton_doctor.static.rules import Rule
from triton_doctor.static.variability.queries.kernel_hints import interpreter_of
from triton_doctor.static.variability.values import tensors
from triton_doctor.static.variability.values.lattice import AbstractNumber, Variability
from triton_doctor.static.variability.values.values import SymbolicValue, Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.function import Argument
    from triton_doctor.static.python.module import Kernel


CODE = "TRD209"


class _TensorView(NamedTuple):
    """`base` from element `start` of its last axis on; `flat` if that must be its only axis."""

    base: Expr
    start: Expr
    flat: bool


def check(project: Project) -> Iterator[Finding]:
    """Yield one finding for each launch and parameter, at the argument."""
    for kernel in project.kernels():
        params = {param.name for param in kernel.params if not param.is_constexpr}
        for launch in launches_of(project).get(kernel.key, ()):
            for name, argument in spelled_out(launch, kernel).items():
                view = _view(origin_of(launch, argument.value)) if name in params else None
                start = _varying(project, launch, view) if view is not None else None
                if view is not None and start is not None:
                    yield _finding(kernel, launch, name, argument, view, start)


def _view(expr: Expr) -> _TensorView | None:
    match expr:
        case Subscript(base, Slice(Const(0), _, _)) | Subscript(base, Slice(None, _, _)):
            return None
        case Subscript(base, Slice(start, _, _)) if start is not None:
            return _TensorView(base, start, flat=True)
        case Subscript(base, TupleExpr((_, *_, Slice(start, _, _)))) if start not in (None, Const(0)):
            return _TensorView(base, start, flat=False)
        case Call(Attr(base, "narrow"), (Const(-1), start, _), ()):
            return _TensorView(base, start, flat=False)
        case Call(Attr(base, "narrow"), (Const(0), start, _), ()):
            return _TensorView(base, start, flat=True)
        case _:
            return None


def _varying(project: Project, launch: LinkedLaunch, view: _TensorView) -> AbstractNumber | None:
    """Return the start if it changes with each call, and not in steps of 16 elements."""
    origin = origin_of(launch, view.start)
    if isinstance(origin, BinaryOp) and origin.op == "*" and any(_is_coarse(operand) for operand in origin.operands):
        return None
    interpreter = interpreter_of(project)
    point = interpreter.at(launch)
    start = interpreter.number(view.start, point)
    if start.decide() is not Variability.PER_CALL:
        return None
    if view.flat:
        base = interpreter.value(view.base, point)
        if not isinstance(base, Tensor | SymbolicValue) or tensors.rank(base) != 1:
            return None
    return start


def _is_coarse(expr: Expr) -> bool:
    return isinstance(expr, Const) and type(expr.value) is int and expr.value % 16 == 0


def _finding(
    kernel: Kernel, launch: LinkedLaunch, name: str, argument: Argument, view: _TensorView, start: AbstractNumber
) -> Finding:
    location = next(Location(kernel.path, param.span.line) for param in kernel.params if param.name == name)
    return Finding(
        path=launch.module.path,
        span=argument.span,
        code=CODE,
        severity=Severity.INFO,
        message=(
            f"`{name}` of `{kernel.name}` begins at element `{spell(view.start)}` of `{spell(view.base)}`, which is "
            "aligned to 16 bytes only at some values: Triton compiles a variant for each case, and the unaligned "
            "one uses narrower loads"
        ),
        advice=(
            f"pass `{spell(view.base)}` and the offset separately, with the offset in `do_not_specialize`, or begin at "
            "multiples of 16 elements"
        ),
        facts=Facts(
            kernel=kernel.name,
            kernel_location=Location(kernel.path, kernel.line),
            parameter=name,
            parameter_location=location,
            launch=launch.launch.span,
            variability=Variability.PER_CALL.label,
            bound=2,
        ),
        trail=tuple(dict.fromkeys(note.step() for note in start.trail)),
    )


RULE = Rule(code=CODE, check=check)
