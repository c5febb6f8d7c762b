"""Decorators of a kernel: autotuning, heuristics, and the options of `jit` that name parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.python.ir import (
    Attr,
    Call,
    Comprehension,
    Const,
    DictExpr,
    Expr,
    Name,
    Subscript,
    TupleExpr,
    dotted,
)
from triton_doctor.static.python.module import Autotune, Heuristic, Param

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from triton_doctor.finding import Span
    from triton_doctor.static.python.imports import Imports

# Options by which tuners of other libraries compare a rounded key. Triton has no option of these names.
_ROUNDING = frozenset({"nearest", "round", "rounded", "power", "bucket", "buckets"})


def decorator_name(decorator: Expr) -> str:
    """Return the dotted name of a decorator, called or not."""
    return dotted(decorator.func if isinstance(decorator, Call) else decorator) or "?"


def heuristics(decorators: Sequence[tuple[Expr, Span]]) -> Iterator[Heuristic]:
    """Yield the parameters that are computed at each launch; `*` if the table is not spelled out."""
    for decorator, span in decorators:
        if not isinstance(decorator, Call) or decorator_name(decorator).rsplit(".", 1)[-1] != "heuristics":
            continue
        match _argument(decorator, 0, "values"):
            case DictExpr(items):
                for key, value in items:
                    if isinstance(key, Const) and isinstance(key.value, str):
                        yield Heuristic(param=key.value, value=value, span=span)
            case Call(Name("dict"), _, keywords):
                for name, value in keywords:
                    if name is not None:
                        yield Heuristic(param=name, value=value, span=span)
            case Name() | Subscript() | Attr() | Call() as elsewhere:
                yield Heuristic(param="*", value=elsewhere, span=span)
            case _:
                pass


def autotune(
    decorators: Sequence[tuple[Expr, Span]], imports: Imports, lists: Mapping[str, TupleExpr]
) -> Autotune | None:
    """Return the tuning of a kernel: any decorator with `configs` and `key`, whatever its name.

    `lists` are the module's lists by name: `KEY = ["M", "N"]` and then `autotune(configs, key=KEY)`.
    """
    for decorator, span in decorators:
        if not isinstance(decorator, Call):
            continue
        named = dict(decorator.keywords)
        tunes = decorator_name(decorator).rsplit(".", 1)[-1] == "autotune"
        if not tunes and not ("configs" in named and "key" in named):
            continue
        configs = _argument(decorator, 0, "configs")
        listed_key = _argument(decorator, 1, "key")
        key = _strings(lists.get(listed_key.id) if isinstance(listed_key, Name) else listed_key)
        pruned_by = _argument(decorator, 2, "prune_configs_by")
        return Autotune(
            key=() if _rounds(named) else key if tunes else _as_they_are(key, named),
            sets=_sets(configs),
            span=span,
            configs=configs,
            by=imports.full_name(decorator.func) or "",
            prunes=pruned_by not in (None, Const(None)) or None in named,
            pruned_by=pruned_by,
            keeps=named.get("cache_results") not in (None, Const(False)),
        )
    return None


def _rounds(named: dict[str | None, Expr]) -> bool:
    """Return whether a tuner of another library compares rounded values: `nearest_power_of_two=True`."""
    return any(
        option is not None and _ROUNDING & set(option.split("_")) and value not in (Const(False), Const(None))
        for option, value in named.items()
    )


def _as_they_are(key: tuple[str, ...], named: dict[str | None, Expr]) -> tuple[str, ...]:
    """Return the key names that a tuner of another library compares exactly.

    Other names are put in buckets: by a list with a word other than "default" at their position, or all of them by an
    option with "strategy" in its name.
    """
    for option, value in named.items():
        if option == "key":
            continue
        words = _strings(value)
        if len(words) == len(key) and isinstance(value, TupleExpr):
            key = tuple(name for name, word in zip(key, words, strict=True) if word == "default")
        elif option is not None and "strategy" in option and value != Const("default"):
            return ()
    return key


def _argument(call: Call, position: int, name: str) -> Expr | None:
    if len(call.args) > position:
        return call.args[position]
    return dict(call.keywords).get(name)


def _strings(expr: Expr | None) -> tuple[str, ...]:
    match expr:
        case TupleExpr(items):
            return tuple(item.value for item in items if isinstance(item, Const) and isinstance(item.value, str))
        case DictExpr(items):
            return tuple(key.value for key, _ in items if isinstance(key, Const) and isinstance(key.value, str))
        case _:
            return ()


def _sets(configs: Expr | None) -> frozenset[str] | None:
    """Return the parameters that `[Config({...}), ...]` sets; None if a config is not spelled out."""
    listed: tuple[Expr, ...]
    match configs:
        case TupleExpr(listed):
            pass
        case Comprehension(element):
            listed = (element,)
        case _:
            return None
    names: set[str] = set()
    for config in listed:
        table = _argument(config, 0, "kwargs") if isinstance(config, Call) else None
        if not isinstance(table, DictExpr):
            return None
        for key, _ in table.items:
            if not (isinstance(key, Const) and isinstance(key.value, str)):
                return None
            names.add(key.value)
    return frozenset(names)


def read_listed_params(jit: Expr | None, keyword: str, params: tuple[Param, ...]) -> tuple[str, ...]:
    """Return the parameters that a list in `jit` names.

    An item may be a name or a position; a position out of range stays a number.
    """
    if not isinstance(jit, Call):
        return ()
    listed = dict(jit.keywords).get(keyword)
    if not isinstance(listed, TupleExpr):
        return ()
    names = []
    for item in listed.items:
        match item:
            case Const(str(name)):
                names.append(name)
            case Const(int(position)):
                names.append(params[position].name if 0 <= position < len(params) else str(position))
            case _:
                pass
    return tuple(names)
