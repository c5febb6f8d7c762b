"""Attaching to triton, whichever version is installed: the only place, with `target`, that touches it.

Attached once a process however many recordings listen, and detached with the last: then triton is what it was, object
for object.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING, Any

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.hooks.failing import watch_failures
from triton_doctor.runtime.hooks.interpreting import watch_interpreter
from triton_doctor.runtime.hooks.launching import LaunchCounter
from triton_doctor.runtime.hooks.loading import watch_loading
from triton_doctor.runtime.hooks.observer import Observer
from triton_doctor.runtime.hooks.process_state import CacheFolder
from triton_doctor.runtime.hooks.remembered import read_memory
from triton_doctor.runtime.hooks.slots import are_ours
from triton_doctor.runtime.hooks.stepping import watch_steps
from triton_doctor.runtime.hooks.tuning import watch_tuning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from triton_doctor.runtime.event import CompileEvent, Event, KernelName
    from triton_doctor.runtime.hooks.slots import Patch
    from triton_doctor.runtime.live.activity import Activities
    from triton_doctor.runtime.live.program_steps import Steps

    Sink = Callable[[Event], None]

OLDEST, NEWEST = (3, 2), (3, 9)


class _Attached:
    """What is now attached in this process."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.observer: Observer | None = None
        self.triton: ModuleType | None = None
        self.slots: list[Patch] = []
        self.counter: LaunchCounter | None = None
        self.counter_slots: list[Patch] = []
        self.counting: list[Sink] = []


_attached = _Attached()


def _begin_in_child() -> None:
    # A lock that another thread held when the process forked would never be released in the child.
    _attached.lock = threading.RLock()
    if _attached.observer is not None:
        _attached.observer.interpreting.clear()
        _attached.observer.steps.begin()
        _attached.observer.activities.begin_in_child()
    if _attached.counter is not None:
        _attached.counter.begin_in_child()


os.register_at_fork(after_in_child=_begin_in_child)


def require_triton() -> None:
    """Import Triton. Raises DoctorError if it is not installed."""
    try:
        import triton  # noqa: F401
    except ImportError as error:
        raise DoctorError("triton is not installed here", hint="pip install triton, or record where it is") from error


def attach(sink: Sink, *, count_launches: bool = True) -> None:
    """Send each event to `sink` from now on. An unknown Triton version does not raise: `sink` gets a warning."""
    import triton

    with _attached.lock:
        version = parse_version(triton.__version__)
        if _attached.observer is None:
            _attached.observer, _attached.triton = Observer(), triton
            if version >= OLDEST:
                _attached.slots = _watch(_attached.observer, version)
        observer = _attached.observer
        observer.sinks = (*observer.sinks, sink)
        if observer.is_blinded:
            # Also the new sink is to know.
            observer.is_blinded = False
            verify()
        if version < OLDEST:
            observer.warn("unseen", f"triton {triton.__version__} is older than 3.2: nothing is watched")
            return
        if version[:2] > NEWEST:
            observer.warn(
                "untried", f"triton {triton.__version__} is newer than 3.9, the newest tried: counts may miss"
            )
        if count_launches:
            _attached.counting.append(sink)
            if _attached.counter is None:
                _attached.counter = LaunchCounter(observer)
                observer.count_launches = _attached.counter.totals
                _attached.counter_slots = list(_as_far_as_possible(observer, "launches", _attached.counter.watch()))


def watch_cache_folder(value: str | None) -> None:
    """Report that TRITON_CACHE_DIR changed from `value`, even before the first sink was attached."""
    if _attached.observer is not None:
        _attached.observer.cache_folder = CacheFolder(value)


def detach(sink: Sink) -> None:
    """Stop sending events to `sink`, after a warning if hooks were replaced. Harmless if not attached."""
    with _attached.lock:
        observer = _attached.observer
        if observer is None or sink not in observer.sinks:
            return
        observer.steps.flush()
        try:
            verify()
        finally:
            last = len(observer.sinks) == 1
            if sink in _attached.counting:
                _attached.counting.remove(sink)
                if not _attached.counting:
                    _stop_counting()
            if last:
                for slot in reversed(_attached.slots):
                    slot.restore()
                _attached.observer, _attached.slots = None, []
            observer.sinks = tuple(other for other in observer.sinks if other != sink)


def verify() -> None:
    """Warn the sinks, once, if the program replaced Triton or one of our hooks in it."""
    with _attached.lock:
        observer = _attached.observer
        if observer is None or observer.is_blinded:
            return
        if sys.modules.get("triton") is not _attached.triton:
            message = "triton was imported a second time: compiles of that copy are missing"
        elif not are_ours([*_attached.slots, *_attached.counter_slots]):
            message = "the program replaced hooks of triton-doctor in triton: later compiles are missing"
        else:
            return
        observer.is_blinded = True
        observer.warn("unseen", message)


def call_while_launching(pulse: Callable[[], None]) -> None:
    """Call `pulse` several times a second while kernels launch, and at the first launch of each kernel."""
    counter = _attached.counter
    if counter is not None:
        counter.pulses = (*counter.pulses, pulse)


def launches_so_far() -> dict[KernelName, int]:
    """Return the launches by kernel since counting began in this process; empty if not counting."""
    counter = _attached.counter
    return {} if counter is None else counter.totals()


def emit(event: Event) -> None:
    """Send `event` to all sinks."""
    if _attached.observer is not None:
        _attached.observer.emit(event)


def report_dry_compile(src: Any, *, options: Any, target: Any, guessed: bool) -> None:
    """Emit the event of the variant `src` of a dry run, for the launch on this thread's stack."""
    if _attached.observer is not None:
        dry = {"options": options, "target": target}
        _attached.observer.built(src, compiled=True, stages_us=(), dry=dry, guessed=guessed)


def compiled_before(event: CompileEvent) -> tuple[CompileEvent, ...]:
    """Return the earlier compiles that the kernel object of `event` keeps in memory, oldest first."""
    observer = _attached.observer
    fn = None if observer is None else observer.object_of(event)
    if observer is None or fn is None:
        return ()
    try:
        return tuple(read_memory(fn, event))
    except Exception:
        observer.fault("reading what a kernel has in memory")
        return ()


def interpreted_so_far() -> dict[KernelName, tuple[int, int]]:
    """Return the launches in interpreter mode by kernel: their number, and their nanoseconds."""
    observer = _attached.observer
    return {} if observer is None else dict(observer.interpreting)


def open_steps() -> Steps | None:
    """Return the steps and requests of this process; None if no sink is attached."""
    observer = _attached.observer
    return None if observer is None else observer.steps


def open_activities() -> Activities | None:
    """Return the current activities of this process; None if no sink is attached."""
    observer = _attached.observer
    return None if observer is None else observer.activities


def watch_late_steps() -> None:
    """Record the steps of a library that was imported just now, if a sink is attached."""
    with _attached.lock:
        if _attached.observer is not None:
            slots = watch_steps(_attached.observer)
            _attached.slots += _as_far_as_possible(_attached.observer, "steps", slots)


def watch_late_interpreter() -> None:
    """Record interpreter mode, whose module was imported just now, if a sink is attached."""
    with _attached.lock:
        if _attached.observer is not None:
            slots = watch_interpreter(_attached.observer)
            _attached.slots += _as_far_as_possible(_attached.observer, "interpreter mode", slots)


def parse_version(text: str) -> tuple[int, ...]:
    """Return major and minor version: `3.6.0+git123` gives (3, 6)."""
    return tuple(int(part) for part in text.split("+")[0].split(".")[:2] if part.isdecimal())


def _stop_counting() -> None:
    for slot in _attached.counter_slots:
        slot.restore()
    if _attached.observer is not None:
        _attached.observer.count_launches = None
    _attached.counter, _attached.counter_slots = None, []


def _watch(observer: Observer, version: tuple[int, ...]) -> list[Patch]:
    if version >= (3, 4):
        from triton_doctor.runtime.hooks.compiling import watch_compiles
    else:
        from triton_doctor.runtime.hooks.compiling_old import watch_compiles
    watched = (
        ("compiles", watch_compiles(observer)),
        ("compiles that fail", watch_failures(observer)),
        ("modules that are loaded", watch_loading(observer)),
        ("tuning", watch_tuning(observer)),
        ("interpreter mode", watch_interpreter(observer)),
        ("steps", watch_steps(observer)),
    )
    return [slot for what, slots in watched for slot in _as_far_as_possible(observer, what, slots)]


def _as_far_as_possible(observer: Observer, what: str, slots: Iterator[Patch]) -> Iterator[Patch]:
    try:
        yield from slots
    except Exception as error:  # a triton that moved what we look for
        observer.warn("unseen", f"cannot watch {what} on this triton: {error!r}")
