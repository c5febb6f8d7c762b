"""`prewarm(recording)` fills the memory of this process, `prewarm_cache(recording, executor=...)` a cache folder."""

from __future__ import annotations

import contextlib
import gc
import logging
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.event import LOADED, CompileEvent
from triton_doctor.runtime.hooks.tuning import innermost
from triton_doctor.runtime.prewarm.compile_variant import run_to_launch
from triton_doctor.runtime.prewarm.kernel_lookup import Kernels, UnreachableError
from triton_doctor.runtime.prewarm.prewarm_plan import (
    COMPILED,
    FAILED,
    FOUND,
    PRESENT,
    UNREACHABLE,
    Outcome,
    Prewarmed,
    make_plan,
)
from triton_doctor.runtime.prewarm.prewarming import compile_plan
from triton_doctor.runtime.prewarm.worker import describe_error
from triton_doctor.runtime.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from concurrent.futures import Executor

    from triton_doctor.runtime.event import AutotuneEvent, KernelName
    from triton_doctor.runtime.prewarm.kernel_variants import KernelVariant

    Source = Recording | str | Path

log = logging.getLogger("triton_doctor")


def prewarm(recordings: Source | Iterable[Source], *, recorded_only: bool = False, load: bool = True) -> Prewarmed:
    """Load or compile every variant that `recordings` name into this process's memory, for its current device.

    Kernels come from the cache folder if it has them, and compile otherwise. Likely variants that the run missed
    are added, unless `recorded_only`. With `load`, modules are loaded to the device too. Autotuning results on disk
    (`cache_results`) are read for the recorded keys. `failures` of the result names each kernel that failed, with
    the reason; no kernel raises. Raises DoctorError if a recording cannot be read or Triton is not installed.
    """
    from triton_doctor.runtime import hooks
    from triton_doctor.runtime.watch import record

    hooks.require_triton()
    read = _read(recordings)
    plan = make_plan(read, targets=[_current_target()], closed=not recorded_only)
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
    result.tunings = _read_tunings(read, {variant.kernel: variant for variant in plan.variants}, kernels)
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
    """Compile every variant that `recordings` name on `executor`, and write the results into `cache_dir`.

    Any `concurrent.futures` executor of processes will do; each process needs triton-doctor, torch, Triton and the
    kernels' modules. `in_flight` tasks are submitted at a time. `targets` are as for `triton-doctor prewarm`. The
    executor is not shut down.
    """
    folder = Path(cache_dir).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    plan = make_plan(_read(recordings), targets=targets, closed=not recorded_only)
    return compile_plan(plan, folder, lambda _: executor, in_flight=in_flight, is_local=False)


def _prewarm_variant(variant: KernelVariant, kernels: Kernels, *, load: bool) -> dict[str, Any]:
    """Return state and reason of `variant` in this process; PRESENT if it was already in memory."""
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


class _NotKeptError(Exception):
    """A round of tuning whose timings are not on disk, raised in place of measuring."""


def _read_tunings(
    recordings: Iterable[Recording], variants: Mapping[KernelName, KernelVariant], kernels: Kernels
) -> int:
    """Load the recorded autotunings whose timings are on disk into memory; return how many there were."""
    from triton.runtime.autotuner import Autotuner

    every = [process for recording in recordings for process in recording.processes or (recording,)]
    rounds = {
        (tuning.kernel, tuning.key): tuning
        for process in every
        for tuning in process.tunings
        if tuning.kernel in variants
    }
    # Not `isinstance`, which asks what stands in for other objects for its class.
    tuners = [candidate for candidate in gc.get_objects() if issubclass(type(candidate), Autotuner)] if rounds else []
    read = 0
    for event in rounds.values():
        try:
            fn = kernels.find(variants[event.kernel])
            read += sum(_read_tuning(tuner, event) for tuner in tuners if innermost(tuner) is fn)
        except Exception:
            log.debug("the tuning of %s cannot be read", event.kernel.name, exc_info=True)
    return read


def _read_tuning(tuner: Any, event: AutotuneEvent) -> bool:
    """Load the timings of `event` from disk into `tuner`; return whether that worked.

    Calls check_disk_cache (triton 3.4 to 3.9 autotuner.py).
    """
    tried = {text for text, _ in event.timings_ms}
    configs = [config for config in tuner.configs if str(config) in tried]
    key = tuple(value for _, value in event.key)
    if not getattr(tuner, "cache_results", False) or len(configs) != len(tried) or key in tuner.cache:
        return False

    def refuse() -> None:
        raise _NotKeptError

    with contextlib.suppress(_NotKeptError):
        return bool(tuner.check_disk_cache(key, configs, refuse))
    return False


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
