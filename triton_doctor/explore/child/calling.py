"""One call of an entry, dry: what it launched, what it raised and where."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from triton_doctor.explore.child.building import BuiltCall, Origins
from triton_doctor.explore.child.guesses import guess_attribute
from triton_doctor.explore.child.state import CONSTRUCTOR, State
from triton_doctor.runtime.dry.dry_process import record_from_start
from triton_doctor.runtime.dry.sweep.observation import Observation, differentiate, read_variants
from triton_doctor.runtime.dry.sweep.wrappers import Wrappers
from triton_doctor.runtime.event import AutotuneEvent, CompileEvent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from triton_doctor.explore.child.target import Target
    from triton_doctor.runtime.event import KernelName

# Seconds of CPU of one call: sizes are small, and nothing is computed.
LONGEST_CALL = 20.0
# Items that a generator is asked for.
ITEMS = 4
LONGEST_ERROR = 300
ROOT = CONSTRUCTOR.rstrip(".")


class CallTooLongError(BaseException):
    """A call used up its time. No code that it runs through catches it."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What one call did. `sites` are the launches reached: kernel, file and line.

    `is_complete` is whether the forward ended; `error` may be its backward's.
    """

    built: BuiltCall
    launched: frozenset[KernelName]
    sites: frozenset[tuple[str, str, int]]
    observation: Observation
    error: BaseException | None = None
    traceback: TracebackType | None = field(default=None, repr=False)
    is_complete: bool = False


def renew_threads() -> None:
    """Make the pool of threads of torch for this process, which is a fork, before any other thread can do it.

    Threads of backward that find the parent's pool renew it, too, all at once; one that finds none meanwhile aborts the
    process (torch 2.13 ParallelOpenMP.cpp:64, "Invalid thread pool!").
    """
    torch.set_num_threads(1)


def execute(target: Target, state: State) -> Seen:
    """Make the call `state`, and run backward from its result. Must be in a dry run."""
    built = BuiltCall(state, guess_attribute)
    error: BaseException | None = None
    is_complete = False
    with Wrappers(), record_from_start(warns=False) as recording:
        try:
            with limit_time(LONGEST_CALL):
                with Origins():
                    result = _call(target, built)
                is_complete = True
                differentiate(tuple(result.values()) if isinstance(result, dict) else result)
        except KeyboardInterrupt:
            raise
        except BaseException as raised:
            error = raised
    events = tuple(recording.events)
    compiled = [event for event in events if isinstance(event, CompileEvent)]
    tuned = [event for event in events if isinstance(event, AutotuneEvent)]
    return Seen(
        built=built,
        launched=frozenset([*(event.kernel for event in compiled), *(event.kernel for event in tuned)]),
        sites=frozenset(
            (f"{event.kernel.module}:{event.kernel.name}", event.launch_site.path, event.launch_site.line)
            for event in compiled
            if event.launch_site is not None
        ),
        observation=Observation(
            variants=tuple(dict.fromkeys(read_variants(events))),
            launches=sum(recording.launches.values()) - sum(tuning.trials or 0 for tuning in recording.tunings),
            events=events,
            error="" if error is None else f"{'backward: ' if is_complete else ''}{describe_error(error)}",
            is_complete=is_complete,
        ),
        error=error,
        traceback=None if error is None else error.__traceback__,
        is_complete=is_complete,
    )


def describe_error(error: BaseException) -> str:
    """Return `ValueError: what it says`, on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:LONGEST_ERROR]


def _call(target: Target, built: BuiltCall) -> Any:
    """Construct what must be, and call."""
    if target.kind == "optimizer":
        return _step(target, built)
    called = target.called
    if target.constructor is not None:
        built.instance = built.construct(target.owner, ROOT)
        called = built.instance if target.kind == "module" else getattr(built.instance, called.__name__)
    args, kwargs = built.arguments("", target.parameters)
    if target.kind == "autograd":
        rest = [
            parameter for parameter in target.parameters.values() if parameter.kind is not parameter.POSITIONAL_ONLY
        ]
        # A backward may give no gradients for what is left out at the end.
        while rest and rest[-1].name not in kwargs:
            rest.pop()
        return target.owner.apply(*args, *(kwargs.get(each.name, each.default) for each in rest))
    result = called(*args, **kwargs)
    return list(itertools.islice(result, ITEMS)) if inspect.isgenerator(result) else result


def _step(target: Target, built: BuiltCall) -> None:
    """Construct an optimizer of parameters, and step it twice: the first makes its state."""
    args, kwargs = built.arguments(ROOT, target.constructor or {})
    first = next(iter(kwargs))
    parameters = [torch.nn.Parameter(tensor.detach()) for tensor in kwargs.pop(first)]
    built.instance = target.owner(parameters, *args, **kwargs)
    given, named = built.arguments("", target.parameters)
    for _ in range(2):
        for parameter in parameters:
            parameter.grad = torch.empty_like(parameter)
        built.instance.step(*given, **named)


@contextlib.contextmanager
def limit_time(seconds: float) -> Iterator[None]:
    """Raise CallTooLongError inside after `seconds` of CPU."""

    def stop(*_: object) -> None:
        raise CallTooLongError(f"the call took more than {seconds:g} s")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
