"""Trials: scripts that only compare or time their own kernels, and that nothing imports.

If all kernels of a project are in such scripts, the scripts are what it publishes, and none of them counts as a trial.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.static.project.database.dependencies import declare_query
from triton_doctor.static.project.database.import_index import last_name
from triton_doctor.static.project.database.roles import imported_words
from triton_doctor.static.python.clocks import CLOCK_NAMES
from triton_doctor.static.python.ir import Attr, Call, Expr, Name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.function import CallSite, Function
    from triton_doctor.static.python.module import Import, Module

_COMPARISONS = frozenset({"allclose", "assert_close", "assert_allclose", "do_bench", "do_bench_cudagraph"})
# `start.elapsed_time(end)` is a method of GPU events.
_CLOCKS = CLOCK_NAMES | {"elapsed_time"}
_MARKS = tuple(sorted(name.encode() for name in _COMPARISONS | _CLOCKS))
# Names of functions that try others; `test_step` of a training script compares nothing.
_TRIES = re.compile(r"_*(?:run_?)?(?:test|bench)")


class Trials:
    """The set of modules of one project that only try their own kernels."""

    def __init__(self, project: Project) -> None:
        """Start with an empty cache."""
        self._project = project
        self._known: dict[str, bool] = {}

    def __contains__(self, module: Module) -> bool:
        if not self._project.recognizes_trials:
            return False
        if module.path not in self._known:
            tries = self._project.modules.query(TRIES, module.path)
            self._known[module.path] = (
                bool(tries) and bool(self._project.has_programs) and not self._is_imported(module)
            )
        return self._known[module.path]

    def _is_imported(self, module: Module) -> bool:
        """Return whether a file that is neither a test nor a demonstration imports `module`, or something in it."""
        stem = last_name(module.path)
        return any(self._imports(path, module, stem) for path in self._project.modules.importers(stem))

    def _imports(self, path: str, module: Module, stem: str) -> bool:
        if path == module.path or path in self._project.tests or path in self._project.demonstrations:
            return False
        other = self._project.modules.get(path)
        return other is not None and any(
            self._leads_to(other, import_, module, stem) for import_ in (*other.imports.values(), *other.star_imports)
        )

    def _leads_to(self, other: Module, imported: Import, module: Module, stem: str) -> bool:
        """Return whether `imported` of `other` is of `module`; `import a.b` with `stem` may refer to any folder."""
        if imported.member is None:
            is_above = imported.module.partition(".")[0] in (*module.path.split("/"), stem)
            return is_above and stem in imported_words(self._project.modules.source(other.path))
        if stem not in (*imported.module.split("."), imported.member):
            return False
        return module.path in self._project.names.modules_imported(other.path, imported)


def tries_itself(module: Module, _: str = "") -> bool:
    """Return whether running `module` compares or times what it defines, without training."""
    top = module.top
    if not any(arm.is_main for site in top.calls for arm in site.arms) and not any(
        _TRIES.match(name) for site in top.calls for name in _names(site.call.func)
    ):
        return False
    if not any(map(top.holds, _MARKS)):
        return False
    sites = [(function, site) for function in module.functions.values() for site in _marked(function)]
    return any(_compares(*site) for site in sites) and not _trains(module)


TRIES = declare_query("tries", tries_itself)


def has_program_kernels(module: Module, _: str = "") -> bool:
    """Return whether `module` has a kernel and is no trial of it."""
    return bool(module.kernels) and not tries_itself(module)


PROGRAM_KERNELS = declare_query("program kernels", has_program_kernels)


def _marked(function: Function) -> Iterator[CallSite]:
    if any(map(function.holds, _MARKS)):
        yield from function.calls


def _compares(function: Function, site: CallSite) -> bool:
    """Return whether the call compares results or times a call; a clock counts only in a test or benchmark function."""
    name = next(_names(site.call.func), "")
    return name in _COMPARISONS or (name in _CLOCKS and _TRIES.match(function.name) is not None)


def _trains(module: Module) -> bool:
    """Return whether an optimizer makes steps in it: `optimizer.step()`."""
    return any(
        isinstance(site.call.func, Attr) and site.call == Call(site.call.func, (), ()) and site.call.func.name == "step"
        for function in module.functions.values()
        if function.holds(b".step()")
        for site in function.calls
    )


def _names(func: Expr) -> Iterator[str]:
    """Yield the names in `func`, the last one first: `run` and `benchmark` for `benchmark.run`."""
    while isinstance(func, Attr):
        yield func.name
        func = func.base
    if isinstance(func, Name):
        yield func.id
