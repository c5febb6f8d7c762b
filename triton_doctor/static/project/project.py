"""The input of the rules: a part of the scanned files, with the launches of its kernels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from triton_doctor.variables import NOTHING_REQUIRED, Required

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from triton_doctor.static.environment.setting import EnvironmentFile
    from triton_doctor.static.project.database.tracked_modules import TrackedModules
    from triton_doctor.static.project.names.resolver import Resolver
    from triton_doctor.static.python.function import Function, Launch
    from triton_doctor.static.python.module import Kernel, Module
    from triton_doctor.variables import Version


class SupportsBool(Protocol):
    """A truth value that is computed on access."""

    def __bool__(self) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinkedLaunch:
    """A launch, where it is made, and the kernels that it may start: several if a condition chooses one."""

    module: Module
    function: Function
    launch: Launch
    kernels: tuple[Kernel, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Project:
    """The files of `scope`, and access to everything that their values depend on.

    `modules` are all modules of the scan by path, each read on access. `launches` are the launches of kernels in
    `scope`, in any file; `environment` the files of `scope` that set variables; `set_anywhere` the variables that some
    file of the scan sets. `tests` are modules that only test, `demonstrations` modules that measure or teach; with
    `recognizes_trials`, so are scripts that only try their own kernels, if the project `has_programs`: kernels in files
    that are none of these. `declared` are names of values that the user declared `fixed` or `per_call`.
    `triton_version` None is the newest; `pinned_triton` is the release line that the project's
    requirements pin, and `required` the package among them that brings Triton.
    """

    scope: tuple[str, ...]
    modules: TrackedModules
    names: Resolver
    launches: tuple[LinkedLaunch, ...] = ()
    environment: tuple[EnvironmentFile, ...] = ()
    set_anywhere: Container[str] = frozenset()
    tests: Container[str] = frozenset()
    demonstrations: Container[str] = frozenset()
    recognizes_trials: bool = False
    has_programs: SupportsBool = True
    declared: Mapping[str, str] = field(default_factory=dict)
    triton_version: str | None = None
    pinned_triton: Version | None = None
    required: Required = NOTHING_REQUIRED

    def subjects(self) -> Iterator[Module]:
        """Yield the modules of `scope`, in its order."""
        for path in self.scope:
            module = self.modules.get(path)
            if module is not None:
                yield module

    def kernels(self) -> Iterator[Kernel]:
        """Yield every kernel of `scope`, by path and position."""
        for module in self.subjects():
            yield from module.kernels
