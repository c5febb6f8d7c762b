"""Steps and requests in words: which of them compiled, and what a late one brought."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from triton_doctor.report.recording.wording import seconds
from triton_doctor.runtime.wording import describe_recompile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from triton_doctor.runtime.causes import Recompile
    from triton_doctor.runtime.steps_account import CompilingStep, StepsAccount

LINES_SHOWN, CAUSES_SHOWN = 12, 3


def describe_steps(account: StepsAccount | None) -> list[str]:
    """`3 of 120 steps compiled`, then a line for each stretch of steps that did; nothing where there are no steps."""
    if account is None:
        return []
    kinds = [one.kind for one in account.compiling]
    counts = [
        f"{kinds.count(kind):,} of {count:,} {kind}{'' if count == 1 else 's'}"
        for kind, count in (("step", account.steps), ("request", account.requests))
        if count
    ]
    lines = [f"{' and '.join(counts)} compiled, loaded or tuned"]
    told = [line for stretch in _stretches(account.compiling) for line in _describe_stretch(stretch)]
    lines += told[:LINES_SHOWN]
    return lines + ([f"and {len(told) - LINES_SHOWN:,} lines more"] if len(told) > LINES_SHOWN else [])


def steps_object(account: StepsAccount | None) -> dict[str, Any] | None:
    """The same for JSON; None where there are no steps."""
    if account is None:
        return None
    compiling = [
        {
            "kind": one.kind,
            "number": one.number,
            "name": one.name,
            "compiled": one.variants,
            "from_disk": one.loaded,
            "tuned": one.tuned,
            "compile_ms": one.compile_us / 1000,
            "duration_ms": one.duration_us / 1000,
            "processes": one.processes,
            "causes": [
                {"code": cause.code, "kernel": cause.event.kernel.name, "message": describe_recompile(cause)}
                for cause in one.causes
            ],
        }
        for one in account.compiling
    ]
    return {"steps": account.steps, "requests": account.requests, "compiling": compiling}


def _stretches(compiling: Iterable[CompilingStep]) -> Iterator[list[CompilingStep]]:
    """Steps that follow one another by number are one stretch, each request is one."""
    numbered = enumerate(sorted(compiling, key=lambda one: (one.kind != "step", one.number or 0)))
    for _, group in groupby(
        numbered, key=lambda item: (item[1].kind, item[0] if item[1].number is None else item[1].number - item[0])
    ):
        yield [one for _, one in group]


def _describe_stretch(stretch: Sequence[CompilingStep]) -> Iterator[str]:
    first, last = stretch[0], stretch[-1]
    if first.kind == "request":
        which = f"request {first.name}"
    else:
        which = f"step {first.number}" if first is last else f"steps {first.number} to {last.number}"
    counts = (
        ("compiled", sum(one.variants for one in stretch)),
        ("loaded", sum(one.loaded for one in stretch)),
        ("tuned", sum(one.tuned for one in stretch)),
    )
    done = [f"{verb} {count:,}{_noun(verb, count)}" for verb, count in counts if count]
    yield f"{which} {', '.join(done)}: {seconds(sum(one.compile_us for one in stretch))}"
    causes = [cause for one in stretch for cause in one.causes]
    if len(causes) <= CAUSES_SHOWN:
        yield from (f"  {_describe_cause(cause)}" for cause in causes)


def _noun(verb: str, count: int) -> str:
    if verb == "tuned":
        return " kernel" if count == 1 else " kernels"
    noun = " variant" if count == 1 else " variants"
    return noun if verb == "compiled" else f"{noun} from disk"


def _describe_cause(cause: Recompile) -> str:
    return f"`{cause.event.kernel.name}`: {describe_recompile(cause)}"
