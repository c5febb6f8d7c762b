"""torch.compile in a dry run: what it wraps runs as it is, and that is said.

Dynamo cannot trace a program whose inputs are fakes already; kernels of Triton's in what it wraps are seen, those that
Inductor would make are not.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import torch

from triton_doctor.runtime import hooks
from triton_doctor.runtime.event import WarningEvent

if TYPE_CHECKING:
    from triton_doctor.runtime.dry.patches import Patches

MESSAGE = "torch.compile runs eagerly in a dry run: kernels that Inductor would generate are not seen"


def patch_compile(patches: Patches) -> None:
    """Have torch.compile give back what it is given; the first call is told."""
    told: list[bool] = []

    def compile(model: Any = None, **options: Any) -> Any:  # noqa: A001
        if not told:
            told.append(True)
            hooks.emit(WarningEvent(kind="eager", message=MESSAGE, at_ns=time.time_ns()))
        return model if model is not None else lambda function: function

    patches.set(torch, "compile", compile)
