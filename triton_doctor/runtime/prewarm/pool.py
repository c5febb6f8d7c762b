"""Local worker processes: forks of one server that has imported torch and Triton, so that they share its memory."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

from triton_doctor.runtime.prewarm.worker import prepare_process

# Imported once, in the server; a fork of it starts in milliseconds.
SHARED_IMPORTS = [
    "torch",
    "triton",
    "triton.compiler",
    "triton.runtime.autotuner",
    "triton_doctor.runtime.prewarm.worker",
]


def open_pool(jobs: int) -> ProcessPoolExecutor:
    """An executor of at most `jobs` worker processes."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(SHARED_IMPORTS)
    return ProcessPoolExecutor(max_workers=jobs, mp_context=context, initializer=prepare_process)
