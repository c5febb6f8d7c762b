"""Seconds lie within the wall time, however many threads and processes compile at once."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.evidence.recorded import compile_event, process, tuning_event
from triton_doctor.runtime.account import account
from triton_doctor.runtime.event import FailureEvent, ModuleEvent
from triton_doctor.runtime.recording import Recording
from triton_doctor.runtime.timeline import Part, share_time, split_time

START_NS = 1_000_000_000_000


def compiled(begin_ms, end_ms, thread=1, **more):
    took_us = (end_ms - begin_ms) * 1000
    stages = (("cubin", took_us),)
    return compile_event(end_ms, thread=thread, at_ns=START_NS + end_ms * 1_000_000, stages_us=stages, **more)


def recorded(*events, pid=1):
    recording = process([], 0, pid=pid)
    return Recording(headers=[replace(recording.headers[0], started_at_ns=START_NS)], events=list(events))


def test_threads_that_compile_at_once_share_the_time():
    whole = account([recorded(*(compiled(0, 100, thread=thread) for thread in range(4)))])
    (kernel,) = whole.kernels

    assert (kernel.compiled, kernel.compile_us) == (4, 100_000)
    assert kernel.sites[0][1].waited_us == 100_000
    assert whole.processes[0].split.compile_us == 100_000


def test_processes_that_compile_at_once_share_the_time():
    whole = account([recorded(compiled(0, 100), pid=pid) for pid in range(16)])

    assert whole.kernels[0].compile_us == 100_000
    assert {one.split.compile_us for one in whole.processes} == {100_000}


def test_tuning_counts_once_and_without_what_only_the_first_compile_pays():
    first = replace(compiled(50, 100, tuning=True), process_us=30_000)
    round_ = replace(tuning_event(1), duration_us=200_000, at_ns=START_NS + 200 * 1_000_000)

    (kernel,) = account([recorded(first, round_)]).kernels

    assert (kernel.compile_us, kernel.autotune_us, kernel.waited_us) == (50_000, 120_000, 170_000)


def test_launchers_modules_and_failures_are_parts_of_their_own():
    name = compile_event(1).kernel
    known = {"kernel": name, "thread": 1, "rank": None}
    module = ModuleEvent(launcher_us=200_000, module_us=1_000, at_ns=START_NS + 300_000_000, **known)
    failed = FailureEvent(stage="ir", error="E", duration_us=40_000, at_ns=START_NS + 400_000_000, **known)

    whole = account([recorded(compiled(0, 50), module, failed)])
    split, (kernel,) = whole.processes[0].split, whole.kernels

    assert (split.launcher_us, split.module_us, split.failed_us) == (200_000, 1_000, 40_000)
    assert (kernel.launcher_us, kernel.module_us, kernel.failed, kernel.errors) == (200_000, 1_000, 1, ("E",))


intervals = st.tuples(st.integers(0, 300), st.integers(1, 100), st.integers(1, 3), st.integers(0, 2))


@given(st.lists(intervals, max_size=12))
def test_shares_of_one_process_add_up_to_its_parts(given_intervals):
    recording = recorded(
        *(compiled(begin, begin + took, thread, tuning=bool(kind)) for begin, took, thread, kind in given_intervals)
    )
    shares = share_time([recording])

    assert round(sum(shares.values())) == split_time(recording, None).compile_us
    assert all(part is Part.COMPILING for _, part in shares)
