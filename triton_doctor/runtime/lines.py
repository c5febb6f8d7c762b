"""Events to lines of JSON and back: schema 1 of a recording."""

from __future__ import annotations

import json
from typing import Any

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.event import (
    SCHEMA,
    AutotuneEvent,
    ChoicesEvent,
    CompileEvent,
    CompileKey,
    EndEvent,
    Event,
    FailureEvent,
    GraphEvent,
    Header,
    InterpretedEvent,
    KernelName,
    LaunchesEvent,
    LaunchSite,
    MarkEvent,
    ModuleEvent,
    ProgramEvent,
    VariableEvent,
    WarningEvent,
)

KINDS: dict[str, type[Any]] = {
    "header": Header,
    "compile": CompileEvent,
    "autotune": AutotuneEvent,
    "launches": LaunchesEvent,
    "interpreted": InterpretedEvent,
    "warning": WarningEvent,
    "end": EndEvent,
    "mark": MarkEvent,
    "program": ProgramEvent,
    "module": ModuleEvent,
    "failure": FailureEvent,
    "variable": VariableEvent,
    "graph": GraphEvent,
    "choices": ChoicesEvent,
}
NAMES = {kind: name for name, kind in KINDS.items()}


def write_line(value: Header | Event) -> str:
    """One line, without its end."""
    fields = {"event": NAMES[type(value)]}
    for name in type(value).__dataclass_fields__:
        fields |= _flat(name, getattr(value, name))
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=True)


def _flat(name: str, value: object) -> dict[str, Any]:
    match value:
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


def read_line(line: str) -> Header | Event | None:
    """None for a kind of event that this version does not know. Raises ValueError for what is not an event.

    A header of a newer schema raises DoctorError.
    """
    fields = json.loads(line)
    if not isinstance(fields, dict) or "event" not in fields:
        raise ValueError("not an event")
    kind = KINDS.get(fields["event"])
    if kind is None:
        return None
    if kind is Header and (not isinstance(fields.get("schema"), int) or fields["schema"] > SCHEMA):
        raise DoctorError(
            f"the recording has schema {fields.get('schema')}, this triton-doctor reads {SCHEMA}",
            hint="upgrade triton-doctor, or record again",
        )
    try:
        known = {name: _whole(name, fields) for name in kind.__dataclass_fields__ if name in fields}
        event: Header | Event = kind(**known)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"an incomplete {fields['event']} event") from error
    return event


def _whole(name: str, fields: dict[str, Any]) -> Any:
    value = fields[name]
    match name:
        case "kernel":
            return None if value is None else _kernel(fields)
        case "launch_site":
            return None if value is None else LaunchSite(**value)
        case "key" if isinstance(value, dict):
            return CompileKey(**{part: _tuples(inner) for part, inner in value.items()})
        case "launches":
            return tuple((_kernel(entry), entry["count"]) for entry in value)
        case _:
            return _tuples(value)


def _kernel(fields: dict[str, Any]) -> KernelName:
    return KernelName(name=fields["kernel"], module=fields["module"], path=fields["path"], line=fields["line"])


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value
