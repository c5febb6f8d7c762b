"""Compares a finding with the recorded runs of its kernel: confirmed, cleared, or not exercised."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.evidence.recorded_kernels import Price
from triton_doctor.finding import Evidence, Severity, Verdict
from triton_doctor.phrases import join_words, plural
from triton_doctor.runtime.sweep_event import CONSTEXPR, TUNING_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from triton_doctor.evidence.recorded_kernels import RecordedKernel
    from triton_doctor.finding import Finding
    from triton_doctor.runtime.event import Scalar
    from triton_doctor.runtime.savings import Saving

# The rules of findings that runs add: a constexpr that changes, one that is never read, a part of an autotune key.
VARYING, UNREAD, RETUNED = "TRD201", "TRD202", "TRD301"
# As many values, or waits, are no handful: a prediction that there would be many is confirmed.
MANY = 5
# With fewer values, a prediction is cleared where each had so many launches while something else varied: a program
# that does one thing again and again shows nothing.
LAUNCHES_A_VALUE = 100
# Or where so many keys, or sets of arguments, that differ in other parameters had each of them.
SITUATIONS_A_VALUE = 8


def judge(finding: Finding, seen: RecordedKernel | None, advised: Mapping[str, Saving]) -> Evidence | None:
    """Compare a finding with `seen`, the recorded runs of its kernel; None where a run cannot decide.

    `advised` are the constexprs that the report of the run advises to take out of the key, with what that saves.
    """
    evidence = _judge(finding, seen, advised)
    if evidence is None or seen is None:
        return evidence
    return of_dry_runs(of_sweeps(finding, evidence, seen), dry=seen.dry, guessed=seen.guessed)


def of_sweeps(finding: Finding, evidence: Evidence, seen: RecordedKernel) -> Evidence:
    """Adjust a verdict if all recordings are sweeps: what the values follow decides, not how many there are."""
    name = finding.facts.parameter or ""
    judged = JUDGES[finding.code]
    if judged not in (by_values, by_rounds) or (judged is by_values and finding.facts.autotune_keys):
        return evidence
    swept = seen.swept(CONSTEXPR if judged is by_values else TUNING_KEY, name)
    if swept is None:
        return evidence
    if swept.per_model:
        return replace(evidence, verdict=Verdict.CLEARED, text=f"{swept.describe()}, which a model fixes")
    if swept.is_unbounded or evidence.verdict is Verdict.CONFIRMED:
        return replace(evidence, verdict=Verdict.CONFIRMED, text=swept.describe())
    return evidence


def of_dry_runs(evidence: Evidence, *, dry: bool, guessed: bool) -> Evidence:
    """Adjust a verdict from dry runs. A run that guessed values cannot clear a finding."""
    if guessed and evidence.verdict is Verdict.CLEARED:
        text = f"{evidence.text}; after a guess nothing is cleared"
        evidence = replace(evidence, verdict=Verdict.NOT_EXERCISED, text=text)
    return replace(evidence, dry=dry)


def _judge(finding: Finding, seen: RecordedKernel | None, advised: Mapping[str, Saving]) -> Evidence | None:
    judged = JUDGES.get(finding.code)
    if judged is None or finding.facts.kernel is None:
        return None
    if seen is None or seen.launches == 0:
        return Evidence(verdict=Verdict.NOT_EXERCISED, text=f"`{finding.facts.kernel}` was not launched", launches=0)
    evidence = judged(finding, seen)
    saving = advised.get(finding.facts.parameter or "")
    if judged is by_values and saving is not None and evidence.verdict is not Verdict.CONFIRMED:
        return by_saving(finding, seen, saving)
    if finding.facts.autotune_keys and judged is not by_rounds and evidence.verdict is not Verdict.CONFIRMED:
        # The finding is about the rounds of tuning too: those that were seen confirm it.
        tuning = by_rounds(finding, seen)
        return tuning if tuning.verdict is Verdict.CONFIRMED else evidence
    return evidence


def settle(finding: Finding, evidence: Evidence | None) -> Finding:
    """Attach `evidence` to `finding` and adjust its severity: info if cleared, a step up if it caused repeated waits.

    A finding that says that something grows with a logarithm predicts few waits, so seeing them does not raise it. A
    finding without a kernel is about the mode in which all kernels run: one such run proves it.
    """
    if evidence is None:
        return finding
    severity = finding.severity
    waits = evidence.compiled + evidence.from_disk + evidence.rounds
    if evidence.verdict is Verdict.CLEARED:
        severity = Severity.INFO
    elif evidence.verdict is Verdict.CONFIRMED and (
        finding.facts.kernel is None or (waits >= MANY and finding.facts.variability != "logarithmic")
    ):
        severity = Severity(min(severity + 1, Severity.ERROR))
    return replace(finding, severity=severity, evidence=evidence)


def by_values(finding: Finding, seen: RecordedKernel) -> Evidence:
    """Judge a constexpr by the number of its values."""
    name = finding.facts.parameter or ""
    values = seen.constexpr_values(name)
    if not values:
        return _undecided(seen, f"`{name}` was no constexpr of the kernel that ran")
    return of_values(seen, name, values, "value")


def by_saving(finding: Finding, seen: RecordedKernel, saving: Saving) -> Evidence:
    """Confirm a constexpr that multiplied the variants, with the number that would remain without it."""
    values = seen.constexpr_values(finding.facts.parameter or "")
    others = [f"`{part.name}`" for part in saving.parts if part.name != finding.facts.parameter]
    without = f"without it{' and ' + join_words(others) if others else ''}"
    remain = f"{saving.after:,} of {plural(saving.before, 'variant')} would remain {without}"
    return Evidence(
        verdict=Verdict.CONFIRMED,
        text=", ".join(
            [f"{plural(len(values), 'value')} seen", remain, *([duration(saving.saved_us)] if saving.saved_us else [])]
        ),
        values=len(values),
        launches=seen.launches,
        compiled=saving.before - saving.after,
        from_disk=0,
        rounds=0,
        waited_us=saving.saved_us,
    )


def by_rounds(finding: Finding, seen: RecordedKernel) -> Evidence:
    """Judge a part of a tuning key by the number of its values."""
    name = finding.facts.parameter or ""
    values = seen.key_values(name)
    return of_values(seen, name, values, "value") if values else _undecided(seen, "no round of tuning was seen")


def of_values(seen: RecordedKernel, name: str, values: Sequence[Scalar], noun: str) -> Evidence:
    """Confirm a finding if there are many values; clear it if few values occurred in many launches or situations."""
    count, launches = len(values), seen.launches
    numbers = f"{plural(count, noun)} seen"
    if count >= MANY:
        return confirmed(seen, numbers, seen.price(lambda change: change.name == name, with_first=True), values=count)
    situations = seen.situations(seen.configured | {name})
    if situations >= SITUATIONS_A_VALUE * count:
        text = f"{plural(count, noun)} in {plural(situations, 'variant')}"
        text += "" if seen.tuned else f", {plural(launches, 'launch')}"
        return Evidence(verdict=Verdict.CLEARED, text=text, values=count, launches=launches)
    in_launches = f"{plural(count, noun)} in {plural(launches, 'launch')}"
    if seen.tuned:
        return _undecided(seen, f"{numbers}; its launches cannot be separated from those of tuning", count)
    if launches < LAUNCHES_A_VALUE * count:
        return _undecided(seen, f"{in_launches}, too few to decide", count)
    if count == 1 and not any(process.varied for process in seen.processes):
        return _undecided(seen, f"{in_launches}, while nothing else varied either", count)
    return Evidence(verdict=Verdict.CLEARED, text=in_launches, values=count, launches=launches)


def by_objects(finding: Finding, seen: RecordedKernel) -> Evidence:
    """Judge a kernel that may be created repeatedly by the number of its objects."""
    made = max((event.made for process in seen.processes for event in process.compiles), default=1)
    if made > 1:
        price = seen.price(lambda change: change.part == "object", with_first=True)
        return confirmed(seen, f"made {made:,} times", price)
    return _rare(seen, "made once")


def by_code(code: str, what: str) -> Callable[[Finding, RecordedKernel], Evidence]:
    """Return a judge that counts how often the cause `code` compiled the kernel again.

    `what` is the text for a run where this did not happen.
    """

    def by_cause(finding: Finding, seen: RecordedKernel) -> Evidence:
        name = finding.facts.parameter
        price = seen.price(lambda change: change.code == code and name in (None, change.name))
        if price.times:
            return confirmed(seen, "", price)
        return _rare(seen, what)

    return by_cause


def by_shadow(finding: Finding, seen: RecordedKernel) -> Evidence:
    """Judge a parameter that is named like a launch option by the option that the kernel was compiled with."""
    name = finding.facts.parameter or ""
    pairs = {
        (constants[name], options[name])
        for process in seen.processes
        for event in process.compiles
        if name in (constants := dict(event.key.constants)) and name in (options := dict(event.key.options))
    }
    other = sorted({(str(given), str(ran)) for given, ran in pairs if given != ran})
    if other:
        given, ran = other[0]
        return confirmed(seen, f"`{name}` was given as {given}, and the kernel ran with {ran}", Price())
    return (
        _rare(seen, f"`{name}` was what triton sets anyway")
        if pairs
        else _undecided(seen, f"`{name}` was not recorded")
    )


JUDGES: Mapping[str, Callable[[Finding, RecordedKernel], Evidence]] = {
    VARYING: by_values,
    UNREAD: by_values,
    "TRD205": by_objects,
    "TRD206": by_values,
    "TRD208": by_code("TRD703", "no argument changed its class"),
    "TRD209": by_code("TRD705", "the alignment stayed"),
    "TRD210": by_code("TRD711", "nothing that it captures changed"),
    "TRD211": by_shadow,
    RETUNED: by_rounds,
}


def confirmed(seen: RecordedKernel, what: str, price: Price, *, values: int | None = None) -> Evidence:
    """Return evidence that a run showed what a finding predicts; `price` is what that cost."""
    return Evidence(
        verdict=Verdict.CONFIRMED,
        text=", ".join(filter(None, [what, *describe_price(price)])),
        values=values,
        launches=seen.launches,
        compiled=price.compiled,
        from_disk=price.from_disk,
        rounds=price.rounds,
        waited_us=price.waited_us,
    )


def describe_price(price: Price) -> Sequence[str]:
    """Format a price as parts such as `37 compiles`, `3 loads from disk`, `1.9 s`; leaves out zeros."""
    if not price.times:
        return []
    parts = [
        plural(number, noun)
        for number, noun in ((price.compiled, "compile"), (price.rounds, "round of tuning"))
        if number
    ]
    if price.from_disk:
        parts.append(f"{price.from_disk:,} {'load' if price.from_disk == 1 else 'loads'} from disk")
    # Nothing takes time in a dry run.
    return [*parts, duration(price.waited_us)] if price.waited_us else parts


def duration(us: int) -> str:
    """Format microseconds: `1.9 s`, `32 ms`."""
    return f"{us / 1e6:,.1f} s" if us >= 1_000_000 else f"{us / 1000:,.0f} ms"


def _rare(seen: RecordedKernel, what: str) -> Evidence:
    """Clear a finding if its kernel was launched often enough without the predicted effect."""
    text = f"{what} in {plural(seen.launches, 'launch')}"
    if seen.tuned:
        return _undecided(seen, f"{what}; its launches cannot be separated from those of tuning")
    if seen.launches < LAUNCHES_A_VALUE:
        return _undecided(seen, f"{text}, too few to decide")
    if not any(process.varied for process in seen.processes):
        return _undecided(seen, f"{text}, while nothing else varied either")
    return Evidence(verdict=Verdict.CLEARED, text=text, launches=seen.launches)


def _undecided(seen: RecordedKernel, text: str, values: int | None = None) -> Evidence:
    return Evidence(verdict=Verdict.NOT_EXERCISED, text=text, values=values, launches=seen.launches)
