"""Loaded by each Python that a watched program starts, before its own code: waits until it imports triton.

Python imports the module of this name that stands first on its path (docs.python.org, site). It takes its folder off
the path, lets the one that it hides run, and costs a process that never imports triton next to nothing.
"""

from __future__ import annotations

import os
import sys
import time

# As `typing` has it, whose import costs a start of a program 10 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import importlib.machinery
    from collections.abc import Callable, Sequence
    from types import ModuleType
    from typing import Any

STARTED_NS = time.perf_counter_ns()
# As CACHE_FOLDER of runtime/hooks/process_state.py: the program may set it before it imports triton.
CACHE_DIR = os.environ.get("TRITON_CACHE_DIR")
HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
# As in launch/environment.py, which is imported only where triton is.
FOLDER, NOTES, DRY = "_TRITON_DOCTOR_RUN", "_TRITON_DOCTOR_NOTES", "_TRITON_DOCTOR_DRY"
OVERLAY, LINE = "_TRITON_DOCTOR_OVERLAY", "_TRITON_DOCTOR_LINE"
OURS = (FOLDER, NOTES, DRY, OVERLAY, LINE, "_TRITON_DOCTOR_TARGET", "_TRITON_DOCTOR_PARENT", "_TRITON_DOCTOR_NAME")
# As in live/services.py: what a program is watched by that `run` did not start.
VARIABLE = "TRITON_DOCTOR"
OLDEST_PYTHON = (3, 11)
INTERPRETER = "triton.runtime.interpreter"
# As LIBRARIES of runtime/hooks/stepping.py, which is imported only where triton is.
STEPPING = (
    "torch.profiler.profiler",
    "transformers.trainer_callback",
    "lightning.pytorch.loops.training_epoch_loop",
    "pytorch_lightning.loops.training_epoch_loop",
)


class Doorkeeper:
    """An import finder, first in sys.meta_path, that runs an action after the import of certain modules."""

    def __init__(self) -> None:
        self.after: dict[str, Callable[[], None]] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of the other finders, with a loader that notifies this object after the import."""
        if name not in self.after:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = AfterLoader(spec.loader, self, name)  # type: ignore[assignment]
                return spec
        return None

    def done(self, name: str) -> None:
        """Run the action registered for the module `name`, which has been imported."""
        act = self.after.pop(name, None)
        if act is not None:
            act()
        if not self.after and self in sys.meta_path:
            sys.meta_path.remove(self)


class AfterLoader:
    """A loader that wraps `loader` and notifies the Doorkeeper after the module has run."""

    def __init__(self, loader: Any, keeper: Doorkeeper, name: str) -> None:
        self.loader, self.keeper, self.name = loader, keeper, name

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def create_module(self, spec: Any) -> Any:
        """Create the module by the wrapped loader."""
        return self.loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        """Run the module with its real loader visible."""
        module.__loader__ = module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        self.keeper.done(self.name)


keeper = Doorkeeper()


def go_dry() -> None:
    """Import Triton right after torch, so that the dry run starts before the program requests a GPU."""
    keeper.after.pop("triton", None)
    try:
        import triton  # noqa: F401
    except ImportError:
        note("unfollowed", f"process {os.getpid()} did not run dry: it has no triton")
    else:
        record()


def divert_writes() -> None:
    """Divert changes of existing files, before the program can write to them."""
    try:
        borrow_package()
        from triton_doctor.runtime.dry.file_overlay import begin_overlay

        begin_overlay(os.environ[OVERLAY])
    except Exception as error:
        note("unfollowed", f"process {os.getpid()} may have replaced or removed files: {error}")


def watch_for_line() -> None:
    """Note when the program prints the line that ends its warm-up."""
    try:
        borrow_package()
        from triton_doctor.runtime.launch.readiness import watch_lines

        watch_lines(os.environ[LINE], lambda at_ns: note("warm", str(at_ns)))
    except Exception as error:
        note("unfollowed", f"the lines of process {os.getpid()} are not seen: {error}")


def record_unless_torch_begins() -> None:
    """Start recording in a dry run, unless torch is being imported: then `go_dry` does later."""
    torch = sys.modules.get("torch")
    if torch is None or not getattr(torch.__spec__, "_initializing", False):
        keeper.after.pop("torch", None)
        record()


def record() -> None:
    """Record from here on; a failure is printed and does not affect the program."""
    try:
        if sys.version_info < OLDEST_PYTHON:
            raise RuntimeError("it runs a Python older than 3.11")
        borrow_package()
        from triton_doctor.runtime.launch.joining import join

        join(os.environ[FOLDER], started_ns=STARTED_NS, cache_dir=CACHE_DIR)
        watch_late_imports(keeper)
        if os.environ.get(VARIABLE):
            from triton_doctor.runtime.launch.startup.services import begin_now

            begin_now(keeper, os.environ[VARIABLE])
    except Exception as error:  # whatever it is, the program goes on
        note("unfollowed", f"process {os.getpid()} was not followed: {error}")


def watch_late_imports(keeper: Doorkeeper) -> None:
    """Start watching modules that are imported after Triton."""
    if INTERPRETER not in sys.modules:
        keeper.after[INTERPRETER] = watch_interpreter
    keeper.after.update((name, watch_steps) for name in STEPPING if name not in sys.modules)


def watch_interpreter() -> None:
    """Record kernels in interpreter mode, whose module was imported after Triton."""
    try:
        sys.modules["triton_doctor.runtime.hooks"].watch_late_interpreter()
    except Exception as error:
        sys.stderr.write(f"triton-doctor: interpreter mode is not watched: {error}\n")


def watch_steps() -> None:
    """Record training steps of a library that was imported after Triton."""
    try:
        sys.modules["triton_doctor.runtime.hooks"].watch_late_steps()
    except Exception as error:
        sys.stderr.write(f"triton-doctor: steps are not watched: {error}\n")


def note(kind: str, line: str) -> None:
    """Append `line` to this process's notes of `kind`, which `run` reads at its end. Ignores a missing folder."""
    try:
        with open(os.path.join(os.environ[NOTES], f"{os.getpid()}.{kind}"), "a", encoding="utf-8") as notes:
            notes.write(f"{line}\n")
    except (OSError, KeyError):
        return


def borrow_package() -> None:
    """Make triton_doctor importable from this file's location, without changing sys.path."""
    if "triton_doctor" in sys.modules:
        return
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(
        "triton_doctor",
        os.path.join(PACKAGE, "__init__.py"),
        submodule_search_locations=[PACKAGE],
    )
    assert spec is not None
    assert spec.loader is not None
    sys.modules["triton_doctor"] = module = module_from_spec(spec)
    spec.loader.exec_module(module)


def follow_children() -> None:
    """Patch subprocess.Popen so that child processes are recorded even if `env` replaces PYTHONPATH.

    Inductor starts its compile workers with the sys.path of their parent (torch 2.13 _inductor/utils.py:4644).
    """
    popen: Any = sys.modules["subprocess"].Popen
    before = popen.__init__

    def __init__(self: Any, *args: Any, **options: Any) -> None:  # noqa: N807
        given = options.get("env")
        try:
            starts_python = find_python(args[0] if args else options.get("args"))
        except Exception:  # what is no command, Popen says
            starts_python = False
        if isinstance(given, dict) and (FOLDER in given or starts_python):
            entries = str(given.get("PYTHONPATH") or "").split(os.pathsep)
            if HERE not in entries:
                ours = {name: os.environ[name] for name in OURS if name in os.environ}
                options["env"] = {**ours, **given, "PYTHONPATH": os.pathsep.join([HERE, *filter(None, entries)])}
        before(self, *args, **options)

    __init__.__wrapped__ = before  # type: ignore[attr-defined]
    popen.__init__ = __init__


def find_python(command: Any) -> bool:
    """Return whether `command` starts a Python that can be recorded; notes one that cannot."""
    if isinstance(command, str | bytes | os.PathLike) or not command:
        return False
    words = [os.fsdecode(word) for word in command]
    if not os.path.basename(words[0]).startswith("python"):
        return False
    borrow_package()
    from triton_doctor.runtime.launch.following import describe_unfollowed, find_blocking_option, is_python

    option = find_blocking_option(words)
    if option is not None:
        reason = f"{option} disables recording, and whether it imported triton is unknown"
        note("unfollowed", describe_unfollowed(words, reason))
    return option is None and is_python(words[0])


def leave_path() -> None:
    """Remove this folder from sys.path, so that the program sees its usual path."""
    sys.path[:] = [entry for entry in sys.path if entry != HERE]


def begin() -> None:
    """Install the import hook that waits for Triton."""
    if os.environ.get(DRY):
        keeper.after |= {"torch": go_dry, "triton": record_unless_torch_begins}
    else:
        keeper.after["triton"] = record
    if "subprocess" in sys.modules:
        follow_children()
    else:
        keeper.after["subprocess"] = follow_children
    sys.meta_path.insert(0, keeper)


def run_hidden() -> None:
    """Run the sitecustomize module that this one shadows, or raise the ImportError that `site` expects."""
    # By its name, for importing where it is kept costs a process 2 ms.
    by_path = next(finder for finder in sys.meta_path if getattr(finder, "__name__", "") == "PathFinder")
    spec = by_path.find_spec("sitecustomize", None)
    if spec is None or spec.loader is None:
        raise ImportError("no sitecustomize but triton-doctor's", name="sitecustomize")
    from importlib.util import module_from_spec

    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


if __name__ == "sitecustomize":
    leave_path()
    if os.environ.get(FOLDER):
        begin()
    if os.environ.get(OVERLAY):
        divert_writes()
    if os.environ.get(LINE):
        watch_for_line()
    run_hidden()
