"""An expression that names or sets an environment variable, to the texts it may have."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from triton_doctor.static.environment.python_code.guards import holds
from triton_doctor.static.environment.setting import Fleeting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from triton_doctor.static.environment.python_code.names import Bindings

_DEEPEST = 12

# What makes a folder's name a new one in each process, each job, or each test.
_FRESH_CALLS = {
    "tempfile.mkdtemp": "a new temporary folder in each process",
    "tempfile.TemporaryDirectory": "a temporary folder that is deleted again",
    "tempfile.NamedTemporaryFile": "a new temporary file in each process",
    "tempfile.mktemp": "a new temporary name in each process",
    "os.getpid": "named after the process id, so it is a new one in each process",
    "uuid.uuid1": "named by a new uuid in each process",
    "uuid.uuid4": "named by a new uuid in each process",
    "time.time": "named after the time, so it is a new one in each process",
    "time.time_ns": "named after the time, so it is a new one in each process",
    "time.strftime": "named after the time, so it is a new one in each process",
    "datetime.datetime.now": "named after the time, so it is a new one in each process",
    "datetime.datetime.utcnow": "named after the time, so it is a new one in each process",
    "secrets.token_hex": "named by a random number, so it is a new one in each process",
    "random.randint": "named by a random number, so it is a new one in each process",
}
# pytest's own: a folder for each test, or each session.
_FRESH_NAMES = {
    "tmp_path": "a new temporary folder in each test",
    "tmpdir": "a new temporary folder in each test",
    "tmp_path_factory": "a new temporary folder in each test session",
}
JOB_IDS = frozenset({"SLURM_JOB_ID", "SLURM_JOBID", "PBS_JOBID", "LSB_JOBID", "GITHUB_RUN_ID", "CI_JOB_ID"})


@dataclass(frozen=True, slots=True)
class PossibleText:
    """One text that an expression may have, None if unknown; `guarded` when a flag decides that it is this one."""

    text: str | None
    guarded: bool = False
    fleeting: Fleeting | None = None


def readings(expr: ast.expr, names: Bindings, depth: int = _DEEPEST) -> tuple[PossibleText, ...]:
    """The texts that `expr` may have: several where a condition chooses."""
    if depth == 0:
        return (PossibleText(None),)
    match expr:
        case ast.Constant(value=value):
            return (PossibleText(_spelled(value)),)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _chosen(test, body, orelse, names, depth - 1)
        case ast.BoolOp(op=ast.Or(), values=values):
            known = [one for value in values for one in readings(value, names, depth - 1) if one.text]
            return (known[0],) if known else (PossibleText(None),)
        case ast.JoinedStr(values=parts):
            return (_joined([_part(part, names, depth - 1) for part in parts]),)
        case ast.BinOp(left=left, op=ast.Add() | ast.Div() as op, right=right):
            between = [PossibleText("/")] if isinstance(op, ast.Div) else []
            ends = [_one(left, names, depth - 1), *between, _one(right, names, depth - 1)]
            return (_joined(ends),)
        case ast.BinOp(left=ast.Constant(value=str(form)), op=ast.Mod(), right=right):
            return (_formatted(form, right, names, depth - 1),)
        case ast.Call():
            return _called(expr, names, depth - 1)
        case ast.Attribute(value=value, attr=attr) if not names.values(expr):
            inner = _one(value, names, depth - 1)
            return (PossibleText(inner.text if attr == "value" else None, inner.guarded, inner.fleeting),)
        case ast.Name() | ast.Attribute():
            return _named(expr, names, depth - 1)
        case ast.Subscript(value=value, slice=key):
            return (_subscript(value, key, names, depth - 1),)
        case ast.NamedExpr(value=value):
            return readings(value, names, depth - 1)
        case _:
            return (PossibleText(None),)


def texts(expr: ast.expr, names: Bindings) -> Iterator[str]:
    """The texts of `expr` that are known."""
    for reading in readings(expr, names):
        if reading.text is not None:
            yield reading.text


def _one(expr: ast.expr, names: Bindings, depth: int) -> PossibleText:
    found = readings(expr, names, depth)
    return found[0] if len(found) == 1 else PossibleText(None, fleeting=_first_fleeting(found))


def _spelled(value: object) -> str | None:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value) if isinstance(value, str | int | float) else None


def _part(part: ast.expr, names: Bindings, depth: int) -> PossibleText:
    if isinstance(part, ast.FormattedValue):
        inner = _one(part.value, names, depth)
        return inner if part.format_spec is None else PossibleText(None, fleeting=inner.fleeting)
    return _one(part, names, depth)


def _joined(parts: list[PossibleText]) -> PossibleText:
    texts = [part.text for part in parts]
    whole = "".join(text for text in texts if text is not None) if None not in texts else None
    return PossibleText(whole, any(part.guarded for part in parts), _first_fleeting(parts))


def _first_fleeting(parts: Iterable[PossibleText]) -> Fleeting | None:
    return next((part.fleeting for part in parts if part.fleeting), None)


def _formatted(form: str, right: ast.expr, names: Bindings, depth: int) -> PossibleText:
    values = right.elts if isinstance(right, ast.Tuple) else [right]
    parts = [_one(value, names, depth) for value in values]
    known = [part.text for part in parts if part.text is not None]
    if len(known) < len(parts) or form.count("%") != len(parts):
        return PossibleText(None, fleeting=_first_fleeting(parts))
    pieces = form.replace("%d", "%s").split("%s")
    if len(pieces) != len(known) + 1:
        return PossibleText(None, fleeting=_first_fleeting(parts))
    return PossibleText("".join(piece + text for piece, text in zip(pieces, [*known, ""], strict=True)))


def _chosen(test: ast.expr, body: ast.expr, orelse: ast.expr, names: Bindings, depth: int) -> tuple[PossibleText, ...]:
    match holds(test, names):
        case True:
            return readings(body, names, depth)
        case False:
            return readings(orelse, names, depth)
        case None:
            arms = (*readings(body, names, depth), *readings(orelse, names, depth))
            if len({arm.text for arm in arms}) == 1:
                return arms[:1]
            return tuple(replace(arm, guarded=True) for arm in arms)


def _named(expr: ast.Name | ast.Attribute, names: Bindings, depth: int) -> tuple[PossibleText, ...]:
    if isinstance(expr, ast.Name) and expr.id in _FRESH_NAMES and names.is_param(expr.id):
        return (PossibleText(None, fleeting=Fleeting(why=_FRESH_NAMES[expr.id])),)
    values = names.values(expr)
    if len(values) == 1 and values[0] is not expr:
        return readings(values[0], names, depth)
    fresh = _first_fleeting(one for value in values if value is not expr for one in readings(value, names, depth))
    return (PossibleText(None, fleeting=fresh),)


def _subscript(value: ast.expr, key: ast.expr, names: Bindings, depth: int) -> PossibleText:
    full = names.full_name(value)
    if full in {"os.environ", "environ"}:
        name = _one(key, names, depth).text
        return _environment_value(name)
    container = names.value(value) or value
    index = key.value if isinstance(key, ast.Constant) else None
    match container, index:
        case ast.Tuple(elts=elements) | ast.List(elts=elements), int(place) if -len(elements) <= place < len(elements):
            return _one(elements[place], names, depth)
        case ast.Dict(keys=keys, values=values), str() | int():
            for one, its in zip(keys, values, strict=True):
                if isinstance(one, ast.Constant) and one.value == index:
                    return _one(its, names, depth)
            return PossibleText(None)
        case _:
            return PossibleText(None, fleeting=_one(value, names, depth).fleeting)


def _environment_value(name: str | None) -> PossibleText:
    if name in JOB_IDS:
        return PossibleText(
            None, fleeting=Fleeting(why=f"named after {name}, so it is a new one in each job", certain=False)
        )
    return PossibleText(None)


def _called(call: ast.Call, names: Bindings, depth: int) -> tuple[PossibleText, ...]:
    full = names.full_name(call.func) or ""
    args = call.args
    if full in _FRESH_CALLS:
        return (PossibleText(None, fleeting=Fleeting(why=_FRESH_CALLS[full])),)
    if full in {"os.environ.get", "os.getenv", "environ.get", "getenv", "os.environ.setdefault"} and args:
        given = _environment_value(_one(args[0], names, depth).text)
        default = args[1] if len(args) > 1 else next((k.value for k in call.keywords if k.arg == "default"), None)
        if default is None or given.fleeting is not None:
            return (given,)
        return readings(default, names, depth)
    match call.func:
        case ast.Name(id="str" | "int" | "bool" | "repr" | "Path" | "bytes") if len(args) == 1:
            return tuple(_converted(one, call.func.id, args[0]) for one in readings(args[0], names, depth))
        case ast.Attribute(value=inner, attr="strip" | "encode" | "as_posix" | "resolve" | "absolute" | "expanduser"):
            return readings(inner, names, depth)
        case ast.Attribute(value=inner, attr="lower" | "upper" as change) if not args:
            return tuple(
                replace(one, text=getattr(one.text, change)() if one.text else one.text)
                for one in readings(inner, names, depth)
            )
        case ast.Attribute(value=ast.Constant(value=str(form)), attr="format") if not call.keywords:
            return (_formatted(form.replace("{}", "%s"), ast.Tuple(elts=args, ctx=ast.Load()), names, depth),)
        case ast.Attribute(value=ast.Constant(value=str(glue)), attr="join") if len(args) == 1:
            return (_glued(glue, args[0], names, depth),)
        case _:
            pass
    parts = [_one(arg, names, depth) for arg in args]
    if full.endswith(("path.join", "Path", "PurePath", "path.abspath", "path.expanduser", "path.realpath")) and parts:
        known = [part.text for part in parts if part.text is not None]
        whole = "/".join(known) if len(known) == len(parts) else None
        return (PossibleText(whole, fleeting=_first_fleeting(parts)),)
    if isinstance(call.func, ast.Attribute):
        parts.append(_one(call.func.value, names, depth))
    return (PossibleText(None, fleeting=_first_fleeting(parts)),)


def _converted(reading: PossibleText, function: str, argument: ast.expr) -> PossibleText:
    text = reading.text
    if text is None or function in {"str", "Path", "bytes"}:
        return reading
    if function == "repr":
        is_text = isinstance(argument, ast.Constant) and isinstance(argument.value, str)
        return PossibleText(None) if is_text else reading
    if function == "int":
        digits = {"True": "1", "False": "0"}.get(text, text)
        return replace(reading, text=digits if digits.strip().lstrip("-").isdigit() else None)
    return replace(reading, text=None)


def _glued(glue: str, argument: ast.expr, names: Bindings, depth: int) -> PossibleText:
    if not isinstance(argument, ast.List | ast.Tuple):
        return PossibleText(None)
    parts: list[PossibleText] = []
    for number, element in enumerate(argument.elts):
        parts += [PossibleText(glue)] if number else []
        parts.append(_one(element, names, depth))
    return _joined(parts)
