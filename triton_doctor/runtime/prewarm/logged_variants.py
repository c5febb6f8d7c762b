"""Lines of a server's log to variants: what a recorded variant of the same kernel becomes by what the line shows.

A log has no modules, options and targets: they are those of the recorded variant that is nearest.
"""

from __future__ import annotations

import ast
import contextlib
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from triton_doctor.kernel_names import function_name
from triton_doctor.runtime.engine_logs import COMPILED
from triton_doctor.runtime.prewarm.changed_variants import Outcome, apply_outcomes
from triton_doctor.runtime.prewarm.closure import ALIGNED
from triton_doctor.runtime.prewarm.kernel_variants import LOG, identify

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.runtime.engine_logs import LoggedKernel
    from triton_doctor.runtime.prewarm.kernel_variants import KernelVariant

CONSTEXPR = "constexpr"


def variants_in_log(logged: Sequence[LoggedKernel], recorded: Sequence[KernelVariant]) -> Iterator[KernelVariant]:
    """Yield the variants that lines of `logged` show and `recorded`, of the same kernels, lack."""
    known = {identify(variant) for variant in recorded}
    targets = dict.fromkeys(variant.key.target for variant in recorded)
    for line, target in product((line for line in logged if line.what == COMPILED), targets):
        name = function_name(line.kernel)
        same = [variant for variant in recorded if variant.kernel.name == name and variant.key.target == target]
        shown = [(variant, outcomes) for variant in same if (outcomes := _outcomes(line, variant)) is not None]
        if not shown:
            continue
        nearest, outcomes = min(shown, key=lambda pair: len(pair[1]))
        changed = apply_outcomes(nearest, outcomes, same)
        if not isinstance(changed, str) and identify(changed) not in known:
            known.add(identify(changed))
            yield replace(changed, origin=LOG, reason=f"compiled while serving: line {line.line} of the log")


def _outcomes(line: LoggedKernel, variant: KernelVariant) -> dict[str, Outcome] | None:
    """Return what `line` shows that is not as in `variant`, by parameter; None where it shows nothing."""
    key = variant.key
    if len(line.key) == len(key.signature):
        parts = zip(key.signature, line.key, strict=True)
        outcomes = {name: _outcome(was, str(kind), part) for (name, was), (kind, part) in parts}
    else:
        types, outcomes = dict(key.signature), dict[str, Outcome]()
        for name, text in line.named.items():
            if name in types and text not in (CONSTEXPR, "none") and not text.startswith("*"):
                # A constant that is no literal stays as recorded.
                with contextlib.suppress(ValueError, SyntaxError):
                    outcomes[name] = _outcome(types[name], CONSTEXPR, ast.literal_eval(text))
    changing = {name: outcome for name, outcome in outcomes.items() if _changes(variant, name, outcome)}
    return changing if outcomes else None


def _changes(variant: KernelVariant, name: str, outcome: Outcome) -> bool:
    changed = apply_outcomes(variant, {name: outcome}, ())
    return isinstance(changed, str) or changed.key != variant.key


def _outcome(was: str, kind: str, part: object) -> Outcome:
    """Return the outcome of a parameter of the recorded type `was` whose part of the key is `kind` and `part`."""
    if was == CONSTEXPR:
        return ("value", part)
    if kind == CONSTEXPR:
        # An integer that is 1, or a tensor that is None.
        return ("none", None) if part is None else ("class", "=1")
    return ("typed", (kind, ALIGNED if part == "D" else ""))
