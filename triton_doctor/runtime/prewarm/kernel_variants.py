"""Recordings to variants: what to compile, each once, however many files and ranks name it."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from triton_doctor.runtime.key_changes import MODES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from triton_doctor.runtime.event import CompileEvent, CompileKey, KernelName, Scalar
    from triton_doctor.runtime.recording import Recording

RECORDED, SOURCE, LOG = "recorded", "by the source", "by a log"
# What Triton writes where the storage of a tensor is below 2 GiB (triton 3.6 backends/amd/compiler.py, parse_attr).
SMALL_TENSOR = "tt.pointer_range=32"


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelVariant:
    """A kernel and one key. `origin` is RECORDED, or what of the key was added: integer class, alignment, dtype.

    It is SOURCE or LOG where the program's source or its server's log shows that the key is needed; then `reason` says
    why.

    `source` is as of a CompileEvent, and `values` are the plain integers that were seen with it. `package` is the
    module that `python -m` ran, for a kernel of `__main__`. `configs` are those, as text, that rounds of tuning tried
    for this kernel, where the variant is what a launch took with one of them.
    """

    kernel: KernelName
    key: CompileKey
    source: str
    exact: tuple[tuple[str, str], ...] | None
    origin: str = RECORDED
    values: tuple[tuple[str, Scalar], ...] = ()
    package: str = ""
    configs: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedVariants:
    """The variants of some recordings. `left_out` counts compiles that no launch asked for, such as Inductor's.

    `made_with` are the versions of Python and Triton that recorded, `targets` what was compiled for, in order.
    """

    variants: tuple[KernelVariant, ...]
    left_out: int
    made_with: tuple[tuple[str, str], ...]
    targets: tuple[str, ...] = field(default=())


def gather_variants(recordings: Iterable[Recording]) -> RecordedVariants:
    """Return the distinct variants of `recordings` in order of time, including those in memory at the start."""
    found: dict[object, KernelVariant] = {}
    left_out = 0
    launched: set[object] = set()
    configs: dict[KernelName, dict[str, None]] = defaultdict(dict)
    versions: Counter[tuple[str, str]] = Counter()
    for process in (process for recording in recordings for process in recording.processes or (recording,)):
        packages = {package for header in process.headers if (package := _package(header.command))}
        for header in process.headers:
            versions.update(pair for pair in header.versions if pair[0] in ("python", "triton"))
        for tuning in process.tunings:
            configs[tuning.kernel].update(dict.fromkeys(text for text, _ in tuning.timings_ms))
        for event in (*process.before, *process.compiles):
            if event.direct or not event.key.signature:
                left_out += 1
                continue
            variant = _variant(event, package=min(packages, default=""))
            identity = identify(variant)
            if not event.tuning:
                launched.add(identity)
            known = found.get(identity)
            # A later one may know what an earlier one, of another version of ours, did not keep.
            if known is None or (known.exact is None and variant.exact is not None):
                found[identity] = variant
            if known is not None:
                merged = tuple(dict.fromkeys((*known.values, *variant.values)))
                found[identity] = replace(found[identity], values=merged)
    for identity in launched:
        variant = found[identity]
        found[identity] = replace(variant, configs=tuple(configs.get(variant.kernel, ())))
    targets = tuple(dict.fromkeys(variant.key.target for variant in found.values()))
    return RecordedVariants(
        variants=tuple(found.values()), left_out=left_out, made_with=tuple(sorted(versions)), targets=targets
    )


def identify(variant: KernelVariant) -> object:
    """Return a key equal for variants that share a cache entry; the spelling of options does not matter."""
    key = variant.key
    kernel = variant.kernel
    options = tuple((name, value) for name, value in key.options if name not in MODES or value)
    constants = tuple((name, repr(value)) for name, value in key.constants)
    parts = (key.signature, constants, frozenset(key.attributes), options, key.target)
    return kernel.module, kernel.path, kernel.name, variant.source, parts, variant.exact or ()


def retarget(variants: Sequence[KernelVariant], target: str) -> tuple[KernelVariant, ...]:
    """Return `variants` for another `target`, without the duplicates that result."""
    chosen: dict[object, KernelVariant] = {}
    for variant in variants:
        if variant.key.target == target:
            moved = variant
        else:
            written = {text.partition("=")[0] for text in variant.key.spelled}
            options = tuple(pair for pair in variant.key.options if pair[0] in written)
            attributes = tuple(_retarget_attributes(variant.key, target))
            moved = replace(variant, key=replace(variant.key, target=target, options=options, attributes=attributes))
        chosen.setdefault(identify(moved), moved)
    return tuple(chosen.values())


def _retarget_attributes(key: CompileKey, target: str) -> Iterator[tuple[str, str]]:
    """Yield the argument classes on `target`; AMD has a class for tensors below 2 GiB, assumed here."""
    classes = dict(key.attributes)
    for name, kind in key.signature:
        kept = [word for word in classes.get(name, "").split() if word in ("=1", "%16")]
        if target.startswith("hip") and kind.startswith("*"):
            kept.append(SMALL_TENSOR)
        if kept:
            yield name, " ".join(kept)


def _variant(event: CompileEvent, *, package: str) -> KernelVariant:
    return KernelVariant(
        kernel=event.generated or event.kernel,
        key=event.key,
        source=event.source,
        exact=event.exact,
        values=tuple((name, value) for name, value in event.values if type(value) is int),
        package=package if event.kernel.module == "__main__" else "",
    )


def _package(command: Sequence[str]) -> str:
    """Return the module of a `python -m` command; empty for a script."""
    words = list(command)
    at = words.index("-m") if "-m" in words[1:] else -1
    return words[at + 1] if 0 < at < len(words) - 1 else ""
