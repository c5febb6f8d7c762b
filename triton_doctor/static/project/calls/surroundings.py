"""What is known around a kernel: its launches, whether it is public or passed on, and the kernel of a finding."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from triton_doctor.plan import ChangedKernel
from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.database.dependencies import declare_query
from triton_doctor.static.project.launches.launches import hides_arguments, launches_of
from triton_doctor.static.python.ir import (
    Attr,
    Call,
    Const,
    Expr,
    Name,
    Subscript,
    children,
    every_part,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from triton_doctor.finding import Finding
    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.function import Function
    from triton_doctor.static.python.module import Kernel, Module, Param

_ACCESS = re.compile(rb"\.(?:load|store|atomic_[a-z]+|make_block_ptr|make_tensor_descriptor)\s*\(\s*(\w+)")
# `if isinstance(n, tl.tensor) and n.dtype.is_ptr(): n = tl.load(n)` accepts a number too.
_ASKED = re.compile(rb"\bisinstance\s*\(\s*(\w+)|\b(\w+)\.dtype\.is_ptr\b")


@cached_in_scan(most=1)
def _kernels_by_location(project: Project) -> Mapping[tuple[str, int], Kernel]:
    return {(kernel.path, kernel.line): kernel for kernel in project.kernels()}


def subject(project: Project, finding: Finding) -> tuple[Kernel, Param] | None:
    """Return the kernel and the parameter that `finding` is about."""
    kernel = kernel_of(project, finding)
    params = {param.name: param for param in kernel.params} if kernel is not None else {}
    param = params.get(finding.facts.parameter or "")
    return (kernel, param) if kernel is not None and param is not None else None


def kernel_of(project: Project, finding: Finding) -> Kernel | None:
    """Return the kernel that `finding` is about."""
    location = finding.facts.kernel_location
    return _kernels_by_location(project).get((location.path, location.line)) if location is not None else None


def changed(kernel: Kernel, name: str | None = None) -> ChangedKernel:
    """Return the record that a fix changes `kernel` in its parameter `name`, or in its decorators if None."""
    return ChangedKernel(kernel.path, kernel.qualname, name)


def launches(project: Project, kernel: Kernel) -> tuple[LinkedLaunch, ...]:
    """Return every resolved launch of the kernel."""
    return launches_of(project).get(kernel.key, ())


def is_in_sight(project: Project, kernel: Kernel) -> bool:
    """Return whether nothing uses the kernel except known launches."""
    return not escapes(project, kernel)


def is_seen_whole(project: Project, kernel: Kernel) -> bool:
    """Return whether, in addition, each launch spells out all its arguments and starts only this kernel."""
    return is_in_sight(project, kernel) and all(
        len(launch.kernels) == 1 and not hides_arguments(launch) and launch.launch.method is None
        for launch in launches(project, kernel)
    )


def is_public(project: Project, kernel: Kernel) -> bool:
    """Return whether a program outside the project may launch it.

    It may if `__all__` of its module lists it, or if it is in a package and neither its name nor that of an enclosing
    module begins with `_`.
    """
    if kernel.made_in is not None:
        return False
    if _is_listed(project.modules[kernel.path], kernel.name):
        return True
    if kernel.name.startswith("_"):
        return False
    folder, _, file = kernel.path.rpartition("/")
    parts = [part for part in (*folder.split("/"), file.removesuffix(".py")) if part != "__init__"]
    return posixpath.join(folder, "__init__.py") in project.modules and not any(part.startswith("_") for part in parts)


def _is_listed(module: Module, name: str) -> bool:
    return Const(name) in every_part(*[binding.value for binding in module.top.bindings.get("__all__", ())])


def escapes(project: Project, kernel: Kernel) -> bool:
    """Return whether the kernel is used other than by launching: passed on, called by another, stored, and so on."""
    return any(True for _ in project.modules.search(USES, kernel.name, name=kernel.name, home=kernel.path))


def is_used_otherwise(module: Module, name: str) -> bool:
    """Return whether `module` uses `name` other than by launching it."""
    return name in _used_otherwise(module, name)


USES = declare_query("uses", is_used_otherwise)


@cached_in_scan()
def _used_otherwise(module: Module, wanted: str) -> frozenset[str]:
    """Return the names, if `wanted` occurs, that `module` uses other than as what it launches.

    An imported name counts together with its alias.
    """
    found: set[str] = set()
    aliases = {alias for alias, imported in module.imports.items() if imported.member == wanted} | {wanted}
    for kernel in module.kernels:
        found |= kernel.uses.outer
    for function in module.functions.values():
        if not any(function.holds(alias.encode()) for alias in aliases):
            continue
        found |= _named_otherwise(function)
    for imported_as, imported in module.imports.items():
        if imported.member is not None and imported.member != imported_as and imported_as in found:
            found.add(imported.member)
    return frozenset(found)


@cached_in_scan()
def _named_otherwise(function: Function) -> frozenset[str]:
    """Return the names in `function`, except kernels at launches."""
    launched = {id(launch.kernel) for launch in function.launches}
    pending: list[Expr] = [
        *(binding.value for bindings in function.bindings.values() for binding in bindings),
        *(stored.value for stored in function.stored),
        *(returned.value for returned in function.returns),
        *(site.call for site in function.calls),
        *(decorator for decorator in function.decorators),
    ]
    return frozenset(_names(pending, launched))


def _names(pending: list[Expr], launched: set[int]) -> Iterator[str]:
    seen: set[int] = set()
    while pending:
        expr = pending.pop()
        key = id(expr)
        if key in seen:
            continue
        seen.add(key)
        match expr:
            case Name(name):
                yield name
            case Attr(base, name):
                yield name
                pending.append(base)
            case Call(Subscript(base, grid), args, keywords) if id(base) in launched:
                # The launched expression may contain the kernel: `wrap(kernel)[grid](...)`.
                pending += [grid, *args, *(value for _, value in keywords)]
                if not isinstance(base, Name | Attr):
                    pending.append(base)
            case _:
                pending.extend(children(expr))


def pointers(project: Project, kernel: Kernel) -> frozenset[str]:
    """Return the names at the beginning of addresses in the text of `kernel`: `x` for `tl.load(x + i)`."""
    lines = _lines(project.modules.source(kernel.path))
    text = b"\n".join(lines[kernel.line - 1 : kernel.span.end_line])
    may_ask = b"isinstance" in text or b".is_ptr" in text
    looked_up = {name for names in _ASKED.findall(text) for name in names} if may_ask else set[bytes]()
    return frozenset(name.decode("utf-8", "replace") for name in _ACCESS.findall(text) if name not in looked_up)


@cached_in_scan(most=1)
def _lines(source: bytes) -> Sequence[bytes]:
    return source.split(b"\n")
