"""A sweep of a project: its entries to confined children, and their outcomes as they come.

The files are copied once, the project's own tests run for examples, and each entry is driven by a child: of a fork
server here, or of those of a cluster's workers. Outcomes of earlier sweeps are taken where what they rest on is the
same. Interrupted, a sweep returns what it has.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from triton_doctor.explore.child.answer import Answer
from triton_doctor.explore.fork_client import PREFIX, ChildResult, ForkServer, remove_folder
from triton_doctor.explore.fork_server import Reply
from triton_doctor.explore.kept_answers import Results
from triton_doctor.explore.model import EntryOutcome, EntryPlan, Limits, SeedPlan
from triton_doctor.explore.project_copy import copy_project
from triton_doctor.explore.sandbox import ALL_MEANS
from triton_doctor.explore.seeds import Examples, record_examples

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from triton_doctor.explore.cluster_workers import ClusterServer
    from triton_doctor.explore.entries import Found
    from triton_doctor.explore.model import SweepEntry
    from triton_doctor.explore.sandbox import Means, Walls

DRIVE = "triton_doctor.explore.child.main:drive"
RECORD = "triton_doctor.explore.child.recorder:record_seeds"
PRELOAD = ("triton_doctor.explore.child.main", "triton_doctor.explore.child.recorder")


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRequest:
    """How to sweep: `jobs` children at a time, confined by `means` (none: not at all), for the GPU `target`.

    `seed_files` run for examples, in this order; those in `named_seeds` in any case. `results` is the folder of earlier
    outcomes, None for none. `cluster` is the address of one, which has `jobs` of its own.
    """

    jobs: int
    means: tuple[Means, ...] = ALL_MEANS
    target: str = ""
    seed_files: tuple[str, ...] = ()
    named_seeds: frozenset[str] = frozenset()
    wants_tests: bool = False
    results: Path | None = None
    cluster: str = ""
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """The outcomes of a sweep in the order of the entries, and the `walls` around their code; None if nothing ran.

    `reused` outcomes are of earlier sweeps. A sweep that is not whole was interrupted: entries without an outcome have
    one that says so.
    """

    outcomes: tuple[EntryOutcome, ...]
    walls: Walls | None
    examples: Examples
    reused: int
    is_whole: bool


def sweep_project(
    found: Found, request: SweepRequest, *, on_progress: Callable[[int, int], None] = lambda _done, _reached: None
) -> Swept:
    """Drive every entry of `found`. `on_progress` is called with the numbers of entries done, and of those that launch.

    Raises DoctorError where the code cannot be confined, or torch and triton are missing.
    """
    folder = os.path.realpath(tempfile.mkdtemp(prefix=PREFIX))
    try:
        root = f"{folder}/project"
        copy_project(found.root, found.copied, Path(root))
        results = Results(root, found.import_roots, request.results)
        with contextlib.ExitStack() as stack:
            sweep = _ProjectSweep(
                found, request, root, results, on_progress, lambda: _open_server(request, root, stack)
            )
            try:
                sweep.run()
                is_whole = True
            except KeyboardInterrupt:
                is_whole = False
        results.prune()
        return Swept(
            outcomes=sweep.outcomes(),
            walls=sweep.walls,
            examples=sweep.examples,
            reused=sweep.reused,
            is_whole=is_whole,
        )
    finally:
        remove_folder(folder)


def _open_server(request: SweepRequest, root: str, stack: contextlib.ExitStack) -> ForkServer | ClusterServer:
    if not request.cluster:
        return stack.enter_context(ForkServer(means=request.means, preload=PRELOAD, jobs=request.jobs))
    from triton_doctor.explore.cluster_workers import ClusterServer

    return stack.enter_context(ClusterServer(request.cluster, means=request.means, preload=PRELOAD, root=root))


class _ProjectSweep:
    """One sweep under way. The server is opened when something has to run: torch takes its time to import."""

    def __init__(
        self,
        found: Found,
        request: SweepRequest,
        root: str,
        results: Results,
        on_progress: Callable[[int, int], None],
        open_server: Callable[[], ForkServer | ClusterServer],
    ) -> None:
        self._found, self._request, self._root = found, request, root
        self._results, self._on_progress, self._open_server = results, on_progress, open_server
        self._server: ForkServer | ClusterServer | None = None
        self._opening = threading.Lock()
        self._done: dict[str, EntryOutcome] = {}
        self.examples = Examples()
        self.reused = 0

    def run(self) -> None:
        """Drive all entries."""
        self.examples = self._record()
        waiting: list[EntryPlan] = []
        for entry in self._found.entries:
            plan = self._plan(entry)
            earlier = self._results.find(_question(plan))
            outcome = None if earlier is None else _decode(earlier, entry)
            if outcome is None:
                waiting.append(plan)
            else:
                self.reused += 1
                self._finish(entry, outcome)
        executor = ThreadPoolExecutor(self._jobs)
        pending: dict[Future[ChildResult], EntryPlan] = {}
        try:
            pending = {executor.submit(self._drive, plan): plan for plan in waiting}
            while pending:
                for done in wait(pending, return_when=FIRST_COMPLETED).done:
                    plan = pending.pop(done)
                    self._finish(plan.entry, self._outcome(plan, done.result()))
        finally:
            executor.shutdown(wait=False, cancel_futures=True)

    @property
    def walls(self) -> Walls | None:
        """Return how children were confined; None if there were none."""
        return None if self._server is None else self._server.walls

    @property
    def _jobs(self) -> int:
        """Return how many calls to make at a time: of a cluster as many as it has threads."""
        return self._serve().jobs if self._request.cluster else self._request.jobs

    def outcomes(self) -> tuple[EntryOutcome, ...]:
        """Return an outcome for each entry."""
        return tuple(
            self._done.get(entry.key)
            or EntryOutcome(entry=entry.key, status="not tried", error="the sweep was interrupted")
            for entry in self._found.entries
        )

    def _record(self) -> Examples:
        request = self._request
        if not request.seed_files:
            return Examples()
        roots = [Path(self._root, folder) for folder in self._found.import_roots]
        own = {path.stem for root in roots if root.is_dir() for path in root.iterdir()}
        return record_examples(
            self._record_file,
            SeedPlan(
                path="",
                is_test=False,
                root=self._root,
                own_modules=tuple(sorted(own)),
                entries=self._found.entries,
                seconds=0,
                target=request.target,
            ),
            request.seed_files,
            jobs=self._jobs,
            named=request.named_seeds,
        )

    def _record_file(self, plan: SeedPlan, limits: Limits) -> ChildResult:
        question = replace(plan, root="", seconds=0)
        earlier = self._results.find(question)
        if earlier is not None:
            answer = Answer(value=earlier, files=(), is_final=True)
            return ChildResult(reply=Reply(number=0, ended="returned"), answer=answer)
        result = self._call(RECORD, plan, limits)
        if not result.problem and result.answer is not None:
            self._results.keep(question, result.answer)
        return result

    def _plan(self, entry: SweepEntry) -> EntryPlan:
        return EntryPlan(
            entry=entry,
            root=self._root,
            import_roots=self._found.import_roots,
            leading_names=self._found.leading_names,
            notes=self._found.notes_of(entry),
            limits=self._request.limits,
            target=self._request.target,
            examples=self.examples.of(entry),
            project=str(self._found.root),
            wants_tests=self._request.wants_tests,
        )

    def _drive(self, plan: EntryPlan) -> ChildResult:
        return self._call(DRIVE, plan, plan.limits)

    def _call(self, function: str, argument: EntryPlan | SeedPlan, limits: Limits) -> ChildResult:
        return self._serve().call(
            function, argument, root=self._root, import_roots=self._found.import_roots, limits=limits
        )

    def _serve(self) -> ForkServer | ClusterServer:
        with self._opening:
            if self._server is None:
                self._server = self._open_server()
            return self._server

    def _outcome(self, plan: EntryPlan, result: ChildResult) -> EntryOutcome:
        """Return the outcome in `result`; what a child that was ended had kept, with the reason of its end."""
        outcome = None if result.answer is None else _decode(result.answer.value, plan.entry)
        problem = result.problem or ("" if outcome is not None else "its answer cannot be read")
        if outcome is not None and result.answer is not None and not problem:
            self._results.keep(_question(plan), result.answer, outcome.stand_ins)
            return outcome
        outcome = outcome or EntryOutcome(entry=plan.entry.key, status="died")
        return replace(
            outcome,
            status="partial" if outcome.kernels else "over a limit" if result.reply.ended == "over a limit" else "died",
            error=problem,
            cpu_s=max(outcome.cpu_s, result.reply.cpu_s),
        )

    def _finish(self, entry: SweepEntry, outcome: EntryOutcome) -> None:
        self._done[entry.key] = outcome
        self._on_progress(len(self._done), sum(1 for each in self._done.values() if each.kernels))


def _decode(value: msgspec.Raw, entry: SweepEntry) -> EntryOutcome | None:
    """Return the outcome of `entry` in what a child wrote, which may be anything."""
    try:
        outcome = msgspec.json.decode(value, type=EntryOutcome | None)
    except (msgspec.DecodeError, RecursionError):
        return None
    return outcome if outcome is not None and outcome.entry == entry.key else None


def _question(plan: EntryPlan) -> object:
    """Return what of `plan` an outcome rests on.

    Names that lead to launches matter where files that are imported hold them, and those are looked at.
    """
    return replace(plan, root="", leading_names=(), entry=replace(plan.entry, callers=()))
