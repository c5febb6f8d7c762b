"""Expressions to the texts that they may have, for names and values of environment variables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from triton_doctor.static.environment.python_code.guards import ENVIRONMENTS, READERS, holds
from triton_doctor.static.environment.setting import Fleeting
from triton_doctor.static.python.ir import (
    Attr,
    BinaryOp,
    Call,
    Conditional,
    Const,
    DictExpr,
    Expr,
    Name,
    Opaque,
    Subscript,
    TupleExpr,
    dotted,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from triton_doctor.static.environment.python_code.names import Names

_DEEPEST = 12

# What makes a folder's name new in each process, job or test.
_BY_TIME = "named after the time, so it is a new one in each process"
_BY_UUID = "named by a new uuid in each process"
_BY_CHANCE = "named by a random number, so it is a new one in each process"
_FRESH_CALLS = {
    "tempfile.mkdtemp": "a new temporary folder in each process",
    "tempfile.TemporaryDirectory": "a temporary folder that is deleted again",
    "tempfile.NamedTemporaryFile": "a new temporary file in each process",
    "tempfile.mktemp": "a new temporary name in each process",
    "os.getpid": "named after the process id, so it is a new one in each process",
    **dict.fromkeys(("uuid.uuid1", "uuid.uuid4"), _BY_UUID),
    **dict.fromkeys(("time.time", "time.time_ns", "time.strftime"), _BY_TIME),
    **dict.fromkeys(("datetime.datetime.now", "datetime.datetime.utcnow"), _BY_TIME),
    **dict.fromkeys(("secrets.token_hex", "random.randint"), _BY_CHANCE),
}
# pytest's fixtures: a folder for each test, or each session.
_FRESH_NAMES = {
    "tmp_path": "a new temporary folder in each test",
    "tmpdir": "a new temporary folder in each test",
    "tmp_path_factory": "a new temporary folder in each test session",
}
_JOB_IDS = frozenset({"SLURM_JOB_ID", "SLURM_JOBID", "PBS_JOBID", "LSB_JOBID", "GITHUB_RUN_ID", "CI_JOB_ID"})
_PATH_JOINERS = ("path.join", "Path", "PurePath", "path.abspath", "path.expanduser", "path.realpath")


@dataclass(frozen=True, slots=True)
class PossibleText:
    """A text that an expression may have, None if unknown; `guarded` if a flag decides for it."""

    text: str | None
    guarded: bool = False
    fleeting: Fleeting | None = None


_UNKNOWN = PossibleText(None)


def readings(expr: Expr, names: Names, depth: int = _DEEPEST) -> tuple[PossibleText, ...]:
    """Return the texts that `expr` may have: several if a condition chooses."""
    if depth == 0:
        return (_UNKNOWN,)
    depth -= 1
    match expr:
        case Const(value):
            return (PossibleText(_spelled(value)),)
        case Conditional(None, options, "or"):
            known = (one for option in options for one in readings(option, names, depth) if one.text)
            return (next(known, _UNKNOWN),)
        case Conditional(test, (body, orelse)) if test is not None:
            return _chosen(holds(test, names), readings(body, names, depth), readings(orelse, names, depth))
        case Opaque("JoinedStr", parts):
            return (_joined([_one(part, names, depth) for part in parts]),)
        case Opaque("FormattedValue", (value,)):
            return readings(value, names, depth)
        case Opaque("FormattedValue", (value, _)):
            return (_unknown_of([_one(value, names, depth)]),)
        case BinaryOp("+" | "/" as operator, (left, right)):
            between = [PossibleText("/")] if operator == "/" else []
            return (_joined([_one(left, names, depth), *between, _one(right, names, depth)]),)
        case BinaryOp("%", (Const(str(form)), right)):
            given = right.items if isinstance(right, TupleExpr) else (right,)
            return (_formatted(form.replace("%d", "%s"), given, names, depth),)
        case Call():
            return _called(expr, names, depth)
        case Attr(value, name) if not names.values(expr):
            inner = _one(value, names, depth)
            return (inner if name == "value" else replace(inner, text=None),)
        case Name() | Attr():
            return _named(expr, names, depth)
        case Subscript(value, key):
            return (_subscript(value, key, names, depth),)
        case _:
            return (_UNKNOWN,)


def texts(expr: Expr, names: Names) -> Iterator[str]:
    """Yield the known texts of `expr`."""
    for reading in readings(expr, names):
        if reading.text is not None:
            yield reading.text


def _one(expr: Expr, names: Names, depth: int) -> PossibleText:
    found = readings(expr, names, depth)
    return found[0] if len(found) == 1 else _unknown_of(found)


def _spelled(value: object) -> str | None:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value) if isinstance(value, str | int | float) else None


def _joined(parts: Sequence[PossibleText]) -> PossibleText:
    texts = [part.text for part in parts if part.text is not None]
    whole = "".join(texts) if len(texts) == len(parts) else None
    return PossibleText(whole, any(part.guarded for part in parts), _first_fleeting(parts))


def _unknown_of(parts: Iterable[PossibleText]) -> PossibleText:
    """Return an unknown text that keeps the lifetime of a folder named by one of `parts`."""
    return PossibleText(None, fleeting=_first_fleeting(parts))


def _first_fleeting(parts: Iterable[PossibleText]) -> Fleeting | None:
    return next((part.fleeting for part in parts if part.fleeting), None)


def _formatted(form: str, given: Sequence[Expr], names: Names, depth: int) -> PossibleText:
    """Return `form` with each `%s` replaced."""
    parts = [_one(value, names, depth) for value in given]
    pieces = [PossibleText(piece) for piece in form.split("%s")]
    if form.count("%") != len(parts) or len(pieces) != len(parts) + 1:
        return _unknown_of(parts)
    return _joined([*(one for pair in zip(pieces, parts, strict=False) for one in pair), pieces[-1]])


def _chosen(
    truth: bool | None, then: tuple[PossibleText, ...], otherwise: tuple[PossibleText, ...]
) -> tuple[PossibleText, ...]:
    if truth is not None:
        return then if truth else otherwise
    arms = (*then, *otherwise)
    return arms[:1] if len({arm.text for arm in arms}) == 1 else tuple(replace(arm, guarded=True) for arm in arms)


def _named(expr: Name | Attr, names: Names, depth: int) -> tuple[PossibleText, ...]:
    if isinstance(expr, Name) and expr.id in _FRESH_NAMES and names.is_param(expr.id):
        return (PossibleText(None, fleeting=Fleeting(why=_FRESH_NAMES[expr.id])),)
    values = names.values(expr)
    # `x = x + "/a"`: the earlier value of the name is unknown; do not look it up again.
    before = names.bound({dotted(expr) or "": Opaque("Name")})
    found = tuple(one for value in values for one in readings(value, before, depth))
    return found if len(values) == 1 else (_unknown_of(found),)


def _subscript(value: Expr, key: Expr, names: Names, depth: int) -> PossibleText:
    if names.full_name(value) in ENVIRONMENTS:
        return _environment_value(_one(key, names, depth).text)
    match names.value(value) or value, key:
        case TupleExpr(items), Const(int(position)) if -len(items) <= position < len(items):
            return _one(items[position], names, depth)
        case DictExpr(items), Const(str() | int()):
            return next((_one(its, names, depth) for one, its in items if one == key), _UNKNOWN)
        case _:
            return _unknown_of([_one(value, names, depth)])


def _environment_value(name: str | None) -> PossibleText:
    if name not in _JOB_IDS:
        return _UNKNOWN
    why = f"named after {name}, so it is a new one in each job"
    return PossibleText(None, fleeting=Fleeting(why=why, certain=False))


def _called(call: Call, names: Names, depth: int) -> tuple[PossibleText, ...]:
    full = names.full_name(call.func) or ""
    if full in _FRESH_CALLS:
        return (PossibleText(None, fleeting=Fleeting(why=_FRESH_CALLS[full])),)
    match call:
        case Call(_, (name, *rest), keywords) if full in READERS or full == "os.environ.setdefault":
            given = _environment_value(_one(name, names, depth).text)
            default = rest[0] if rest else dict(keywords).get("default")
            return (given,) if default is None or given.fleeting is not None else readings(default, names, depth)
        case Call(Name("str" | "int" | "bool" | "repr" | "Path" | "bytes" as function), (value,)):
            return tuple(_converted(one, function, value) for one in readings(value, names, depth))
        case Call(Attr(inner, "strip" | "encode" | "as_posix" | "resolve" | "absolute" | "expanduser")):
            return readings(inner, names, depth)
        case Call(Attr(inner, "lower" | "upper" as change), ()):
            found = readings(inner, names, depth)
            return tuple(replace(one, text=getattr(one.text, change)()) if one.text else one for one in found)
        case Call(Attr(Const(str(form)), "format"), args, ()):
            return (_formatted(form.replace("{}", "%s"), args, names, depth),)
        case Call(Attr(Const(str(glue)), "join"), (TupleExpr((first, *others)),)):
            glued = [one for other in others for one in (PossibleText(glue), _one(other, names, depth))]
            return (_joined([_one(first, names, depth), *glued]),)
    parts = [_one(arg, names, depth) for arg in call.args]
    if full.endswith(_PATH_JOINERS) and parts:
        known = [part.text for part in parts if part.text is not None]
        whole = "/".join(known) if len(known) == len(parts) else None
        return (PossibleText(whole, fleeting=_first_fleeting(parts)),)
    owner = [_one(call.func.base, names, depth)] if isinstance(call.func, Attr) else []
    return (_unknown_of([*parts, *owner]),)


def _converted(reading: PossibleText, function: str, argument: Expr) -> PossibleText:
    if reading.text is None or function in {"str", "Path", "bytes"}:
        return reading
    if function == "repr" and not (isinstance(argument, Const) and isinstance(argument.value, str)):
        return reading
    digits = {"True": "1", "False": "0"}.get(reading.text, reading.text)
    is_number = function == "int" and digits.strip().lstrip("-").isdigit()
    return replace(reading, text=digits if is_number else None)
