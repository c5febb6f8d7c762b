"""The end of a session: rows of all processes together, the baseline written or held to, and the summary."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from triton_doctor.errors import DoctorError
from triton_doctor.testing.dry import PREFIX, summarize_reasons, summarize_run
from triton_doctor.testing.options import report_of_worker
from triton_doctor.testing.session import IMPORTS

if TYPE_CHECKING:
    from triton_doctor.testing.session import PytestSession, Sent

OUTPUT = "triton_doctor"


class Gathering:
    """The hooks of the process that prints, which may be another than those that run tests."""

    def __init__(self, session: PytestSession) -> None:
        self._session = session
        self._setups_fail: str | None = None
        self._written: str | None = None
        self._workers: list[str] = []
        self._excused: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the compiles that a report carries; the report may be from a worker."""
        sent: Sent | None = getattr(report, OUTPUT, None)
        if sent is not None:
            self._session.add(report.nodeid, sent)
        reason = str(getattr(report, "wasxfail", ""))
        if reason.startswith(PREFIX):
            self._excused[reason] += 1

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add what a worker compiled outside of tests, which it sends when it ends."""
        self._workers.append(str(node.gateway.id))
        output = getattr(node, "workeroutput", {}).get(OUTPUT)
        if output is not None:
            self._session.add(IMPORTS, output["rows"])
            self._session.trouble += output["trouble"]
            self._session.children += [(test, command) for test, command in output["children"]]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Judge what no test is to blame for, or write the baseline."""
        ours, config = self._session, session.config
        # What pytest and its plugins write from here on are no files of the tests.
        ours.writes.close()
        if hasattr(config, "workeroutput"):
            config.workeroutput[OUTPUT] = {
                "rows": ours.rows_outside(),
                "trouble": ours.trouble,
                "children": ours.children,
            }
            return
        ours.add(IMPORTS, ours.rows_outside())
        self._setups_fail = ours.judge_setups()
        if self._setups_fail is not None and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if ours.trouble and (ours.options.report is not None or ours.options.update_baseline):
            # What was asked for is not whole.
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
        if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            try:
                self._written = ours.update_baseline()
            except DoctorError as error:
                ours.trouble.append(error.message)
                session.exitstatus = pytest.ExitCode.USAGE_ERROR

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """Put the recordings of the workers, which have ended, together in one."""
        report = self._session.options.report
        parts = [] if report is None else [report_of_worker(report, worker) for worker in self._workers]
        parts = [part for part in parts if part.is_file()]
        if report is not None and parts:
            # A worker's stays where all could not be written.
            report.write_bytes(b"".join(part.read_bytes() for part in parts))
            for part in parts:
                part.unlink()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print a summary if it was requested, and any problems."""
        ours = self._session
        lines = list(ours.trouble)
        if ours.options.summary:
            from triton_doctor.testing.variants import summarize

            lines += summarize(ours.tests, ours.setups)
            if ours.children:
                from triton_doctor.testing.children import summarize_children

                lines += summarize_children(ours.children)
        if ours.options.dry:
            lines += [] if ours.recording is None else summarize_run(ours.recording)
            lines += summarize_reasons(self._excused.items())
        if self._setups_fail is not None:
            lines += ["fixtures or imports, not tests, compiled what is not known:", *self._setups_fail.splitlines()]
        if self._written is not None:
            lines.append(self._written)
        if ours.options.report is not None and ours.recording is None and not ours.options.hands_out:
            lines.append(f"triton was not imported: {ours.options.report} was not written")
        if lines:
            terminalreporter.section("triton-doctor")
            for line in lines:
                terminalreporter.line(line)
