"""Lines of JSON to events. Every value is validated here, so that all who read events can rely on their types.

Not imported in a program that is watched: reading needs msgspec, writing does not.
"""

from __future__ import annotations

import json
import marshal
import sys
from typing import Any

import msgspec

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.event import SCHEMA, CompileKey, Event, Header, KernelName, LaunchSite, Scalar
from triton_doctor.runtime.lines import KINDS

# Counts, times and lines fit into this; larger ones cannot be added up or printed as numbers.
LARGEST = 2**64
# What a program passes as an argument may be any number.
ARGUMENTS = frozenset({"key", "values"})
SIGNED = frozenset({"status"})
KERNEL = ("name", "module", "path", "line")
# What the compiles of a job have in common: a thousand ranks compile the same keys.
SHARED: dict[str, Any] = {
    "kernel": KernelName,
    "key": CompileKey,
    "values": tuple[tuple[str, Scalar], ...],
    "launch_site": LaunchSite,
}

Shared = dict[tuple[str, bytes], object]
"""Parts of events that lines had before, by their name and content."""


class DamagedError(ValueError):
    """A line that is no valid event: `line 3 {reason}`. `torn` is whether it is invalid JSON, e.g. half-written."""

    def __init__(self, reason: str, *, torn: bool = False) -> None:
        super().__init__(reason)
        self.torn = torn


def decode_line(line: str, shared: Shared | None = None) -> Header | Event | None:
    """Return the event in `line`; None for a kind of event that this version does not know.

    Equal parts of events are shared as one object: `shared` holds them across lines. Raises DamagedError for a line
    that is no event, and DoctorError for a header of a newer schema.
    """
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        raise DamagedError("is no event", torn=True) from None
    if not isinstance(fields, dict) or not isinstance(fields.get("event"), str):
        raise DamagedError("is no event")
    name = fields["event"]
    kind = KINDS.get(name)
    if kind is None:
        return None
    if kind is Header:
        _require_schema(fields.get("schema"))
    try:
        nested = _nest(fields)
        if shared is not None and name == "compile":
            _share(nested, shared)
        event: Header | Event = msgspec.convert(nested, kind)
        _require_ranges(event)
    except UnicodeEncodeError:
        raise DamagedError(f"is a damaged {name} event: a key is no UTF-8") from None
    except msgspec.ValidationError as error:
        reason = str(error)
        raise DamagedError(f"is a damaged {name} event: {reason[:1].lower()}{reason[1:]}") from None
    return event


def is_damaged_header(line: str) -> bool:
    """Return whether the undecodable `line` was to be the header of a recording."""
    return line.startswith('{"event":"header"')


def _require_schema(schema: object) -> None:
    if type(schema) is not int:
        raise DamagedError("is a header without a schema")
    if schema > SCHEMA:
        shown = schema if schema <= LARGEST else "from the future"
        raise DoctorError(
            f"the recording has schema {shown}, this triton-doctor reads {SCHEMA}",
            hint="upgrade triton-doctor, or record again",
        )


def _nest(fields: dict[str, Any]) -> dict[str, Any]:
    """Move the fields of a kernel, which a line stores beside the event's own, into a nested value."""
    nested = dict(fields)
    if nested.get("kernel") is not None:
        nested["kernel"] = _kernel(nested)
    if isinstance(nested.get("launches"), list):
        nested["launches"] = [
            (_kernel(entry), entry.get("count")) if isinstance(entry, dict) else entry for entry in nested["launches"]
        ]
    return nested


def _share(fields: dict[str, Any], shared: Shared) -> None:
    """Replace each field in SHARED by one object per content; leaves fields with invalid content unchanged."""
    for name, kind in SHARED.items():
        if not fields.get(name):
            continue
        try:
            # Version 2 writes no references, so that equal parts are equal bytes; 1, 1.0 and True are not.
            content = name, marshal.dumps(fields[name], 2)
            if content not in shared:
                shared[content] = msgspec.convert(fields[name], kind)
        except ValueError:  # a ValidationError is one; marshal raises it for what is nested too deeply
            continue
        fields[name] = shared[content]
    stages = fields.get("stages_us")
    for stage in stages if isinstance(stages, list) else ():
        if isinstance(stage, list) and stage and isinstance(stage[0], str):
            stage[0] = sys.intern(stage[0])


def _kernel(fields: dict[str, Any]) -> dict[str, Any]:
    return {"name": fields.get("kernel")} | {part: fields[part] for part in KERNEL[1:] if part in fields}


def _require_ranges(value: object, name: str = "") -> None:
    """Raise ValidationError for a count, time or line that is negative or too large to work with."""
    if isinstance(value, int):
        if not (-LARGEST if name in SIGNED else 0) <= value <= LARGEST:
            raise msgspec.ValidationError(f"number out of range - at `$.{name}`")
    elif isinstance(value, tuple):
        for item in value:
            _require_ranges(item, name)
    elif hasattr(value, "__dataclass_fields__"):
        for part in value.__dataclass_fields__:
            if part not in ARGUMENTS:
                _require_ranges(getattr(value, part), part)
