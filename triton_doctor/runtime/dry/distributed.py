"""torch.distributed in a dry run: one process of several, whose collectives end at once and move nothing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from triton_doctor.runtime.dry.patches import Patches


def patch_distributed(patches: Patches, world_size: int, rank: int) -> None:
    """Have process groups be torch's fake ones. Where `world_size` is 1, the environment may name more processes."""
    distributed = torch.distributed
    if not distributed.is_available():
        return
    if world_size > 1:
        # As of a job with one process and one GPU a node.
        for name, value in (
            ("WORLD_SIZE", world_size),
            ("RANK", rank),
            ("LOCAL_RANK", 0),
            ("LOCAL_WORLD_SIZE", 1),
            ("MASTER_ADDR", "127.0.0.1"),
            ("MASTER_PORT", 29500),
        ):
            patches.set_variable(name, str(value))
    begin = distributed.init_process_group

    def init_process_group(*args: Any, **options: Any) -> None:
        from torch.testing._internal.distributed.fake_pg import FakeStore

        size = options.get("world_size", -1)
        place = options.get("rank", -1)
        begin(
            backend="fake",
            store=FakeStore(),
            world_size=size if size > 0 else int(os.environ.get("WORLD_SIZE", "1")),
            rank=place if place >= 0 else int(os.environ.get("RANK", "0")),
        )

    for owner in (distributed, distributed.distributed_c10d):
        patches.set_existing(owner, {"init_process_group": init_process_group, "is_nccl_available": lambda: True})
