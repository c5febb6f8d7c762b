"""Function definitions to kernels: which functions Triton compiles, and what their decorators and parameters say."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from triton_doctor.static.expression import Attr, Call, Const, Each, Expr, Item, Mapping, Name, Pack, Star, dotted
from triton_doctor.static.model import Arange, Autotune, Heuristic, Kernel, Param
from triton_doctor.static.read.body import annotation_word
from triton_doctor.static.read.lower import lower_alone
from triton_doctor.static.read.uses import read_uses

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.finding import Span
    from triton_doctor.static.read.functions import Definition
    from triton_doctor.static.read.imports import Imports
    from triton_doctor.static.read.source import Source

# `triton.jit`, `triton.runtime.jit.jit`, `triton.experimental.gluon.jit`, and packages that hand triton on
# (`vllm.triton_utils.triton.jit`). `numba.jit`, `cute.jit`, `jax.jit` and `torch.jit` are none of them.
_JIT = re.compile(r"(?:^|\.)(?:triton(?:\.runtime)?(?:\.jit)?|gluon(?:\._runtime)?)\.jit$")
# Options of a library's own tuner by which it compares a rounded key: triton has none that is called so.
_ROUNDING = frozenset({"nearest", "round", "rounded", "power", "bucket", "buckets"})
_CONSTEXPR = re.compile(r"(?:^|\.)constexpr$")


def is_jit(expr: Expr, imports: Imports) -> bool:
    """Whether `expr` is Triton's `jit`, bare or called with options."""
    name = imports.full_name(expr.func if isinstance(expr, Call) else expr)
    return name is not None and _JIT.search(name) is not None


def _is_foreign_jit(expr: Expr, imports: Imports, path: str) -> bool:
    """Whether `expr` is a `jit` of some package that the file at `path` is no part of."""
    name = imports.full_name(expr.func if isinstance(expr, Call) else expr) or ""
    package, last = name.partition(".")[0], name.rpartition(".")[2]
    return last in ("jit", "kernel") and package != last and package not in path.split("/")


def is_kernel(node: Definition, decorators: tuple[Expr, ...], imports: Imports, *, path: str) -> bool:
    """Whether the function with the header of `node` is a kernel.

    One without `jit` in sight is a kernel where some other decorator stands and a parameter is a Triton constexpr: a
    library's own decorator applies `jit`. Another package's `jit` does not.
    """
    if any(is_jit(decorator, imports) for decorator in decorators):
        return True
    if not decorators or any(_is_foreign_jit(one, imports, path) for one in decorators):
        return False
    args = node.args
    return any(_is_constexpr(arg.annotation, imports) for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs))


def read_kernel(
    node: ast.FunctionDef, decorators: tuple[Expr, ...], imports: Imports, source: Source, *, path: str, qualname: str
) -> Kernel:
    """The kernel that `node` defines."""
    jit = next((decorator for decorator in decorators if is_jit(decorator, imports)), None)
    params = tuple(_params(node.args, imports, source))
    names = frozenset(param.name for param in params)
    uses = read_uses(node, names)
    spans = [source.span(decorator) for decorator in node.decorator_list]
    spans += [source.span(node)] * (len(decorators) - len(spans))
    placed = list(zip(decorators, spans, strict=True))
    return Kernel(
        name=node.name,
        qualname=qualname,
        path=path,
        params=params,
        decorators=tuple(_decorator_name(decorator) for decorator in decorators),
        heuristics=tuple(_heuristics(placed)),
        autotune=_autotune(placed, imports),
        do_not_specialize=_listed(jit, "do_not_specialize", params),
        do_not_align=_listed(jit, "do_not_specialize_on_alignment", params),
        needed=uses.needed,
        read=uses.read,
        walked=uses.walked,
        replaced=uses.replaced,
        passes=uses.passes,
        span=source.span(node),
        made_in=qualname.rpartition(".<locals>.")[0] or None,
        jit_span=next((span for decorator, span in placed if decorator is jit), None),
        computed=uses.computed,
        outer=uses.outer,
        aranges=tuple(_aranges(uses.aranges, source)),
    )


def _aranges(calls: Sequence[tuple[ast.Call, bool]], source: Source) -> Iterator[Arange]:
    for call, conditional in calls:
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        given.update(zip(("start", "end"), call.args, strict=False))
        if "start" in given and "end" in given:
            start, end = lower_alone(given["start"]), lower_alone(given["end"])
            yield Arange(start, end, conditional, source.span(call))


def _params(args: ast.arguments, imports: Imports, source: Source) -> Iterator[Param]:
    positional = args.posonlyargs + args.args
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
    everything = [*zip(positional, defaults, strict=True), *zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    for arg, default in everything:
        yield Param(
            name=arg.arg,
            is_constexpr=_is_constexpr(arg.annotation, imports),
            annotation=annotation_word(arg.annotation),
            default=lower_alone(default) if default is not None else None,
            span=source.span(arg),
        )


def _is_constexpr(annotation: ast.expr | None, imports: Imports) -> bool:
    match annotation:
        case ast.Name() | ast.Attribute():
            name = _dotted(annotation)
        case ast.Constant(value=str(text)):
            name = text.strip()
        case ast.Subscript(value=base):
            return _is_constexpr(base, imports)
        case ast.BinOp(left=left, right=right):
            return _is_constexpr(left, imports) or _is_constexpr(right, imports)
        case _:
            return False
    return name is not None and _CONSTEXPR.search(imports.expand(name)) is not None


def _dotted(node: ast.expr) -> str | None:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=base, attr=name):
            before = _dotted(base)
            return f"{before}.{name}" if before is not None else None
        case _:
            return None


def _decorator_name(decorator: Expr) -> str:
    return dotted(decorator.func if isinstance(decorator, Call) else decorator) or "?"


def _heuristics(decorators: Sequence[tuple[Expr, Span]]) -> Iterator[Heuristic]:
    for decorator, span in decorators:
        if not isinstance(decorator, Call) or _decorator_name(decorator).rsplit(".", 1)[-1] != "heuristics":
            continue
        match _argument(decorator, 0, "values"):
            case Mapping(items):
                for key, value in items:
                    if isinstance(key, Const) and isinstance(key.value, str):
                        yield Heuristic(param=key.value, value=value, span=span)
            case Call(Name("dict"), _, keywords):
                for name, value in keywords:
                    if name is not None:
                        yield Heuristic(param=name, value=value, span=span)
            case Name() | Item() | Attr() | Call() as elsewhere:
                yield Heuristic(param="*", value=elsewhere, span=span)
            case _:
                pass


def _autotune(decorators: Sequence[tuple[Expr, Span]], imports: Imports) -> Autotune | None:
    """A decorator with `configs` and `key` tunes, whatever a library calls it."""
    for decorator, span in decorators:
        if not isinstance(decorator, Call):
            continue
        named = dict(decorator.keywords)
        tunes = _decorator_name(decorator).rsplit(".", 1)[-1] == "autotune"
        if not tunes and not ("configs" in named and "key" in named):
            continue
        configs = _argument(decorator, 0, "configs")
        key = _strings(_argument(decorator, 1, "key"))
        return Autotune(
            key=() if _rounds(named) else key if tunes else _as_they_are(key, named),
            sets=_sets(configs),
            config_count=_count(configs),
            span=span,
            configs=configs,
            by=imports.full_name(decorator.func) or "",
            prunes=_argument(decorator, 2, "prune_configs_by") not in (None, Const(None)) or None in named,
            keeps=named.get("cache_results") not in (None, Const(False)),
        )
    return None


def _rounds(named: dict[str | None, Expr]) -> bool:
    """Whether a library's own tuner is told to compare rounded values: `nearest_power_of_two=True`."""
    return any(
        option is not None and _ROUNDING & set(option.split("_")) and value not in (Const(False), Const(None))
        for option, value in named.items()
    )


def _as_they_are(key: tuple[str, ...], named: dict[str | None, Expr]) -> tuple[str, ...]:
    """The names of a library's own tuner whose values it compares as they are.

    An argument that names something else for each name of the key, or that is called a strategy, puts them in buckets.
    """
    for option, value in named.items():
        if option == "key":
            continue
        words = _strings(value)
        if len(words) == len(key) and isinstance(value, Pack):
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
        case Pack(items):
            return tuple(item.value for item in items if isinstance(item, Const) and isinstance(item.value, str))
        case Mapping(items):
            return tuple(key.value for key, _ in items if isinstance(key, Const) and isinstance(key.value, str))
        case _:
            return ()


def _sets(configs: Expr | None) -> frozenset[str] | None:
    """The names that `[Config({...}), ...]` gives values to; None where a config is made out of sight."""
    names: set[str] = set()
    for config in _configs(configs):
        match config:
            case Call(_, args, keywords):
                meta = args[0] if args else dict(keywords).get("kwargs")
                if not isinstance(meta, Mapping):
                    return None
                names.update(
                    key.value for key, _ in meta.items if isinstance(key, Const) and isinstance(key.value, str)
                )
            case _:
                return None
    return frozenset(names) if names else None


def _count(configs: Expr | None) -> int | None:
    listed = _configs(configs)
    if isinstance(configs, Pack) and not any(isinstance(config, Star) for config in listed):
        return len(listed)
    return None


def _configs(configs: Expr | None) -> tuple[Expr, ...]:
    match configs:
        case Pack(items):
            return items
        case Each(element, _, _, _):
            return (element,)
        case None:
            return ()
        case other:
            return (other,)


def _listed(jit: Expr | None, keyword: str, params: tuple[Param, ...]) -> tuple[str, ...]:
    """The parameters that a list of `jit` names by name or position; a number that is no position as it stands."""
    if not isinstance(jit, Call):
        return ()
    listed = dict(jit.keywords).get(keyword)
    if not isinstance(listed, Pack):
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
