"""Where processes with the read-through cache manager found their kernels: a line a lookup, in the cache folder.

Only what Python brings is imported here, as every process that compiles a kernel may import this.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PACKED, LOCAL, MISSED = "pack", "local", "missed"
NAME = "triton-doctor-lookups.tsv"
# A hundred thousand lookups. A file that is as large gets no more lines: nobody reads its sums, or they are known.
LIMIT_BYTES = 4 << 20


def note_lookup(folder: Path, state: str, kernel: str) -> None:
    """Append a line for one lookup of `kernel` to the log in `folder`. `state` is PACKED, LOCAL or MISSED.

    Each line is one write in append mode, so processes do not mix their lines. OSError is ignored.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        descriptor = os.open(folder / NAME, flags, 0o666)
    except OSError:
        return
    try:
        if os.fstat(descriptor).st_size < LIMIT_BYTES:
            os.write(descriptor, f"{state}\t{kernel}\n".encode("utf-8", "replace"))
    except OSError:
        pass
    finally:
        os.close(descriptor)


def count_lookups(folder: Path) -> Mapping[str, int]:
    """Count the logged lookups of the cache `folder` by state; empty if nothing was logged."""
    from triton_doctor.regular_files import read_regular_file

    try:
        lines = read_regular_file(folder / NAME, 2 * LIMIT_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return {}
    states = Counter(line.partition("\t")[0] for line in lines)
    return {state: states[state] for state in (PACKED, LOCAL, MISSED) if states[state]}
