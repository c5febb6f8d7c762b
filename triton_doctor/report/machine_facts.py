"""The facts of a machine as rows of label and text, for every form that a person reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.report.cache import spell_bytes
from triton_doctor.report.concise import plural
from triton_doctor.terminal import escape_line
from triton_doctor.variables import is_of_other_backend, looks_like_triton, newest_version, variables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.machine.facts import Cache, Gpu, Machine
    from triton_doctor.variables import Version

LONGEST = 300


def fact_rows(machine: Machine) -> Iterator[tuple[str, str]]:
    """Everything but the variables."""
    yield "python", f"{machine.python}, {machine.executable}, {machine.system}"
    if machine.triton:
        yield "triton", f"{machine.triton.name} {machine.triton.version}, {machine.triton.folder}"
    else:
        yield "triton", "not installed"
    if machine.torch:
        wants = machine.torch_wants
        pinned = f", wants {wants.name} {wants.version}" if wants else ""
        yield "torch", f"{machine.torch.version}, built for {machine.torch_build}{pinned}, {machine.torch.folder}"
    else:
        yield "torch", "not installed"
    yield "numpy", machine.numpy or "not installed"
    for gpu in machine.gpus:
        yield "gpu", describe_gpu(gpu, machine.driver)
    if not machine.gpus:
        yield "gpu", "none"
    if machine.gpus:
        yield "library", machine.driver_library or "not found"
    yield "compiler", machine.compiler or "none"
    yield "headers", machine.headers or f"missing: {machine.headers_expected}"
    for tool in machine.ptxas:
        yield "ptxas", f"{tool.release}, {tool.path}" + (f", by {tool.set_by}" if tool.set_by else "")
    if machine.cache:
        yield from cache_rows(machine.cache)
        if machine.torch and machine.cache.set_by != "TRITON_CACHE_DIR":
            # Inductor leaves only this variable as it is (torch 2.13 _inductor/runtime/triton_heuristics.py:492).
            root = machine.variables.get("TORCHINDUCTOR_CACHE_DIR", "/tmp/torchinductor_$USER")
            yield "", f"{root}/triton/<device> from the first kernel of torch.compile on, for the whole process"


def describe_gpu(gpu: Gpu, driver: str | None) -> str:
    """One line on a GPU."""
    parts = [gpu.name]
    if gpu.arch:
        parts.append(f"sm_{gpu.arch}" if gpu.backend == "cuda" else gpu.arch)
    if driver and gpu.backend == "cuda":
        parts.append(f"driver {driver}")
    if gpu.memory_bytes is not None:
        free = f"{spell_bytes(gpu.free_bytes)} of " if gpu.free_bytes is not None else ""
        parts.append(f"{free}{spell_bytes(gpu.memory_bytes)} free" if free else spell_bytes(gpu.memory_bytes))
    return ", ".join(parts)


def cache_rows(cache: Cache) -> Iterator[tuple[str, str]]:
    """The cache folder: where it is, what is there, and what takes most."""
    room = cache.file_system
    decided = f"by {cache.set_by}" if cache.set_by else "by the user's home"
    yield "cache", f"{cache.path}, {decided}, {room.kind or 'unknown file system'}, {spell_bytes(room.free_bytes)} free"
    if not cache.exists:
        yield "", "not there yet"
        return
    least = "" if cache.is_whole else "at least "
    yield "", f"{least}{plural(cache.entries, 'entry', 'entries')}, {spell_bytes(cache.size_bytes)}"
    if cache.most:
        yield "", "most variants: " + ", ".join(f"{kernel} {count:,}" for kernel, count in cache.most)


def variable_rows(machine: Machine, version: Version) -> Iterator[tuple[str, str]]:
    """Each variable that is set, and what is known of it."""
    for name, value in machine.variables.items():
        shown = value if len(value) <= LONGEST else f"{value[:LONGEST]}..."
        yield f"{name}={escape_line(shown)}", describe_variable(name, value, version)


def describe_variable(name: str, value: str, version: Version) -> str:
    """Effect, moment and key of the variable `name` in Triton `version` at `value`."""
    variable = variables().get(name)
    if variable is None and is_of_other_backend(name):
        return "of another backend"
    if variable is None:
        return f"no triton reads it up to {newest_version()}" if looks_like_triton(name) else "not triton's"
    if variable.first is None:
        return variable.effect or f"read by {variable.reader}"
    if not variable.read_by(version):
        return f"not read by triton {version}"
    parts = [variable.at(value).effect] if variable.effect else []
    if variable.read:
        parts.append(f"read: {variable.read}")
    parts.append("in the cache key" if variable.enters_key(version) else "not in the cache key")
    return "; ".join(parts)
