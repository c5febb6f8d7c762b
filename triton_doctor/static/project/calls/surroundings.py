"""What is known around a kernel: its launches, whether it is public, and the kernel of a finding."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from triton_doctor.plan import ChangedKernel, LaunchStart
from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.launches.launches import hides_arguments, launches_of
from triton_doctor.static.python.ir import Const, every_part

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from triton_doctor.finding import Finding
    from triton_doctor.static.project.project import LinkedLaunch, Project
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


def launch_starts(project: Project, kernel: Kernel) -> tuple[LaunchStart, ...]:
    """Return where every resolved launch of the kernel starts."""
    found = ((launch.module.path, launch.launch.span) for launch in launches(project, kernel))
    return tuple(LaunchStart(path, span.line, span.column) for path, span in found)


def are_spelled_out(project: Project, kernel: Kernel) -> bool:
    """Return whether each resolved launch spells out all its arguments and starts only this kernel."""
    return all(
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
    if _is_listed(project.modules[kernel.path], kernel.function_name):
        return True
    if kernel.function_name.startswith("_"):
        return False
    folder, _, file = kernel.path.rpartition("/")
    parts = [part for part in (*folder.split("/"), file.removesuffix(".py")) if part != "__init__"]
    return posixpath.join(folder, "__init__.py") in project.modules and not any(part.startswith("_") for part in parts)


def _is_listed(module: Module, name: str) -> bool:
    return Const(name) in every_part(*[binding.value for binding in module.top.bindings.get("__all__", ())])


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
