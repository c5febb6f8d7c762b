"""A worker process: it pretends to have the GPU of its tasks, imports their kernels, and compiles.

The same code runs in local processes and in those of a cluster. A process keeps the target of its first task, since
modules ask for the GPU as they are imported; its tasks run one at a time. Local processes are forks of one server that
has imported torch and Triton, so that they share its memory.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import multiprocessing
import os
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triton_doctor.runtime.prewarm.prewarm_plan import COMPILED, FAILED, FOUND, MISSED, UNREACHABLE, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.runtime.prewarm.compile_variant import CacheQuery
    from triton_doctor.runtime.prewarm.kernel_lookup import Kernels
    from triton_doctor.runtime.prewarm.prewarm_plan import Task

LONGEST_REASON = 400
TASKS_TO_TRIM = 16
# What torch says of itself where it is built for one of them.
CUDA_VERSION, HIP_VERSION = "13.0", "6.4.0"
CACHE_VARIABLE = "TRITON_CACHE_DIR"


class _WorkerState:
    """What this worker process has set up for its tasks."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.done = 0
        self.target = ""
        self.kernels: Kernels | None = None
        self.folder: tempfile.TemporaryDirectory[str] | None = None


_process = _WorkerState()


def prepare_process() -> None:
    """Set up a local worker: it prints nothing to the terminal, and ends with its parent."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nothing, stream)
    os.close(nothing)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when its parent is gone, even after `kill -9`."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def run_task(task: Task) -> Outcome:
    """Compile or look up the variant of `task`. A failure is part of the outcome and does not raise."""
    began = time.perf_counter()
    with _process.lock:
        try:
            outcome = _run(task)
        except (Exception, SystemExit) as error:
            outcome = {"state": FAILED, "reason": describe_error(error)}
        _process.done += 1
        if _process.done % TASKS_TO_TRIM == 0:
            _return_memory()
    return Outcome(number=task.number, seconds=time.perf_counter() - began, **outcome)


def _return_memory() -> None:
    """Return memory that LLVM freed to the system: glibc keeps about a megabyte per compile."""
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def describe_error(error: BaseException) -> str:
    """Format the type and message of `error` on one line."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}"[:LONGEST_REASON].rstrip(": ")


def _run(task: Task) -> dict[str, Any]:
    from triton_doctor.runtime.hooks.describe import source_of
    from triton_doctor.runtime.prewarm.compile_variant import MissedError, forget_kernels, query_cache, run_to_launch
    from triton_doctor.runtime.prewarm.kernel_lookup import UnreachableError

    variant = task.variant
    folder = _cache_folder(task)
    kernels = _enter_target(variant.key.target)
    try:
        fn = kernels.find(variant)
    except UnreachableError as error:
        return {"state": UNREACHABLE, "reason": str(error)}
    before = _list_entries(folder) if task.cache_dir is None else set()
    forget_kernels(fn)
    try:
        with query_cache(lookup_only=task.lookup_only) as query, _without_hooks(fn):
            kernel = run_to_launch(fn, variant, kernels.find_named)
    except MissedError:
        return {"state": MISSED, "entry": query.entry}
    finally:
        forget_kernels(fn)
    launcher = _build_launcher(kernel, task)
    fields = {
        "state": FOUND if query.found else COMPILED,
        "entry": query.entry,
        "changed": bool(variant.source) and source_of(fn) != variant.source,
        "same_key": _has_key(kernel, variant),
        "launcher": launcher,
    }
    if task.cache_dir is None:
        fields["files"] = tuple(_read_new(folder, before, query))
    return fields


def _cache_folder(task: Task) -> Path:
    """Set Triton's cache folder for `task` and return it."""
    if task.cache_dir is not None:
        os.environ[CACHE_VARIABLE] = task.cache_dir
        return Path(task.cache_dir)
    if _process.folder is None:
        _process.folder = tempfile.TemporaryDirectory(prefix="triton-doctor-prewarm-")
    os.environ[CACHE_VARIABLE] = _process.folder.name
    return Path(_process.folder.name)


def _enter_target(target: str) -> Kernels:
    """Set up this process to compile for `target`, once."""
    from triton_doctor.runtime.compile_target import activate
    from triton_doctor.runtime.prewarm.kernel_lookup import Kernels

    if _process.kernels is None:
        # As `python -m` would have it: the modules of the project may be found by their names.
        here = str(Path.cwd())
        if here not in sys.path:
            sys.path.append(here)
        _pretend_gpu(target)
        _process.kernels = Kernels()
    if _process.target != target:
        activate(target)
        _process.target = target
    return _process.kernels


def _pretend_gpu(target: str) -> None:
    """Make torch describe the GPU of `target`, whose capability modules read at import."""
    try:
        import torch
    except ImportError:
        return
    from triton_doctor.runtime.dry.gpu import read_gpu

    gpu = read_gpu(target)
    # One function for each: torch._dynamo refuses one that has two names (trace_rules.py).
    torch.cuda.is_available = lambda: True
    torch.cuda.device_count = lambda: 1
    torch.cuda.current_device = lambda: 0
    torch.cuda.get_device_capability = lambda *_: gpu.capability
    torch.cuda.get_device_properties = lambda *_: gpu.properties()
    torch.cuda.get_device_name = lambda *_: gpu.name
    torch.cuda.is_bf16_supported = lambda *_, **__: gpu.is_amd or gpu.capability >= (8, 0)
    setattr(torch.version, "hip" if gpu.is_amd else "cuda", HIP_VERSION if gpu.is_amd else CUDA_VERSION)


@contextlib.contextmanager
def _without_hooks(fn: Any) -> Iterator[None]:
    """Suspend the pre-run hooks of `fn` inside this context; they expect real tensors."""
    before = list(fn.pre_run_hooks)
    fn.pre_run_hooks[:] = []
    try:
        yield
    finally:
        fn.pre_run_hooks[:] = before


def _build_launcher(kernel: Any, task: Task) -> str:
    from triton_doctor.runtime.prewarm.launchers import build_launcher, builds_launchers

    target = task.variant.key.target
    if not task.launcher or not builds_launchers(target):
        return ""
    try:
        build_launcher(kernel, target)
    except Exception as error:
        return describe_error(error)
    return "built"


def _has_key(kernel: Any, variant: Any) -> bool:
    """Return whether Triton specialized `kernel` as `variant` requires; it may not specialize some parameters."""
    from triton_doctor.runtime.hooks.describe import compile_key

    key = compile_key(kernel.src, (), kernel.metadata.target, {})
    return (key.signature, set(key.attributes)) == (variant.key.signature, set(variant.key.attributes))


def _read_new(folder: Path, before: set[str], query: CacheQuery) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of the cache files that this task wrote, or that an earlier task wrote for its key."""
    for entry in sorted(_list_entries(folder) - before | {query.entry}):
        for path in sorted((folder / entry).iterdir()):
            yield f"{entry}/{path.name}", path.read_bytes()


def _list_entries(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


# Imported once, in the server; a fork of it starts in milliseconds.
SHARED_IMPORTS = [
    "torch",
    "triton",
    "triton.compiler",
    "triton.runtime.autotuner",
    "triton_doctor.runtime.prewarm.worker",
]


def open_pool(jobs: int) -> ProcessPoolExecutor:
    """Create an executor with at most `jobs` worker processes."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(SHARED_IMPORTS)
    return ProcessPoolExecutor(max_workers=jobs, mp_context=context, initializer=prepare_process)
