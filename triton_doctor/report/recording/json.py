"""An account as JSON, schema 1: every key always there, times in milliseconds."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from triton_doctor.evidence import advise, misspelt_variables
from triton_doctor.report.recording.ranks import ranks_object
from triton_doctor.report.recording.steps import steps_object
from triton_doctor.report.recording.unserved import unserved_object
from triton_doctor.report.recording.wording import describe_unseen
from triton_doctor.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.evidence import Advice
    from triton_doctor.report.recording.unserved import UnservedCompile
    from triton_doctor.runtime.account import Account, GraphAccount, ProcessAccount
    from triton_doctor.runtime.event import CompileEvent, GuessEvent
    from triton_doctor.runtime.kernel_account import CauseAccount, KernelAccount, Share
    from triton_doctor.runtime.timeline import Split

SCHEMA = 1
TIMES = ("compile_ms", "load_ms", "autotune_ms")
SUMMED = (
    "launches",
    "in_memory",
    "from_disk",
    "compiled",
    "compile_ms",
    "load_ms",
    "autotune_rounds",
    "autotune_ms",
)


def render_json(account: Account, unserved: Sequence[UnservedCompile] = ()) -> str:
    """Render `account` as a JSON object. `unserved` are the compiles that a pack should have saved."""
    kernels = [kernel_object(kernel) for kernel in account.kernels]
    splits = [process.split for process in account.processes]
    totals: dict[str, Any] = {name: round(sum(kernel[name] or 0 for kernel in kernels), 3) for name in SUMMED}
    if account.dry is not None:
        totals |= dict.fromkeys(TIMES, None)
    totals["wall_ms"] = account.wall_us / 1000
    totals["first_process_ms"] = sum(split.first_process_us for split in splits) / 1000
    totals["unseen"] = list(describe_unseen(account))
    document = {
        "schema": SCHEMA,
        "tool_version": __version__,
        "command": None if account.command is None else list(account.command),
        "status": None if account.program is None else account.program.status,
        "settled_ms": None if account.settled_us is None else account.settled_us / 1000,
        "interpreted": [
            {
                "kernel": kernel.kernel.name,
                "path": kernel.kernel.path,
                "line": kernel.kernel.line,
                "launches": kernel.launches,
                "took_ms": None if kernel.took_us is None else kernel.took_us / 1000,
            }
            for kernel in account.interpreted
        ],
        "misspelt_variables": [{"name": name, "meant": known} for name, known in misspelt_variables(account)],
        "kernels": kernels,
        "totals": totals,
        "processes": [process_object(process) for process in account.processes],
        "gpus": [
            {"name": name, "peak_mib": peak, "total_mib": whole, "utilization_percent": round(percent, 1)}
            for name, peak, whole, percent in (account.program.gpus if account.program else ())
        ],
        "variables_set": [
            {"name": event.name, "value": event.value, "setter": event.setter} for event in account.variables
        ],
        "graphs": [graph_object(graph) for graph in account.graphs],
        "choices": [
            {
                "name": event.name,
                "count": event.count,
                "precompile_ms": event.precompile_us / 1000,
                "benchmark_ms": event.benchmark_us / 1000,
            }
            for event in account.choices
        ],
        "advice": [advice_object(advice) for advice in advise(account)],
        "steps": steps_object(account.steps),
        "ranks": ranks_object(account.ranks),
        "unserved": [unserved_object(compiled) for compiled in unserved],
        "dry": account.dry is not None,
        "pretended": {} if account.dry is None else dict(account.dry.pretended),
        "files": [warning.message for warning in account.warnings if warning.kind == "files"],
        "guesses": [] if account.dry is None else [question_object(*guess) for guess in account.dry.guesses],
        "stops": [] if account.dry is None else [question_object(*stop) for stop in account.dry.stops],
    }
    return json.dumps(_with_finite_numbers(document), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _with_finite_numbers(value: Any) -> Any:
    """Replace infinite and NaN numbers in `value`, which JSON cannot express, by text."""
    match value:
        case dict():
            return {name: _with_finite_numbers(item) for name, item in value.items()}
        case list() | tuple():
            return [_with_finite_numbers(item) for item in value]
        case float() if not math.isfinite(value):
            return repr(value)
        case _:
            return value


def question_object(event: GuessEvent, count: int) -> dict[str, Any]:
    """Convert a question that a dry run could not answer, with how often it came up."""
    site = event.site
    return {
        "question": event.question,
        "path": None if site is None else site.path,
        "line": None if site is None else site.line,
        "count": count,
    }


def graph_object(graph: GraphAccount) -> dict[str, Any]:
    """Convert one compile of torch.compile."""
    event = graph.event
    return {
        "compile_id": event.compile_id,
        "function": event.function,
        "path": event.path,
        "line": event.line,
        "took_ms": event.duration_us / 1000,
        "graphs_from_cache": event.cached,
        "graphs_not_in_cache": event.uncached,
        "reason": event.reason or None,
        "failure": event.failure or None,
        "kernels": graph.kernels,
        "choices": graph.choices,
    }


def kernel_object(kernel: KernelAccount) -> dict[str, Any]:
    """Convert `kernel` as the schema has it; GPU times are None in a dry run."""
    times = {
        "compile_ms": kernel.compile_us / 1000,
        "load_ms": kernel.load_us / 1000,
        "autotune_ms": kernel.autotune_us / 1000,
        "launcher_ms": kernel.launcher_us / 1000,
        "module_ms": kernel.module_us / 1000,
    }
    return {
        "kernel": kernel.kernel.name,
        "module": kernel.kernel.module,
        "path": kernel.kernel.path,
        "line": kernel.kernel.line,
        "launches": kernel.launches,
        "in_memory": kernel.in_memory,
        "from_disk": kernel.from_disk,
        "compiled": kernel.compiled,
        "autotune_rounds": kernel.autotune_rounds,
        "trials": kernel.trials,
        "launches_counted": not kernel.direct,
        **(dict.fromkeys(times) if kernel.dry else times),
        "dry": kernel.dry,
        "guessed": kernel.guessed,
        "failed": kernel.failed,
        "failed_ms": kernel.failed_us / 1000,
        "errors": list(kernel.errors),
        "capturing": kernel.capturing,
        "unloaded_capturing": kernel.unloaded,
        "autotune_rounds_not_kept": dict(kernel.unkept),
        "longest_compile": None if kernel.longest is None else long_compile_object(kernel.longest),
        "maker": kernel.maker or None,
        "causes": [cause_object(cause) for cause in kernel.causes],
        "sites": [
            {"path": site.path, "line": site.line, "function": site.function, **share_object(share)}
            for site, share in kernel.sites
        ],
        "ranks": [{"rank": rank, **share_object(share)} for rank, share in kernel.ranks],
    }


def long_compile_object(event: CompileEvent) -> dict[str, Any]:
    """Return the stages of a compile of 10 s or more, with the bytes of what each of them made."""
    return {
        "stages_ms": {stage: us / 1000 for stage, us in event.stages_us},
        "sizes": dict(event.sizes),
    }


def cause_object(cause: CauseAccount) -> dict[str, Any]:
    """Convert `cause` as the schema has it."""
    return {
        "code": cause.code,
        "parameter": cause.parameter,
        "count": cause.count,
        "values": list(cause.values),
        "waited_ms": cause.waited_us / 1000,
    }


def share_object(share: Share) -> dict[str, Any]:
    """Convert what was waited for at a launch site, or on a rank."""
    return {"compiled": share.compiled, "from_disk": share.from_disk, "waited_ms": share.waited_us / 1000}


def process_object(process: ProcessAccount) -> dict[str, Any]:
    """Convert one process with the parts of its time, which add up to `wall_ms`."""
    header = process.header
    return {
        "pid": header.pid,
        "rank": header.rank,
        "command": list(header.command),
        "versions": dict(header.versions),
        "target": header.target,
        "ended": process.ended,
        **split_object(process.split),
    }


def split_object(split: Split) -> dict[str, Any]:
    """Convert the parts of a wall time to milliseconds."""
    return {
        "wall_ms": split.wall_us / 1000,
        "compiling_ms": split.compile_us / 1000,
        "loading_ms": split.load_us / 1000,
        "tuning_ms": split.autotune_us / 1000,
        "building_launchers_ms": split.launcher_us / 1000,
        "loading_modules_ms": split.module_us / 1000,
        "failing_ms": split.failed_us / 1000,
        "first_process_ms": split.first_process_us / 1000,
        "interpreting_ms": split.interpret_us / 1000,
        "everything_else_ms": split.other_us / 1000,
    }


def advice_object(advice: Advice) -> dict[str, Any]:
    """Convert one advice."""
    return {
        "saved_ms": advice.saved_us / 1000,
        "kernel": None if advice.kernel is None else advice.kernel.name,
        "path": None if advice.kernel is None else advice.kernel.path,
        "line": None if advice.kernel is None else advice.kernel.line,
        "fact": advice.fact,
        "remedy": advice.remedy,
        "codes": list(advice.codes),
        "rules": list(advice.rules),
        "parameters": list(advice.parameters),
        "in_source": advice.in_source,
    }
