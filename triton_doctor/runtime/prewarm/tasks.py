"""What goes to a worker and what comes back: plain values that pickle, for any executor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from triton_doctor.runtime.prewarm.kernel_variants import KernelVariant

COMPILED, FOUND, MISSED, FAILED, UNREACHABLE = "compiled", "found", "missed", "failed", "unreachable"
PRESENT = "in memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Compile `variant` for the target of its key, or only look it up in the cache.

    `cache_dir` is the folder to fill; None where the worker shares no file system with us, and returns the files.
    `launcher` is whether to build the launcher too.
    """

    number: int
    variant: KernelVariant
    cache_dir: str | None
    lookup_only: bool = False
    launcher: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of the task `number`: COMPILED, FOUND or MISSED in the cache, FAILED or UNREACHABLE,
    with `reason`; PRESENT where it was in memory already.

    `entry` is the folder of its entry; empty where it has none. `changed` is whether the kernel's source is no longer
    the recorded one. `same_key` is False where Triton bound it to another key than the variant's. `launcher` is empty,
    "built", or why it could not be. `files` are (path in the cache folder, content) of what was written.
    """

    number: int
    state: str
    entry: str = ""
    reason: str = ""
    changed: bool = False
    same_key: bool = True
    launcher: str = ""
    seconds: float = 0.0
    files: tuple[tuple[str, bytes], ...] = ()
