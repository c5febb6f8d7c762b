"""A project to the release line of Triton that it uses: its own, or that of a pinned triton or torch."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.regular_files import read_regular_file
from triton_doctor.variables import Required, Version

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PATTERNS = ("*requirements*.txt", "requirements/*.txt", "pyproject.toml", "setup.py", "setup.cfg")
_MOST_FILES = 40
_LARGEST_BYTES = 1 << 20
# `triton-ascend` uses the version number of the Triton that it is built from.
_PIN = re.compile(rb"(?m)^[^#\n]*?(?<![\w.-])(triton|torch)(?:(?<=triton)[-_]ascend)?\s*===?\s*(\d{1,3})\.(\d{1,3})")
# A line of requirements, a string in a list of them, or a key of Poetry's table.
_REQUIRED = re.compile(
    rb"(?m)(?:^|[\"'])[ \t]*(?P<name>vllm|sglang|triton|torch)(?=[ \t]*(?:[=<>~!;@\[\"',#\r\n]|$))"
    rb"(?:(?:[ \t]*=[ \t]*[\"'])?[^\n\"'#;]*?(?:[~=>]=|\^|=[ \t]*[\"'])[ \t]*(?P<major>\d{1,3})\.(?P<minor>\d{1,3}))?"
)
# Triton's own source tree, and forks of it, state their release.
_OWN_VERSIONS = ("python/triton/__init__.py", "triton/__init__.py")
_OWN_VERSION = re.compile(rb"(?m)^__version__\s*=\s*[\"'](\d{1,3})\.(\d{1,3})")
# The Triton that torch's Linux wheels require: `Requires-Dist: triton==...` of each release.
TRITON_OF_TORCH = {
    (2, 0): Version(2, 0),
    (2, 1): Version(2, 1),
    (2, 2): Version(2, 2),
    (2, 3): Version(2, 3),
    (2, 4): Version(3, 0),
    (2, 5): Version(3, 1),
    (2, 6): Version(3, 2),
    (2, 7): Version(3, 3),
    (2, 8): Version(3, 4),
    (2, 9): Version(3, 5),
    (2, 10): Version(3, 6),
    (2, 11): Version(3, 6),
    (2, 12): Version(3, 7),
    (2, 14): Version(3, 8),
}


def find_pinned_triton(root: Path) -> Version | None:
    """Return the release line of Triton for the project at `root`, or None.

    In order: the version of a Triton source tree at `root`, the newest pin of triton, the Triton that belongs to the
    newest pin of torch. A range such as `triton>=2.1` pins nothing.
    """
    for own in _OWN_VERSIONS:
        found = _OWN_VERSION.search(_text(root / own))
        if found is not None:
            return Version(int(found[1]), int(found[2]))
    pins: dict[bytes, list[tuple[int, int]]] = {b"triton": [], b"torch": []}
    for path in _requirement_files(root):
        for name, major, minor in _PIN.findall(_text(path)):
            pins[name].append((int(major), int(minor)))
    if pins[b"triton"]:
        return Version(*max(pins[b"triton"]))
    return TRITON_OF_TORCH.get(max(pins[b"torch"])) if pins[b"torch"] else None


def find_required(root: Path) -> Required:
    """Return what brings Triton to the project at `root`, by its requirements; files by their absolute paths."""
    packages, bounds = list[tuple[str, str]](), list[tuple[bytes, tuple[int, int]]]()
    for path in _requirement_files(root):
        text = _text(path)
        named = [*_REQUIRED.finditer(text)]
        bounds += [(found["name"], (int(found["major"]), int(found["minor"]))) for found in named if found["major"]]
        names = {found["name"].decode() for found in named}
        package = next((name for name in ("vllm", "sglang", "triton", "torch") if name in names), None)
        if package is not None and b"/whl/cpu" not in text and b"+cpu" not in text:
            packages.append((path.as_posix(), package))
    own = [Version(*version) for name, version in bounds if name == b"triton"]
    torch = [TRITON_OF_TORCH[version] for name, version in bounds if name == b"torch" and version in TRITON_OF_TORCH]
    return Required(packages=tuple(packages), lowest=min(own or torch, default=None))


def _text(path: Path) -> bytes:
    """Return the content of `path`; empty if it cannot be read."""
    try:
        return read_regular_file(path, _LARGEST_BYTES)
    except OSError:
        return b""


def _requirement_files(root: Path) -> Iterator[Path]:
    found = 0
    for pattern in _PATTERNS:
        try:
            paths = sorted(root.glob(pattern))
        except OSError:
            continue
        for path in paths:
            found += 1
            if found > _MOST_FILES:
                return
            yield path
