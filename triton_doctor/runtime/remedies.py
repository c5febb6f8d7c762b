"""What to do about each cause of a compile: the one table that reports, guards and tests advise by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from triton_doctor.runtime.causes import Recompile

CONSTEXPR, INTEGER, SHAPES = "TRD702", "TRD703", "TRD718"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """`change` removes the cause, `warm_up` what it costs later; None where there is no such way.

    `change` may name `{names}`, the parameters. `rules` find the cause in source or settings.
    """

    change: str | None
    warm_up: str | None = None
    rules: tuple[str, ...] = ()


REMEDIES = {
    "TRD701": Remedy(change=None, warm_up="launch it once before this, in the warm-up"),
    CONSTEXPR: Remedy(
        change="pass {names} without tl.constexpr, unless the kernel needs the value while it compiles",
        rules=("TRD201", "TRD202", "TRD206"),
    ),
    INTEGER: Remedy(
        change="put {names} into do_not_specialize, where the kernel gains nothing from 1 and multiples of 16",
        warm_up="warm up each class: 1, divisible by 16, any other",
        rules=("TRD208",),
    ),
    "TRD704": Remedy(change="give {names} one type before the launch", warm_up="warm up each type"),
    "TRD705": Remedy(
        change="let {names} begin at multiples of 16 bytes, or pass the offset apart",
        warm_up="warm up both",
        rules=("TRD209",),
    ),
    "TRD706": Remedy(change=None, warm_up="warm up both"),
    "TRD707": Remedy(change="launch with the same {names}", warm_up="warm up each"),
    "TRD708": Remedy(change="spell the options of this kernel alike at each launch"),
    "TRD709": Remedy(change=None, warm_up="warm up on each device"),
    "TRD710": Remedy(change="decide on {names} before the first launch", rules=("TRD105",)),
    "TRD711": Remedy(change="do not change what the kernel captures while the program runs", rules=("TRD210",)),
    SHAPES: Remedy(
        change="decorate it with `@helion.kernel(static_shapes=False)`: then one kernel serves most shapes",
        warm_up="warm up each shape",
    ),
    "TRD712": Remedy(change="make the kernel once: at module level, or behind a cache", rules=("TRD205",)),
    "TRD713": Remedy(change="give {names} one type: equal values of two types can share one kernel"),
    "TRD714": Remedy(
        change="leave {names} out of the autotune key, or key on what takes few values",
        rules=("TRD301", "TRD302"),
    ),
    "TRD715": Remedy(
        change="launch each variant once before the threads start, or hold a lock around its first launch",
        warm_up="warm it up in one thread",
    ),
}


def way_out(recompile: Recompile, uses: Mapping[str, str] | None = None) -> str:
    """Describe how to avoid the compile: remove its cause, or compile earlier.
    `uses` maps parameters to their use in the kernel source: `compile_time`, `read` or `unread`. Without it the
    advice does not depend on the source.
    """
    changes = [change for change in recompile.changes if change.code == recompile.code]
    if recompile.code == CONSTEXPR and all(
        value is None or type(value) is bool for change in changes for value in (change.before, change.after)
    ):
        return "warm up both"  # a choice, such as whether there is a mask
    warm_up = REMEDIES[recompile.code].warm_up
    if uses is None and recompile.code in (CONSTEXPR, INTEGER):
        return warm_up or "warm up each value that is to come"
    change = find_change(recompile.code, [change.name for change in changes], uses or {})
    return ", or ".join(filter(None, [change, warm_up]))


def find_change(code: str, names: Sequence[str], uses: Mapping[str, str]) -> str | None:
    """Return the change of the program that removes the cause `code` of the parameters `names`, or None.
    `uses` is as for `way_out`, and may be incomplete.
    """
    change = REMEDIES[code].change
    if code == CONSTEXPR and names and uses.keys() >= set(names):
        return vary_less(names, uses)
    if code == SHAPES and "shapes" not in names:
        return None
    if code != INTEGER:
        return None if change is None else change.format(names=quote_names(names) if names else "them")
    unread = [name for name in names if uses.get(name) == "unread"]
    counts = [name for name in names if name not in unread and not is_stride(name)]
    advice = [f"remove {quote_names(unread)}: the kernel never reads {refer_to(unread)}"] if unread else []
    return "; ".join([*advice, *([str(change).format(names=quote_names(counts))] if counts else [])]) or None


def is_stride(name: str) -> bool:
    """Return whether `name` is that of a stride, whose divisibility allows vectorized loads."""
    return "stride" in name.lower()


def vary_less(constexprs: Sequence[str], uses: Mapping[str, str]) -> str:
    """Describe what to do about constexprs that vary, depending on their use in the kernel."""
    needed = [name for name in constexprs if uses[name] == "compile_time"]
    plain = [name for name in constexprs if name not in needed]
    advice = [pass_plain(plain, uses)] if plain else []
    if needed:
        them = refer_to(needed)
        advice.append(f"launch with fewer values of {quote_names(needed)}: the kernel needs {them} while it compiles")
    return "; ".join(advice)


def pass_plain(constexprs: Sequence[str], uses: Mapping[str, str]) -> str:
    """Describe how to take constexprs out of the key that the kernel does not need at compile time."""
    them = refer_to(constexprs)
    plain = f"pass {quote_names(constexprs)} without tl.constexpr"
    if all(uses[name] == "unread" for name in constexprs):
        return f"{plain}, or leave {them} out: the kernel never reads {them}"
    return f"{plain}: the kernel does not need {them} while it compiles"


def refer_to(names: Sequence[str]) -> str:
    """Return the pronoun for `names`: `it` or `them`."""
    return "it" if len(names) == 1 else "them"


def quote_names(names: Sequence[str]) -> str:
    """Join `names` in backquotes: "`a`, `b` and `c`"."""
    return join_names([f"`{name}`" for name in names])


def join_names(names: Sequence[str]) -> str:
    """Join `names` as in a sentence: `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "it"
