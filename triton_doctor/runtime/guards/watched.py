"""`@watch` over a kernel: it stays the object that it was, and its compiles are counted and told as they happen."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar, overload

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.cause_table import FIRST
from triton_doctor.runtime.event import AutotuneEvent, CompileEvent, WarningEvent
from triton_doctor.runtime.guards.live_causes import LiveCauses
from triton_doctor.runtime.guards.unexpected import UnexpectedCompileError, react, require_reaction, warn_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from triton_doctor.runtime.causes import Recompile
    from triton_doctor.runtime.event import Event, KernelName
    from triton_doctor.runtime.guards.unexpected import Reaction

Kernel = TypeVar("Kernel")


@overload
def watch(kernel: Kernel, /) -> Kernel: ...
@overload
def watch(*, max_compiles: int | None = None, on_excess: Reaction = "warn") -> Callable[[Kernel], Kernel]: ...
def watch(
    kernel: Kernel | None = None, /, *, max_compiles: int | None = None, on_excess: Reaction = "warn"
) -> Kernel | Callable[[Kernel], Kernel]:
    """Watch a kernel, above or below `@triton.jit`, `@triton.autotune` and `@triton.heuristics`; returns it unchanged.

    Without `max_compiles`, every recompile and repeated autotuning is reported; with it, every compile or load from
    disk beyond that number in this process, without those of autotuning. `on_excess`: "warn" issues a
    CompileWarning at the line of the launch, "raise" makes the launch raise UnexpectedCompileError, and a callable
    receives that error; what it raises, the launch raises. Watching adds no cost to a launch.
    """
    require_reaction(on_excess, "on_excess")
    if max_compiles is not None and (type(max_compiles) is not int or max_compiles < 0):
        raise DoctorError(f"max_compiles is {max_compiles!r}", hint="give a whole number, 0 or more")

    def begin(kernel: Kernel) -> Kernel:
        name = _name_of(kernel)
        _watched.begin(Watched(name=name, max_compiles=max_compiles, on_excess=on_excess))
        return kernel

    return begin if kernel is None else begin(kernel)


@dataclass(slots=True, kw_only=True)
class Watched:
    """One kernel under watch, and how often it compiled; a kernel created again under its name continues the count."""

    name: KernelName
    max_compiles: int | None
    on_excess: Reaction
    compiles: int = 0
    causes: LiveCauses = field(default_factory=LiveCauses)

    def receive(self, event: CompileEvent | AutotuneEvent) -> None:
        """Report `event` if it exceeds the limit."""
        recompile = self.causes.explain(event)
        if isinstance(event, CompileEvent) and not event.tuning:
            self.compiles += 1
        reason = self._reason(recompile)
        if reason is not None:
            react(self.on_excess, UnexpectedCompileError(recompile, reason))

    def _reason(self, recompile: Recompile) -> str | None:
        event = recompile.event
        if self.max_compiles is not None:
            over = isinstance(event, CompileEvent) and not event.tuning and self.compiles > self.max_compiles
            return f"number {self.compiles} of at most {self.max_compiles}" if over else None
        # Without a limit, what a round of tuning tries is told by the round.
        if recompile.code == FIRST or (isinstance(event, CompileEvent) and event.tuning):
            return None
        return f"variant {self.compiles} in this process" if isinstance(event, CompileEvent) else "again"


class _Watching:
    """All watched kernels of this process: one sink for them, from the first on."""

    def __init__(self) -> None:
        self._kernels: dict[KernelName, Watched] = {}
        self._attached = False
        self._lock = threading.Lock()

    def begin(self, watched: Watched) -> None:
        from triton_doctor.runtime import hooks

        known = self._kernels.get(watched.name)
        if known is not None:
            known.max_compiles, known.on_excess = watched.max_compiles, watched.on_excess
            return
        self._kernels[watched.name] = watched
        with self._lock:
            if not self._attached:
                hooks.require_triton()
                hooks.attach(self._receive, count_launches=False)
                self._attached = True

    def _receive(self, event: Event) -> None:
        match event:
            case CompileEvent() | AutotuneEvent(cached=False):
                watched = self._kernels.get(event.kernel)
                if watched is not None:
                    watched.receive(event)
            case WarningEvent(kind="unseen" | "untried" | "fault" | "interpreted"):
                if event.kernel is None or event.kernel in self._kernels:
                    warn_of(event)


_watched = _Watching()


def _name_of(kernel: object) -> KernelName:
    """Return the name of the kernel below all decorators. Raises DoctorError if it is no kernel."""
    from triton_doctor.runtime.hooks.describe import kernel_name

    function = kernel
    while hasattr(function, "fn"):
        function = function.fn
    if not hasattr(function, "__code__"):
        raise DoctorError(f"watch needs a kernel, not {kernel!r}", hint="put it next to `@triton.jit`")
    return kernel_name(function)
