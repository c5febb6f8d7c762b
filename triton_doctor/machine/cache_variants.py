"""The variants of a cached kernel to Difference: what is not the same in all of them."""

from __future__ import annotations

import contextlib
import json
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from triton_doctor.cache_placement import JSON_BYTES
from triton_doctor.machine.cache_source import (
    CachedSource,
    CodePlace,
    KernelCode,
    Naming,
    read_code,
    read_kernel_source,
)
from triton_doctor.regular_files import read_regular_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from triton_doctor.machine.cache_entries import CacheEntry

# What follows from the rest of the metadata, rather than tells variants apart.
DERIVED = frozenset(
    {"hash", "name", "target", "arch", "shared", "tmem_size", "tensordesc_meta", "extern_libs", "cluster_dims"}
    | {f"{kind}_scratch_{what}" for kind in ("global", "profile") for what in ("size", "align")}
)
VARIANTS_READ = 500
# A kernel of gluon has no .ttir, as its layouts are written by hand.
CODE_FORMS = (".ttir", ".glir")


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedVariant:
    """One entry, read. `code` is None where the cache keeps binaries only; `text` is a hash of the IR."""

    entry: CacheEntry
    options: Mapping[str, str]
    code: KernelCode | None
    text: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing that differs. `part` is "constexpr", "argument", "option", "constant" or "untraced".

    For a "constant" no parameter could be determined, and `name` is a source place. "untraced" is a constexpr that the
    cached files do not show: `count` variants are otherwise equal, so it may be what differs. Else `count` is the
    number of values, and `values` are empty if only their number is known.
    """

    part: str
    name: str
    count: int
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelStory:
    """The variants of one kernel by where its source is, and what differs among the newest ones, which were read."""

    kernel: str
    place: CodePlace | None
    target: str | None
    variants: tuple[CachedVariant, ...]
    differences: tuple[Difference, ...]
    total: int


def describe_variants(
    folder: Path, entries: Iterable[CacheEntry], *, at_most: int = VARIANTS_READ
) -> list[KernelStory]:
    """Describe how the variants of a kernel differ, separately for each source place and target; most variants first.

    `entries` are of kernels with one name. Only the newest `at_most` are read.
    """
    newest = sorted(entries, key=lambda entry: -entry.written_at)
    groups: dict[tuple[CodePlace | None, str | None], list[CachedVariant]] = defaultdict(list)
    for entry in newest[:at_most]:
        variant = read_variant(folder, entry)
        if variant is not None:
            groups[variant.code.start if variant.code else None, entry.target].append(variant)
    stories = [
        KernelStory(
            kernel=variants[0].entry.kernel or "",
            place=place,
            target=target,
            variants=tuple(variants),
            differences=tuple(compare(variants, read_kernel_source(place) if place else None)),
            total=len(newest),
        )
        for (place, target), variants in groups.items()
    ]
    return sorted(stories, key=lambda story: -len(story.variants))


def read_variant(folder: Path, entry: CacheEntry) -> CachedVariant | None:
    """Read the metadata and the IR of `entry` from the cache `folder`; None if it is damaged or gone."""
    stem = folder / entry.key / entry.stem
    try:
        metadata = json.loads(read_regular_file(stem.with_name(f"{stem.name}.json"), JSON_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(metadata, dict):
        return None
    text = ""
    for form in CODE_FORMS:
        with contextlib.suppress(OSError):
            text = text or read_regular_file(stem.with_name(f"{stem.name}{form}")).decode("utf-8", "replace")
    options = {name: spell(value) for name, value in metadata.items() if name not in DERIVED}
    return CachedVariant(entry=entry, options=options, code=read_code(text) if text else None, text=hash(text))


def spell(value: Any) -> str:
    """Format a value of the metadata as one line."""
    return value if isinstance(value, str) else json.dumps(value)


def compare(variants: Sequence[CachedVariant], source: CachedSource | None) -> Iterator[Difference]:
    """Yield what differs among `variants`: constexprs first, then arguments, untraced constexprs and options.

    Constexprs are ordered by how many values they took, the most first. Without `source` they are places in the code.
    """
    codes = [variant.code for variant in variants if variant.code is not None]
    yield from sorted(compare_constants(codes, source), key=lambda found: (-found.count, found.name))
    yield from compare_arguments(codes, source)
    yield from find_untraced(variants, source)
    names = dict.fromkeys(name for variant in variants for name in variant.options)
    for name in names:
        values = distinct(variant.options.get(name, "unset") for variant in variants)
        if len(values) > 1:
            yield Difference(part="option", name=name, count=len(values), values=values)


def find_untraced(variants: Sequence[CachedVariant], source: CachedSource | None) -> Iterator[Difference]:
    """Yield the constexprs that the IR does not show, if some variants are equal in all that the cache keeps.

    One of these constexprs must be what differs between such variants.
    """
    if source is None:
        return
    alike = defaultdict[object, int](int)
    named = set[str]()
    for variant in variants:
        if variant.code is None:
            return
        alike[variant.text, tuple(sorted(variant.options.items()))] += 1
        for place in variant.code.constants:
            naming = source.naming(place, source.constexprs)
            named.update(naming.names if naming is not None else ())
    unexplained = sum(count for count in alike.values() if count > 1)
    if unexplained:
        for name in source.constexprs:
            if name not in named:
                yield Difference(part="untraced", name=name, count=unexplained, values=())


def compare_arguments(codes: Sequence[KernelCode], source: CachedSource | None) -> Iterator[Difference]:
    """Yield the arguments whose type or divisibility differs, or that some variants have compiled in as 1 or None."""
    plain = [name for name in source.parameters if name not in source.constexprs] if source else []
    spelled: dict[str, list[str]] = defaultdict(list)
    # Without names, an argument that is compiled in shifts the others.
    readable = [
        code for code in codes if all(name for name, _, _ in code.arguments) or len(code.arguments) == len(plain)
    ]
    for code in readable:
        for position, (name, kind, attributes) in enumerate(code.arguments):
            if name is None and len(code.arguments) == len(plain):
                name = plain[position]
            if name is not None:
                spelled[name].append(spell_argument(kind, attributes))
    for name, seen in spelled.items():
        missing = ["1 or none"] * (len(readable) - len(seen)) if all(code.arguments for code in readable) else []
        values = distinct([*seen, *missing])
        if len(values) > 1:
            yield Difference(part="argument", name=name, count=len(values), values=values)


def spell_argument(kind: str, attributes: str) -> str:
    """Format the IR's type and attributes of an argument, as in `ptr<f32>, divisible by 16`."""
    short = kind.removeprefix("!tt.")
    return f"{short}, divisible by 16" if "tt.divisibility = 16" in attributes else short


def compare_constants(codes: Sequence[KernelCode], source: CachedSource | None) -> Iterator[Difference]:
    """Yield the constexprs that took more than one value, judged by the constants at the places that use them.

    Where no constexpr can be named, because the source is gone or has changed, each place is a difference of its own.
    """
    places = dict.fromkeys(place for code in codes for place in code.constants)
    varying: dict[CodePlace, tuple[tuple[str, ...], ...]] = {}
    for place in places:
        seen = tuple(dict.fromkeys(code.constants[place] for code in codes if place in code.constants))
        if len(seen) > 1:
            varying[place] = seen
    if source is None:
        for place, seen in varying.items():
            yield constant_at(place, seen)
        return
    namings = {place: source.naming(place, source.constexprs) for place in places}
    # A constexpr that stands by itself where the constant never changes is not the one that changed elsewhere.
    settled = {naming.names[0] for place, naming in namings.items() if naming and naming.alone and place not in varying}
    best: dict[str, Difference] = {}
    for place, seen in varying.items():
        naming = namings[place]
        names = tuple(name for name in naming.names if name not in settled) if naming else ()
        if naming is None or len(names) != 1:
            continue
        found = constexpr_at(names[0], naming, seen)
        known = best.get(found.name)
        if known is None or (found.count, bool(found.values)) > (known.count, bool(known.values)):
            best[found.name] = found
    yield from best.values()
    if not best:
        for place, seen in varying.items():
            yield constant_at(place, seen)


def constexpr_at(name: str, naming: Naming, seen: Sequence[tuple[str, ...]]) -> Difference:
    """Build the difference for the constexpr `name`.

    `seen` has the constants of one place, a tuple for each variant.
    """
    columns = [distinct(column) for column in zip(*seen, strict=False)]
    changing = [column for column in columns if len(column) > 1]
    values = changing[0] if naming.alone and len(changing) == 1 else ()
    return Difference(
        part="constexpr", name=name, count=max((len(column) for column in changing), default=len(seen)), values=values
    )


def constant_at(place: CodePlace, seen: Sequence[tuple[str, ...]]) -> Difference:
    """Build the difference for a place whose constants differ and whose parameter is unknown."""
    single = all(len(values) == 1 for values in seen)
    return Difference(
        part="constant",
        name=f"{place.path}:{place.line}",
        count=len(seen),
        values=distinct(values[0] for values in seen) if single else (),
    )


def distinct(values: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct `values`, sorted: numbers by size first, then words."""
    return tuple(
        sorted(set(values), key=lambda value: (not is_number(value), float(value) if is_number(value) else 0, value))
    )


def is_number(text: str) -> bool:
    """Return whether `text` parses as a float."""
    try:
        float(text)
    except ValueError:
        return False
    return True
