"""The stack at a compile: triton's own frames, whose locals hold what its hooks do not tell, and the launch site.

Walked only when something compiled, loaded or tuned, never on a launch that found its kernel in memory.
"""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from triton_doctor.runtime.event import LaunchSite, Scalar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import FrameType

NOT_THE_USERS = frozenset({"triton", "torch", "triton_doctor", "helion"})
# Where a worker thread's frames end; it compiles for a launch elsewhere.
NOBODYS = frozenset({"concurrent", "threading"})
PLAIN = (bool, int, float, str, type(None))


@dataclass(slots=True, kw_only=True)
class LaunchOnStack:
    """What the stack says about a launch. `written` are its keyword arguments, tensors left out.

    `found` is False where no launch is on the stack; `tuning` is whether a round of tuning tries it. `maker` is
    `inductor` where torch.compile's backend asked for the compile. `generator` is the function from which Helion
    generated the kernel, and `shapes` those of the arguments that it is for alone; empty where it is for any.
    """

    found: bool = False
    device: int | None = None
    values: tuple[tuple[str, Scalar], ...] = ()
    written: dict[str, Any] = field(default_factory=dict)
    warmup: bool = False
    tuning: bool = False
    site: LaunchSite | None = None
    maker: str = ""
    generator: Any = None
    shapes: str = ""


def read_stack() -> tuple[Mapping[str, Any], LaunchOnStack]:
    """Return the locals of Triton's `compile` on this thread's stack, or an empty mapping, and the launch."""
    compiling: Mapping[str, Any] = {}
    launch = LaunchOnStack()
    for frame in _callers():
        package = _package(frame)
        if package == "torch" and str(frame.f_globals.get("__name__")).startswith("torch._inductor."):
            launch.maker = "inductor"
        if package == "helion":
            _read_helion(launch, frame)
        # Somebody's listener that calls ours stands between triton and us; the launch is on the far side of triton.
        if package not in NOT_THE_USERS and (compiling or launch.found) and not passes_launch_on(frame):
            launch.site = _site(frame) if package not in NOBODYS else None
            break
        if package == "triton":
            name, names = frame.f_code.co_name, frame.f_code.co_varnames
            if name == "compile" and "metadata_group" in names and not compiling:
                compiling = frame.f_locals
            elif name in ("run", "preload") and "device" in names and not launch.found:
                _read_launch(launch, frame.f_locals)
            launch.tuning |= name == "_bench"
    return compiling, launch


def source_on_stack() -> Any:
    """Return the ASTSource that a launch is about to compile (triton 3.9 jit.py:886), or None."""
    for frame in _callers():
        if (
            frame.f_code.co_name in ("_do_compile", "run")
            and "src" in frame.f_code.co_varnames + frame.f_code.co_cellvars
        ):
            return frame.f_locals.get("src")
    return None


def launch_site() -> LaunchSite | None:
    """Return the innermost frame outside Triton, torch, this package and wrappers of kernels, or None."""
    theirs = (frame for frame in _callers() if _package(frame) not in NOT_THE_USERS)
    return next((_site(frame) for frame in theirs if not passes_launch_on(frame)), None)


def passes_launch_on(frame: FrameType) -> bool:
    """Return whether `frame` belongs to a wrapper of a kernel, so that its caller is the launch site.

    Such a frame is a method of an object that launches like a kernel, or forwards arbitrary arguments to a kernel
    held by its object or closure.
    """
    code = frame.f_code
    owner = frame.f_locals.get("self")
    if _launches(owner):
        return True
    if not code.co_flags & inspect.CO_VARARGS or not code.co_flags & inspect.CO_VARKEYWORDS:
        return False
    own = getattr(owner, "__dict__", None)
    held = [frame.f_locals.get(name) for name in code.co_freevars] + (list(own.values()) if type(own) is dict else [])
    return any(map(_launches, held))


def _launches(owner: Any) -> bool:
    """Return whether `owner` is a kernel, an Autotuner, or a wrapper of one."""
    return any(kind.__name__ == "KernelInterface" for kind in type(owner).__mro__)


def _read_launch(launch: LaunchOnStack, running: Mapping[str, Any]) -> None:
    bound = running.get("bound_args", {})
    written = running.get("kwargs", {})
    launch.found = True
    launch.device = running.get("device")
    launch.values = tuple(leaf for name, value in bound.items() for leaf in _leaves(name, value))
    launch.written = {name: value for name, value in written.items() if not hasattr(value, "data_ptr")}
    # `preload` compiles what was recorded, and has no such argument.
    launch.warmup = bool(running.get("warmup", True))


def _read_helion(launch: LaunchOnStack, frame: FrameType) -> None:
    """Read from a frame of Helion's which function it compiles, and for which shapes (helion 1.5 runtime/kernel.py)."""
    launch.tuning |= str(frame.f_globals.get("__name__")).startswith("helion.autotuner.")
    bound: Any = frame.f_locals.get("self")
    if launch.generator is None and type(bound).__name__ == "BoundKernel":
        launch.generator = bound.kernel.fn
        if bound.kernel.settings.static_shapes:
            launch.shapes = ", ".join(str(tuple(arg.shape)) for arg in bound.fake_args if hasattr(arg, "shape"))


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Scalar]]:
    if type(value) in PLAIN:
        yield name, value
    elif isinstance(value, tuple):
        for index, inner in enumerate(value):
            yield from _leaves(f"{name}[{index}]", inner)


def _callers() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _site(frame: FrameType) -> LaunchSite:
    return LaunchSite(path=frame.f_code.co_filename, line=frame.f_lineno, function=frame.f_code.co_name)
