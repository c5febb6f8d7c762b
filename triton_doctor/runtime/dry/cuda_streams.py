"""Streams, events, device contexts and generators of a GPU that is not there."""

from __future__ import annotations

from typing import Any

import torch

from triton_doctor.runtime.dry.known_values import real_tensors
from triton_doctor.runtime.dry.mode import CUDA


class DryStream:
    """The only stream of the simulated GPU; all work on it counts as done."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.cuda_stream = self.stream_id = 0
        self.device, self.device_index, self.device_type, self.priority = CUDA, 0, 1, 0

    def __enter__(self) -> DryStream:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DryStream)

    def __hash__(self) -> int:
        return 0

    def query(self) -> bool:
        """Return True: all work on the stream is done."""
        return True

    def is_capturing(self) -> bool:
        """Return False: no graph is being captured."""
        return False

    def record_event(self, event: Any = None) -> Any:
        """Return `event`, or a new event, which counts as completed."""
        return event or DryEvent()

    def synchronize(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing."""

    wait_event = wait_stream = synchronize


class DryEvent:
    """A CUDA event that counts as completed, 1 ms after any other."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.cuda_event, self.event_id, self.device = 0, 0, CUDA

    def elapsed_time(self, other: DryEvent) -> float:
        """Return 1.0 ms for any pair of events, since programs divide by the elapsed time."""
        return 1.0

    def query(self) -> bool:
        """Return True: the event has completed."""
        return True

    def record(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing."""

    wait = synchronize = record


class DryContext:
    """torch.cuda.device, device_of, stream: contexts in which nothing changes."""

    def __init__(self, device: Any = None, *_: Any, **__: Any) -> None:
        self.idx, self.prev_idx = 0, 0
        self.stream = device

    def __enter__(self) -> DryContext:
        return self

    def __exit__(self, *error: object) -> None:
        return None


class DryGraph:
    """A CUDA graph: what was launched in its capture was seen then, and a replay launches nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Accept and ignore the arguments of torch.cuda.CUDAGraph."""

    def pool(self) -> tuple[int, int]:
        """Return the id of the memory pool."""
        return 0, 0

    def replay(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing."""

    capture_begin = capture_end = instantiate = reset = enable_debug_mode = debug_dump = replay


class DryGenerator(torch.Generator):  # type: ignore[misc]
    """A generator on CUDA. Its state is a seed and an offset, which libraries take apart."""

    def get_state(self) -> Any:
        """Return the seed and the offset as a byte tensor."""
        with real_tensors():
            return torch.tensor([self.initial_seed(), 0], dtype=torch.int64, device="cpu").view(torch.uint8)

    def set_state(self, state: Any) -> None:
        """Do nothing."""

    def get_offset(self) -> int:
        """Return 0: no random numbers were drawn."""
        return 0

    def set_offset(self, offset: int) -> None:
        """Do nothing."""

    @property
    def device(self) -> Any:
        """Return the CUDA device, although the C++ generator of a CPU build is on the CPU."""
        return CUDA


class GeneratorType(type):
    """The type of what stands for torch.Generator: one for CUDA is a DryGenerator, others are torch's own."""

    real = torch.Generator

    def __call__(cls, device: Any = "cpu") -> Any:
        """Create a generator: a DryGenerator for CUDA, torch's own for other devices."""
        return DryGenerator("cpu") if torch.device(device).type == "cuda" else cls.real(device)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.real)
