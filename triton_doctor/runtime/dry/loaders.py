"""DataLoader in a dry run: batches are made in this process, for fake tensors do not travel between processes."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from torch.utils.data import DataLoader

if TYPE_CHECKING:
    from triton_doctor.runtime.dry.patches import Patches

OF_WORKERS = {
    "num_workers": 0,
    "prefetch_factor": None,
    "persistent_workers": False,
    "multiprocessing_context": None,
    "worker_init_fn": None,
    "timeout": 0,
    "pin_memory": False,
}
# How many of them come by position: dataset, batch_size, shuffle, sampler, batch_sampler, then num_workers.
POSITIONAL = 5


def patch_loaders(patches: Patches) -> None:
    """Have every DataLoader do without workers."""
    before = DataLoader.__init__

    @functools.wraps(before)
    def __init__(self: Any, *args: Any, **options: Any) -> None:  # noqa: N807
        names = before.__code__.co_varnames[1 + POSITIONAL :]
        given = {**dict(zip(names, args[POSITIONAL:], strict=False)), **options}
        before(self, *args[:POSITIONAL], **given | {name: OF_WORKERS[name] for name in OF_WORKERS if name in given})

    patches.set(DataLoader, "__init__", __init__)
