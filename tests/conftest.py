"""What all tests share: the command as a function, and a folder to work in."""

from __future__ import annotations

import io
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from tests.tritons import skip_for_import, skip_for_output
from triton_doctor.cli import main

hypothesis.settings.register_profile("no clock", deadline=None)
hypothesis.settings.load_profile("no clock")

# Workers of pytest-xdist share the cores: threads of torch that wait for one another spend three times the work.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# What the tests start imports what they imported: it is compiled once.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# The main process of pytest-xdist gives its workers the width of its terminal, to which reports would be wrapped.
os.environ.pop("COLUMNS", None)

# As in an activated environment: what the tests start by the name of `python` is the Python that runs them.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
os.environ.pop("VIRTUAL_ENV", None)

# A module of a kernel and its launch, which has one finding: TRD201 at 14:16.
KERNEL = """\
import torch
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, n: tl.constexpr, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    tl.store(x_ptr + o, n, mask=o < n)


def f(x, lens: list[int]):
    m = max(lens)
    k[(1,)](x, m, BLOCK=128)
"""

# Fixtures whose tests start programs, most of them with a Triton.
STARTING = {"runner", "project", "doctor_on", "happened", "told"}

# A runner in the background hands down ignored signals; what the tests start must hear those that it is sent.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
for ignored in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
    if signal.getsignal(ignored) is signal.SIG_IGN:
        signal.signal(ignored, signal.SIG_DFL)


if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command did: its exit status, and what it said."""

    status: int
    out: str
    err: str


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that at the end no worker of pytest-xdist waits for another."""
    items.sort(key=rank)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Skip a file of tests that imports torch or triton where it is not installed."""
    report = yield
    if report.failed:
        try:
            skip_for_output(str(report.longrepr))
        except pytest.skip.Exception as skip:
            report.outcome, report.longrepr = "skipped", (str(collector.path), 0, f"Skipped: {skip.msg}")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, object, object]:
    """Skip a test whose fixtures import torch or triton where it is not installed."""
    return (yield from skipping_for_imports())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Skip a test that does so itself."""
    return (yield from skipping_for_imports())


def skipping_for_imports() -> Generator[None, object, object]:
    try:
        return (yield)
    except ModuleNotFoundError as error:
        # Tests on a Triton of their own are started by one that counts how many pass.
        if "TRITON_DOCTOR_TESTS_ON_TRITON" not in os.environ:
            skip_for_import(error)
        raise


def rank(item: pytest.Item) -> int:
    """When `item` is run: 0 first."""
    if item.get_closest_marker("long"):
        return 0
    return 1 if STARTING.intersection(getattr(item, "fixturenames", ())) else 2


@pytest.fixture(autouse=True, scope="session")
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What the doctor keeps for its user is not that of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def doctor(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Run the command in `folder`: `doctor("check", "x.py", stdin=b"...")`."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(*arguments: str, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        status = main(arguments)
        said = capsys.readouterr()
        if status == 2:
            skip_for_output(said.err)
        return Outcome(status, said.out, said.err)

    return run


@pytest.fixture
def write(folder: Path) -> Callable[[str, str | bytes], Path]:
    """Write a file below `folder`, and the folders that it needs."""

    def write_file(name: str, content: str | bytes = "") -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file
