"""One entry in a child process: it is imported, called until it launches, and varied. Goes out: its `EntryOutcome`."""

from __future__ import annotations

import json
import os
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from triton_doctor.explore.child import answer
from triton_doctor.explore.child.calling import describe_error, execute
from triton_doctor.explore.child.drivers import DriverText, write_test
from triton_doctor.explore.child.explaining import explain
from triton_doctor.explore.child.guesses import Guesser, Notes
from triton_doctor.explore.child.inner_calls import InnerCalls
from triton_doctor.explore.child.repair import repair
from triton_doctor.explore.child.search import neighbours, reach
from triton_doctor.explore.child.splitting import AxisNames, split_symbol
from triton_doctor.explore.child.stand_ins import install, load
from triton_doctor.explore.child.target import resolve
from triton_doctor.explore.child.vary import SizeTrials
from triton_doctor.explore.model import EntryOutcome, MadeUpCall
from triton_doctor.runtime.dry import dry_run
from triton_doctor.runtime.dry.sweep.summary import merge_observations
from triton_doctor.runtime.event import AutotuneEvent, CompileEvent
from triton_doctor.runtime.lines import write_line
from triton_doctor.runtime.watch import make_header

if TYPE_CHECKING:
    from triton_doctor.explore.child.search import ReachedStates
    from triton_doctor.explore.child.state import State
    from triton_doctor.explore.child.target import Target
    from triton_doctor.explore.model import EntryPlan, Status
    from triton_doctor.runtime.dry.sweep.observation import Observation

# Other arguments that are tried to let an axis have sizes that it cannot have yet, and repairs of one that fails.
MOST_OTHERS, MOST_REPAIRS = 12, 4
# Seconds of CPU beyond the limit of a sweep to find out which axes are tied: without that no axis can be judged.
SPLITTING_S = 1.5


def drive(plan: EntryPlan) -> EntryOutcome:
    """Find out what `plan.entry` launches, and what moves the keys of its kernels.

    The working directory and the path of imports are those of the project's copy. Keeps what is known on the way.
    """
    started_ns = time.perf_counter_ns()
    root = f"{os.path.realpath(plan.root)}/"
    stand_ins = install(_top_modules(plan), lambda path: os.path.realpath(path).startswith(root))
    with dry_run(target=plan.target or None):
        try:
            target = resolve(plan.entry, load(plan.entry.module))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return EntryOutcome(
                entry=plan.entry.key,
                status="import failed",
                error=describe_error(error),
                stand_ins=tuple(stand_ins.names),
                cpu_s=time.process_time(),
            )
        reached = reach(plan, target, plan.limits)
        drive = _Drive(plan, target, reached, tuple(stand_ins.names), started_ns)
        answer.keep(drive.outcome())
        until_s = time.process_time() + plan.limits.sweep_s
        covered: set[tuple[str, str, int]] = set()
        for number, (state, seen) in enumerate(reached.states):
            trials = drive.vary(state, until_s, is_brief=seen.sites <= covered)
            covered |= seen.sites
            answer.keep(drive.outcome())
            for held in trials.held() if number == 0 else ():
                freed = _free(target, held, Guesser(Notes(plan.notes, plan.root)))
                if freed is not None:
                    drive.vary(freed, until_s, is_brief=True)
        return drive.outcome()


class _Drive:
    """What is known of an entry so far."""

    def __init__(
        self, plan: EntryPlan, target: Target, reached: ReachedStates, stand_ins: tuple[str, ...], started_ns: int
    ) -> None:
        self._plan, self._target, self._reached, self._stand_ins = plan, target, reached, stand_ins
        self._header = make_header(started_ns)
        self._inner = InnerCalls(plan.root, plan.leading_names, plan.entry.key)
        self._observations: list[Observation] = [seen.observation for _, seen in reached.states]
        self._calls: list[MadeUpCall] = []

    def vary(self, state: State, until_s: float, *, is_brief: bool) -> SizeTrials:
        """Vary one call that reaches launches, and add it."""
        trials = SizeTrials(self._target, state, self._inner, until_s, is_brief=is_brief)
        for symbol in trials.symbols:
            trials.vary_alone(symbol)
        trials.until_s += SPLITTING_S
        names = AxisNames(state)
        axes = {symbol: split_symbol(trials, symbol, names) for symbol in trials.symbols}
        explained = explain(trials, axes)
        writer = DriverText(
            self._target, self._plan.entry, state, {symbol: own.whole.name for symbol, own in axes.items()}
        )
        number = len(self._calls) + 1
        word = self._plan.entry.name.replace(".", "_")
        name = f"drive_{word}{number if number > 1 else ''}"
        driver = writer.write(name)
        # A test varies what moves something, and cannot need what is not installed.
        sizes = {
            own.whole.name: (trials.state.size(symbol), *trials.alone[symbol].ran)
            for symbol, own in axes.items()
            if trials.alone[symbol].moved
        }
        is_tested = self._plan.wants_tests and not self._stand_ins and not self._plan.entry.is_private
        self._observations += [seen.observation for seen in trials.seen.values() if seen is not None]
        self._calls.append(
            MadeUpCall(
                arguments=writer.arguments(),
                axes=tuple(axis for own in axes.values() for axis in own.all),
                moves=tuple(replace(move, kernel_path=self._relative(move.kernel_path)) for move in explained.moves),
                unmoved=explained.unmoved,
                inner=explained.inner,
                driver=driver,
                test=write_test(name, driver, sizes) if is_tested else "",
                error="" if trials.base.error is None else describe_error(trials.base.error),
                is_cut=trials.is_cut,
            )
        )
        return trials

    def outcome(self) -> EntryOutcome:
        """Return what is known."""
        recording = merge_observations(self._observations, self._header)
        kernels = {event.kernel: None for event in recording.events if isinstance(event, CompileEvent | AutotuneEvent)}
        lines = (write_line(event) for event in (recording.headers[0], *recording.events))
        return EntryOutcome(
            entry=self._plan.entry.key,
            status=self._status(),
            kernels=tuple((kernel.module, kernel.name, self._relative(kernel.path), kernel.line) for kernel in kernels),
            calls=tuple(self._calls),
            recording=tuple(map(self._map_paths, lines)) if kernels else (),
            error=self._reached.error,
            where=self._reached.where,
            help=self._reached.help,
            stand_ins=self._stand_ins,
            cpu_s=time.process_time(),
        )

    def _status(self) -> Status:
        reached = self._reached
        if reached.states:
            return "complete" if reached.is_complete else "partial"
        if reached.is_over_limit:
            return "over a limit"
        return "raised" if reached.error else "no launch"

    def _relative(self, path: str) -> str:
        root = f"{os.path.realpath(self._plan.root)}/"
        return os.path.realpath(path).removeprefix(root)

    def _map_paths(self, line: str) -> str:
        """Let a line of the recording name the files of the project rather than those of its copy."""
        if not self._plan.project:
            return line
        for root in {self._plan.root, os.path.realpath(self._plan.root)}:
            line = line.replace(f'"{_inside_json(root)}/', f'"{_inside_json(self._plan.project)}/')
        return line


def _free(target: Target, state: State, guesser: Guesser) -> State | None:
    """Return a call that runs with an argument other than in `state`, which fails, and at the same sizes."""
    failure = execute(target, state).observation.error
    for other in islice(neighbours(target, state, guesser), MOST_OTHERS):
        changed, error = other, failure
        for _ in range(MOST_REPAIRS):
            if not changed.sizes.items() >= state.sizes.items():
                break
            seen = execute(target, changed)
            if seen.launched and not seen.observation.error:
                return changed
            repaired = repair(target, seen, guesser)[:1] if seen.observation.error != error else []
            if not repaired:
                break
            changed, error = repaired[0], seen.observation.error
    return None


def _inside_json(text: str) -> str:
    return json.dumps(text)[1:-1]


def _top_modules(plan: EntryPlan) -> set[str]:
    """Return the names of modules and packages of the project itself."""
    # A root that is not in the copy, such as a hidden folder, has no module to import.
    roots = (Path(plan.root, root) for root in plan.import_roots)
    return {path.stem for root in roots if root.is_dir() for path in root.iterdir()}
