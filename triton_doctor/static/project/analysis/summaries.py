"""The summary of each file: its kernels, the variables that it sets, and the kernels that its launches start."""

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
    """The summaries of the files of `database`, by path. Those of `kept` that are valid after `changes` are reused.

    `recomputed` are the paths of the others.
    """

    def __init__(self, database: Database, kept: Mapping[str, FileSummary], changes: Changes) -> None:
        """Start without summaries; `add` adds one."""
        self._database = database
        self._kept = kept
        self._changes = changes
        self._linked: dict[str, tuple[LinkedLaunch, ...]] = {}
        self.by_path: dict[str, FileSummary] = {}
        self.recomputed: set[str] = set()

    def add(self, path: str) -> None:
        """Compute the summary of the file at `path`, or reuse it."""
        kept = self._kept.get(path)
        if kept is not None and path not in self._changes.paths and kept.dependencies.hold_after(self._changes):
            self.by_path[path] = kept
        else:
            self.by_path[path] = self._summarize(path)
            self.recomputed.add(path)

    def add_launchers(self) -> None:
        """Add the files that are no subjects themselves, but may launch a kernel of the files added so far."""
        kernels = [(last_name(path), name) for path, summary in self.by_path.items() for name in summary.kernels]
        for path in self._database.launchers(kernels):
            self.add(path)

    def merge(self, others: Mapping[str, FileSummary], recomputed: Iterable[str]) -> None:
        """Add summaries that another process computed."""
        self.by_path.update(others)
        self.recomputed.update(recomputed)

    @cached_property
    def variables(self) -> frozenset[str]:
        """The variables that some file sets."""
        return frozenset[str]().union(*(summary.sets for summary in self.by_path.values()))

    def launchers(self) -> dict[str, tuple[str, ...]]:
        """Return, for each file, the files that launch its kernels, by path."""
        found: dict[str, list[str]] = {}
        for path in sorted(self.by_path):
            for home in {home for kernels in self.by_path[path].starts for home, _ in kernels}:
                found.setdefault(home, []).append(path)
        return {home: tuple(paths) for home, paths in found.items()}

    def starts_are_unchanged(self, launcher: str, home: str) -> bool:
        """Return whether the launches in `launcher` of kernels of `home` are the same as in the last scan."""
        if launcher not in self.recomputed:
            return True
        kept = self._kept.get(launcher)
        if kept is None or launcher in self._changes.paths or kept.starts != self.by_path[launcher].starts:
            return False
        started = (kernels for kernels in kept.starts if any(path == home for path, _ in kernels))
        return self._changes.paths.isdisjoint(path for kernels in started for path, _ in kernels)

    def launches(self, path: str) -> tuple[LinkedLaunch, ...]:
        """Return the launches in the file at `path`, in order. Those whose kernel was not found have no kernels."""
        if path not in self._linked:
            self._link(path)
        return self._linked[path]

    def _summarize(self, path: str) -> FileSummary:
        dependencies = self._link(path)
        module = self._database.module(path) if self._database.is_code(path) else None
        environment = self._database.environment(path)
        return FileSummary(
            kernels=tuple(kernel.function_name for kernel in module.kernels) if module is not None else (),
            sets=frozenset(setting.variable for setting in environment.settings) if environment else frozenset(),
            starts=tuple(
                tuple((kernel.path, kernel.qualname) for kernel in start.kernels) for start in self._linked[path]
            ),
            unreadable=tuple(self._database.unreadable_among({path, *dependencies.read_paths})),
            dependencies=dependencies,
        )

    def _link(self, path: str) -> Dependencies:
        modules = TrackedModules(self._database)
        module = modules.get(path) if self._database.is_code(path) else None
        self._linked[path] = link_launches(module, Resolver(modules)) if module is not None else ()
        return modules.dependencies()


def summarize_files(
    database: Database,
    kept: Mapping[str, FileSummary],
    changes: Changes,
    on_progress: Callable[[int], None] = lambda done: None,
) -> FileSummaries:
    """Return the summaries of all files. `on_progress` gets the number of files done so far."""
    summaries = FileSummaries(database, kept, changes)
    done = database.idle
    if done:
        on_progress(done)
    for path in database.subjects():
        summaries.add(path)
        done += 1
        on_progress(done)
    summaries.add_launchers()
    return summaries
