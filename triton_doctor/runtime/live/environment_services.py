"""`TRITON_DOCTOR=metrics,guard=120,log,spans`: what watches a program without a change of code.

| word | |
|---|---|
| `live` | keeps the live file that `top` shows, as each other word does |
| `metrics` | counts in prometheus_client, once the program imports it or PROMETHEUS_MULTIPROC_DIR is set |
| `guard`, `guard=SECONDS` | logs each compile later than that (60) after the first launch, with its cause |
| `log` | logs each compile, load and round of tuning to the logger `triton_doctor` |
| `spans` | an OpenTelemetry span for each of them |
"""

from __future__ import annotations

import atexit
import os
import sys
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError
from triton_doctor.runtime import hooks
from triton_doctor.runtime.guards.warmth import is_warm
from triton_doctor.runtime.launch.joining import before_leaving
from triton_doctor.runtime.live.file import open_live_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from triton_doctor.metrics import Metrics
    from triton_doctor.runtime.event import Event

VARIABLE = "TRITON_DOCTOR"
WORDS = ("live", "metrics", "guard", "log", "spans")
WARM_AFTER_S = 60.0
CLIENT, SHARED = "prometheus_client", "PROMETHEUS_MULTIPROC_DIR"
# Events that wait for the program to import the client.
WAITING = 10_000


def begin_services(text: str, when_imported: Callable[[str, Callable[[], None]], None]) -> None:
    """Start the services in `text`, the value of the variable, after Triton is imported.

    `when_imported(name, act)` calls `act` once the module `name` is imported. Raises DoctorError for an unknown
    service, and, after starting the others, for spans without their package.
    """
    chosen = dict(read_words(text))
    sinks: list[Callable[[Event], None]] = []
    if "guard" in chosen:
        from triton_doctor.runtime.guards.warmth import TimedGuard

        sinks.append(TimedGuard(chosen["guard"]).receive)
    if "metrics" in chosen:
        late = LateMetrics()
        when_imported(CLIENT, late.begin)
        sinks.append(late.receive)
    if "log" in chosen:
        from triton_doctor.runtime.live.sinks import log_event

        sinks.append(log_event())
    for sink in sinks:
        hooks.attach(sink, count_launches=False)
    if chosen:
        live = open_live_file()
        atexit.register(live.close)
        for leave in ("_exit", "execv", "execve"):
            before_leaving(leave, live.close)
    if "spans" in chosen:
        from triton_doctor.runtime.live.sinks import trace_event

        hooks.attach(trace_event(), count_launches=False)


def read_words(text: str) -> Iterator[tuple[str, float]]:
    """Yield the services in `text`, each with its number. Raises DoctorError for an unknown one."""
    for part in filter(None, (part.strip() for part in text.split(","))):
        word, equals, number = part.partition("=")
        if word not in WORDS or (equals and word != "guard"):
            raise DoctorError(f"{VARIABLE} has no word {part!r}", hint=f"give {', '.join(WORDS)}; guard=120")
        try:
            value = float(number) if equals else WARM_AFTER_S
        except ValueError:
            value = -1.0
        if not 0 <= value < float("inf"):
            raise DoctorError(f"{VARIABLE}: guard takes a number of seconds, not {number!r}", hint="guard=120")
        yield word, value


class LateMetrics:
    """Metrics that begin when the program has chosen how it counts: the client reads its mode when it is imported."""

    def __init__(self) -> None:
        self._metrics: Metrics | None = None
        self._waiting: list[tuple[Event, bool]] = []
        self._is_missing = False

    def receive(self, event: Event) -> None:
        """Count `event`, or queue it until the metrics exist; a sink."""
        if self._metrics is None and not self._is_missing and (CLIENT in sys.modules or os.environ.get(SHARED)):
            self.begin()
        if self._metrics is not None:
            self._metrics.receive(event)
        elif len(self._waiting) < WAITING and not self._is_missing:
            self._waiting.append((event, is_warm()))

    def begin(self) -> None:
        """Create the metrics, now that the client is imported or can be, and count the queued events."""
        if self._metrics is not None or self._is_missing:
            return
        from triton_doctor.metrics import Metrics

        try:
            self._metrics = Metrics()
        except (DoctorError, ValueError, OSError) as error:
            # Not there, counted by somebody else already, or a folder that cannot be written.
            self._is_missing = True
            message = f"{error.message}: {error.hint}" if isinstance(error, DoctorError) else str(error)
            sys.stderr.write(f"triton-doctor: no metrics: {message}\n")
            return
        waiting, self._waiting = self._waiting, []
        for event, warm in waiting:
            self._metrics.count(event, warm=warm)
