"""Steps and requests in words: which of them compiled, and what a late one brought."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from triton_doctor.report.recording.wording import seconds
from triton_doctor.runtime.cause_wording import describe_recompile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from triton_doctor.runtime.causes import Recompile
    from triton_doctor.runtime.steps_account import CompilingStep, StepsAccount

LINES_SHOWN, CAUSES_SHOWN = 12, 3


def describe_steps(account: StepsAccount | None) -> list[str]:
    """Return how many steps compiled, then lines on each stretch of steps that did; empty without steps."""
    if account is None:
        return []
    kinds = [step.kind for step in account.compiling]
    counts = [
        f"{kinds.count(kind):,} of {count:,} {kind}{'' if count == 1 else 's'}"
        for kind, count in (("step", account.steps), ("request", account.requests))
        if count
    ]
    lines = [f"{' and '.join(counts)} compiled, loaded or tuned"]
    stretches = [line for stretch in _stretches(account.compiling) for line in _describe_stretch(stretch)]
    lines += stretches[:LINES_SHOWN]
    return lines + ([f"and {len(stretches) - LINES_SHOWN:,} lines more"] if len(stretches) > LINES_SHOWN else [])


def steps_object(account: StepsAccount | None) -> dict[str, Any] | None:
    """Convert the steps for JSON; None without steps."""
    if account is None:
        return None
    compiling = [
        {
            "kind": step.kind,
            "number": step.number,
            "name": step.name,
            "compiled": step.variants,
            "from_disk": step.loaded,
            "tuned": step.tuned,
            "compile_ms": step.compile_us / 1000,
            "duration_ms": step.duration_us / 1000,
            "processes": step.processes,
            "causes": [
                {"code": cause.code, "kernel": cause.event.kernel.name, "message": describe_recompile(cause)}
                for cause in step.causes
            ],
        }
        for step in account.compiling
    ]
    return {"steps": account.steps, "requests": account.requests, "compiling": compiling}


def _stretches(compiling: Iterable[CompilingStep]) -> Iterator[list[CompilingStep]]:
    """Yield the steps of consecutive numbers together, and each request alone."""
    numbered = enumerate(sorted(compiling, key=lambda step: (step.kind != "step", step.number or 0)))
    for _, group in groupby(
        numbered, key=lambda item: (item[1].kind, item[0] if item[1].number is None else item[1].number - item[0])
    ):
        yield [step for _, step in group]


def _describe_stretch(stretch: Sequence[CompilingStep]) -> Iterator[str]:
    first, last = stretch[0], stretch[-1]
    if first.kind == "request":
        which = f"request {first.name}"
    else:
        which = f"step {first.number}" if first is last else f"steps {first.number} to {last.number}"
    counts = (
        ("compiled", sum(step.variants for step in stretch)),
        ("loaded", sum(step.loaded for step in stretch)),
        ("tuned", sum(step.tuned for step in stretch)),
    )
    done = [f"{verb} {count:,}{_noun(verb, count)}" for verb, count in counts if count]
    yield f"{which} {', '.join(done)}: {seconds(sum(step.compile_us for step in stretch))}"
    causes = [cause for step in stretch for cause in step.causes]
    if len(causes) <= CAUSES_SHOWN:
        yield from (f"  {_describe_cause(cause)}" for cause in causes)


def _noun(verb: str, count: int) -> str:
    if verb == "tuned":
        return " kernel" if count == 1 else " kernels"
    noun = " variant" if count == 1 else " variants"
    return noun if verb == "compiled" else f"{noun} from disk"


def _describe_cause(cause: Recompile) -> str:
    return f"`{cause.event.kernel.name}`: {describe_recompile(cause)}"
