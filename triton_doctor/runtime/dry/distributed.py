"""torch.distributed in a dry run: one process of several, whose collectives end at once and move nothing."""

from __future__ import annotations

import functools
import inspect
import os
import pickle
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from triton_doctor.runtime.dry.patches import Patches
    from triton_doctor.runtime.dry.questions import Questions

OBJECT_COLLECTIVES = (
    *("all_gather_object", "gather_object", "broadcast_object_list", "scatter_object_list"),
    *("send_object_list", "recv_object_list"),
)


def patch_distributed(patches: Patches, questions: Questions, world_size: int, rank: int) -> None:
    """Replace process groups by torch's fake ones. The environment overrides a `world_size` of 1."""
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

    group = distributed.new_group
    signature = inspect.signature(group)

    def new_group(*args: Any, **options: Any) -> Any:
        given = signature.bind(*args, **options).arguments
        return group(**given | dict.fromkeys(("backend", "pg_options")))

    replaced: dict[str, Any] = {name: _replace_object_collective(name, questions) for name in OBJECT_COLLECTIVES}
    replaced |= {"init_process_group": init_process_group, "is_nccl_available": lambda: True}
    replaced["new_group"] = new_group
    for owner in (distributed, distributed.distributed_c10d):
        patches.set_existing(owner, replaced)


def _replace_object_collective(name: str, questions: Questions) -> Callable[..., None]:
    """Return a replacement of the collective `name` for Python objects.

    Gathering returns copies of this process's own object, as a guess. Receiving an object stops the program.
    """
    c10d = torch.distributed.distributed_c10d
    before = getattr(c10d, name)
    signature = inspect.signature(before)

    @functools.wraps(before)
    def collective(*args: Any, **options: Any) -> None:
        given = signature.bind(*args, **options).arguments
        group = given.get("group")
        rank, size = c10d.get_rank(group), c10d.get_world_size(group)
        if rank < 0 or name == "send_object_list":
            return
        within = given.get("group_src", given.get("group_dst"))
        # None is the first process.
        root = given.get("src", given.get("dst")) or 0
        is_root = within == rank if within is not None else root == c10d.get_rank()
        if "obj" in given:
            if is_root or name == "all_gather_object":
                if size > 1:
                    questions.guess(f"{name}: the objects of the other processes, taken to be as those of this one")
                gathered = given["object_list" if name == "all_gather_object" else "object_gather_list"]
                gathered[:size] = [pickle.loads(pickle.dumps(given["obj"])) for _ in range(size)]
        elif not is_root or name == "recv_object_list":
            questions.stop(f"{name}: the objects that another process sends")
        elif name == "scatter_object_list":
            given["scatter_object_output_list"][0] = given["scatter_object_input_list"][rank]

    return collective
