"""Expressions to the texts that they may have, and to the entries of the dictionaries that they make."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.static.environment.python_code.names import (
    ENVIRONMENTS,
    READERS,
    UNKNOWN,
    Condition,
    dotted,
    holds,
)
from triton_doctor.static.environment.setting import JOB_IDS, Fleeting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from triton_doctor.static.environment.python_code.names import Names

_DEEPEST = 12
_COPIES = frozenset({"dict", "copy.copy", "copy.deepcopy", "collections.OrderedDict", "collections.ChainMap"})

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
_PATH_JOINERS = ("path.join", "Path", "PurePath", "path.abspath", "path.expanduser", "path.realpath")


@dataclass(frozen=True, slots=True)
class PossibleText:
    """A text that an expression may have, None if unknown; `guarded` if a flag decides for it."""

    text: str | None
    guarded: bool = False
    fleeting: Fleeting | None = None


_UNKNOWN_TEXT = PossibleText(None)


class DictEntry(NamedTuple):
    """One `key: value`, written at `part`; `conditions` decide whether it is included."""

    key: ast.expr
    value: ast.expr
    part: ast.expr | ast.keyword
    conditions: tuple[Condition, ...] = ()


def readings(expr: ast.expr, names: Names, depth: int = _DEEPEST) -> tuple[PossibleText, ...]:
    """Return the texts that `expr` may have: several if a condition chooses."""
    if depth == 0:
        return (_UNKNOWN_TEXT,)
    depth -= 1
    match expr:
        case ast.Constant(value):
            return (PossibleText(_spelled(value)),)
        case ast.BoolOp(ast.Or(), options):
            known = (reading for option in options for reading in readings(option, names, depth) if reading.text)
            return (next(known, _UNKNOWN_TEXT),)
        case ast.IfExp(test, body, orelse):
            return _chosen(holds(test, names), readings(body, names, depth), readings(orelse, names, depth))
        case ast.JoinedStr(parts):
            return (_joined([_one(part, names, depth) for part in parts]),)
        case ast.FormattedValue(value, _, format_spec):
            return readings(value, names, depth) if format_spec is None else (_unknown([_one(value, names, depth)]),)
        case ast.BinOp(left, ast.Add() | ast.Div() as operator, right):
            between = [PossibleText("/")] if isinstance(operator, ast.Div) else []
            return (_joined([_one(left, names, depth), *between, _one(right, names, depth)]),)
        case ast.BinOp(ast.Constant(str(form)), ast.Mod(), right):
            given = right.elts if isinstance(right, ast.Tuple) else (right,)
            return (_formatted(form.replace("%d", "%s"), given, names, depth),)
        case ast.NamedExpr(_, value):
            return readings(value, names, depth)
        case ast.Call():
            return _called(expr, names, depth)
        case ast.Attribute(value, name) if not names.values(expr):
            inner = _one(value, names, depth)
            return (inner if name == "value" else replace(inner, text=None),)
        case ast.Name() | ast.Attribute():
            return _named(expr, names, depth)
        case ast.Subscript(value, key):
            return (_subscript(value, key, names, depth),)
        case _:
            return (_UNKNOWN_TEXT,)


def texts(expr: ast.expr, names: Names) -> Iterator[str]:
    """Yield the known texts of `expr`."""
    for reading in readings(expr, names):
        if reading.text is not None:
            yield reading.text


def _one(expr: ast.expr, names: Names, depth: int) -> PossibleText:
    found = readings(expr, names, depth)
    return found[0] if len(found) == 1 else _unknown(found)


def _spelled(value: object) -> str | None:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value) if isinstance(value, str | int | float) else None


def _joined(parts: Sequence[PossibleText]) -> PossibleText:
    known = [part.text for part in parts if part.text is not None]
    whole = "".join(known) if len(known) == len(parts) else None
    return PossibleText(whole, any(part.guarded for part in parts), _unknown(parts).fleeting)


def _unknown(parts: Iterable[PossibleText]) -> PossibleText:
    """Return an unknown text that keeps the lifetime of a folder named by one of `parts`."""
    return PossibleText(None, fleeting=next((part.fleeting for part in parts if part.fleeting), None))


def _formatted(form: str, given: Sequence[ast.expr], names: Names, depth: int) -> PossibleText:
    """Return `form` with each `%s` replaced."""
    parts = [_one(value, names, depth) for value in given]
    pieces = [PossibleText(piece) for piece in form.split("%s")]
    if form.count("%") != len(parts) or len(pieces) != len(parts) + 1:
        return _unknown(parts)
    return _joined([*(part for pair in zip(pieces, parts, strict=False) for part in pair), pieces[-1]])


def _chosen(
    truth: bool | None, then: tuple[PossibleText, ...], otherwise: tuple[PossibleText, ...]
) -> tuple[PossibleText, ...]:
    if truth is not None:
        return then if truth else otherwise
    arms = (*then, *otherwise)
    return arms[:1] if len({arm.text for arm in arms}) == 1 else tuple(replace(arm, guarded=True) for arm in arms)


def _named(expr: ast.Name | ast.Attribute, names: Names, depth: int) -> tuple[PossibleText, ...]:
    if isinstance(expr, ast.Name) and expr.id in _FRESH_NAMES and names.is_param(expr.id):
        return (PossibleText(None, fleeting=Fleeting(why=_FRESH_NAMES[expr.id])),)
    values = names.values(expr)
    # `x = x + "/a"`: the earlier value of the name is unknown; do not look it up again.
    before = names.bound({dotted(expr) or "": UNKNOWN})
    found = tuple(reading for value in values for reading in readings(value, before, depth))
    return found if len(values) == 1 else (_unknown(found),)


def _subscript(value: ast.expr, key: ast.expr, names: Names, depth: int) -> PossibleText:
    if names.full_name(value) in ENVIRONMENTS:
        return _environment_value(_one(key, names, depth).text)
    match names.value(value) or value, key:
        case ast.Tuple(items) | ast.List(items), ast.Constant(int(position)) if position < len(items):
            return _one(items[position], names, depth)
        case ast.Dict(keys, values), ast.Constant(wanted):
            for name, item in zip(keys, values, strict=True):
                if isinstance(name, ast.Constant) and name.value == wanted:
                    return _one(item, names, depth)
            return _UNKNOWN_TEXT
        case _:
            return _unknown([_one(value, names, depth)])


def _environment_value(name: str | None) -> PossibleText:
    if name not in JOB_IDS:
        return _UNKNOWN_TEXT
    why = f"named after {name}, so it is a new one in each job"
    return PossibleText(None, fleeting=Fleeting(why=why, certain=False))


def _called(call: ast.Call, names: Names, depth: int) -> tuple[PossibleText, ...]:
    full = names.full_name(call.func) or ""
    if full in _FRESH_CALLS:
        return (PossibleText(None, fleeting=Fleeting(why=_FRESH_CALLS[full])),)
    match call:
        case ast.Call(_, [name, *rest], keywords) if full in READERS or full == "os.environ.setdefault":
            given = _environment_value(_one(name, names, depth).text)
            default = (
                rest[0] if rest else next((keyword.value for keyword in keywords if keyword.arg == "default"), None)
            )
            return (given,) if default is None or given.fleeting is not None else readings(default, names, depth)
        case ast.Call(ast.Name("str" | "int" | "bool" | "repr" | "Path" | "bytes" as function), [value], []):
            return tuple(_converted(reading, function, value) for reading in readings(value, names, depth))
        case ast.Call(ast.Attribute(inner, "strip" | "encode" | "as_posix" | "resolve" | "absolute" | "expanduser")):
            return readings(inner, names, depth)
        case ast.Call(ast.Attribute(inner, "lower" | "upper" as change), [], []):
            found = readings(inner, names, depth)
            return tuple(replace(it, text=getattr(it.text, change)()) if it.text else it for it in found)
        case ast.Call(ast.Attribute(ast.Constant(str(form)), "format"), args, []):
            return (_formatted(form.replace("{}", "%s"), args, names, depth),)
        case ast.Call(
            ast.Attribute(ast.Constant(str(glue)), "join"), [ast.Tuple([first, *others]) | ast.List([first, *others])]
        ):
            glued = [part for other in others for part in (PossibleText(glue), _one(other, names, depth))]
            return (_joined([_one(first, names, depth), *glued]),)
    parts = [_one(arg, names, depth) for arg in call.args]
    if full.endswith(_PATH_JOINERS) and parts:
        known = [part.text for part in parts if part.text is not None]
        whole = "/".join(known) if len(known) == len(parts) else None
        return (replace(_unknown(parts), text=whole),)
    owner = [_one(call.func.value, names, depth)] if isinstance(call.func, ast.Attribute) else []
    return (_unknown([*parts, *owner]),)


def _converted(reading: PossibleText, function: str, argument: ast.expr) -> PossibleText:
    if reading.text is None or function in {"str", "Path", "bytes"}:
        return reading
    if function == "repr" and not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
        return reading
    digits = {"True": "1", "False": "0"}.get(reading.text, reading.text)
    is_number = function == "int" and digits.strip().lstrip("-").isdigit()
    return replace(reading, text=digits if is_number else None)


def entries(
    expr: ast.expr, names: Names, conditions: tuple[Condition, ...] = (), depth: int = _DEEPEST
) -> Iterator[DictEntry]:
    """Yield the entries of the dictionary `expr`, in order."""
    if depth == 0:
        return
    inner: Iterable[ast.expr] = ()
    match expr:
        case ast.Dict(keys, values):
            for key, value in zip(keys, values, strict=True):
                if key is None:
                    yield from entries(value, names, conditions, depth - 1)
                else:
                    yield DictEntry(key, value, key, conditions)
        case ast.Tuple(items) | ast.List(items) | ast.Set(items):
            for item in items:
                match item:
                    case ast.Tuple([key, value]) | ast.List([key, value]):
                        yield DictEntry(key, value, item, conditions)
                    case ast.Constant(str(text)) if "=" in text:
                        name, _, rest = text.partition("=")
                        yield DictEntry(ast.Constant(name), ast.Constant(rest), item, conditions)
        case ast.IfExp(test, body, orelse):
            yield from entries(body, names, (*conditions, Condition(test, True)), depth - 1)
            yield from entries(orelse, names, (*conditions, Condition(test, False)), depth - 1)
        case ast.BinOp(left, ast.BitOr(), right):
            inner = (left, right)
        case ast.BoolOp(_, inner):
            pass
        case ast.Call(ast.Attribute(copied, "copy" | "items")):
            inner = (copied,)
        case ast.Call(func, args, keywords) if names.full_name(func) in _COPIES:
            for keyword in keywords:
                yield from keyword_entries(keyword, names, conditions, depth - 1)
            inner = args
        case ast.DictComp(
            ast.Name(key) as named, value, [ast.comprehension(ast.Name(target), ast.Tuple(items) | ast.List(items))]
        ) if target == key:
            for item in items:
                yield DictEntry(item, value, named, conditions)
        case ast.Name() | ast.Attribute() if (assigned := names.value(expr)) is not None:
            inner = (assigned,)
    for part in inner:
        yield from entries(part, names, conditions, depth - 1)


def keyword_entries(
    keyword: ast.keyword, names: Names, conditions: tuple[Condition, ...] = (), depth: int = _DEEPEST
) -> Iterator[DictEntry]:
    """Yield the entries of `name=value` or `**mapping` in a call of `dict` or `update`."""
    if keyword.arg is None:
        yield from entries(keyword.value, names, conditions, depth)
    else:
        yield DictEntry(ast.Constant(keyword.arg), keyword.value, keyword, conditions)


def copies_environment(expr: ast.expr, names: Names, depth: int = _DEEPEST) -> bool:
    """Return whether `expr` is a new dictionary based on this process's environment, as made for a child process."""
    if depth == 0:
        return False
    copied: Iterable[ast.expr] = ()
    match expr:
        case ast.Dict(keys, values):
            copied = [value for key, value in zip(keys, values, strict=True) if key is None]
        case ast.BinOp(left, ast.BitOr(), right):
            copied = (left, right)
        case ast.Call(ast.Attribute(owner, "copy"), []):
            copied = (owner,)
        case ast.Call(func, args, keywords) if names.full_name(func) in _COPIES:
            copied = args[:1] or [keyword.value for keyword in keywords if keyword.arg is None]
        case ast.DictComp(_, _, [ast.comprehension(_, ast.Call(ast.Attribute(owner)))]):
            return names.is_environment(owner)
        case ast.Name() | ast.Attribute():
            return any(copies_environment(value, names, depth - 1) for value in names.values(expr) if value is not expr)
    return any(names.is_environment(part) or copies_environment(part, names, depth - 1) for part in copied)
