"""The compile-only target: kernels really specialize, compile and are cached for a GPU that is not there.

Everything but the launch is triton's own; the launch does nothing, and autotuning finds all configs equal. So the
results are: compiled, not run. One process uses either this or a real GPU: a kernel keeps the target of its first
launch (triton 3.9 jit.py:685).
"""

from __future__ import annotations

import contextlib
import inspect
import re
import sys
import weakref
from typing import TYPE_CHECKING, Any

from triton_doctor.errors import DoctorError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# Bytes of shared memory a block can opt in to (CUDA C++ programming guide, compute capabilities); LDS of AMD's CDNA 3.
SHARED_MEMORY = {"70": 98304, "75": 65536, "80": 166912, "86": 101376, "87": 166912, "89": 101376}
SHARED_MEMORY_SINCE_90 = 232448
SHARED_MEMORY_AMD = 65536
# Of the family's usual board; kernels read it to size their grids, nothing is compiled from it.
MULTIPROCESSORS = 132


def parse_target(text: str) -> tuple[str, int | str, int]:
    """Parse `cuda:90` or `hip:gfx942` to backend, architecture and threads per warp. Raises DoctorError."""
    match = re.fullmatch(r"(cuda):(\d{2,3})|(hip):(gfx[0-9a-f]{3,4})", text)
    if match is None:
        raise DoctorError(f"no such target: {text!r}", hint="an H100 is cuda:90, an A100 cuda:80, an MI300X hip:gfx942")
    if match[1]:
        return "cuda", int(match[2]), 32
    # GCN and CDNA (gfx9) run waves of 64, RDNA of 32 (triton 3.9 backends/amd/driver.py).
    return "hip", match[4], 64 if match[4].startswith("gfx9") else 32


@contextlib.contextmanager
def compile_only(target: str) -> Iterator[None]:
    """Compile kernels for `target` inside this context; launches do nothing. Enter it before any launch."""
    undo = activate(target)
    try:
        yield
    finally:
        undo()


def activate(target: str, *, multiprocessors: int = MULTIPROCESSORS) -> Callable[[], None]:
    """Make this process compile for `target` without running kernels; returns the function that ends it.

    `multiprocessors` is the number that the simulated device reports.
    """
    backend, arch, warp_size = parse_target(target)
    from triton.runtime.driver import driver

    # 3.2 and 3.3 keep the active driver under `active`, later ones under `_active`; reading either may start a driver.
    before = dict(vars(driver))
    ours = _make_driver(backend, arch, warp_size, multiprocessors)
    driver.set_active(ours)

    def undo() -> None:
        ours.utils.release()
        vars(driver).clear()
        vars(driver).update(before)

    return undo


def active_target() -> str | None:
    """Return the active compile-only target, such as `cuda:90`; None if launches run."""
    if "triton.runtime.driver" not in sys.modules:
        return None
    from triton.runtime.driver import driver

    for kept in (vars(driver).get("_active"), vars(driver).get("active")):
        if kept is not None and getattr(type(kept), "compiles_only", False):
            target = kept.get_current_target()
            return f"{target.backend}:{target.arch}"
    return None


# What a launcher is called with before the arguments of the kernel: the grid, stream, function, metadata and hooks.
LAUNCH_HEAD = 9


class Launcher:
    """A launch without a GPU: the launch hooks, as triton's own launchers call them, and nothing else."""

    def __init__(self, src: Any, metadata: Any) -> None:
        """Accept the arguments that Triton passes for each kernel."""

    def __call__(
        self,
        grid_x: int,
        grid_y: int,
        grid_z: int,
        stream: int,
        function: int,
        packed_metadata: Any,
        launch_metadata: Any,
        enter: Any,
        exit: Any,  # noqa: A002
        *arguments: Any,
    ) -> None:
        """Call the launch hooks only."""
        if enter is not None:
            enter(launch_metadata)
        if exit is not None:
            exit(launch_metadata)


class _Binaries:
    """Replaces the object by which Triton loads binaries and reads the properties of the device."""

    def __init__(self, backend: str, arch: int | str, warp_size: int, multiprocessors: int) -> None:
        from triton.compiler.compiler import CompiledKernel

        # Four values until 3.4, five since 3.5 (triton 3.5 compiler.py, _init_handles).
        self._with_threads = "n_max_threads" in inspect.getsource(CompiledKernel._init_handles)
        shared = SHARED_MEMORY_AMD if backend == "hip" else SHARED_MEMORY.get(str(arch), SHARED_MEMORY_SINCE_90)
        self._properties = {
            "max_shared_mem": shared,
            "max_num_regs": 65536,
            "multiprocessor_count": multiprocessors,
            "warpSize": warp_size,
            "sm_clock_rate": 1,
            "mem_clock_rate": 1,
            "mem_bus_width": 1,
            "arch": str(arch),
        }
        self._loaded = 0
        self._kernels: weakref.WeakSet[Any] = weakref.WeakSet()

    def get_device_properties(self, device: int) -> dict[str, Any]:
        return dict(self._properties)

    def load_binary(self, name: str, binary: bytes, shared: int, device: int) -> tuple[int, ...]:
        self._loaded += 1
        self._kernels.add(sys._getframe(1).f_locals["self"])
        handles = (self._loaded, self._loaded, 0, 0)
        return (*handles, 1024) if self._with_threads else handles

    def release(self) -> None:
        """Clear the module handles of all kernels, which the real driver could not unload."""
        for kernel in list(self._kernels):
            vars(kernel).update({name: None for name in ("module", "function", "_run") if name in vars(kernel)})

    def unload_module(self, module: int) -> None:
        return None

    def set_printf_fifo_size(self, size: int) -> None:
        return None


def _make_driver(backend: str, arch: int | str, warp_size: int, multiprocessors: int) -> Any:
    from triton.backends.compiler import GPUTarget
    from triton.backends.driver import DriverBase

    class CompileOnlyDriver(DriverBase):  # type: ignore[misc]
        compiles_only = True

        def __init__(self) -> None:
            self.utils = _Binaries(backend, arch, warp_size, multiprocessors)
            self.launcher_cls = Launcher
            self._target = GPUTarget(backend, arch, warp_size)
            self._device = 0

        @staticmethod
        def is_active() -> bool:
            return True

        def get_current_target(self) -> Any:
            return self._target

        def get_current_device(self) -> int:
            return self._device

        def set_current_device(self, device: int) -> None:
            self._device = device

        def get_current_stream(self, device: int | None = None) -> int:
            return 0

        def get_device_capability(self, device: int | None = None) -> tuple[int, int]:
            return divmod(arch, 10) if isinstance(arch, int) else (0, 0)

        def get_active_torch_device(self) -> Any:
            import torch

            return torch.device("cpu")

        def get_device_interface(self) -> Any:
            import torch

            return torch.cpu

        def map_python_to_cpp_type(self, ty: str) -> str:
            return ty

        def get_benchmarker(self) -> Callable[..., Sequence[float]]:
            return _all_equal

        def get_empty_cache_for_benchmark(self) -> Any:
            return None

        def clear_cache(self, cache: Any) -> None:
            return None

    return CompileOnlyDriver()


def _all_equal(kernel_call: Callable[[], object], *, quantiles: Sequence[float] = (0.5,), **_: Any) -> list[float]:
    kernel_call()
    return [1.0] * len(quantiles)
