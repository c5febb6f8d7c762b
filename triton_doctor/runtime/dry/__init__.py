"""Dry runs: a CUDA program runs without a GPU, without data and without compiling, and Triton's cache keys are exact.

Comes in: any program that uses torch and Triton. Goes out: the events of a recording, as on a GPU, without times.

- Tensors are torch's fakes (FakeTensorMode): shape, dtype, strides and device, no data (`mode`, `fake_tensors`). Small
  integer tensors keep their values (`known_values`), so that lengths and offsets give the real `.item()`; any other
  value that the program reads is guessed, and reported with its line (`questions`, `data_guesses`). A loop that would
  never end with the same guess each time gets another (`loops`).
- torch.cuda describes a GPU that does not exist (`gpu`, `cuda`, `cuda_streams`). A CPU build of torch gets a device
  guard for CUDA (`device_guard`), and the autograd engine, which requests CUDA streams, sees fakes on `meta`
  (`autograd_engine`).
- Operators whose kernels for CUDA are written in Python run those kernels, since they launch (`python_kernels`).
- Existing files are not modified: what the program writes to them goes to a temporary folder, from which it reads later
  (`file_overlay`; for compiled code `copies` and `weights`).
- Triton binds, specializes, tunes and caches as always; only its `compile` is replaced (`triton_stub`). So a variant is
  an entry of Triton's own cache, and all of Triton's hooks see what they see on a GPU.

A *case* is what runs between two calls of `begin_case`, a test for example: variants that it makes after a guess of its
own are marked. Everything that a dry run replaces is put back at its end (`patches`).

    x = torch.randn(3, 100, device="cuda", requires_grad=True)   # a FakeTensor of shape (3, 100) on cuda:0
    layer_norm(x).sum().backward()                               # CompileEvent(dry=True) for each new key
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Literal

    from triton_doctor.runtime.recording import Recording


@contextlib.contextmanager
def dry_run(
    *,
    target: str | None = None,
    unknown: Literal["guess", "stop"] = "guess",
    world_size: int = 1,
    rank: int = 0,
    path: str | Path | None = None,
    writes: Literal["overlay", "allow"] = "overlay",
) -> Iterator[Recording]:
    """Run everything inside this context dry and record it. Enter it before importing code that asks for a GPU.

    `target` is `cuda:90` or `cuda:90,sms=132`; None is an H100. Where the program needs a value that a dry run does
    not have, the value is guessed, or DryStopError is raised if `unknown` is "stop". `path` is as for `record`.
    Existing files are not modified: the program finds its changes in a temporary folder, unless `writes` is
    "allow". Contexts nest: an inner one records all kernels that it needs. Raises DoctorError where dry runs do not
    work.
    """
    from triton_doctor.runtime.dry.dry_process import run_dry

    with run_dry(target=target, unknown=unknown, world_size=world_size, rank=rank, path=path, writes=writes) as run:
        yield run


def first_guess() -> str | None:
    """Return the first guess since the current case began, with its place; None without one or outside a dry run."""
    import sys

    session = sys.modules.get("triton_doctor.runtime.dry.dry_process")
    guess: str | None = None if session is None else session.first_guess()
    return guess


def begin_case() -> None:
    """Start a new case: no guess counts against what runs from now on. Does nothing outside a dry run."""
    import sys

    session = sys.modules.get("triton_doctor.runtime.dry.dry_process")
    if session is not None:
        session.begin_case()
