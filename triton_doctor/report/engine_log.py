"""What a server's log says of kernels that compiled while it served, as text and JSON."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from triton_doctor.phrases import plural
from triton_doctor.report.json import finding_object
from triton_doctor.runtime.engine_logs import TUNED, VLLM
from triton_doctor.terminal import escape_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.evidence.logged import KernelInLog

SCHEMA = 1
VALUES_SHOWN = 6
FINDINGS_SHOWN = 4


def render_log(kernels: Sequence[KernelInLog]) -> str:
    """Render a block for each kernel: what happened and changed, which finding explains it, what the warm-up lacks."""
    lines = [line for kernel in kernels for line in kernel.lines]
    counts = Counter(line.what for line in lines)
    sources = ", ".join(dict.fromkeys(line.source for line in lines))
    head = ", ".join(f"{count:,} {what}" for what, count in counts.items())
    blocks = [f"{plural(len(kernels), 'kernel')} in the log of a server that had started: {head} ({sources})"]
    blocks += ["\n".join(_block(kernel)) for kernel in kernels]
    return "\n\n".join("\n".join(map(escape_line, block.split("\n"))) for block in blocks) + "\n"


def _block(kernel: KernelInLog) -> Iterator[str]:
    counts = Counter(line.what for line in kernel.lines)
    took = sum(line.seconds or 0.0 for line in kernel.lines)
    summary = ", ".join(f"{count:,}x {what}" for what, count in counts.items()) + (f", {took:.2f} s" if took else "")
    yield f"{kernel.name}  {summary}  {_place(kernel)}"
    changed = [(name, values) for name, values in kernel.values if len(values) > 1]
    for name, values in changed:
        more = ", ..." if len(values) > VALUES_SHOWN else ""
        yield f"  `{name}` changed: {', '.join(values[:VALUES_SHOWN])}{more}"
    rounds = list(dict.fromkeys(line.tuning_key for line in kernel.lines if line.tuning_key))
    if rounds:
        yield f"  tuned for the {plural(len(rounds), 'key')} {', '.join(rounds[:VALUES_SHOWN])}"
    for finding in kernel.findings[:FINDINGS_SHOWN]:
        yield f"  {finding.code} at {finding.path}:{finding.span.line}: {finding.message}"
        if finding.advice:
            yield f"    {finding.advice}"
    yield from _warm_up(kernel, changed)


def _warm_up(kernel: KernelInLog, changed: Sequence[tuple[str, tuple[str, ...]]]) -> Iterator[str]:
    """Yield what to add to the warm-up, or why the log does not show it."""
    if all(line.backend != "Triton" for line in kernel.lines):
        yield f"  not a kernel of Triton but of {kernel.lines[0].backend}"
    elif changed:
        yield f"  add to the warm-up: a launch for each value of {', '.join(f'`{name}`' for name, _ in changed)}"
    elif kernel.values:
        values = ", ".join(f"{name} {values[0]}" for name, values in kernel.values[:VALUES_SHOWN])
        yield f"  add to the warm-up: a launch with {values}"
    elif any(line.what == TUNED for line in kernel.lines):
        yield "  add to the warm-up: a launch with each of these keys; TRD304 says how to keep what was measured"
    else:
        verbose = ": `--jit-monitor-verbose` adds them" if kernel.lines[0].source == VLLM else ""
        yield f"  the log does not keep the arguments{verbose}; `triton-doctor run` names what changed"


def _place(kernel: KernelInLog) -> str:
    if kernel.kernel is not None:
        return f"{kernel.kernel.path}:{kernel.kernel.line}"
    return f"{kernel.definitions:,} definitions in the sources" if kernel.definitions else "not in the sources (--src)"


def render_log_json(kernels: Sequence[KernelInLog]) -> str:
    """Render the kernels of a log as a JSON object."""
    return json.dumps({"schema": SCHEMA, "kernels": [_as_json(kernel) for kernel in kernels]}, indent=2) + "\n"


def _as_json(kernel: KernelInLog) -> dict[str, Any]:
    place = kernel.kernel
    return {
        "kernel": kernel.name,
        "path": None if place is None else place.path,
        "line": None if place is None else place.line,
        "events": [
            {"what": line.what, "source": line.source, "log_line": line.line, "seconds": line.seconds}
            for line in kernel.lines
        ],
        "changed": {name: list(values) for name, values in kernel.values if len(values) > 1},
        "values": {name: list(values) for name, values in kernel.values},
        "findings": [finding_object(finding) for finding in kernel.findings],
    }
