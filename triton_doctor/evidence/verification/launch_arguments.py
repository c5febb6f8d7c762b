"""Chooses arguments to compile a kernel with: from recordings, else from the expressions at its launches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from triton_doctor.static.project.launches.launches import launches_of, origin_of, spelled_out
from triton_doctor.static.python.ir import Attr, Call, Compare, Const, Name, TupleExpr
from triton_doctor.static.variability.queries.kernel_hints import interpreter_of
from triton_doctor.static.variability.queries.queries import is_integer
from triton_doctor.static.variability.values.values import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from triton_doctor.runtime.event import CompileEvent
    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.python.module import Kernel

# What a parameter is taken to be where no recording tells: so many values in a row, some of them divisible by 16.
VALUES = range(17, 57)

Described = dict[str, Any]


class Cases(NamedTuple):
    """The `arguments` to compile with, and the `cases` to count variants of, each as what it changes in `arguments`."""

    arguments: dict[str, Described]
    cases: tuple[dict[str, Described], ...]
    recorded: bool


def made_up(project: Project, kernel: Kernel, varying: Sequence[str]) -> Cases:
    """Choose arguments like those of the first launch of `kernel` in the project.

    The parameters `varying` take 40 values each, all at the same time.
    """
    launches = launches_of(project).get(kernel.key, ())
    arguments: dict[str, Described] = {}
    for param in kernel.params:
        given = [(launch, argument) for launch in launches if (argument := spelled_out(launch, kernel).get(param.name))]
        if given:
            launch, argument = given[0]
            arguments[param.name] = _described(project, launch, argument.value)
        elif param.default is None:
            arguments[param.name] = {"kind": "guess"}
    return Cases(
        arguments=arguments,
        cases=tuple({name: {"kind": "value", "value": value} for name in varying} for value in VALUES),
        recorded=False,
    )


def _described(project: Project, launch: LinkedLaunch, expr: Expr) -> Described:
    match expr:
        case Const(bool() | int() | float() | str() | None as value):
            return {"kind": "value", "value": value}
        case Compare():
            return {"kind": "value", "value": True}
        case Attr(Name(base), name) if _is_of_triton(launch, base):
            return {"kind": "type", "name": name}
        case Name() if (origin := origin_of(launch, expr)) != expr and isinstance(origin, Call):
            made = _made(launch, origin)
        case Call():
            made = _made(launch, expr)
        case _:
            made = None
    if made is not None:
        return made
    interpreter = interpreter_of(project)
    if isinstance(interpreter.value(expr, interpreter.at(launch)), Tensor):
        return {"kind": "tensor", "dtype": None, "aligned": True}
    return {"kind": "size" if is_integer(project, launch, expr) else "guess"}


def _made(launch: LinkedLaunch, call: Call) -> Described | None:
    """Describe a call of Triton with literal arguments, such as a layout: `gl.BlockedLayout([1], [32], [4], [0])`.

    None for any other call.
    """
    match call.func:
        case Attr(Name(base), name) if _is_of_triton(launch, base):
            imported = launch.module.imports[base]
            args = [_literal(arg) for arg in call.args]
            keywords = {word or "**": _literal(arg) for word, arg in call.keywords}
            if _UNKNOWN not in args and _UNKNOWN not in keywords.values():
                module = ".".join(part for part in (imported.module, imported.member) if part)
                return {"kind": "made", "module": module, "name": name, "args": args, "keywords": keywords}
    return None


_UNKNOWN = "no literal"


def _literal(expr: Expr) -> Any:
    match expr:
        case Const(bool() | int() | float() | None as value):
            return value
        case TupleExpr(items) if _UNKNOWN not in (found := [_literal(item) for item in items]):
            return found
    return _UNKNOWN


def _is_of_triton(launch: LinkedLaunch, name: str) -> bool:
    """Return whether the file of the launch imports `name` from Triton, or from a module whose name holds "triton"."""
    imported = launch.module.imports.get(name)
    return imported is not None and "triton" in f"{imported.module}.{imported.member}"


def recorded(events: Iterable[CompileEvent]) -> Cases | None:
    """Return the arguments that a run launched it with; None where no event records all of them well enough."""
    cases: list[dict[str, Described]] = []
    for event in events:
        case = _of_event(event)
        if case is not None:
            cases.append(case)
    return Cases(arguments=cases[0], cases=tuple(cases), recorded=True) if cases else None


def _of_event(event: CompileEvent) -> dict[str, Described] | None:
    constants, attributes, values = dict(event.key.constants), dict(event.key.attributes), dict(event.values)
    exact = dict(event.exact or ())
    case: dict[str, Described] = {}
    for name, kind in event.key.signature:
        aligned = "%16" in attributes.get(name, "")
        if kind == "constexpr" and '"fields"' in exact.get(name, ""):
            case[name] = {"kind": "exact", "value": exact[name]}
        elif kind == "constexpr" and isinstance(constants.get(name), str):
            return None  # a type, a function or a string: as text it is none of them for certain
        elif kind == "constexpr":
            case[name] = {"kind": "value", "value": constants.get(name)}
        elif kind.startswith("*"):
            case[name] = {"kind": "tensor", "dtype": kind.removeprefix("*").removeprefix("k"), "aligned": aligned}
        elif kind == "none":
            case[name] = {"kind": "value", "value": None}
        elif name in values:
            case[name] = {"kind": "value", "value": values[name]}
        elif kind.startswith("fp"):
            case[name] = {"kind": "value", "value": 0.5}
        else:
            case[name] = {"kind": "value", "value": 1 if "=1" in attributes.get(name, "") else 64 if aligned else 17}
    return case
