"""What was packed and unpacked, and why it would not be found, to text or JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from triton_doctor.machine.packs.manifest import KERNEL, LAUNCHER, TUNING
from triton_doctor.report.cache import SCHEMA, spell_bytes
from triton_doctor.report.concise import plural
from triton_doctor.terminal import escape_line, escape_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from triton_doctor.machine.packs.gather import GatheredEntries
    from triton_doctor.machine.packs.install import InstallCounts
    from triton_doctor.machine.packs.judge import Judgement
    from triton_doctor.machine.packs.manifest import KeyParts

KERNELS_SHOWN = 5


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


def render_judgement(judgement: Judgement, here: KeyParts) -> str:
    """How many kernels would not be found here, and a line for each reason."""
    total, missed = len(judgement.kernels), judgement.missed
    missing = f"{missed:,} of {plural(total, 'variant')} would not be found by"
    nothing = "nothing that could be compared differs" if judgement.unread else "nothing differs"
    found = missing if missed else f"{nothing} from the key of {plural(total, 'variant')} for"
    lines = [f"{judgement.subject}: {found} {spell_parts(here)}"]
    for miss in judgement.misses:
        share = "every key" if len(miss.entries) == total else plural(len(miss.entries), "variant")
        lines.append(f"  {share}: {miss.difference.message}")
        if share != "every key":
            kernels = sorted({entry.kernel or "" for entry in miss.entries})
            more = f", and {len(kernels) - KERNELS_SHOWN:,} more" if len(kernels) > KERNELS_SHOWN else ""
            lines.append(f"    {', '.join(kernels[:KERNELS_SHOWN])}{more}")
    lines += [f"  note: {note}" for note in judgement.notes]
    if judgement.unread:
        others = "other " if missed else ""
        unread = f"{judgement.unread:,} {others}variant{'s' if judgement.unread > 1 else ''}"
        lines.append(
            f"  note: the source of {unread} was not compared: it has changed since the compile, or is not here"
        )
    if not missed:
        lines.append("  a variant with other types, constants, options or sizes than these is not among them")
    return "".join(f"{escape_line(line)}\n" for line in lines)


def render_judgement_json(judgement: Judgement, here: KeyParts) -> str:
    """One JSON object."""
    document = {
        "schema": SCHEMA,
        "subject": judgement.subject,
        "variants": len(judgement.kernels),
        "missed": judgement.missed,
        "misses": [
            {
                "part": miss.difference.part,
                "message": miss.difference.message,
                "variants": len(miss.entries),
                "kernels": sorted({entry.kernel or "" for entry in miss.entries}),
            }
            for miss in judgement.misses
        ],
        "notes": list(judgement.notes),
        "source_unknown": judgement.unread,
        "here": {"triton": here.triton, "python": here.python, "targets": list(here.targets)},
    }
    return json.dumps(document, indent=2) + "\n"
