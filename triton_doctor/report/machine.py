"""A machine and what is wrong with it, to text, JSON or Markdown."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from triton_doctor.finding import Severity
from triton_doctor.phrases import plural
from triton_doctor.report import MachineForm
from triton_doctor.report.cache import spell_bytes
from triton_doctor.report.concise import count_severities
from triton_doctor.report.frame import NARROWEST, hang
from triton_doctor.report.markup import escape_markdown, table_lines
from triton_doctor.rulebook import rule_name
from triton_doctor.terminal import escape_line
from triton_doctor.variables import is_of_other_backend, looks_like_triton, newest_version, variables
from triton_doctor.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.finding import MachineFinding
    from triton_doctor.machine.facts import Cache, Gpu, Machine
    from triton_doctor.variables import Variable, Version

SCHEMA = 1


def render_machine(
    machine: Machine,
    findings: Sequence[MachineFinding],
    version: Version,
    form: MachineForm,
    *,
    color: bool = False,
    width: int = 120,
) -> str:
    """Render facts and findings of a machine in `form`.

    Variables are described as Triton `version` reads them. `color` and `width` apply to the text form.
    """
    match form:
        case MachineForm.TEXT:
            lines = [*text_lines(machine, findings, version, color=color, width=width), summarize(machine, findings)]
        case MachineForm.MARKDOWN:
            lines = [*markdown_lines(machine, findings, version), summarize(machine, findings)]
        case MachineForm.JSON:
            lines = [json.dumps(machine_object(machine, findings, version), indent=2, ensure_ascii=False)]
    return "\n".join(lines) + "\n"


def markdown_lines(machine: Machine, findings: Sequence[MachineFinding], version: Version) -> Iterator[str]:
    """Yield the report for an issue: a table of facts, a table of variables, and a list of findings."""
    yield from table_lines([("fact", "value"), *fact_rows(machine)])
    yield ""
    settings = [(f"`{setting}`", text) for setting, text in variable_rows(machine, version)]
    if settings:
        yield from table_lines([("variable", f"in triton {version}"), *settings])
        yield ""
    for finding in findings:
        title = f"- **{finding.code} {rule_name(finding.code)}** ({finding.severity.label})"
        remedy = f"{finding.remedy}" + (f": `{finding.command}`" if finding.command else "")
        yield f"{title}: {escape_markdown(finding.message)}"
        yield from (f"  - {escape_markdown(text)}" for text in (finding.evidence, remedy))
    if findings:
        yield ""


def summarize(machine: Machine, findings: Sequence[MachineFinding]) -> str:
    """Format how many findings there are, in one line."""
    if not findings:
        limit = "" if machine.triton else ", as far as can be told without triton"
        return f"nothing is wrong with this machine{limit}"
    return count_severities(finding.severity for finding in findings)


def machine_object(machine: Machine, findings: Sequence[MachineFinding], version: Version) -> dict[str, Any]:
    """Convert facts and findings to values for JSON."""
    return {
        "schema": SCHEMA,
        "tool_version": __version__,
        "triton_version": str(version),
        "facts": asdict(machine),
        "findings": [
            {
                "code": finding.code,
                "name": rule_name(finding.code),
                "severity": finding.severity.label,
                "message": finding.message,
                "evidence": finding.evidence,
                "remedy": finding.remedy,
                "command": finding.command,
            }
            for finding in findings
        ],
    }


def render_variables(rows: Sequence[Variable], version: Version, form: MachineForm) -> str:
    """Render the variables that Triton `version` reads: default, effect, and when each is read."""
    if form is MachineForm.JSON:
        listed = [
            {
                "name": row.name,
                "default": row.default or None,
                "effect": row.effect,
                "read": row.read or None,
                "in_key": row.enters_key(version),
                "knobs": list(row.knobs),
            }
            for row in rows
        ]
        return json.dumps({"schema": SCHEMA, "triton_version": str(version), "variables": listed}, indent=2) + "\n"
    if form is MachineForm.MARKDOWN:
        cells = [(f"`{row.name}`", f"{row.effect}; default: {row.default or 'unset'}") for row in rows]
        return "\n".join(table_lines([("variable", f"in triton {version}"), *cells])) + "\n"
    lines = []
    for row in rows:
        key = ", in the cache key" if row.enters_key(version) else ""
        moment = f", read: {row.read}" if row.read else ""
        lines += [row.name, f"    {row.effect}; default: {row.default or 'unset'}{moment}{key}"]
    return "\n".join([*lines, f"triton {version} reads {plural(len(rows), 'such variable')}"]) + "\n"


LONGEST = 300


def fact_rows(machine: Machine) -> Iterator[tuple[str, str]]:
    """Yield label and text of every fact except the variables."""
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
    """Describe a GPU in one line: name, architecture, driver version, memory."""
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
    """Yield the rows on the cache folder: its place, its size, and the kernels with the most variants."""
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
    """Yield each variable that is set, with what Triton `version` does with it."""
    for name, value in machine.variables.items():
        shown = value if len(value) <= LONGEST else f"{value[:LONGEST]}..."
        yield f"{name}={escape_line(shown)}", describe_variable(name, value, version)


def describe_variable(name: str, value: str, version: Version) -> str:
    """Describe the variable `name` in Triton `version` at `value`: its effect, and whether it is in the key."""
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


BOLD, PLAIN = "\x1b[1m", "\x1b[0m"
STYLES = {Severity.ERROR: "\x1b[1;31m", Severity.WARNING: "\x1b[1;33m", Severity.INFO: "\x1b[1;36m"}


def text_lines(
    machine: Machine, findings: Sequence[MachineFinding], version: Version, *, color: bool, width: int
) -> Iterator[str]:
    """Yield facts, variables and findings for a terminal. Commands are never wrapped, so that they can be copied."""
    width = max(width, NARROWEST)
    rows = list(fact_rows(machine))
    labels = max(len(label) for label, _ in rows)
    for label, text in rows:
        yield from wrap(f"{label:<{labels}}  ", text, width)
    yield ""
    settings = list(variable_rows(machine, version))
    if settings:
        title = f"variables, as triton {version} reads them"
        yield f"{BOLD}{title}{PLAIN}" if color else title
        for setting, text in settings:
            yield f"  {setting}"
            yield from wrap("      ", text, width)
        yield ""
    for finding in findings:
        name = f"{finding.code} {rule_name(finding.code)}"
        yield (
            f"{STYLES[finding.severity]}{name}{PLAIN} ({finding.severity.label})"
            if color
            else (f"{name} ({finding.severity.label})")
        )
        yield from wrap("  ", finding.message, width)
        yield from wrap("  = note: ", finding.evidence, width)
        yield from wrap("  = help: ", finding.remedy, width)
        if finding.command:
            yield f"  $ {escape_line(finding.command)}"
        yield ""


def wrap(lead: str, text: str, width: int) -> Iterator[str]:
    """Yield `text` as `hang` does, without color."""
    return (line.plain for line in hang(lead, text, width))
