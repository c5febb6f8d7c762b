"""What was packed and unpacked, to text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.machine.packs.manifest import KERNEL, LAUNCHER, TUNING
from triton_doctor.report.cache import spell_bytes
from triton_doctor.report.concise import plural
from triton_doctor.terminal import escape_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from triton_doctor.machine.packs.gather import GatheredEntries
    from triton_doctor.machine.packs.install import InstallCounts
    from triton_doctor.machine.packs.manifest import KeyParts


def render_packed(gathered: GatheredEntries, out: Path, size_bytes: int) -> str:
    """What is in the pack, for which installation, and what is not."""
    manifest = gathered.manifest
    counts = {kind: len(manifest.of_kind(kind)) for kind in (KERNEL, LAUNCHER, TUNING)}
    sizes = f"{spell_bytes(size_bytes)} of {spell_bytes(gathered.whole_bytes)} in the cache"
    lines = [
        f"packed {spell_kinds(counts)} into {escape_text(str(out))}: {sizes}",
        f"for {spell_parts(manifest.parts)}",
    ]
    lines += [
        f"left out: {plural(count, 'entry', 'entries')} {reason}" for reason, count in sorted(gathered.left_out.items())
    ]
    return "\n".join(lines) + "\n"


def render_unpacked(counts: InstallCounts, folder: Path) -> str:
    """What was written, and what was there."""
    present = counts.present.total()
    there = f", {plural(present, 'entry', 'entries')} already there" if present else ""
    return f"unpacked {spell_kinds(counts.written)} into {escape_text(str(folder))}{there}\n"


def spell_kinds(counts: Mapping[str, int]) -> str:
    """`3 kernels, 2 launchers, 1 result of tuning`."""
    parts = [plural(counts.get(KERNEL, 0), "variant")]
    if launchers := counts.get(LAUNCHER, 0):
        parts.append(plural(launchers, "launcher"))
    if tunings := counts.get(TUNING, 0):
        parts.append(plural(tunings, "result of tuning", "results of tuning"))
    return ", ".join(parts)


def spell_parts(parts: KeyParts) -> str:
    """`Triton 3.6.0, Python 3.11`, and the GPU that it was packed on."""
    triton = f"Triton {parts.triton}" if parts.triton else "an unknown Triton"
    gpus = f", on {', '.join(parts.gpus)}" if parts.gpus else ""
    return escape_text(f"{triton}, Python {parts.python}{gpus}")
