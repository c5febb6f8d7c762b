"""One pytest session under watch, from the moment that triton is imported: what was recorded, and the verdicts.

What needs the runtime side imports it where it is used: a session without triton, which is most, loads none of it.
"""

from __future__ import annotations

import contextlib
import traceback
from typing import TYPE_CHECKING, Any, TypedDict

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.import_wait import when_triton_arrives
from triton_doctor.testing.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    import pytest

    from triton_doctor.runtime.compile_limits import Limit
    from triton_doctor.runtime.event import Event
    from triton_doctor.runtime.recording import Recording
    from triton_doctor.testing.ledger import Phase
    from triton_doctor.testing.options import Options
    from triton_doctor.testing.variant_baseline import Baseline
    from triton_doctor.testing.variants import Row, Variant

IMPORTS = "imports"


class Sent(TypedDict):
    """What a process says of a phase: plain JSON. `made_with` is empty where nothing was compiled."""

    tests: list[Row]
    setups: list[Row]
    made_with: dict[str, str]


class PytestSession:
    """What one process sees. Where workers run the tests, the rows that they send are added by the one who prints."""

    def __init__(self, options: Options, budgets: Iterable[tuple[str, int]], root: Path) -> None:
        """Check the options; nothing is recorded yet. Raises DoctorError for an invalid target or baseline."""
        self.options = options
        self.root = root
        self.ledger = Ledger()
        self.recording: Recording | None = None
        self.trouble: list[str] = []
        self.tests: dict[str, list[Row]] = {}
        self.setups: dict[str, list[Row]] = {}
        self._made_with: dict[str, str] = {}
        self.children: list[tuple[str, str]] = []
        self._contexts, self.writes = contextlib.ExitStack(), contextlib.ExitStack()
        self._started = False
        self._budgets = tuple(budgets)
        self._baseline: Baseline | None = None
        if options.dry:
            from triton_doctor.runtime.dry.gpu import read_gpu

            read_gpu(options.target)
        elif options.target is not None:
            from triton_doctor.runtime.compile_target import parse_target

            parse_target(options.target)
        if options.baseline is not None and not options.update_baseline:
            from triton_doctor.testing.variant_baseline import read_baseline

            self._baseline = read_baseline(options.baseline)

    @property
    def is_asked(self) -> bool:
        """Return whether a flag, a setting or a budget requires recording; else only a mark or the fixture may."""
        options = self.options
        asked = (options.max_compiles, options.report, options.target, options.baseline)
        return options.summary or options.dry or bool(self._budgets) or any(option is not None for option in asked)

    def start(self) -> None:
        """Record from when triton is there, or run dry from now; never in a process that only hands tests out.

        Twice does no harm.
        """
        if self.options.hands_out or self._started:
            return
        self._started = True
        if self.options.summary:
            from triton_doctor.testing.children import watch_children

            self._contexts.callback(watch_children(self.children))
        if self.options.dry:
            self._record_dry()
        else:
            self._contexts.callback(when_triton_arrives(self._record))

    def stop(self) -> None:
        """Close the recording, and leave triton as it was."""
        self.writes.close()
        self._contexts.close()

    def _record_dry(self) -> None:
        """Go dry now: what is imported from here on may ask for a GPU. Raises DoctorError where that does not work."""
        from triton_doctor.runtime.dry import dry_run
        from triton_doctor.runtime.dry.file_overlay import divert_writes

        options = self.options
        unknown: Any = options.dry_unknown
        context = dry_run(target=options.target, unknown=unknown, path=options.report, writes="allow")
        self.recording = self._contexts.enter_context(context)
        self.writes.enter_context(divert_writes(options.dry_writes))
        # A list: which test an event belongs to is told by its identity.
        self.ledger.events = self.recording.events = list(self.recording.events)

    def _record(self) -> None:
        from triton_doctor.runtime.watch import record

        counted = self.options.summary or self.options.report is not None
        try:
            context = record(self.options.report, count_launches=counted, target=self.options.target)
            self.recording = self._contexts.enter_context(context)
        except DoctorError as error:
            self.trouble.append(error.message)
        except Exception:  # triton is being imported: that must not fail on our account
            self.trouble.append(f"nothing is recorded: {traceback.format_exc(limit=-2)}")
        else:
            self.ledger.events = self.recording.events = list(self.recording.events)

    def judge(self, test: str, phase: Phase, marks: Sequence[Sequence[pytest.Mark]]) -> str | None:
        """Return why the test fails for what it compiled in `phase`; None if it does not.

        `marks` are those of each node that has some, the closest to the test first.
        """
        if not (marks or self.ledger.events or self.trouble):
            return None
        from triton_doctor.runtime.compile_limits import Limit, limits_of
        from triton_doctor.testing.failure import describe_excess, describe_unknown, excess_of_test, limits_of_marks
        from triton_doctor.testing.variants import variants_in

        marked = limits_of_marks([(mark.args, mark.kwargs) for mark in of_node] for of_node in marks)
        everyone = () if self.options.max_compiles is None else (Limit(at_most=self.options.max_compiles),)
        default: tuple[Limit, ...] = (*limits_of(self._budgets), *everyone)
        events = self.ledger.of_test(test, phase)
        hidden = self._hidden(events)
        if hidden is not None and (marked or default or self._baseline is not None):
            return f"what it compiled is not known: {hidden}"
        before = self.before(events)
        failures = [
            describe_excess(excess, events, self.root, before) for excess in excess_of_test(events, marked, default)
        ]
        if self._baseline is not None:
            unknown = self._baseline.unknown(variants_in(events))
            failures += [describe_unknown(unknown, self._baseline, self._baseline_name)] if unknown else []
        return "\n".join(failures) or None

    def _hidden(self, events: Iterable[Event]) -> str | None:
        """Return why compiles may be missing from `events`; None if all were recorded."""
        if self.trouble:
            return self.trouble[0]
        if not self._started:
            return "the mark was added after setup"
        from triton_doctor.runtime import hooks
        from triton_doctor.runtime.event import HIDING, WarningEvent

        hooks.verify()
        every = [*events, *(event for event in self.ledger.events if getattr(event, "kind", "") == "unseen")]
        return next(
            (event.message for event in every if isinstance(event, WarningEvent) and event.kind in HIDING), None
        )

    def judge_setups(self) -> str | None:
        """Describe the variants of fixtures and imports that are not in the baseline; None if all are."""
        if self._baseline is None:
            return None
        from triton_doctor.testing.failure import describe_unknown
        from triton_doctor.testing.variants import variants_of_rows

        unknown: dict[tuple[str, Variant], None] = {}
        for rows in self.setups.values():
            unknown |= dict.fromkeys(self._baseline.unknown(dict(variants_of_rows(rows))))
        return describe_unknown(list(unknown), self._baseline, self._baseline_name) if unknown else None

    def rows_of(self, phase: Phase) -> Sent | None:
        """Return what to send with the report of `phase`; None if nothing compiled."""
        events = self.ledger.events
        if len(events) == phase.start:
            return None
        from triton_doctor.testing.variants import tally

        of_test, aside = phase.of_test(events), phase.aside(events)
        tests, setups = tally(of_test, self.before(of_test)), tally(aside, self.before(aside))
        return {"tests": tests, "setups": setups, "made_with": self._made_with_here()}

    def before(self, events: Sequence[Event]) -> list[Event]:
        """Return the events of this process before the last of `events`, in-memory kernels first."""
        if not events or self.recording is None:
            return []
        own, last = set(map(id, events)), events[-1]
        earlier: list[Event] = [*self.recording.before]
        for event in self.ledger.events:
            if event is last:
                break
            if id(event) not in own:
                earlier.append(event)
        return earlier

    def rows_outside(self) -> Sent:
        """Return what this process compiled outside of tests."""
        if not self.ledger.events:
            return {"tests": [], "setups": [], "made_with": {}}
        from triton_doctor.testing.variants import tally

        return {"tests": [], "setups": tally(self.ledger.outside()), "made_with": self._made_with_here()}

    def add(self, name: str, sent: Sent) -> None:
        """Add the rows of the test `name`, or of IMPORTS, from this process or a worker."""
        for rows, of_all in ((sent["tests"], self.tests), (sent["setups"], self.setups)):
            if rows:
                of_all.setdefault(name, []).extend(rows)
        self._made_with |= sent["made_with"]

    def update_baseline(self) -> str | None:
        """Write what was seen, if asked to. Returns a line that says so. Raises DoctorError where it cannot."""
        path = self.options.baseline
        if path is None or not self.options.update_baseline:
            return None
        from triton_doctor.phrases import plural
        from triton_doctor.testing.variant_baseline import Baseline, write_baseline
        from triton_doctor.testing.variants import variants_of_rows

        every = [row for rows in (*self.tests.values(), *self.setups.values()) for row in rows]
        counts = list(variants_of_rows(every))
        variants = frozenset(variant for variant, _ in counts)
        again = frozenset(variant for variant, count in counts if count > 1)
        write_baseline(path, Baseline(variants=variants, again=again, made_with=tuple(sorted(self._made_with.items()))))
        kernels = len({kernel for kernel, _ in variants})
        return f"{plural(len(variants), 'variant')} of {plural(kernels, 'kernel')} written to {path}"

    def _made_with_here(self) -> dict[str, str]:
        if not self._made_with and self.recording is not None and self.recording.compiles:
            versions = dict(self.recording.headers[0].versions)
            target = self.recording.compiles[0].key.target
            self._made_with = {"triton": versions.get("triton", "unknown"), "target": target}
        return self._made_with

    @property
    def _baseline_name(self) -> str:
        return self.options.baseline.name if self.options.baseline is not None else ""
