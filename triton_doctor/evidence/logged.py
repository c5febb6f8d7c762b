"""Kernels of a server's log to those of the sources: which argument changed, and which findings explain it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from triton_doctor.kernel_names import function_name
from triton_doctor.regular_files import read_regular_file
from triton_doctor.static.python.parse import read_module
from triton_doctor.static.scan import scan
from triton_doctor.static.sources.files import FileKind, find_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from triton_doctor.finding import Finding
    from triton_doctor.runtime.engine_logs import LoggedKernel
    from triton_doctor.settings import Settings
    from triton_doctor.static.python.module import Kernel
    from triton_doctor.static.sources.files import SourceFile

# How a class of Triton's key reads: a multiple of 16, or none.
CLASSES = {"D": "a multiple of 16", "": "neither 1 nor a multiple of 16"}


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelInLog:
    """What a log says of one kernel, with its definition; None if the sources have none, or several, of that name.

    `values` are those of each parameter that the log shows, in order; one that has several changed. `findings` are
    those of `check` on the kernel.
    """

    name: str
    lines: tuple[LoggedKernel, ...]
    kernel: Kernel | None
    definitions: int
    values: tuple[tuple[str, tuple[str, ...]], ...]
    findings: tuple[Finding, ...]


def explain_logged(
    logged: Sequence[LoggedKernel], sources: Sequence[Path], settings: Settings, cwd: Path
) -> list[KernelInLog]:
    """Return the kernels of `logged`, those of Triton that `sources` define with the findings on them."""
    by_name: dict[str, list[LoggedKernel]] = {}
    for line in logged:
        by_name.setdefault(line.kernel, []).append(line)
    files = list(find_files(sources, settings, cwd=cwd))
    defined = _find_definitions(files, by_name)
    paths = frozenset(kernel.path for kernels in defined.values() for kernel in kernels)
    findings = scan(files, settings, cwd=cwd, report_paths=paths).findings if paths else ()
    explained = []
    for name, lines in by_name.items():
        kernels = defined.get(name, [])
        kernel = kernels[0] if len(kernels) == 1 else None
        explained.append(
            KernelInLog(
                name=kernel.name if kernel is not None else name,
                lines=tuple(lines),
                kernel=kernel,
                definitions=len(kernels),
                values=tuple(_values(lines, kernel)),
                findings=tuple(finding for finding in findings if kernel is not None and _is_of(finding, kernel)),
            )
        )
    return explained


def _find_definitions(files: Iterable[SourceFile], names: Iterable[str]) -> dict[str, list[Kernel]]:
    """Return the kernels of `files` by the name that the log has for them, the end of their qualified name."""
    wanted = list(names)
    found: dict[str, list[Kernel]] = {}
    texts = {f"def {function_name(name)}(".encode(): name for name in wanted}
    for file in files:
        if file.kind is not FileKind.PYTHON:
            continue
        try:
            data = file.text if file.text is not None else read_regular_file(file.name)
            module = read_module(file.shown, data) if any(text in data for text in texts) else None
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for kernel in module.kernels if module is not None else ():
            qualname = kernel.qualname.partition("#")[0]
            for name in wanted:
                if f".{qualname}".endswith(f".{name}"):
                    found.setdefault(name, []).append(kernel)
    return found


def _values(lines: Sequence[LoggedKernel], kernel: Kernel | None) -> Iterable[tuple[str, tuple[str, ...]]]:
    """Yield the values or classes of each parameter that the lines show."""
    shown: dict[str, dict[str, None]] = {}
    for line in lines:
        named = dict(line.named)
        if kernel is not None and len(line.key) == len(kernel.params):
            named |= {param.name: _describe(*part) for param, part in zip(kernel.params, line.key, strict=True)}
        for name, value in named.items():
            shown.setdefault(name, {})[value] = None
    yield from ((name, tuple(values)) for name, values in shown.items())


def _describe(kind: str, part: object) -> str:
    if kind == "constexpr":
        return str(part)
    if kind[:1] in "iu":
        return CLASSES.get(str(part), str(part))
    return f"{kind} {'aligned to 16' if part == 'D' else 'not aligned'}" if kind.startswith("*") else kind


def _is_of(finding: Finding, kernel: Kernel) -> bool:
    place = finding.facts.kernel_location
    return place is not None and (place.path, place.line) == (kernel.path, kernel.line)
