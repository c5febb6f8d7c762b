"""Each file's share of a scan: its kernels, what it sets, and which kernels its launches start."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from triton_doctor.static.project.cache.scan_cache import FileSummary
from triton_doctor.static.project.database.import_index import last_name
from triton_doctor.static.project.database.tracked_modules import TrackedModules
from triton_doctor.static.project.launches.linking import link_launches
from triton_doctor.static.project.names.resolver import Resolver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from triton_doctor.static.project.database.database import Database
    from triton_doctor.static.project.database.dependencies import Changes, Dependencies
    from triton_doctor.static.project.project import LinkedLaunch


class FileSummaries:
    """The shares of the files of `library`, by path; one of `kept` that still stands after `changes` is taken over.

    `anew` are the paths of the others.
    """

    def __init__(self, library: Database, kept: Mapping[str, FileSummary], changes: Changes) -> None:
        """Nothing is worked out yet."""
        self._library = library
        self._kept = kept
        self._changes = changes
        self._linked: dict[str, tuple[LinkedLaunch, ...]] = {}
        self.by_path: dict[str, FileSummary] = {}
        self.anew: set[str] = set()

    def add(self, path: str) -> None:
        """Work out the share of the file at `path`, or take it over."""
        kept = self._kept.get(path)
        if kept is not None and path not in self._changes.paths and kept.dependencies.stands(self._changes):
            self.by_path[path] = kept
        else:
            self.by_path[path] = self._share(path)
            self.anew.add(path)

    def add_launchers(self) -> None:
        """Add the files that may launch a kernel of those that were added, and are no subjects themselves."""
        kernels = [(last_name(path), name) for path, share in self.by_path.items() for name in share.kernels]
        for path in self._library.launchers(kernels):
            self.add(path)

    def take(self, others: Mapping[str, FileSummary], anew: Iterable[str]) -> None:
        """Take over what somebody else worked out."""
        self.by_path.update(others)
        self.anew.update(anew)

    @cached_property
    def variables(self) -> frozenset[str]:
        """The variables that some file sets."""
        return frozenset[str]().union(*(share.sets for share in self.by_path.values()))

    def launchers(self) -> dict[str, tuple[str, ...]]:
        """The files that launch the kernels of each file, by path."""
        found: dict[str, list[str]] = {}
        for path in sorted(self.by_path):
            for home in {home for kernels in self.by_path[path].starts for home, _ in kernels}:
                found.setdefault(home, []).append(path)
        return {home: tuple(paths) for home, paths in found.items()}

    def start_as_before(self, launcher: str, home: str) -> bool:
        """Whether the launches in the file `launcher` that start kernels of the file `home` are what they were."""
        if launcher not in self.anew:
            return True
        kept = self._kept.get(launcher)
        if kept is None or launcher in self._changes.paths or kept.starts != self.by_path[launcher].starts:
            return False
        started = (kernels for kernels in kept.starts if any(path == home for path, _ in kernels))
        return self._changes.paths.isdisjoint(path for kernels in started for path, _ in kernels)

    def launches(self, path: str) -> tuple[LinkedLaunch, ...]:
        """The launches that the file at `path` makes, in order; those that no kernel was found for have none."""
        if path not in self._linked:
            self._link(path)
        return self._linked[path]

    def _share(self, path: str) -> FileSummary:
        dependencies = self._link(path)
        module = self._library.module(path) if self._library.is_code(path) else None
        environment = self._library.environment(path)
        return FileSummary(
            kernels=tuple(kernel.name for kernel in module.kernels) if module is not None else (),
            sets=frozenset(setting.variable for setting in environment.settings) if environment else frozenset(),
            starts=tuple(tuple((kernel.path, kernel.qualname) for kernel in one.kernels) for one in self._linked[path]),
            unreadable=tuple(self._library.unreadable_among({path, *dependencies.files})),
            dependencies=dependencies,
        )

    def _link(self, path: str) -> Dependencies:
        modules = TrackedModules(self._library)
        module = modules.get(path) if self._library.is_code(path) else None
        self._linked[path] = link_launches(module, Resolver(modules)) if module is not None else ()
        return modules.dependencies()


def summarize_files(
    library: Database,
    kept: Mapping[str, FileSummary],
    changes: Changes,
    on_progress: Callable[[int], None] = lambda done: None,
) -> FileSummaries:
    """The shares of all files. `on_progress` gets the number of files done so far."""
    shares = FileSummaries(library, kept, changes)
    done = library.idle
    if done:
        on_progress(done)
    for path in library.subjects():
        shares.add(path)
        done += 1
        on_progress(done)
    shares.add_launchers()
    return shares
