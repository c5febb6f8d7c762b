"""Seeing the steps of training, where a library that drives it says so: torch's profiler, Lightning, Hugging Face.

Only what is imported is patched; `watch_late_steps` is called again when one of LIBRARIES is imported later.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

from triton_doctor.runtime.hooks.slots import Slot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from triton_doctor.runtime.hooks.observer import Observer


def _number_of_state(args: tuple[Any, ...]) -> int | None:
    # on_step_end(self, args, state, control): the state counts optimizer steps (transformers trainer_callback.py).
    number = getattr(args[1], "global_step", None) if len(args) > 1 else None
    return number if type(number) is int and number >= 0 else None


def _count_them(args: tuple[Any, ...]) -> None:
    return None


# Module, class, and the method that ends a step; and how its arguments number the step. Of Lightning it is the end of a
# batch (lightning/pytorch/loops/training_epoch_loop.py), of torch's profiler `step` (torch 2.13 profiler.py:1171).
LIBRARIES: dict[str, tuple[str, str, Callable[[tuple[Any, ...]], int | None]]] = {
    "torch.profiler.profiler": ("profile", "step", _count_them),
    "transformers.trainer_callback": ("CallbackHandler", "on_step_end", _number_of_state),
    "lightning.pytorch.loops.training_epoch_loop": ("_TrainingEpochLoop", "advance", _count_them),
    "pytorch_lightning.loops.training_epoch_loop": ("_TrainingEpochLoop", "advance", _count_them),
}


def watch_steps(observer: Observer) -> Iterator[Slot]:
    """Report steps to `observer`, for libraries that are imported and not yet watched."""
    for module in LIBRARIES:
        if module in sys.modules and module not in observer.stepping:
            slot = _watch_library(observer, module)
            if slot is not None:
                observer.stepping.add(module)
                yield slot


def _watch_library(observer: Observer, module: str) -> Slot | None:
    kind, method, number_of = LIBRARIES[module]
    owner = getattr(sys.modules[module], kind, None)
    # A module that is being imported has no such class yet, another version may have none.
    if owner is None or method not in vars(owner):
        return None
    slot = Slot(owner, method)
    before = slot.before

    @functools.wraps(before)
    def end_step(self: Any, *args: Any, **options: Any) -> Any:
        result = before(self, *args, **options)
        observer.steps.end_step(module, number_of(args))
        return result

    slot.fill(end_step)
    return slot
