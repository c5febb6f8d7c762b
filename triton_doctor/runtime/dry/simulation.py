"""Everything that a dry run replaces in torch and Triton, in order."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import torch

from triton_doctor.runtime.compile_target import activate
from triton_doctor.runtime.dry.autograd_engine import patch_engine
from triton_doctor.runtime.dry.copies import patch_copies, rebuild_tensor
from triton_doctor.runtime.dry.cuda import patch_cuda
from triton_doctor.runtime.dry.device_guard import install_guard
from triton_doctor.runtime.dry.distributed import patch_distributed
from triton_doctor.runtime.dry.dry_process import DryProcess
from triton_doctor.runtime.dry.fake_tensors import patch_tensors
from triton_doctor.runtime.dry.mode import DryMode
from triton_doctor.runtime.dry.nvml import patch_nvml
from triton_doctor.runtime.dry.patches import Patches
from triton_doctor.runtime.dry.python_kernels import patch_operators
from triton_doctor.runtime.dry.questions import Questions
from triton_doctor.runtime.dry.replacements import (
    enter_thread,
    patch_compile,
    patch_loaders,
    patch_module_to,
    patch_threads,
)
from triton_doctor.runtime.dry.triton_stub import patch_triton
from triton_doctor.runtime.dry.weights import patch_safetensors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from triton_doctor.runtime.dry.gpu import AbsentGpu
    from triton_doctor.runtime.dry.triton_stub import Caches


@contextlib.contextmanager
def pretend(
    gpu: AbsentGpu, unknown: Literal["guess", "stop"], world_size: int = 1, rank: int = 0
) -> Iterator[DryProcess]:
    """Make torch and Triton behave as if `gpu` existed, inside this context.

    At the end every replaced attribute is restored. Only the CUDA device guard of a CPU build of torch stays.
    """
    install_guard()
    questions = Questions(unknown)
    mode = DryMode(questions)
    caches: list[Caches] = []
    patches = Patches()
    with contextlib.ExitStack() as ending:
        ending.callback(patch_nvml(patches, gpu))
        ending.callback(activate(gpu.target, multiprocessors=gpu.multiprocessors))
        ending.callback(patch_safetensors(patches))
        ending.callback(patches.undo)
        patch_cuda(patches, gpu)
        patch_tensors(patches, mode)
        patch_copies(patches)
        patch_threads(patches, mode)
        patch_module_to(patches)
        patch_engine(patches, mode)
        patch_operators(patches, mode)
        patch_compile(patches, mode)
        patch_distributed(patches, questions, world_size, rank)
        patch_loaders(patches)
        patch_triton(patches, caches, questions)
        # What torch.load may call.
        with torch.serialization.safe_globals([rebuild_tensor]), enter_thread(mode):
            yield DryProcess(gpu=gpu, questions=questions, patches=patches, caches=caches)
