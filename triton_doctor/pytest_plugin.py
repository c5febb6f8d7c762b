"""The pytest plugin: how often kernels compile in each test, held to marks, budgets and a baseline.

Triton is attached to when it is imported; a session without it pays a few milliseconds.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from triton_doctor.errors import DoctorError
from triton_doctor.regular_files import file_holds
from triton_doctor.runtime.dry import begin_case
from triton_doctor.testing.dry import explain_failure, limit_time
from triton_doctor.testing.gathering import Gathering
from triton_doctor.testing.ledger import Phase
from triton_doctor.testing.options import GROUP, add_options, read_options
from triton_doctor.testing.session import PytestSession

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from triton_doctor.testing.compiles import Compiles

# What our own failures begin with.
OURS = f"{GROUP}: "
MARK, FIXTURE = "max_compiles", "compiles"
SESSION = pytest.StashKey[PytestSession]()
PHASES = pytest.StashKey[dict[str, Phase]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the flags and settings of the plugin."""
    add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Begin before conftest files run: they may import triton and create kernels for the target."""
    _begin(early_config, early_config.known_args_namespace)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark; begin here if the plugin was loaded too late to begin before the conftest files."""
    config.addinivalue_line(
        "markers",
        f"{MARK}(at_most, kernel='*', tier=None): fail if a kernel compiles or is loaded from disk more often in the "
        "test itself; `tier`, compiled or loaded from disk, counts one of these",
    )
    _begin(config, config.option)


def _begin(config: pytest.Config, flags: Any) -> None:
    if SESSION in config.stash:
        return
    try:
        session = PytestSession(read_options(flags, config), _budgets(config), config.rootpath)
    except DoctorError as error:
        raise pytest.UsageError(f"{GROUP}: {_line(error)}") from error
    config.stash[SESSION] = session
    if session.is_asked:
        try:
            session.start()
        except DoctorError as error:
            raise pytest.UsageError(f"{GROUP}: {_line(error)}") from error
    config.pluginmanager.register(Gathering(session), f"{GROUP}-gathering")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave triton as it was."""
    if SESSION in config.stash:
        config.stash[SESSION].stop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """Attribute what fixtures compile before the test to its setup."""
    item.stash[PHASES] = {}
    if item.config.stash[SESSION].options.dry:
        begin_case()
    if item.get_closest_marker(MARK) is not None or FIXTURE in getattr(item, "fixturenames", ()):
        item.config.stash[SESSION].start()
    with _phase(item, "setup"):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    """Attribute what fixtures compile after the test to its setup."""
    with _phase(item, "teardown"):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Run the test and judge what it compiled; a test that fails by itself is not failed again."""
    options = item.config.stash[SESSION].options
    result, excused = None, None
    with _phase(item, "call") as phase, limit_time(options.dry_seconds) if options.dry else contextlib.nullcontext():
        try:
            result = yield
        except Exception as error:
            # What it compiled until there counts all the same.
            if not options.dry or explain_failure(pytest.ExceptionInfo.from_exception(error)) is None:
                raise
            excused = error
    try:
        failure = item.config.stash[SESSION].judge(item.nodeid, phase, _marks_by_node(item))
    except DoctorError as error:
        failure = _line(error)
    if failure is not None:
        raise pytest.fail.Exception(f"{OURS}{failure}", pytrace=False)
    if excused is not None:
        raise excused
    return result


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(request: pytest.FixtureRequest) -> Generator[None, Any, Any]:
    """Attribute what a fixture compiles to setup, even if the test requests the fixture while it runs."""
    with request.config.stash[SESSION].ledger.fixture():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Attach the counts to the report, which may be sent from a worker."""
    report = yield
    phase = item.stash.get(PHASES, {}).get(call.when or "")
    sent = None if phase is None else item.config.stash[SESSION].rows_of(phase)
    if sent is not None:
        report.triton_doctor = sent
    if item.config.stash[SESSION].options.dry:
        _excuse(report, call)
    return report


def _excuse(report: pytest.TestReport, call: pytest.CallInfo[None]) -> None:
    """Treat a failure that only a dry run's missing data explains as expected; an exceeded limit is not excused."""
    raised = call.excinfo
    if (
        not report.failed
        or raised is None
        or (raised.errisinstance(pytest.fail.Exception) and OURS in str(raised.value))
    ):
        return
    reason = explain_failure(raised)
    if reason is not None:
        report.outcome, report.wasxfail = "skipped", reason


@pytest.fixture
def compiles(request: pytest.FixtureRequest) -> Compiles:
    """Provide what the test itself compiled so far: `assert compiles.of("_rope_kernel").count == 1`."""
    from triton_doctor.testing.compiles import Compiles

    session, phases = request.config.stash[SESSION], request.node.stash[PHASES]
    # A test may ask for it while it runs.
    session.start()
    events = lambda: phases["call"].of_test(session.ledger.events) if "call" in phases else []  # noqa: E731
    return Compiles(events, session.before)


@contextlib.contextmanager
def _phase(item: pytest.Item, name: str) -> Iterator[Phase]:
    with item.config.stash[SESSION].ledger.phase(own=name == "call") as phase:
        item.stash[PHASES][name] = phase
        yield phase


def _budgets(config: pytest.Config) -> tuple[tuple[str, int], ...]:
    """Return the budgets of the settings; the settings are only read if a file may have some."""
    files = [folder / "pyproject.toml" for folder in (config.rootpath, *config.rootpath.parents)]
    if not any(file_holds(file, b"budgets") for file in files):
        return ()
    from triton_doctor.settings import load_settings

    return load_settings(config.rootpath).budgets


def _marks_by_node(item: pytest.Item) -> list[list[pytest.Mark]]:
    """Return the marks of the test, then those of its class and module."""
    by_node: dict[str, list[pytest.Mark]] = {}
    for node, mark in item.iter_markers_with_node(MARK):
        by_node.setdefault(node.nodeid, []).append(mark)
    return list(by_node.values())


def _line(error: DoctorError) -> str:
    return error.message + (f" ({error.hint})" if error.hint else "")
