"""Events to lines of JSON: schema 1 of a recording. `decoding` reads them."""

from __future__ import annotations

import json
from typing import Any

from triton_doctor.runtime.event import (
    AutotuneEvent,
    CompileEvent,
    CompileKey,
    EndEvent,
    Event,
    FailureEvent,
    GuessEvent,
    Header,
    InterpretedEvent,
    KernelName,
    LaunchesEvent,
    LaunchSite,
    MemoryEvent,
    ModuleEvent,
    UnloadEvent,
    WarningEvent,
)
from triton_doctor.runtime.program_event import (
    ChoicesEvent,
    GraphEvent,
    MarkEvent,
    ProgramEvent,
    StepEvent,
    VariableEvent,
)
from triton_doctor.runtime.sweep_event import SweepEvent

KINDS: dict[str, type[Any]] = {
    "header": Header,
    "compile": CompileEvent,
    "memory": MemoryEvent,
    "autotune": AutotuneEvent,
    "launches": LaunchesEvent,
    "interpreted": InterpretedEvent,
    "warning": WarningEvent,
    "end": EndEvent,
    "mark": MarkEvent,
    "program": ProgramEvent,
    "module": ModuleEvent,
    "unload": UnloadEvent,
    "failure": FailureEvent,
    "variable": VariableEvent,
    "graph": GraphEvent,
    "choices": ChoicesEvent,
    "guess": GuessEvent,
    "sweep": SweepEvent,
    "step": StepEvent,
}
NAMES = {kind: name for name, kind in KINDS.items()}


def write_line(value: Header | Event) -> str:
    """Serialize `value` to one line of JSON, without a line break."""
    fields = {"event": NAMES[type(value)]}
    for name in type(value).__dataclass_fields__:
        fields |= _flat(name, getattr(value, name))
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=True)


def _flat(name: str, value: object) -> dict[str, Any]:
    match value:
        case KernelName() if name == "generated":
            return {name: {part: getattr(value, part) for part in KernelName.__dataclass_fields__}}
        case KernelName():
            return {"kernel": value.name, "module": value.module, "path": value.path, "line": value.line}
        case CompileKey():
            return {"key": {part: getattr(value, part) for part in CompileKey.__dataclass_fields__}}
        case LaunchSite():
            return {name: {"path": value.path, "line": value.line, "function": value.function}}
        case tuple() if name == "launches":
            return {name: [_flat("kernel", kernel) | {"count": count} for kernel, count in value]}
        case _:
            return {name: value}
