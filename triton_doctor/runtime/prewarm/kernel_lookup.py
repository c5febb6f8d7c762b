"""From the name of a kernel in a recording to its JITFunction in this process."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triton_doctor.kernel_names import function_name, report_name
from triton_doctor.runtime.hooks.describe import kernel_name, source_of
from triton_doctor.runtime.prewarm.scripts import load_script_kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.runtime.prewarm.kernel_variants import KernelVariant

MAIN = "__main__"


class UnreachableError(Exception):
    """A kernel that cannot be found in this process; the text is the reason."""


class Kernels:
    """The kernels of this process, found once each. `loads` is False where nothing is imported for their sake."""

    def __init__(self, *, loads: bool = True) -> None:
        self._loads = loads
        self._reasons: dict[tuple[str, str], str] = {}
        self._found: dict[tuple[str, str, str, int], list[Any]] = {}
        self._held: list[Any] = []

    def find(self, variant: KernelVariant) -> Any:
        """Return the JITFunction of `variant`. Raises UnreachableError with the reason."""
        kernel = variant.kernel
        candidates = self._candidates(variant)
        same = [fn for fn in candidates if variant.source and source_of(fn) == variant.source]
        if same:
            return same[0]
        if len(candidates) > 1:
            near = [fn for fn in candidates if kernel_name(fn).line == kernel.line]
            sources = {source_of(fn) for fn in near or candidates}
            if len(sources) > 1:
                raise UnreachableError(f"{len(sources)} kernels of this name differ, and none is the recorded one")
            candidates = near or candidates
        if candidates:
            return candidates[0]
        raise UnreachableError(
            f"no kernel of this name in {_shown(variant)} once it is loaded: it is made by code that has not run"
        )

    def find_named(self, module: str, name: str, path: str) -> Any:
        """Return the JITFunction used as a constant of another, by module, name and path."""
        from triton_doctor.runtime.event import CompileKey, KernelName
        from triton_doctor.runtime.prewarm.kernel_variants import KernelVariant

        kernel = KernelName(name=name, module=module, path=path, line=0)
        return self.find(KernelVariant(kernel=kernel, key=CompileKey(signature=()), source="", exact=()))

    def _candidates(self, variant: KernelVariant) -> list[Any]:
        kernel = variant.kernel
        identity = (kernel.module, kernel.path, kernel.name, kernel.line)
        if identity not in self._found:
            self._load(variant)
            self._found[identity] = [fn for fn in _live_kernels() if _is_named(fn, variant)]
        return self._found[identity]

    def _load(self, variant: KernelVariant) -> None:
        """Import the module of `variant`, or define its kernel from its script. Raises UnreachableError."""
        kernel = variant.kernel
        if not self._loads or any(_is_named(fn, variant) for fn in _live_kernels()):
            return
        place = (kernel.module, kernel.name if kernel.module == MAIN else "")
        if place in self._reasons:
            raise UnreachableError(self._reasons[place])
        try:
            if kernel.module == MAIN:
                self._held.append(_load_main(variant))
            else:
                _import_module(kernel.module, kernel.path)
        except (Exception, SystemExit) as error:
            if isinstance(error, UnreachableError):
                raise
            what = "its script" if kernel.module == MAIN else f"module {kernel.module}"
            reason = " ".join(str(error).split())[:300]
            self._reasons[place] = f"{what} cannot be loaded here: {type(error).__name__}: {reason}"
            raise UnreachableError(self._reasons[place]) from None


def _load_main(variant: KernelVariant) -> Any:
    path = _find_script(variant)
    return load_script_kernel(path, variant.kernel.name, variant.kernel.line, package=variant.package)


def _find_script(variant: KernelVariant) -> Path:
    recorded = Path(variant.kernel.path)
    if variant.package:
        spec = importlib.util.find_spec(variant.package)
        if spec is not None and spec.origin is not None and Path(spec.origin).name == recorded.name:
            return Path(spec.origin)
    for path in (recorded, Path.cwd() / recorded.name):
        if path.is_file():
            return path
    raise UnreachableError(f"its script {recorded} is not here, nor {recorded.name} in the current folder")


def _import_module(name: str, recorded: str) -> None:
    """Import `name`, from where it was recorded if it is not on the path."""
    path = Path(recorded)
    parts = name.split(".")
    package = path.name == "__init__.py"
    root = path.parents[len(parts) - (0 if package else 1)] if len(path.parents) > len(parts) else path.parent
    spelled = path.parent if package else path.with_suffix("")
    if spelled.parts[-len(parts) :] == tuple(parts) and importlib.util.find_spec(parts[0]) is None:
        sys.path.append(str(root))
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        # A module that was loaded from its file, as pytest's `importlib` mode does, is not on the path.
        if error.name not in (name, parts[0]) or not path.is_file():
            raise
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)


def _live_kernels() -> Iterator[Any]:
    """Yield every JITFunction in this process, wherever it is referenced."""
    from triton.runtime.jit import JITFunction

    # Not `isinstance`, which asks what stands in for other objects for its class.
    return (each for each in gc.get_objects() if issubclass(type(each), JITFunction))


def _is_named(fn: Any, variant: KernelVariant) -> bool:
    function: Any = getattr(fn, "fn", None)
    if fn.module != variant.kernel.module or not hasattr(function, "__code__"):
        return False
    # A constant names the function alone, the path of a script may be another one here.
    name = function.__name__
    return name == variant.kernel.name or (
        name == function_name(variant.kernel.name)
        and report_name(function.__qualname__, variant.kernel.path) == variant.kernel.name
    )


def _shown(variant: KernelVariant) -> str:
    return Path(variant.kernel.path).name if variant.kernel.module == MAIN else variant.kernel.module
