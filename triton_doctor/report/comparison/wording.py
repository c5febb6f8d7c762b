"""What changed, in words that text and Markdown share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.report.comparison.variant_keys import OPTION
from triton_doctor.report.recording.wording import counted, describe_values, seconds
from triton_doctor.rulebook import rule_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.report.comparison.compare import BeforeAfter, Comparison, KernelComparison
    from triton_doctor.report.comparison.variant_keys import Key, ParameterChange

VARIANTS_SHOWN, SINGLE = 6, 3


def describe_moved(moved: BeforeAfter, *, time: bool = False) -> tuple[str, str, str]:
    """Before, after, and the difference with its sign; nothing where there is none."""
    spell = seconds if time else "{:,}".format
    difference = moved.after - moved.before
    sign = "+" if difference > 0 else "-"
    return spell(moved.before), spell(moved.after), f"{sign}{spell(abs(difference))}" if difference else ""


def describe_totals(comparison: Comparison) -> list[tuple[str, str, str, str]]:
    """The figures of the whole run."""
    return [
        ("wall time", *describe_moved(comparison.wall_us, time=True)),
        ("waited for Triton, all kernels", *describe_moved(comparison.sum("waited_us"), time=True)),
        ("compiled", *describe_moved(comparison.sum("compiled"))),
        ("from disk", *describe_moved(comparison.sum("from_disk"))),
        ("rounds of tuning", *describe_moved(comparison.sum("rounds"))),
    ]


def describe_verdict(comparison: Comparison) -> str:
    """The first line: `46 variants before, 5 after: 3 new, 44 gone; 4 kernels as before`."""
    variants = [kernel.variants for kernel in comparison.kernels]
    was, now = sum(variant.before for variant in variants), sum(variant.after for variant in variants)
    counts = (
        (sum(len(variant.new) for variant in variants), "new", "new"),
        (sum(len(variant.gone) for variant in variants), "gone", "gone"),
        (sum(len(variant.changed) for variant in variants), "changed", "changed"),
        (
            sum(len(variant.parameters) for variant in variants),
            "parameter of another kind",
            "parameters of another kind",
        ),
    )
    told = [f"{count:,} {word if count == 1 else words}" for count, word, words in counts if count]
    same = sum(kernel.is_same for kernel in comparison.kernels)
    as_before = f"; {counted(same, 'kernel')} as before" if same else ""
    seen = "the same, as far as was seen" if comparison.hidden_before or comparison.hidden_after else "the same"
    return f"{counted(was, 'variant')} before, {now:,} after: {', '.join(told) or seen}{as_before}"


def describe_kernel(one: KernelComparison) -> str:
    """Its name, how many variants it had, and what they took."""
    variants = one.variants
    was, now, _ = describe_moved(one.waited_us, time=True)
    took = f"; {was} before, {now} after" if one.waited_us.before or one.waited_us.after else ""
    if one.is_new:
        return f"`{one.kernel.name}` is new: {counted(variants.after, 'variant')}{took}"
    if one.is_gone:
        return f"`{one.kernel.name}` is gone: {counted(variants.before, 'variant')}{took}"
    return f"`{one.kernel.name}`: {counted(variants.before, 'variant')} before, {variants.after:,} after{took}"


def describe_changes(one: KernelComparison) -> Iterator[str]:
    """A line for each thing that changed."""
    variants = one.variants
    for parameter in variants.parameters:
        yield describe_parameter(parameter)
    if not (one.is_new or one.is_gone):
        yield from _describe_keys("new", variants.new)
        yield from _describe_keys("gone", variants.gone)
    for was, now in variants.changed[:VARIANTS_SHOWN]:
        yield f"changed: {_describe_options(was, now)}"
    if len(variants.changed) > VARIANTS_SHOWN:
        yield f"and {len(variants.changed) - VARIANTS_SHOWN:,} more changed"
    if one.rounds.before != one.rounds.after:
        yield f"rounds of tuning: {one.rounds.before:,} before, {one.rounds.after:,} after"
    for cause in one.causes:
        if cause.count.before != cause.count.after:
            named = f" `{cause.parameter}`" if cause.parameter else ""
            counts = f"{cause.count.before:,}x before, {cause.count.after:,}x after"
            yield f"{cause.code} {rule_name(cause.code)}{named}: {counts}"


def describe_parameter(change: ParameterChange) -> str:
    """`bs` is an argument now, was a constexpr."""
    spelled = {"constexpr": "a constexpr", "argument": "an argument", None: "absent"}
    return f"`{change.name}` is {spelled[change.after]} now, was {spelled[change.before]}"


def _describe_keys(word: str, keys: Sequence[Key]) -> Iterator[str]:
    if not keys:
        return
    if len(keys) <= SINGLE:
        yield from (f"{word}: {describe_key(key)}" for key in keys)
        return
    yield f"{word}: {len(keys):,} variants: {'; '.join(_summarize(keys))}"


def _summarize(keys: Sequence[Key]) -> Iterator[str]:
    """Each part with its values: `bs` 17 to 28."""
    values: dict[str, dict[str, None]] = {}
    for key in keys:
        for part in key:
            values.setdefault(part.name, {}).setdefault(part.value)
    for name, seen in values.items():
        yield f"`{name}` {describe_values(seen)}"


def describe_key(key: Key) -> str:
    """The parts of one variant by which it differs from the others."""
    return ", ".join(f"`{part.name}` {part.value}" for part in key) or "its only variant"


def _describe_options(was: Key, now: Key) -> str:
    before = {part.name: part.value for part in was if part.kind == OPTION}
    moved = [f"`{part.name}` {before.get(part.name, 'none')} is {part.value} now" for part in now if part not in was]
    same = tuple(part for part in now if part.kind != OPTION)
    return ", ".join(moved) + (f" at {describe_key(same)}" if same else "")
