"""Devices that are given as numbers: C++ takes them for those of an accelerator, and raises where there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode

if TYPE_CHECKING:
    from triton_doctor.runtime.dry.patches import Patches

MOVING = frozenset({torch.Tensor.to, torch.Tensor.cuda})


class IntegerDevices(TorchFunctionMode):  # type: ignore[misc]
    """Inside, `device=0`, `.to(0)`, `.cuda(0)` and `torch.device(0)` mean cuda:0."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call `func` with a device of torch's."""
        kwargs = kwargs or {}
        if type(kwargs.get("device")) is int:
            kwargs = {**kwargs, "device": torch.device("cuda", kwargs["device"])}
        elif len(args) > 1 and type(args[1]) is int and func in MOVING:
            args = (args[0], torch.device("cuda", args[1]), *args[2:])
        elif func is torch.device and args and type(args[0]) is int:
            args = ("cuda", args[0])
        return func(*args, **kwargs)


def patch_module_to(patches: Patches) -> None:
    """Make `module.to(0)` mean cuda:0."""
    before = torch._C._nn._parse_to

    def _parse_to(*args: Any, **options: Any) -> Any:
        if args and type(args[0]) is int:
            args = (torch.device("cuda", args[0]), *args[1:])
        if type(options.get("device")) is int:
            options["device"] = torch.device("cuda", options["device"])
        return before(*args, **options)

    patches.set(torch._C._nn, "_parse_to", _parse_to)
