"""Triton without its compiler: a key that is not in memory gets a kernel that does nothing.

Binding, specialization, keys, heuristics, tuning, grids, hooks and caches are Triton's own. Each dry run sees caches of
its own, of kernels and of tuning: what was compiled before stays, and nothing of ours is left behind.
"""

from __future__ import annotations

import ast
import collections
import functools
import linecache
import sys
import time
import types
import weakref
from typing import TYPE_CHECKING, Any

import torch
import triton.testing
from torch._subclasses.fake_tensor import FakeTensor
from triton.backends.nvidia import driver as nvidia
from triton.compiler import compiler
from triton.runtime.autotuner import Autotuner
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

from triton_doctor.runtime import hooks
from triton_doctor.runtime.compile_target import LAUNCH_HEAD, Launcher
from triton_doctor.runtime.dry.data_guesses import BY_A_KERNEL
from triton_doctor.runtime.dry.known_values import forget_value
from triton_doctor.runtime.dry.mode import CUDA
from triton_doctor.runtime.dry.stores import find_written
from triton_doctor.runtime.event import WarningEvent
from triton_doctor.runtime.hooks.describe import kernel_name
from triton_doctor.runtime.hooks.frames import NOT_THE_USERS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from triton_doctor.runtime.dry.patches import Patches
    from triton_doctor.runtime.dry.questions import Questions

# A field that options have once they are parsed (triton 3.9 backends/nvidia/compiler.py:118).
PARSED = "backend_name"
# A launcher in C for each kernel counts its arguments; that of all kernels skips constexprs (triton 3.9 driver.c:1371).
COUNTS_ARGUMENTS = hasattr(nvidia, "make_launcher")
CAN_SET_RUN = not isinstance(vars(compiler.CompiledKernel).get("run"), property)
# Of a kernel that uses little, so that programs which divide by them to size their grids get some.
REGISTERS, THREADS, SHARED_BYTES = 32, 1024, 1024


class DryKernel(compiler.CompiledKernel):  # type: ignore[misc]
    """Takes the place of a CompiledKernel. A launch calls the hooks and marks overwritten values as unknown."""

    def __init__(self, src: Any, target: Any, options: Any, caches: Caches) -> None:
        fields = {**vars(options), "shared": SHARED_BYTES, "name": src.name, "hash": "", "target": target}
        self.src, self.name, self.hash = src, src.name, ""
        self.metadata = _metadata(tuple(sorted(fields)))(**fields)
        self.packed_metadata: tuple[object, ...] = ()
        self.metadata_group: dict[str, str] = {}
        self.asm: Any = collections.defaultdict(str)
        self.kernel, self.function, self.module = "", 0, 0
        self.n_regs, self.n_spills, self.n_max_threads = REGISTERS, 0, THREADS
        self._module_pid = None
        launch = DryLauncher(_written_indices(src.fn), caches, tuple(src.signature.values()))
        if CAN_SET_RUN:
            self.run = launch
        else:
            self._run = launch

    def result(self) -> DryKernel:
        """Return the kernel itself, as a future of a background compile does."""
        return self


@functools.cache
def _metadata(names: tuple[str, ...]) -> Any:
    return collections.namedtuple("KernelMetadata", names)


_indices: weakref.WeakKeyDictionary[Any, tuple[int, ...]] = weakref.WeakKeyDictionary()


def _written_indices(fn: Any) -> tuple[int, ...]:
    """Return the positions of the parameters that the kernel writes through. Cached by function."""
    indices = _indices.get(fn.fn)
    if indices is None:
        written = find_written(fn)
        indices = _indices[fn.fn] = tuple(n for n, name in enumerate(fn.arg_names) if name in written)
    return indices


class DryLauncher(Launcher):
    """The launcher of one DryKernel, by which its launches are counted."""

    def __init__(self, written: tuple[int, ...], caches: Caches, types: Sequence[str]) -> None:
        self._written, self._caches, self._most = written, caches, len(types)
        self._least = (
            len(types)
            if COUNTS_ARGUMENTS
            else max((n for n, kind in enumerate(types, 1) if kind != "constexpr"), default=0)
        )

    def __call__(self, *launch: Any) -> None:
        """Mark overwritten values as unknown, and call the launch hooks."""
        if not self._caches.is_open:
            raise RuntimeError("this kernel was made by a dry run that is over: empty the cache that kept it")
        given = len(launch) - LAUNCH_HEAD
        if given < self._least or (COUNTS_ARGUMENTS and given > self._most):
            raise TypeError(f"function takes exactly {self._most} arguments ({given} given)")
        for index in self._written:
            _overwrite(launch[LAUNCH_HEAD + index])
        super().__call__(*launch)


def _overwrite(argument: Any) -> None:
    if isinstance(argument, tuple | list):
        for each in argument:
            _overwrite(each)
        return
    # A tensor, or a descriptor of one.
    tensor = argument if isinstance(argument, FakeTensor) else getattr(argument, "base", None)
    if isinstance(tensor, FakeTensor):
        forget_value(tensor)
        tensor._dry_made, tensor._dry_uniform = BY_A_KERNEL, None


class Caches:
    """The in-memory caches of one dry run: kernels by JITFunction, and chosen configs by Autotuner."""

    def __init__(self) -> None:
        self.is_open = True
        self.owners: list[tuple[str, weakref.ref[Any]]] = []

    def close(self) -> None:
        """Remove the dry kernels from Triton's objects, so that the next launch really compiles."""
        self.is_open = False
        for attribute, owner in ((held, reference()) for held, reference in self.owners):
            if owner is None:
                continue
            values = vars(owner).get(attribute, {})
            values.pop(self, None)
            if not values:
                vars(owner).pop(attribute, None)
            if hasattr(vars(owner).get("compile"), "instead_of"):
                owner.compile = owner.compile.instead_of


class PerRun:
    """An attribute of Triton's objects that each dry run has for itself.

    A data descriptor, so that it comes before the object's own value, which stays in its `__dict__`.
    """

    def __init__(self, name: str, make: Callable[[Any], Any], open_caches: list[Caches]) -> None:
        self._name, self._held, self._make = name, f"_triton_doctor_dry_{name}", make
        self._open = open_caches

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        if owner is None:
            return self
        caches = self._open[-1]
        values = vars(owner).setdefault(self._held, {})
        if caches not in values:
            values[caches] = self._make(owner)
            caches.owners.append((self._held, weakref.ref(owner)))
        return values[caches]

    def __set__(self, owner: Any, value: Any) -> None:
        vars(owner)[self._name] = value


def _make_device_caches(fn: Any) -> Any:
    return collections.defaultdict(fn.create_binder)


def patch_triton(patches: Patches, open_caches: list[Caches], questions: Questions) -> None:
    """Replace Triton's compiler. `open_caches` are the caches of the active dry runs, the innermost last."""
    compile_for_real = compiler.compile

    def compile(src: Any, target: Any = None, options: Any = None, _env_vars: Any = None) -> Any:  # noqa: A001
        if not isinstance(src, compiler.ASTSource):
            questions.stop(f"a kernel compiled from the file {src}")
        # Raises what Triton's own raises for a kernel that it cannot read (triton 3.9 compiler.py, get_cache_key).
        src.hash()
        target = driver.active.get_current_target() if target is None else target
        # A launch gives what it has parsed: to parse it again would take as long as the rest.
        if options is not None and PARSED in options:
            parsed: Any = types.SimpleNamespace(**options)
        else:
            parsed = compiler.make_backend(target).parse_options(dict(options or {}))
        kernel = DryKernel(src, target, parsed, open_caches[-1])
        hooks.report_dry_compile(src, options=parsed, target=target, guessed=questions.guessed)
        return kernel

    compile.instead_of = compile_for_real  # type: ignore[attr-defined]
    for owner in (compiler, triton.compiler, triton):
        if vars(owner).get("compile") is compile_for_real:
            patches.set(owner, "compile", compile)
    for owner, name, make in ((JITFunction, "device_caches", _make_device_caches), (Autotuner, "cache", lambda _: {})):
        patches.set(owner, name, PerRun(name, make, open_caches))
    # Triton's caches it on the Autotuner, where it would outlast the dry run.
    patches.set(Autotuner, "do_bench", property(_find_benchmarker, _set_benchmarker))
    patches.set(Autotuner, "check_disk_cache", _run_benchmark)
    patches.set(triton.testing, "do_bench", _measure_equal)
    patches.set(triton.testing, "do_bench_cudagraph", _measure_equal)
    # Launches are counted by launchers of the driver's class.
    patches.set(driver.active, "launcher_cls", DryLauncher)
    active = type(driver.active)
    patches.set(active, "get_active_torch_device", lambda self: CUDA)
    patches.set(active, "get_device_interface", lambda self: torch.cuda)


def _find_benchmarker(self: Any) -> Any:
    """Return the benchmark function of an Autotuner: the user's, or that of the driver."""
    given = getattr(self, "_do_bench", None)
    return driver.active.get_benchmarker() if given is None else given


def _set_benchmarker(self: Any, value: Any) -> None:
    self._do_bench = value


def _run_benchmark(self: Any, tuning_key: Any, configs: Any, bench_fn: Callable[[], Any]) -> bool:
    """Run the benchmarks like an Autotuner without an entry on disk. Writes nothing to disk."""
    bench_fn()
    return False


def _measure_equal(fn: Callable[[], Any], *_: Any, quantiles: Sequence[float] | None = None, **__: Any) -> Any:
    """Call `fn` once and return 1.0 ms, in the form of triton.testing.do_bench."""
    fn()
    return [1.0] * len(quantiles) if quantiles else 1.0


def report_kernels_kept_back() -> None:
    """Warn about kernels not launched because their module checks whether a tensor is fake."""
    launched = {(kernel.name, kernel.path) for kernel in hooks.launches_so_far()}
    for name, module in list(sys.modules.items()):
        # First: most modules are torch's, and a sweep asks at each of its points.
        if name.partition(".")[0] in NOT_THE_USERS:
            continue
        held = {
            id(value): value for value in list(getattr(module, "__dict__", {}).values()) if type(value) is JITFunction
        }
        idle = [kernel for kernel in map(kernel_name, held.values()) if (kernel.name, kernel.path) not in launched]
        if not idle:
            continue
        # The main module has no file any more where the interpreter ends.
        path = getattr(module, "__file__", None) or idle[0].path
        lines = sorted(find_questions_for_fakes("".join(linecache.getlines(path))))
        if lines:
            kernels = ", ".join(f"`{kernel.name}`" for kernel in idle)
            places = ", ".join(f"{path.rpartition('/')[2]}:{line}" for line in lines)
            message = f"{kernels}: not launched, where {places} asks whether a tensor is fake: in a dry run all are"
            hooks.emit(WarningEvent(kind="eager", message=message, at_ns=time.time_ns()))


@functools.lru_cache(maxsize=64)
def find_questions_for_fakes(source: str) -> frozenset[int]:
    """Return the lines with tests whose result differs between a fake tensor and a GPU tensor."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()
    tests = [node.test for node in nodes if isinstance(node, ast.If | ast.IfExp | ast.While)]
    return frozenset(test.lineno for test in tests for node in ast.walk(test) if _checks_for_fakes(node))


def _checks_for_fakes(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in ("FakeTensor", "is_fake", "fake_mode", "detect_fake_mode")
        case ast.Compare(left=ast.Call(func=ast.Name(id="type")), comparators=[kind]):
            return ast.unparse(kind).endswith(("Tensor", "Parameter"))
    return False
