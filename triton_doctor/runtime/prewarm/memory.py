"""`prewarm(recording)` fills the memory of this process, `prewarm_cache(recording, executor=...)` a cache folder."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.event import LOADED, CompileEvent
from triton_doctor.runtime.prewarm.compiling import run_to_launch
from triton_doctor.runtime.prewarm.kernels import Kernels, UnreachableError
from triton_doctor.runtime.prewarm.plan import Prewarmed, make_plan
from triton_doctor.runtime.prewarm.prewarming import compile_plan
from triton_doctor.runtime.prewarm.tasks import COMPILED, FAILED, FOUND, PRESENT, UNREACHABLE, Outcome
from triton_doctor.runtime.prewarm.worker import describe_error
from triton_doctor.runtime.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from concurrent.futures import Executor

    from triton_doctor.runtime.prewarm.variants import KernelVariant

    Source = Recording | str | Path


def prewarm(recordings: Source | Iterable[Source], *, recorded_only: bool = False, load: bool = True) -> Prewarmed:
    """Have every variant that `recordings` name in this process's memory, for its current device.

    Kernels come from the cache folder where it holds them, and compile otherwise. What a run is likely to have missed
    is added, unless `recorded_only`. With `load` their modules are loaded to the device too. `failures` of the result
    are what could not be had, with the reason; nothing is raised for a kernel. Raises DoctorError where a recording
    cannot be read, or Triton is not installed.
    """
    from triton_doctor.runtime import hooks
    from triton_doctor.runtime.watch import record

    hooks.require_triton()
    plan = make_plan(_read(recordings), targets=[_current_target()], closed=not recorded_only)
    result = Prewarmed(plan=plan)
    kernels, thread = Kernels(), threading.get_native_id()
    with record(count_launches=False) as recording:
        for number, variant in enumerate(plan.variants):
            seen = len(recording.events)
            outcome = _prewarm_variant(variant, kernels, load=load)
            events = recording.events[seen:]
            own = [event for event in events if isinstance(event, CompileEvent) and event.thread == thread]
            if outcome["state"] == PRESENT and own:
                outcome["state"] = FOUND if own[-1].tier == LOADED else COMPILED
            result.outcomes[number] = Outcome(number=number, **outcome)
    return result


def prewarm_cache(
    recordings: Source | Iterable[Source],
    *,
    executor: Executor,
    cache_dir: str | Path,
    targets: Sequence[str] = (),
    recorded_only: bool = False,
    in_flight: int = 32,
) -> Prewarmed:
    """Compile every variant that `recordings` name on `executor`, and write what it makes into the folder `cache_dir`.

    Any `concurrent.futures` executor of processes will do; each needs triton-doctor, torch, Triton and the modules of
    the kernels. `in_flight` tasks are handed out at a time. `targets` are as of `triton-doctor prewarm`. The
    executor stays open.
    """
    folder = Path(cache_dir).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    plan = make_plan(_read(recordings), targets=targets, closed=not recorded_only)
    return compile_plan(plan, folder, lambda _: executor, in_flight=in_flight, is_local=False)


def _prewarm_variant(variant: KernelVariant, kernels: Kernels, *, load: bool) -> dict[str, Any]:
    """State and reason of `variant` in this process; PRESENT where it was in memory, as far as can be told here."""
    try:
        fn = kernels.find(variant)
        if fn.pre_run_hooks:
            return {"state": FAILED, "reason": "the program has hooks before each launch of it, which need tensors"}
        kernel = run_to_launch(fn, variant, kernels.find_named)
        if hasattr(kernel, "result"):
            kernel = kernel.result()
        if load:
            kernel._init_handles()
    except UnreachableError as error:
        return {"state": UNREACHABLE, "reason": str(error)}
    except Exception as error:
        return {"state": FAILED, "reason": describe_error(error)}
    return {"state": PRESENT}


def _current_target() -> str:
    from triton.runtime.driver import driver

    from triton_doctor.runtime.hooks.describe import target_text

    try:
        return target_text(driver.active.get_current_target())
    except Exception as error:
        raise DoctorError(
            f"there is no GPU to prewarm for: {describe_error(error)}", hint="`triton-doctor prewarm` needs none"
        ) from error


def _read(recordings: Source | Iterable[Source]) -> list[Recording]:
    several = [recordings] if isinstance(recordings, Recording | str | Path) else list(recordings)
    return [each if isinstance(each, Recording) else Recording.read(each) for each in several]
