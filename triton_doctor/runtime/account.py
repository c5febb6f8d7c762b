"""Recordings of processes to an Account: what each kernel cost and why, and when the compiling was over."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from triton_doctor.runtime.event import (
    AutotuneEvent,
    CompileEvent,
    EndEvent,
    InterpretedEvent,
    WarningEvent,
)
from triton_doctor.runtime.kernel_account import INDUCTOR, KernelAccount, account_kernels
from triton_doctor.runtime.program_event import ChoicesEvent, GraphEvent, ProgramEvent, VariableEvent
from triton_doctor.runtime.ranks_account import RanksAccount, account_ranks
from triton_doctor.runtime.steps_account import StepsAccount, account_steps
from triton_doctor.runtime.timeline import Split, span_ns, split_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from triton_doctor.runtime.event import GuessEvent, Header, KernelName
    from triton_doctor.runtime.recording import Recording

# Launches a variant at least to say that the compiling is over: of all kernels together, and of each that compiled
# again, which may go on.
LAUNCHES_A_VARIANT, LAUNCHES_A_VARIANT_AGAIN = 3, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class InterpretedKernel:
    """A kernel that ran in interpreter mode; counts are None if the process was killed before it wrote them."""

    kernel: KernelName
    launches: int | None
    took_us: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessAccount:
    """One process: where its time went. `ended` is whether it closed its recording."""

    header: Header
    split: Split
    ended: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphAccount:
    """One compile of torch.compile's, and the kernels that Inductor compiled while it went on, here or in workers.

    `kernels` are those of the graph, `choices` those that were compiled to be benchmarked.
    """

    event: GraphEvent
    kernels: int
    choices: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DryAccount:
    """What a dry run was asked, with how often; `tuned` are (kernel, rounds of tuning, configs of each)."""

    pretended: tuple[tuple[str, str], ...]
    guesses: tuple[tuple[GuessEvent, int], ...]
    stops: tuple[tuple[GuessEvent, int], ...]
    tuned: tuple[tuple[KernelName, int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A run. `settled_us`, from its beginning, is when the last kernel compiled; None while that went on.

    `program` is what `run` saw from outside, and `command` what it started; None where it saw nothing. `graphs` and
    `choices` are torch.compile's, `variables` what was set while the program ran. `dry` is None of a run on a GPU.
    """

    kernels: tuple[KernelAccount, ...]
    processes: tuple[ProcessAccount, ...]
    wall_us: int
    program: ProgramEvent | None
    command: tuple[str, ...] | None
    settled_us: int | None
    interpreted: tuple[InterpretedKernel, ...]
    warnings: tuple[WarningEvent, ...]
    variables: tuple[VariableEvent, ...] = ()
    graphs: tuple[GraphAccount, ...] = ()
    choices: tuple[ChoicesEvent, ...] = ()
    dry: DryAccount | None = None
    steps: StepsAccount | None = None
    ranks: RanksAccount | None = None


def account(recordings: Sequence[Recording]) -> Account:
    """Combine `recordings`, one per process, to the account of a run."""
    # What a moment is shared by is known by the identity of its events, which an EventLog does not keep.
    recordings = [replace(recording, events=list(recording.events)) for recording in recordings]
    programs = [event for recording in recordings for event in recording.events if isinstance(event, ProgramEvent)]
    # Of several runs none is the whole.
    program = programs[0] if len(programs) == 1 else None
    processes = [recording for recording in recordings if "triton" in dict(recording.headers[0].versions)]
    outside = next(
        (recording.headers[0] for recording in recordings if program is not None and recording not in processes), None
    )
    start_ns, end_ns = span_ns([outside] if outside else [process.headers[0] for process in processes], recordings)
    wall_us = (end_ns - start_ns) // 1000 if program is None else program.wall_us
    # The first process lives as long as the program: also before it could be watched, and after it could write.
    firsts = [process for process in processes if program is not None and process.headers[0].pid == program.pid]
    first = (firsts or processes)[0] if program is not None and 1 in (len(firsts), len(processes)) else None
    kernels = account_kernels(processes)
    warnings = {event.message: event for recording in recordings for event in recording.warnings}
    return Account(
        kernels=kernels,
        processes=tuple(
            ProcessAccount(
                header=process.headers[0],
                split=split_time(process, wall_us if process is first else None),
                ended=any(isinstance(event, EndEvent) for event in process.events),
            )
            for process in sorted(processes, key=_place)
        ),
        wall_us=wall_us,
        program=program,
        command=None if outside is None else outside.command,
        settled_us=_settled_us(processes, kernels, start_ns),
        interpreted=tuple(_interpreted(processes)),
        warnings=tuple(event for event in warnings.values() if event.kind != "interpreted"),
        variables=tuple(event for process in processes for event in process.events if isinstance(event, VariableEvent)),
        graphs=tuple(_graphs(processes)),
        choices=tuple(event for process in processes for event in process.events if isinstance(event, ChoicesEvent)),
        dry=account_dry(processes),
        steps=account_steps(processes),
        ranks=account_ranks(processes),
    )


def account_dry(processes: Sequence[Recording]) -> DryAccount | None:
    """Summarize what dry runs among `processes` guessed and simulated; None if none ran dry."""
    headers = [header for process in processes for header in process.headers if header.dry]
    if not headers:
        return None
    rounds = Counter((event.kernel, len(event.timings_ms)) for process in processes for event in process.tunings)
    return DryAccount(
        pretended=headers[0].pretended,
        guesses=_count_questions(event for process in processes for event in process.guesses),
        stops=_count_questions(event for process in processes for event in process.stops),
        tuned=tuple((kernel, count, configs) for (kernel, configs), count in sorted(rounds.items())),
    )


def _count_questions(events: Iterable[GuessEvent]) -> tuple[tuple[GuessEvent, int], ...]:
    by_question: dict[object, list[GuessEvent]] = {}
    for event in events:
        by_question.setdefault((event.question, event.site), []).append(event)
    return tuple((same[0], len(same)) for same in by_question.values())


def is_choice(kernel: KernelName) -> bool:
    """Return whether Inductor compiled `kernel` as one of several candidates for an operation."""
    return "_fused" not in kernel.name


def _graphs(processes: Sequence[Recording]) -> Iterable[GraphAccount]:
    """Yield an account per compiled graph, in order of time.

    Kernels compiled by workers do not name their graph, but Dynamo compiles one graph at a time.
    """
    events = [event for process in processes for event in process.events]
    compiles = [event for event in events if isinstance(event, CompileEvent) and event.maker == INDUCTOR]
    graphs = [event for event in events if isinstance(event, GraphEvent)]
    for graph in sorted(graphs, key=lambda event: event.at_ns):
        begun_ns = graph.at_ns - graph.duration_us * 1000
        meanwhile = {event.kernel for event in compiles if begun_ns <= event.at_ns <= graph.at_ns}
        choices = sum(map(is_choice, meanwhile))
        yield GraphAccount(event=graph, kernels=len(meanwhile) - choices, choices=choices)


def _interpreted(processes: Sequence[Recording]) -> Iterable[InterpretedKernel]:
    seen: defaultdict[KernelName, list[InterpretedEvent]] = defaultdict(list)
    for event in (event for process in processes for event in process.events):
        if isinstance(event, WarningEvent) and event.kind == "interpreted" and event.kernel is not None:
            seen[event.kernel] += []
        elif isinstance(event, InterpretedEvent):
            seen[event.kernel].append(event)
    for kernel, launches in sorted(seen.items(), key=lambda item: (-sum(event.took_us for event in item[1]), item[0])):
        count, took_us = sum(event.count for event in launches), sum(event.took_us for event in launches)
        yield InterpretedKernel(kernel=kernel, launches=count or None, took_us=took_us if launches else None)


def _place(process: Recording) -> tuple[int, int]:
    header = process.headers[0]
    return (-1 if header.rank is None else header.rank, header.started_at_ns)


def _settled_us(processes: Sequence[Recording], kernels: Sequence[KernelAccount], start_ns: int) -> int | None:
    """Return when the last kernel compiled, in microseconds from the start; None if compiling went on.

    It is over if at least half of the time since the first compile, or many launches, followed.
    """
    moments = [
        event.at_ns
        for process in processes
        for event in process.events
        if isinstance(event, CompileEvent | AutotuneEvent)
    ]
    if not moments:
        return None
    first, last = min(moments), max(moments)
    # Until the processes closed their recordings: taking an interpreter down takes a while too.
    end = span_ns([], processes)[1]
    in_memory, variants = sum(k.in_memory for k in kernels), sum(k.compiled + k.from_disk for k in kernels)
    settled = in_memory >= LAUNCHES_A_VARIANT * variants and all(
        kernel.in_memory >= LAUNCHES_A_VARIANT_AGAIN * (kernel.compiled + kernel.from_disk)
        for kernel in kernels
        if kernel.again
    )
    quiet = in_memory > 0 and 2 * (end - last) >= end - first
    return (last - start_ns) // 1000 if settled or quiet else None
