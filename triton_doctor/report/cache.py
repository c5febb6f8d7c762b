"""What a cache of kernels contains, what was packed and unpacked, and why Triton would not find it, as text or JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from triton_doctor.machine.cache_lookups import LOCAL, MISSED, PACKED
from triton_doctor.machine.packs.manifest import KERNEL, LAUNCHER, TUNING
from triton_doctor.phrases import plural
from triton_doctor.terminal import escape_line, escape_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from triton_doctor.machine.cache_entries import CacheContent
    from triton_doctor.machine.cache_variants import Difference, KernelStory
    from triton_doctor.machine.packs.differences import Judgement
    from triton_doctor.machine.packs.gather import GatheredEntries
    from triton_doctor.machine.packs.install import InstallCounts
    from triton_doctor.machine.packs.manifest import KeyParts

SCHEMA = 1
VALUES_SHOWN = 8
MINUTE, HOUR, DAY = 60, 3600, 86400


def render_list(folder: Path, content: CacheContent, *, now: float, at_most: int | None) -> str:
    """Render a table with a line for each kernel and target, and a line of totals.

    `now` is in seconds since the epoch; at most `at_most` kernels are listed, all if it is None.
    """
    shown = content.kernels[:at_most]
    rows = [("variants", "size", "newest", "target", "kernel")]
    rows += [
        (
            f"{kernel.variants:,}",
            spell_bytes(kernel.size_bytes),
            spell_age(now - kernel.newest_at),
            escape_text(kernel.target or "?"),
            escape_line(kernel.kernel),
        )
        for kernel in shown
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        f"{row[0]:>{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]:<{widths[3]}}  {row[4]}"
        for row in rows
    ]
    if len(shown) < len(content.kernels):
        lines.append(f"and {len(content.kernels) - len(shown):,} more; --all shows them")
    others = f", {plural(content.others, 'other entry', 'other entries')}" if content.others else ""
    sum_line = (
        f"{plural(content.variants, 'variant')} of {plural(len({k.kernel for k in content.kernels}), 'kernel')}{others}"
        f" in {escape_text(str(folder))}: {spell_bytes(content.size_bytes)}"
    )
    return "\n".join([*(lines if content.kernels else []), sum_line]) + "\n"


def render_lookups(lookups: Mapping[str, int]) -> str:
    """Format how often the read-through cache manager found kernels; empty if it was not used."""
    if not lookups:
        return ""
    packed, local, missed = (lookups.get(state, 0) for state in (PACKED, LOCAL, MISSED))
    found = f"{packed:,} found in the pack, {local:,} here, {missed:,} not"
    return f"{plural(packed + local + missed, 'lookup')} by triton_doctor.cache_manager: {found}\n"


def render_list_json(folder: Path, content: CacheContent, lookups: Mapping[str, int]) -> str:
    """Render the kernels of a cache as a JSON object. `lookups` are those of the read-through cache manager."""
    document = {
        "schema": SCHEMA,
        "folder": str(folder),
        "kernels": [asdict(kernel) for kernel in content.kernels],
        "others": content.others,
        "size_bytes": content.size_bytes,
        "lookups": dict(lookups),
    }
    return json.dumps(document, indent=2) + "\n"


def render_stories(stories: Sequence[KernelStory]) -> str:
    """Render a block of lines for each source place and target."""
    return "\n".join("".join(f"{escape_line(line)}\n" for line in story_lines(story)) for story in stories)


def story_lines(story: KernelStory) -> Iterator[str]:
    """Yield the lines on one kernel's variants and what differs between them."""
    place = f" at {story.place.path}:{story.place.line}" if story.place else ""
    yield f"{story.kernel}{place}: {plural(len(story.variants), 'variant')} for {story.target or 'an unknown target'}"
    parts = {"constexpr": "constexprs", "argument": "arguments", "option": "options", "constant": "constants"}
    for part, title in parts.items():
        for number, difference in enumerate(found for found in story.differences if found.part == part):
            if number == 0:
                yield f"  {title} that differ"
            yield f"    {difference_line(difference)}"
    untraced = [found for found in story.differences if found.part == "untraced"]
    if untraced:
        names = ", ".join(found.name for found in untraced)
        yield f"  constexprs that leave no trace in the IR: {names}"
        yield f"    {untraced[0].count:,} variants have the same IR as another"
    binaries = sum(variant.code is None for variant in story.variants)
    if binaries and len(story.variants) > 1:
        lack = "these lack" if binaries == len(story.variants) else f"{binaries:,} of these lack"
        yield f"  constants and arguments are read from a .ttir file, which {lack}: `cache pack --with-code` keeps it"
    elif not story.differences and len(story.variants) > 1:
        yield "  what differs is not in what the cache keeps: the source around, triton itself, or variables"


def difference_line(difference: Difference) -> str:
    """Format a difference: `n_rows: 40 values (1, 2, 3, ... 40)`."""
    values = ""
    if difference.values:
        shown = difference.values
        if len(shown) > VALUES_SHOWN:
            shown = (*shown[: VALUES_SHOWN - 1], "...", shown[-1])
        values = f" ({'; '.join(shown)})" if any(", " in value for value in shown) else f" ({', '.join(shown)})"
    return f"{difference.name}: {plural(difference.count, 'value')}{values}"


def spell_bytes(count: int) -> str:
    """Format a size in bytes with a decimal unit: `1.5 MB`."""
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def spell_age(seconds: float) -> str:
    """Format a duration by its largest unit: `3 d`, `5 h`, `2 min`; `now` for less than a minute."""
    for unit, length in (("d", DAY), ("h", HOUR), ("min", MINUTE)):
        if seconds >= length:
            return f"{int(seconds // length)} {unit}"
    return "now"


KERNELS_SHOWN = 5


def render_packed(gathered: GatheredEntries, out: Path, size_bytes: int) -> str:
    """Render what a pack contains, for which installation, and what was left out."""
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
    """Render what was written and what was there already."""
    present = counts.present.total()
    there = f", {plural(present, 'entry', 'entries')} already there" if present else ""
    return f"unpacked {spell_kinds(counts.written)} into {escape_text(str(folder))}{there}\n"


def spell_kinds(counts: Mapping[str, int]) -> str:
    """Format counts of entries by kind: `3 variants, 2 launchers, 1 result of tuning`."""
    parts = [plural(counts.get(KERNEL, 0), "variant")]
    if launchers := counts.get(LAUNCHER, 0):
        parts.append(plural(launchers, "launcher"))
    if tunings := counts.get(TUNING, 0):
        parts.append(plural(tunings, "result of tuning", "results of tuning"))
    return ", ".join(parts)


def spell_parts(parts: KeyParts) -> str:
    """Format an installation: `Triton 3.6.0, Python 3.11, on NVIDIA H100`."""
    triton = f"Triton {parts.triton}" if parts.triton else "an unknown Triton"
    gpus = f", on {', '.join(parts.gpus)}" if parts.gpus else ""
    return escape_text(f"{triton}, Python {parts.python}{gpus}")


def render_judgement(judgement: Judgement, here: KeyParts) -> str:
    """Render how many kernels Triton would not find here, with a line for each reason."""
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
    """Render a judgement as a JSON object."""
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
