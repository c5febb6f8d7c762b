"""Names, places, times and causes of an account in words, the same in all forms for people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.evidence import interpreter_rules, misspelt_variables
from triton_doctor.phrases import join_words, plural
from triton_doctor.rulebook import rule_name
from triton_doctor.runtime.cause_table import FIRST
from triton_doctor.runtime.causes import LOOK_BACK
from triton_doctor.runtime.event import HOOKED, NOT_KEPT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from triton_doctor.evidence import Advice
    from triton_doctor.runtime.account import Account, InterpretedKernel, ProcessAccount
    from triton_doctor.runtime.event import CompileEvent, Scalar
    from triton_doctor.runtime.kernel_account import CauseAccount, KernelAccount, Share
    from triton_doctor.runtime.timeline import Split

VALUES_SHOWN = 6
LONG_STAGES_SHOWN = 3
LONGEST_VALUE = 40
INTERPRETED_SHOWN = CAPTURED_SHOWN = 8
# Where compiling, loading and tuning have more of the time than this, they are the place to look.
MOST_SHARE = 0.1
# What would be shown as 0.000 s.
LEAST_SHOWN_US = 500


def seconds(us: int) -> str:
    """Format microseconds as seconds: `0.042 s`, `3.21 s`, `321 s`."""
    value = us / 1e6
    return f"{value:,.0f} s" if value >= 100 else f"{value:.2f} s" if value >= 0.1 else f"{value:.3f} s"


def milliseconds(us: int) -> str:
    """Format microseconds as milliseconds without a unit: `2,509`, `0.8`; empty for 0."""
    return "" if us == 0 else f"{us / 1000:,.0f}" if us >= 100_000 else f"{us / 1000:,.1f}"


PARTS = (
    "compiling",
    "loading",
    "building launchers",
    "loading modules",
    "compiles that failed",
    "tuning",
    "first of a process",
    "interpreting",
    "everything else",
)


def name_parts(split: Split) -> list[tuple[str, int]]:
    """Return name and microseconds of each part of a process's time; they add up to its wall time."""
    times = (
        split.compile_us,
        split.load_us,
        split.launcher_us,
        split.module_us,
        split.failed_us,
        split.autotune_us,
        split.first_process_us,
        split.interpret_us,
        split.other_us,
    )
    return list(zip(PARTS, times, strict=True))


def place(path: str, line: int, cwd: Path) -> str:
    """Format a source place as `train.py:12`, relative to `cwd` if it is below it."""
    shown = Path(path)
    if shown.is_relative_to(cwd):
        shown = shown.relative_to(cwd)
    return f"{shown.as_posix()}:{line}"


def describe_counts(account: Account) -> str:
    """Format the totals: `2 kernels: 24 launches, 2 compiled, 0 from disk`; uncounted launches are not shown as 0."""
    kernels = account.kernels
    if not kernels:
        return "no kernel compiled"
    target = next((process.header.target for process in account.processes if process.header.compile_only), None)
    how = "compiled and not run" if account.dry is None else "run dry"
    total = plural(len(kernels), "kernel") + ("" if target is None else f" for {target}, {how}")
    launches = "" if counts_are_whole(account) else "at least "
    launches += plural(sum(kernel.launches for kernel in kernels if not kernel.direct), "launch")
    uncounted = sum(1 for kernel in kernels if kernel.direct)
    if uncounted == len(kernels):
        launches = "launches not counted"
    elif uncounted:
        launches += f" (those of {plural(uncounted, 'kernel')} not counted)"
    trials = sum(kernel.trials for kernel in kernels)
    compiled = sum(kernel.compiled for kernel in kernels)
    counts = [launches, *([f"{plural(trials, 'trial')} of tuning"] if trials else [])]
    if account.dry is not None:
        counts += [plural(compiled, "variant")]
    else:
        counts += [f"{compiled:,} compiled", f"{sum(kernel.from_disk for kernel in kernels):,} from disk"]
    return f"{total}: {', '.join(counts)}"


def describe_cache_folder(account: Account) -> Iterator[str]:
    """Yield which code changed Triton's cache folder while the program ran, and to what."""
    for name, value, setter in dict.fromkeys((event.name, event.value, event.setter) for event in account.variables):
        yield f"kernels are kept in {value}: {setter} set {name} while the program ran"


UNKEPT = {NOT_KEPT: "it has no `cache_results=True`", HOOKED: "a `pre_hook` of a config voids `cache_results`"}


def describe_longest(event: CompileEvent) -> str:
    """Return where the time of a long compile went, and how much code each stage made."""
    stages = sorted(event.stages_us, key=lambda stage: -stage[1])[:LONG_STAGES_SHOWN]
    slowest = ", ".join(f"{stage} {seconds(us)}" for stage, us in stages)
    sizes = ", ".join(f"{size / 1e6:.1f} MB of {stage}" for stage, size in event.sizes)
    return f"one compile took {seconds(event.duration_us)}: {slowest}{f'; it made {sizes}' if sizes else ''}"


def describe_faults(kernel: KernelAccount) -> Iterator[str]:
    """Yield failed and long compiles, compiles during the capture of a CUDA graph, and tuning that is not kept."""
    if kernel.longest is not None:
        yield describe_longest(kernel.longest)
    if kernel.failed:
        more = f", and {plural(len(kernel.errors) - 1, 'other error')}" if len(kernel.errors) > 1 else ""
        error = kernel.errors[0] if kernel.errors else ""
        yield f"{plural(kernel.failed, 'compile')} failed, {seconds(kernel.failed_us)}: {error}{more}"
    if kernel.capturing:
        yield (
            f"{kernel.capturing:,}x TRD716 {rule_name('TRD716')}: launch it once before the capture, and tune it before"
        )
    if kernel.unloaded:
        yield (
            f"{kernel.unloaded:,}x TRD716 {rule_name('TRD716')}: unloaded in a capture: "
            "keep a reference to the kernel until the capture has ended"
        )
    yield from describe_unkept(kernel)


def describe_unkept(kernel: KernelAccount) -> Iterator[str]:
    """Yield the rounds of tuning that the next process repeats, and their time, which a dry run does not have."""
    if kernel.unkept:
        reasons = [UNKEPT[reason] for reason, _ in kernel.unkept]
        rounds = plural(sum(count for _, count in kernel.unkept), "round")
        took = f"{seconds(kernel.autotune_us)} " if kernel.autotune_us else ""
        yield f"{rounds} TRD717 {rule_name('TRD717')}: {took}at each start: {' and '.join(reasons)}"


def describe_cause(cause: CauseAccount) -> str:
    """Format a cause: `` 39x TRD702 constexpr-changed: `n`, 40 values: 17, 18, ...``."""
    head = f"{cause.count:,}x {cause.code} {rule_name(cause.code)}"
    if cause.parameter is None:
        return head
    if not cause.values:
        return f"{head}: `{cause.parameter}`"
    return f"{head}: `{cause.parameter}`, {plural(len(cause.values), 'value')}: {show_values(cause.values)}"


def show_values(values: tuple[Scalar, ...]) -> str:
    """Format the first VALUES_SHOWN values."""
    shown = [
        text if len(text := show_value(value)) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "..." for value in values
    ]
    more = ", ..." if len(shown) > VALUES_SHOWN else ""
    return ", ".join(shown[:VALUES_SHOWN]) + more


def show_value(value: Scalar) -> str:
    """Format a value as in source code; a class of pointers or integers, which is text, as it is."""
    return (value or "none") if isinstance(value, str) else "unknown" if value is None else repr(value)


def describe_values(values: Iterable[str]) -> str:
    """Format a set: `17 to 28` for consecutive integers, a list for few values, else their number and range."""
    texts = list(values)
    numbers = sorted(int(text) for text in texts) if all(text.lstrip("-").isdecimal() for text in texts) else []
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]} to {numbers[-1]}"
    if len(texts) <= VALUES_SHOWN:
        shown = [str(number) for number in numbers] or texts
        return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    if numbers:
        return f"{len(numbers):,} values from {numbers[0]:,} to {numbers[-1]:,}"
    return f"{', '.join(texts[:VALUES_SHOWN])} and {len(texts) - VALUES_SHOWN:,} more"


def causes_worth(kernel: KernelAccount) -> tuple[CauseAccount, ...]:
    """Return the causes to show: not first compiles, nor anything of kernels that torch.compile launches."""
    return () if kernel.direct else tuple(cause for cause in kernel.causes if cause.code != FIRST)


def describe_share(share: Share) -> str:
    """Return `3 compiled, 1 from disk, 0.12 s`, or `3 variants` of a dry run, which takes no time."""
    parts = [f"{share.compiled:,} compiled" if share.waited_us else plural(share.compiled, "variant")]
    parts = parts * bool(share.compiled) + [f"{share.from_disk:,} from disk"] * bool(share.from_disk)
    return ", ".join([*(parts or ["tuned"]), *([seconds(share.waited_us)] if share.waited_us else [])])


def describe_advice(advice: Advice, cwd: Path) -> str:
    """Format the kernel, the fact and the remedy of an advice."""
    what = advice.fact
    if advice.kernel is not None:
        what = f"`{advice.kernel.name}` ({place(advice.kernel.path, advice.kernel.line, cwd)}), {advice.fact}"
    return f"{what}: {advice.remedy}"


def describe_saved(advice: Advice) -> str:
    """Format what an advice saves: `0.46 s`, or `12 variants` if the run measured no time."""
    return seconds(advice.saved_us) if advice.saved_us else plural(advice.saved, "variant")


def title_advice(account: Account) -> str:
    """Return the heading above the advice."""
    return f"what to change first, by {'seconds' if account.dry is None else 'variants'} saved"


def describe_rules(advice: Advice) -> str:
    """Format the causes behind an advice, and the rules that find it in the source."""
    causes, rules = ([f"{code} {rule_name(code)}" for code in codes] for codes in (advice.codes, advice.rules))
    lead = "the source shows it" if advice.in_source else "look for"
    found = f"{lead}: {', '.join(rules)}" if rules else ""
    return "; ".join(filter(None, (", ".join(causes), found)))


def describe_interpreted(account: Account) -> Iterator[str]:
    """Yield a warning if kernels ran in Triton's interpreter, which makes all other figures meaningless."""
    if account.interpreted:
        names = [describe_interpreted_kernel(kernel) for kernel in account.interpreted[:INTERPRETED_SHOWN]]
        more = len(account.interpreted) - len(names)
        shown = join_words([*names, f"{more} more"] if more else names)
        yield f"interpreter mode: {shown} ran in Triton's interpreter, hundreds to thousands of times slower"
        rules = ", ".join(f"{code} {rule_name(code)}" for code in interpreter_rules())
        yield "unset TRITON_INTERPRET before anything is measured" + (f" ({rules})" if rules else "")


def describe_captured(account: Account) -> Iterator[str]:
    """Yield a warning if kernels compiled, tuned or unloaded during the capture of a CUDA graph."""
    captured = [kernel for kernel in account.kernels if kernel.capturing or kernel.unloaded]
    if captured:
        names = [f"`{kernel.kernel.name}`" for kernel in captured[:CAPTURED_SHOWN]]
        more = len(captured) - len(names)
        shown = join_words([*names, f"{more} more"] if more else names)
        happened = "compiled, loaded, tuned or unloaded"
        yield f"in the capture of a CUDA graph: {shown} {happened} (TRD716 {rule_name('TRD716')})"


def describe_variables(account: Account) -> Iterator[str]:
    """Yield a warning for each variable that is set and that no Triton reads."""
    for name, known in misspelt_variables(account):
        yield f"no triton reads {name}: did you mean {known}? (TRD603 {rule_name('TRD603')})"


def describe_interpreted_kernel(kernel: InterpretedKernel) -> str:
    """Format the kernel's name, its launches and total time, if they are known."""
    known = kernel.launches is not None and kernel.took_us is not None
    return f"`{kernel.kernel.name}`" + (
        f" ({plural(kernel.launches or 0, 'launch')}, {seconds(kernel.took_us or 0)})" if known else ""
    )


def describe_settled(account: Account) -> str | None:
    """Return a line if compiling ended early; None if it continued, or took much of a process's time."""
    splits = [process.split for process in account.processes]
    busy = any(split.compile_us + split.load_us + split.autotune_us > MOST_SHARE * split.wall_us for split in splits)
    if account.settled_us is None or account.dry is not None or busy:
        return None
    return f"nothing compiled after {seconds(account.settled_us)}: look elsewhere"


def name_process(process: ProcessAccount) -> str:
    """Name a process: `rank 0 (process 1234)`, or `process 1234` if it has no rank."""
    header = process.header
    return f"process {header.pid}" if header.rank is None else f"rank {header.rank} (process {header.pid})"


def describe_unseen(account: Account) -> Iterator[str]:
    """Yield what the recording could not count, and warnings about it."""
    direct = [kernel for kernel in account.kernels if kernel.direct]
    inductors = sum(1 for kernel in direct if kernel.maker)
    if inductors:
        yield f"launches of {plural(inductors, 'kernel')} that torch.compile made: it launches them past triton"
    if len(direct) > inductors:
        others = plural(len(direct) - inductors, "kernel")
        yield f"launches of {others} that the program compiled without launching: whoever has them launches past triton"
    cut = [process for process in account.processes if not process.ended]
    if len(cut) == 1:
        yield f"the last launches of {name_process(cut[0])}: it ended without closing its recording"
    elif cut:
        yield f"the last launches of {len(cut)} processes: they ended without closing their recordings"
    for kernel in account.kernels:
        if kernel.is_bounded:
            yield f"keys of `{kernel.kernel.name}` nearer than its latest {LOOK_BACK}: a compile is compared with those"
    yield from (warning.message for warning in account.warnings if warning.kind != "files")


def is_idle(process: ProcessAccount) -> bool:
    """Return whether the process spent no time on kernels."""
    return process.split.wall_us == process.split.other_us


def counts_are_whole(account: Account) -> bool:
    """Return whether every process ended properly, so that all its launches were counted."""
    return all(process.ended for process in account.processes)
