"""Events to a logger, and to OpenTelemetry: for those who have no metrics."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.event import COMPILED, AutotuneEvent, CompileEvent
from triton_doctor.runtime.guards.live_causes import LiveCauses
from triton_doctor.runtime.guards.unexpected import at, describe_cause, describe_event

if TYPE_CHECKING:
    from collections.abc import Callable

    from triton_doctor.runtime.event import Event

log = logging.getLogger("triton_doctor")


def log_event() -> Callable[[Event], None]:
    """Return a sink that logs each compile, load and autotuning with its cause, at level INFO."""
    causes = LiveCauses()

    def receive(event: Event) -> None:
        if isinstance(event, CompileEvent | AutotuneEvent):
            recompile = causes.explain(event)
            if log.isEnabledFor(logging.INFO):
                log.info("%s%s: %s", describe_event(event), at(event.launch_site), describe_cause(recompile))

    return receive


def trace_event() -> Callable[[Event], None]:
    """Return a sink that creates an OpenTelemetry span for each event, below the current span of the thread.

    Without an SDK the spans go nowhere. Raises DoctorError if the API is not installed.
    """
    try:
        from opentelemetry import trace
    except ImportError as error:
        hint = "pip install opentelemetry-api"
        raise DoctorError("spans need opentelemetry-api, which is not installed", hint=hint) from error
    tracer = trace.get_tracer("triton_doctor")

    def receive(event: Event) -> None:
        if isinstance(event, CompileEvent | AutotuneEvent):
            span = tracer.start_span(_name(event), start_time=event.at_ns - 1000 * (event.duration_us or 0))
            if span.is_recording():
                span.set_attributes(_attributes(event))
            span.end(event.at_ns)

    return receive


def _name(event: CompileEvent | AutotuneEvent) -> str:
    if isinstance(event, AutotuneEvent):
        return "triton.autotune"
    return "triton.compile" if event.tier == COMPILED else "triton.load"


def _attributes(event: CompileEvent | AutotuneEvent) -> dict[str, Any]:
    found: dict[str, Any] = {"triton.kernel": event.kernel.name, "thread.id": event.thread}
    if event.launch_site is not None:
        found |= {"code.file.path": event.launch_site.path, "code.line.number": event.launch_site.line}
    return found
