"""What lies in a cache of kernels, to text or JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from triton_doctor.machine.cache_lookups import LOCAL, MISSED, PACKED
from triton_doctor.report.concise import plural
from triton_doctor.terminal import escape_line, escape_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from triton_doctor.machine.cache_kernels import CacheContent
    from triton_doctor.machine.cache_variants import Difference, KernelStory

SCHEMA = 1
VALUES_SHOWN = 8
MINUTE, HOUR, DAY = 60, 3600, 86400


def render_list(folder: Path, content: CacheContent, *, now: float, at_most: int | None) -> str:
    """A line for each kernel and target, then the sum."""
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
    """Where the read-through cache manager found kernels; nothing where it was not used."""
    if not lookups:
        return ""
    packed, local, missed = (lookups.get(state, 0) for state in (PACKED, LOCAL, MISSED))
    found = f"{packed:,} found in the pack, {local:,} here, {missed:,} not"
    return f"{plural(packed + local + missed, 'lookup')} by triton_doctor.cache_manager: {found}\n"


def render_list_json(folder: Path, content: CacheContent, lookups: Mapping[str, int]) -> str:
    """One JSON object. `lookups` are those of the read-through cache manager."""
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
    """A block for each source place and target."""
    return "\n".join("".join(f"{escape_line(line)}\n" for line in story_lines(story)) for story in stories)


def story_lines(story: KernelStory) -> Iterator[str]:
    """What is known of one kernel's variants."""
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
    """`n_rows: 40 values (1, 2, 3, ... 40)`."""
    values = ""
    if difference.values:
        shown = difference.values
        if len(shown) > VALUES_SHOWN:
            shown = (*shown[: VALUES_SHOWN - 1], "...", shown[-1])
        values = f" ({'; '.join(shown)})" if any(", " in value for value in shown) else f" ({', '.join(shown)})"
    return f"{difference.name}: {plural(difference.count, 'value')}{values}"


def render_stories_json(stories: Sequence[KernelStory]) -> str:
    """One JSON object."""
    return json.dumps({"schema": SCHEMA, "kernels": [story_object(story) for story in stories]}, indent=2) + "\n"


def story_object(story: KernelStory) -> dict[str, Any]:
    """`story` as plain values."""
    return {
        "kernel": story.kernel,
        "path": story.place.path if story.place else None,
        "line": story.place.line if story.place else None,
        "target": story.target,
        "variants": len(story.variants),
        "keys": [variant.entry.key for variant in story.variants],
        "differences": [asdict(difference) for difference in story.differences],
    }


def spell_bytes(count: int) -> str:
    """`1.5 MB`, in powers of ten."""
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def spell_age(seconds: float) -> str:
    """`3 d`, `5 h`, `2 min` or `now`."""
    for unit, length in (("d", DAY), ("h", HOUR), ("min", MINUTE)):
        if seconds >= length:
            return f"{int(seconds // length)} {unit}"
    return "now"
