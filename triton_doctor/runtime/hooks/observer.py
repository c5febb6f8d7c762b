"""From what triton tells to events, handed to every recording and guard that listens.

A fault of ours is kept and told, never raised into the program; what the program raises, KeyboardInterrupt too, passes.
So does what a guard was asked to raise.
"""

from __future__ import annotations

import os
import threading
import time
import traceback
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from triton_doctor.runtime.event import COMPILED, LOADED, AutotuneEvent, CompileEvent, CompileKey, WarningEvent
from triton_doctor.runtime.hooks.beginning import Begun
from triton_doctor.runtime.hooks.constants import encode_constants
from triton_doctor.runtime.hooks.describe import (
    compile_key,
    kernel_name,
    named_parts,
    parsed_options,
    read_timings,
    scalar,
    source_of,
    target_text,
)
from triton_doctor.runtime.hooks.failing import refused_launch
from triton_doctor.runtime.hooks.frames import LaunchOnStack, launch_site, read_stack, source_on_stack
from triton_doctor.runtime.hooks.process_state import CACHE_FOLDER, CacheFolder, is_capturing, is_dry, rank
from triton_doctor.runtime.live.activity import Activities
from triton_doctor.runtime.live.program_steps import Steps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from triton_doctor.runtime.event import Event, KernelName, Scalar

# A fault that repeats with every launch is told this many times.
FAULTS_TOLD = 20
# Of a constexpr that takes a new value with each launch no part is shared.
INTERNED = 10_000


class RefusedError(Exception):
    """How a sink makes the launch raise: `error` passes, where any other exception of a sink is a fault of ours."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRound:
    """An autotuning of the JITFunction `fn` that ended, in Triton's own values.

    `names` are those of the first parts of `key`; the rest are tensor dtypes. `launched_before` is the number of
    launches before it, None if launches are not counted; `kept` is as in an AutotuneEvent.
    """

    fn: Any
    key: Sequence[Any]
    names: Sequence[str] | None
    best: Any
    timings: Mapping[Any, Any] | None
    duration_s: float | None
    cached: bool
    launched_before: int | None
    kept: str


class Observer:
    """Turns triton's signals into events. `sinks` receive each of them, on the thread where it happened."""

    def __init__(self) -> None:
        self.sinks: tuple[Callable[[Event], None], ...] = ()
        self.activities = Activities()
        self.begun = Begun(self.activities)
        self.is_blinded = False
        self.count_launches: Callable[[], Mapping[KernelName, int]] | None = None
        self._faults = 0
        self._interpreted: set[KernelName] = set()
        self.interpreting: dict[KernelName, tuple[int, int]] = {}
        self._interned: dict[Any, Any] = {}
        self._generators: dict[KernelName, KernelName] = {}
        self._objects: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._made: dict[KernelName, int] = {}
        self._submitted: weakref.WeakKeyDictionary[Any, LaunchOnStack] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()
        self.cache_folder = CacheFolder(os.environ.get(CACHE_FOLDER))
        self.steps = Steps(self.emit, rank)
        self.stepping: set[str] = set()

    def emit(self, event: Event) -> None:
        """Send `event` to each sink; an exception in one sink does not affect the others.

        Raises the error of the first sink that refused the event.
        """
        match event:
            case CompileEvent() | AutotuneEvent(cached=False):
                self.steps.note_compile(event.at_ns)
        refused: RefusedError | None = None
        for sink in self.sinks:
            try:
                sink(event)
            except RefusedError as refusal:
                refused = refused or refusal
            except Exception:
                self.fault("a recording")
        if refused is not None:
            raise refused.error

    def fault(self, where: str) -> None:
        """Record the exception being handled as an internal error; it must not reach the program."""
        self._faults += 1
        if self._faults > FAULTS_TOLD:
            return
        last = traceback.format_exc(limit=-3).strip().replace("\n", " | ")
        message = f"triton-doctor failed in {where}, and the program went on: {last}"
        event = WarningEvent(kind="fault", message=message, at_ns=time.time_ns())
        for sink in self.sinks:
            try:
                sink(event)
            except Exception:  # the same sink may be what is broken
                continue

    def warn(self, kind: str, message: str, kernel: KernelName | None = None) -> None:
        """Emit a warning for the reader of the recording."""
        self.emit(WarningEvent(kind=kind, message=message, at_ns=time.time_ns(), kernel=kernel))

    def built(
        self,
        src: Any,
        *,
        compiled: bool,
        stages_us: Sequence[tuple[str, int]],
        sizes: tuple[tuple[str, int], ...] = (),
        dry: Mapping[str, Any] | None = None,
        guessed: bool = False,
    ) -> None:
        """Emit the event of a binary of `src` that Triton compiled or loaded; called inside `compile`, on any thread.

        `dry` are the `options` and the `target` of a dry run; `sizes` and `guessed` are as in the event.
        """
        try:
            compiling, launch = read_stack()
            compiling = dry or compiling
            if not launch.found:
                launch = self._submitted.pop(src, launch)
            fn = getattr(src, "fn", None)
            generated = kernel_name(src if fn is None else fn)
            if launch.generator is not None:
                self._generators[generated] = kernel_name(launch.generator)
            kernel = self.name_of(src if fn is None else fn)
            event = CompileEvent(
                kernel=kernel,
                key=self._key(src, compiling, launch),
                tier=COMPILED if compiled else LOADED,
                stages_us=tuple((str(name), int(us)) for name, us in stages_us),
                launch_site=self._intern(launch.site),
                device=launch.device,
                thread=threading.get_native_id(),
                rank=rank(),
                at_ns=time.time_ns(),
                process_us=self.begun.apart_us,
                values=tuple((name, scalar(value)) for name, value in launch.values),
                source="" if fn is None else self._intern(source_of(fn)),
                made=1 if fn is None else self._made_number(fn, kernel),
                warmup=launch.warmup,
                direct=not launch.found,
                tuning=launch.tuning,
                capturing=is_capturing(),
                maker="" if launch.found else launch.maker,
                dry=dry is not None,
                guessed=guessed,
                exact=None if fn is None else encode_constants(src),
                # A local of Triton's `compile` (triton 3.2 compiler.py:232, 3.9 :250).
                entry=str(compiling.get("hash", "")),
                sizes=sizes,
                generated=None if generated == kernel else generated,
                shapes=launch.shapes,
            )
        except Exception:
            self.fault("reading a compile")
            return
        finally:
            self.begun.end()
        moved = self.cache_folder.moved()
        if moved is not None:
            self.emit(moved)
        self._emit_compile(event)

    def _emit_compile(self, event: CompileEvent) -> None:
        try:
            self.emit(event)
        except BaseException as error:
            # Triton keeps no kernel whose launch raised: the next launch of that key compiles again.
            self.emit(refused_launch(event, error))
            raise

    def submitted(self) -> None:
        """Store the launch on this thread's stack for a compile submitted to a worker thread."""
        try:
            _, launch = read_stack()
            src = source_on_stack()
            if src is not None:
                self._submitted[src] = launch
        except Exception:
            self.fault("reading a launch that compiles elsewhere")

    def tuned(self, finished: FinishedRound) -> None:
        """Emit the event of a finished autotuning."""
        try:
            launched = self.launched(finished.fn)
            before, dry, took_s = finished.launched_before, is_dry(), finished.duration_s
            event = AutotuneEvent(
                kernel=self.name_of(finished.fn),
                key=named_parts(finished.key, finished.names),
                best=str(finished.best),
                timings_ms=read_timings(finished.timings or {}, dry=dry),
                duration_us=None if took_s is None or dry else int(took_s * 1_000_000),
                cached=finished.cached,
                launch_site=self._intern(launch_site()),
                thread=threading.get_native_id(),
                rank=rank(),
                at_ns=time.time_ns(),
                trials=None if launched is None or before is None else launched - before,
                capturing=is_capturing(),
                kept=finished.kept,
            )
        except Exception:
            self.fault("reading a round of tuning")
            return
        self.emit(event)

    def launched(self, fn: Any) -> int | None:
        """Return how often the kernel of `fn` was launched so far; None if launches are not counted."""
        return None if self.count_launches is None else self.count_launches().get(self.name_of(fn), 0)

    def interpreted(self, function: Any) -> None:
        """Warn, once per kernel, that the kernel of `function` runs in interpreter mode."""
        try:
            kernel = self.name_of(function)
            if kernel in self._interpreted:
                return
            self._interpreted.add(kernel)
        except Exception:
            self.fault("reading an interpreted launch")
            return
        self.warn("interpreted", f"`{kernel.name}` runs in interpreter mode", kernel)

    def interpreted_for(self, function: Any, took_ns: int) -> None:
        """Add a launch in interpreter mode that took `took_ns` to `interpreting`."""
        try:
            kernel = self.name_of(function)
            count, total_ns = self.interpreting.get(kernel, (0, 0))
            self.interpreting[kernel] = count + 1, total_ns + took_ns
        except Exception:
            self.fault("timing an interpreted launch")

    def name_of(self, fn: Any) -> KernelName:
        """Return the name of a kernel, or of the function it was generated from; one object for all its events."""
        name = kernel_name(fn)
        return self._intern(self._generators.get(name, name))  # type: ignore[no-any-return]

    def object_of(self, event: CompileEvent) -> Any:
        """Return the JITFunction of `event` if it still exists, else None."""
        for reference, number in list(self._objects.values()):
            fn = reference()
            if fn is not None and number == event.made and self.name_of(fn) == event.kernel:
                return fn
        return None

    def _key(self, src: Any, compiling: Mapping[str, Any], launch: LaunchOnStack) -> CompileKey:
        if not hasattr(src, "fn"):
            return CompileKey(signature=(), target=target_text(compiling["target"]))
        key = compile_key(src, self._options_of(compiling["options"]), compiling["target"], launch.written)
        # Keys of a kernel differ in one part as a rule: shared parts keep 10,000 of them small.
        return CompileKey(
            signature=self._intern(key.signature),
            constants=tuple(self._intern_pair(pair) for pair in key.constants),
            attributes=self._intern(key.attributes),
            options=key.options,
            spelled=self._intern(key.spelled),
            target=self._intern(key.target),
        )

    def _options_of(self, options: Any) -> tuple[tuple[str, Scalar], ...]:
        # A process uses a handful of some 25 options each: read once, kept once.
        by = (type(options), *vars(options).values())
        try:
            known = self._interned.get(by)
        except TypeError:  # a backend's option that has no hash
            return parsed_options(options)
        if known is None:
            known = self._interned[by] = parsed_options(options)
        return known

    def _intern(self, value: Any) -> Any:
        return self._keep(value, value)

    def _intern_pair(self, pair: tuple[str, Scalar]) -> Any:
        return self._keep((pair[0], type(pair[1]), repr(pair[1])), pair)

    def _keep(self, key: Any, value: Any) -> Any:
        if len(self._interned) >= INTERNED:
            self._interned.clear()
        return self._interned.setdefault(key, value)

    def _made_number(self, fn: Any, kernel: KernelName) -> int:
        # By identity: hashing a JITFunction goes through its source and a lock (triton 3.9 jit.py:527).
        ident = id(fn)
        with self._lock:
            known = self._objects.get(ident)
            if known is None or known[0]() is not fn:
                number = self._made[kernel] = self._made.get(kernel, 0) + 1
                known = self._objects[ident] = (weakref.ref(fn, lambda _: self._objects.pop(ident, None)), number)
            return known[1]
