"""The installed distributions to what an import of triton and torch would find; neither is imported."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.machine.facts import Package, Requirement

if TYPE_CHECKING:
    from collections.abc import Iterator

PINNED = re.compile(r"(?P<name>[\w.-]*triton[\w.-]*)\s*\(?\s*==\s*(?P<version>[\w.+!]+)", re.IGNORECASE)
OWN_VERSION = re.compile(r"""^__version__\s*=\s*["'](?P<version>[^"']+)""", re.MULTILINE)
BUILD = re.compile(r"""^(?P<build>cuda|hip)\b[^=]*=\s*["']""", re.MULTILINE)


def find_tritons() -> tuple[Package, ...]:
    """Every distribution that brings a package `triton`: pytorch-triton, triton-windows and other names too.

    One that a link shows on the path again, as lib64 does lib, counts once.
    """
    return tuple(sorted(set(triton_distributions()), key=lambda package: (package.name, package.folder)))


def triton_distributions() -> Iterator[Package]:
    """As `find_tritons`, as they come."""
    for distribution in importlib.metadata.distributions():
        name = distribution.name or ""
        if "triton" not in name.lower():
            continue
        record = distribution.read_text("RECORD") or ""
        editable = '"editable": true' in (distribution.read_text("direct_url.json") or "")
        if "triton/__init__.py," in record.replace("\\", "/") or (editable and "triton" in top_level(distribution)):
            yield Package(
                name=name, version=distribution.version, folder=os.path.realpath(str(distribution.locate_file("")))
            )


def top_level(distribution: importlib.metadata.Distribution) -> set[str]:
    """The packages that `distribution` says it brings; its own name where it says nothing."""
    return set((distribution.read_text("top_level.txt") or distribution.name).split())


def find_package(name: str, brought_by: tuple[Package, ...] = ()) -> Package | None:
    """The package that `import name` would find, named for the one of `brought_by` in its folder; None for none."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):  # a None in sys.modules, say
        spec = None
    if spec is None or spec.origin is None:
        return None
    folder = Path(os.path.realpath(spec.origin)).parent.parent
    for package in brought_by:
        if package.folder == str(folder):
            return package
    return Package(name=name, version=find_version(name, Path(spec.origin)), folder=str(folder))


def find_version(name: str, origin: Path) -> str:
    """The version of `name`, by its metadata, else by what its `origin` says of itself."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
    try:
        match = OWN_VERSION.search(origin.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        match = None
    return match["version"] if match else "unknown"


def read_torch_build(torch: Package) -> str:
    """What `torch` was built for, as its version file says: cuda, hip or cpu."""
    try:
        text = (Path(torch.folder) / "torch" / "version.py").read_text(encoding="utf-8")
    except OSError:
        return "cpu"
    match = BUILD.search(text)
    return match["build"] if match else "cpu"


def read_torch_wants() -> Requirement | None:
    """The triton that the installed torch pins; None where it pins none, as builds for the CPU do."""
    try:
        lines = importlib.metadata.requires("torch") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for line in lines:
        if "extra ==" not in line and (match := PINNED.match(line)):
            return Requirement(name=match["name"], version=match["version"])
    return None
