"""The programs and files that are damaged: fixtures of this repository, or the libraries of the benchmarks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

ROOT = Path(__file__).parent.parent.parent
# What is larger takes long to read, and is damaged in one place all the same.
LARGEST_BYTES = 60_000
_SMALL_BYTES = 20_000


@dataclass(frozen=True)
class Sources:
    """Files below `folders`, read when they are chosen."""

    folders: tuple[Path, ...]

    @cached_property
    def kernels(self) -> Sequence[Sequence[Path]]:
        """Python files that define kernels, in order of their paths, by folder."""
        found = [[path for path in _programs(folder) if b"triton.jit" in path.read_bytes()] for folder in self.folders]
        assert all(found), f"no kernels below one of {', '.join(map(str, self.folders))}"
        return found

    def kernel_path(self, random: Random) -> Path:
        """A file that defines kernels; each folder is as likely, however many it has."""
        return random.choice(random.choice(self.kernels))

    def neighbors(self, random: Random, most: int) -> Mapping[str, bytes]:
        """A file that defines kernels, and at most `most` small files of its folder, by their paths from there."""
        kernels = self.kernel_path(random)
        home = kernels.parent
        around = sorted(path for path in home.rglob("*.py") if path.stat().st_size < _SMALL_BYTES and path != kernels)
        paths = [kernels, *random.sample(around, min(len(around), most))]
        return {path.relative_to(home).as_posix(): path.read_bytes() for path in paths}

    def kernel(self, random: Random) -> bytes:
        """The text of a file that defines kernels."""
        return self.kernel_path(random).read_bytes()


def _programs(folder: Path) -> Sequence[Path]:
    every = sorted(folder.rglob("*.py"))
    return [path for path in every if path.is_file() and path.stat().st_size <= LARGEST_BYTES]


def fixtures() -> Sources:
    """What ships with the repository."""
    return Sources((ROOT / "fixtures",))


def packages() -> Sources:
    """Six libraries that the benchmarks are run on; fetched where they are not there yet."""
    from tests.benchmarks.packages import PACKAGES, Package, fetch

    libraries = (*PACKAGES, Package("torchao", "0.18.0"), Package("lmdeploy", "0.18.0"))
    return Sources(tuple(fetch(package) for package in libraries))
