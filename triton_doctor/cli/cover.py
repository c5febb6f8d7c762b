"""Recordings and the source around them to what they do not cover."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.evidence.cover import NOT_PROVED, Cover, Gap
from triton_doctor.evidence.cover.cover import FRAMEWORKS, CoverSearch
from triton_doctor.evidence.weighing import script_of
from triton_doctor.scan_caches import emptying_scan_caches
from triton_doctor.static.project.analysis.parts import empty_project, with_all_launches
from triton_doctor.static.project.analysis.summaries import summarize_files
from triton_doctor.static.project.database.database import Database
from triton_doctor.static.project.database.dependencies import NO_CHANGES
from triton_doctor.static.sources.shown_paths import path_shower
from triton_doctor.static.sources.workspace import find_workspace, importable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from triton_doctor.runtime.prewarm.kernel_variants import KernelVariant
    from triton_doctor.runtime.recording import Recording

LAUNCHES = re.compile(rb"@(?:triton\.)?jit\b|triton\.language|triton_kernels")
MOST_FILES_SEARCHED = 5_000


@emptying_scan_caches()
def find_cover(
    recordings: Sequence[Recording], variants: Sequence[KernelVariant], sources: Sequence[Path], *, cwd: Path
) -> Cover:
    """Return what `recordings`, with `variants`, lack for the program whose source is below `sources`.

    The whole packages around `sources` are read: callers anywhere in them decide what a kernel is passed. Without
    `sources`, the recorded scripts and the packages of recorded kernels are. Raises DoctorError for a path that is not
    there.
    """
    from triton_doctor.settings import load_settings

    asked = [*sources] or [*dict.fromkeys((*_scripts(recordings, cwd), *_kernels(variants)))]
    if not asked:
        reason = "neither the recorded script nor its kernels are here: `--src` names the source"
        return Cover(gaps=(Gap(kind=NOT_PROVED, path="", line=0, reason=reason),))
    places = [(cwd / path).resolve() for path in asked]
    around = (importable(place if place.is_dir() else place.parent) for place in places)
    packages = {package for package, folder in around if package != folder}
    workspace = find_workspace([*asked, *sorted(packages)], load_settings(cwd / asked[0]), cwd=cwd)
    database = Database(workspace.files)
    # Where packages are imported from: of an environment, no folder above the script.
    tops = {package.parent for package in packages}
    roots = (top.relative_to(workspace.base).as_posix() for top in tops if top.is_relative_to(workspace.base))
    database.source_roots = sorted({*database.source_roots, *roots} - {"."})
    summaries = summarize_files(database, {}, NO_CHANGES)
    project = with_all_launches(empty_project(database, workspace.settings, workspace.base), summaries)
    linked = [launch for path in summaries.by_path for launch in summaries.launches(path)]
    unresolved = [launch for launch in linked if not launch.kernels]
    show = path_shower(workspace.base, cwd)
    search = CoverSearch(project, unresolved, recordings, variants, base=workspace.base, cwd=cwd, show=show)
    cover = search.find()
    return replace(cover, gaps=(*cover.gaps, *_unread(search.outside())))


def _scripts(recordings: Sequence[Recording], cwd: Path) -> Iterator[Path]:
    """Yield the scripts of the recorded commands that are here."""
    for header in (header for recording in recordings for header in recording.headers):
        if (script := cwd / script_of(header.command)).is_file():
            yield script


def _kernels(variants: Sequence[KernelVariant]) -> Iterator[Path]:
    """Yield the files of the kernels of `variants` that are here."""
    for path in dict.fromkeys(Path(variant.kernel.path) for variant in variants):
        if path.is_file() and path.suffix == ".py":
            yield path


def _unread(outside: Mapping[str, str]) -> Iterator[Gap]:
    """Yield the packages of `outside` that have kernels of their own, or that are not here to be searched."""
    for name, path in outside.items():
        if not name or name in FRAMEWORKS or name in sys.stdlib_module_names:
            continue
        folder = _find_package(name)
        if folder is None:
            reason = f"`{name}` is not installed here, and was not read"
        elif _has_kernels(folder):
            reason = f"`{name}` has Triton kernels, and was not read: `--src {folder}`"
        else:
            continue
        yield Gap(kind=NOT_PROVED, path=path, line=0, reason=reason)


def _find_package(name: str) -> Path | None:
    """Return the folder or file of the top-level package `name`, which is not imported."""
    with suppress(ImportError, ValueError):
        if (spec := find_spec(name)) is not None:
            return Path(next(iter(spec.submodule_search_locations or ()), spec.origin or os.devnull))
    return None


def _has_kernels(place: Path) -> bool:
    files = [place] if place.is_file() else place.rglob("*.py")
    for count, file in enumerate(files):
        if count > MOST_FILES_SEARCHED:
            return True
        try:
            if file.suffix == ".py" and LAUNCHES.search(file.read_bytes()):
                return True
        except OSError:
            continue
    return False
