"""What to do about a cause of compiles, in words, by the parameters and their uses: for reports, guards and tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.phrases import quote_names
from triton_doctor.runtime.cause_table import CAUSES, CONSTEXPR, INTEGER, SHAPES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from triton_doctor.runtime.causes import Recompile


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
    warm_up = CAUSES[recompile.code].warm_up
    if uses is None and recompile.code in (CONSTEXPR, INTEGER):
        return warm_up or "warm up each value that is to come"
    change = find_change(recompile.code, [change.name for change in changes], uses or {})
    return ", or ".join(filter(None, [change, warm_up]))


def find_change(code: str, names: Sequence[str], uses: Mapping[str, str]) -> str | None:
    """Return the change of the program that removes the cause `code` of the parameters `names`, or None.

    `uses` is as for `way_out`, and may be incomplete.
    """
    change = CAUSES[code].change
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
