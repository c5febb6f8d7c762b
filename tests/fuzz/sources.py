"""The programs and files that are damaged: fixtures of this repository, or the libraries of the benchmarks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

ROOT = Path(__file__).parent.parent.parent
# What is larger takes long to read, and is damaged in one place all the same.
LARGEST_BYTES = 60_000


@dataclass(frozen=True)
class Sources:
    """Files below `folders`, read when they are chosen."""

    folders: tuple[Path, ...]

    @cached_property
    def kernels(self) -> Sequence[Path]:
        """Python files that define kernels."""
        found = [path for path in self.files(".py") if b"triton.jit" in path.read_bytes()]
        assert found, f"no kernels below {', '.join(map(str, self.folders))}"
        return found

    def files(self, suffix: str) -> list[Path]:
        """The files of that suffix, in order of their paths."""
        every = (path for folder in self.folders for path in sorted(folder.rglob(f"*{suffix}")))
        return [path for path in every if path.is_file() and path.stat().st_size <= LARGEST_BYTES]

    def kernel(self, random: Random) -> bytes:
        """The text of one that defines kernels."""
        return random.choice(self.kernels).read_bytes()


def fixtures() -> Sources:
    """What ships with the repository."""
    return Sources((ROOT / "fixtures",))


def packages() -> Sources:
    """The libraries that the benchmarks are run on; fetched where they are not there yet."""
    from tests.benchmarks.packages import PACKAGES, fetch

    return Sources(tuple(fetch(package) for package in PACKAGES))
