"""Lines of a server's log to variants: what a recorded variant of the same kernel becomes by what the line shows.

A log has no modules, options and targets: they are those of the recorded variant that is nearest.
"""

from __future__ import annotations

import ast
import contextlib
from dataclasses import replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

from triton_doctor.kernel_names import function_name
from triton_doctor.runtime.engine_logs import COMPILED
from triton_doctor.runtime.prewarm.closure import ALIGNED, with_class
from triton_doctor.runtime.prewarm.kernel_variants import LOG, identify

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from triton_doctor.runtime.engine_logs import LoggedKernel
    from triton_doctor.runtime.prewarm.kernel_variants import KernelVariant

CONSTEXPR = "constexpr"
Part = tuple[str, object]
"""A type, or `constexpr`, and its class or value, as in Triton's key."""


def variants_in_log(logged: Sequence[LoggedKernel], recorded: Sequence[KernelVariant]) -> Iterator[KernelVariant]:
    """Yield the variants that lines of `logged` show and `recorded`, of the same kernels, lack."""
    known = {identify(variant) for variant in recorded}
    targets = dict.fromkeys(variant.key.target for variant in recorded)
    for line, target in product((line for line in logged if line.what == COMPILED), targets):
        name = function_name(line.kernel)
        same = [each for each in recorded if each.kernel.name == name and each.key.target == target]
        found = [_changed(variant, parts) for variant in same if (parts := _parts(line, variant))]
        if not found:
            continue
        variant = min(found, key=partial(_distance, recorded=same))
        if identify(variant) not in known:
            known.add(identify(variant))
            yield replace(variant, reason=f"compiled while serving: line {line.line} of the log")


def _parts(line: LoggedKernel, variant: KernelVariant) -> Mapping[str, Part]:
    """Return the parts of the key that `line` shows, by parameter; none where it shows none."""
    names = [name for name, _ in variant.key.signature]
    if len(line.key) == len(names):
        return {name: (str(kind), part) for name, (kind, part) in zip(names, line.key, strict=True)}
    parts: dict[str, Part] = {}
    for name, text in line.named.items():
        if name in names and text not in (CONSTEXPR, "none") and not text.startswith("*"):
            # A constant that is no literal stays as recorded.
            with contextlib.suppress(ValueError, SyntaxError):
                parts[name] = (CONSTEXPR, ast.literal_eval(text))
    return parts


def _changed(variant: KernelVariant, parts: Mapping[str, Part]) -> KernelVariant:
    key, exact = variant.key, variant.exact
    constants = dict(key.constants)
    for name, (kind, part) in parts.items():
        was = dict(key.signature)[name]
        if was == CONSTEXPR:
            key = replace(key, constants=tuple((each, part if each == name else old) for each, old in key.constants))  # type: ignore[misc]
            if constants.get(name) != part and exact is not None:
                exact = tuple(pair for pair in exact if pair[0] != name)
        elif kind == CONSTEXPR:
            # An integer that is 1, or a tensor that is None.
            key = with_class(key, name, "none", "") if part is None else with_class(key, name, "i32", "=1")
        else:
            key = with_class(key, name, kind, ALIGNED if part == "D" else "")
    return replace(variant, key=key, exact=exact, origin=LOG, values=())


def _distance(variant: KernelVariant, recorded: Sequence[KernelVariant]) -> int:
    """Return in how many parts `variant` differs from the nearest of `recorded`."""
    return min(
        len({*variant.key.signature} ^ {*other.key.signature})
        + len({*variant.key.attributes} ^ {*other.key.attributes})
        + sum(repr(mine) != repr(its) for mine, its in zip(variant.key.constants, other.key.constants, strict=False))
        for other in recorded
    )
