"""Function definitions to kernels: which functions Triton compiles, also by a later statement, and their parameters."""

from __future__ import annotations

import ast
import re
from functools import partial
from typing import TYPE_CHECKING

from triton_doctor.kernel_names import report_name
from triton_doctor.static.python.decorators import autotune, decorator_name, heuristics, read_listed_params
from triton_doctor.static.python.functions import KernelText
from triton_doctor.static.python.ir import Call, Expr, Name
from triton_doctor.static.python.kernel_body import read_uses
from triton_doctor.static.python.lower import annotation_word, lower_alone
from triton_doctor.static.python.module import Kernel, Param

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from triton_doctor.finding import Span
    from triton_doctor.static.python.function import Binding, CallSite
    from triton_doctor.static.python.functions import Definition, ModuleTree
    from triton_doctor.static.python.imports import Imports
    from triton_doctor.static.python.ir import Expr, TupleExpr
    from triton_doctor.static.sources.source_text import SourceText

# `triton.jit`, `triton.runtime.jit.jit`, `triton.experimental.gluon.jit`, and packages that re-export triton
# (`vllm.triton_utils.triton.jit`). Not `numba.jit`, `cute.jit`, `jax.jit` and `torch.jit`.
_JIT = re.compile(r"(?:^|\.)(?:triton(?:\.runtime)?(?:\.jit)?|gluon(?:\._runtime)?)\.jit$")
# The same as a text search: `triton.jit` in full, or an import or renaming of a module called triton or gluon.
_JIT_TEXT = re.compile(rb"\btriton[\w.]*\.jit\b|\bgluon\b|\btriton[ \t]+as\b|\b(?:from|import)[ \t]+[\w.]*triton\b")
# A decorator of a library may apply `jit` internally; then a parameter is a constexpr. A library may define a name of
# its own for `tl.constexpr`, for when Triton is not installed: `tl_constexpr`.
_CONSTEXPR_TEXTS = (b".constexpr", b": constexpr", b"_constexpr")


def may_define_kernels(data: bytes) -> bool:
    """Return whether a file that holds `data` may define a function that `is_kernel` accepts."""
    if b"jit" in data and b"triton" in data and _JIT_TEXT.search(data):
        return True
    return b"constexpr" in data and any(text in data for text in _CONSTEXPR_TEXTS)


def is_jit(expr: Expr, imports: Imports) -> bool:
    """Return whether `expr` is Triton's `jit`, bare or called with options."""
    name = imports.full_name(expr.func if isinstance(expr, Call) else expr)
    return name is not None and name.endswith("jit") and _JIT.search(name) is not None


def _is_foreign_jit(expr: Expr, imports: Imports, path: str) -> bool:
    """Return whether `expr` is a `jit` of a package that the file at `path` is not part of."""
    name = imports.full_name(expr.func if isinstance(expr, Call) else expr) or ""
    package, last = name.partition(".")[0], name.rpartition(".")[2]
    return last in ("jit", "kernel") and package != last and package not in path.split("/")


def is_kernel(node: Definition, decorators: tuple[Expr, ...], imports: Imports, *, path: str) -> bool:
    """Return whether the function with the header of `node` is a kernel.

    Without a visible `jit`, a function with some other decorator and a constexpr parameter counts, because libraries
    wrap `jit` in decorators of their own. Another package's `jit` does not count.
    """
    if any(is_jit(decorator, imports) for decorator in decorators):
        return True
    if not decorators or any(_is_foreign_jit(decorator, imports, path) for decorator in decorators):
        return False
    args = node.args
    return any(_is_constexpr(arg.annotation, imports) for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs))


def read_kernel(
    node: ast.FunctionDef,
    decorators: tuple[Expr, ...],
    imports: Imports,
    tree: ModuleTree,
    *,
    path: str,
    qualname: str,
    lists: Mapping[str, TupleExpr],
    tuned: Sequence[tuple[Expr, Span]] = (),
) -> Kernel:
    """Return the kernel of `tree` with the header of `node`.

    `lists` are the module's lists by name. `tuned` are the calls that tune it later: `fast = autotune(...)(plain)`.
    """
    source = tree.source
    jit = next((decorator for decorator in decorators if is_jit(decorator, imports)), None)
    params = tuple(_params(node.args, imports, source))
    names = frozenset(param.name for param in params)
    plain = frozenset(param.name for param in params if not param.is_constexpr)
    text = KernelText(tree, node, partial(read_uses, params=names, plain=plain))
    spans = [source.span(decorator) for decorator in node.decorator_list]
    if len(spans) < len(decorators):
        spans += [text.uses.span] * (len(decorators) - len(spans))
    placed = [*tuned, *zip(decorators, spans, strict=True)]
    return Kernel(
        name=report_name(qualname, path),
        qualname=qualname,
        path=path,
        params=params,
        decorators=tuple(decorator_name(decorator) for decorator, _ in placed),
        heuristics=tuple(heuristics(placed)),
        autotune=autotune(placed, imports, lists),
        do_not_specialize=read_listed_params(jit, "do_not_specialize", params),
        do_not_align=read_listed_params(jit, "do_not_specialize_on_alignment", params),
        line=node.lineno,
        made_in=qualname.rpartition(".<locals>.")[0] or None,
        jit_span=next((span for decorator, span in placed if decorator is jit), None),
        text=text,
    )


def _params(args: ast.arguments, imports: Imports, source: SourceText) -> Iterator[Param]:
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
        case None:
            return False
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
    return name is not None and imports.expand(name).rpartition(".")[2].rpartition("_")[2] == "constexpr"


def _dotted(node: ast.expr) -> str | None:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=base, attr=name):
            before = _dotted(base)
            return f"{before}.{name}" if before is not None else None
        case _:
            return None


def wrapped_by_jit(calls: Sequence[CallSite], source: SourceText, imports: Imports) -> dict[str, tuple[Expr, ...]]:
    """Return the functions that a later statement passes to jit: `fast = triton.jit(plain)`."""
    wrapped: dict[str, tuple[Expr, ...]] = {}
    for site in calls if b"jit(" in source.text else ():
        call = site.call
        if call.args and isinstance(call.args[0], Name) and is_jit(call.func, imports):
            wrapped[call.args[0].id] = (call.func,)
    return wrapped


def tuned_by_call(
    calls: Sequence[CallSite], bindings: Mapping[str, Sequence[Binding]], source: SourceText
) -> Mapping[str, Sequence[tuple[Expr, Span]]]:
    """Return the wrappers of kernels that a later statement tunes: `plain = triton.autotune(...)(plain)`.

    What stands in a branch does not count: a flag may leave the kernel as it is. Neither does a kernel that has another
    name once it is tuned, if the file uses its own name for more: it may be launched untuned. Several tuners of one
    kernel count if all have the same key.
    """
    found: dict[str, list[Sequence[tuple[Expr, Span]]]] = {}
    renamed = set[str]()
    for site in calls if b"autotune(" in source.text else ():
        name, wrappers = _wrappers(site.call)
        is_tuned = bool(wrappers) and decorator_name(wrappers[0]).rpartition(".")[2] == "autotune"
        if not is_tuned or site.arms or site.span is None:
            continue
        found.setdefault(name, []).append([(wrapper, site.span) for wrapper in wrappers])
        if all(binding.value != site.call for binding in bindings.get(name, ())):
            renamed.add(name)
    return {
        name: [wrapper for wrappers in tuned for wrapper in wrappers]
        for name, tuned in found.items()
        if len({_key(wrappers[0][0]) for wrappers in tuned}) == 1
        and (name not in renamed or len(re.findall(rf"\b{name}\b".encode(), source.text)) == 1 + len(tuned))
    }


def _wrappers(expr: Expr) -> tuple[str, tuple[Expr, ...]]:
    """Return `kernel` and its wrappers for `triton.autotune(...)(triton.heuristics(...)(kernel))`, outermost first."""
    match expr:
        case Call(Call() as wrapper, (Name(name),), ()):
            return name, (wrapper,)
        case Call(Call() as wrapper, (Call() as inner,), ()):
            name, wrappers = _wrappers(inner)
            return name, (wrapper, *wrappers) if wrappers else ()
        case _:
            return "", ()


def _key(tuner: Expr) -> Expr | None:
    return dict(tuner.keywords).get("key") if isinstance(tuner, Call) else None
