"""100,000 distinct keys in one process: counted exactly, explained in linear steps, kept in little memory."""

import subprocess
import sys

import pytest

from tests.runtime.test_causes import event
from tests.tritons import skip_without
from triton_doctor.report.recording.wording import describe_unseen
from triton_doctor.runtime.account import account
from triton_doctor.runtime.causes import LOOK_BACK, VALUES_KEPT, explain_all
from triton_doctor.runtime.event import Header
from triton_doctor.runtime.event_log import PACKED, EventLog
from triton_doctor.runtime.recording import Recording

KEYS, LIMIT_MB = 100_000, 50
PROGRAM = f"""
import gc
from tests.runtime.test_causes import event
from triton_doctor import record, warmed_up
from triton_doctor.runtime import hooks

def resident_mb():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 1e6

def feed(first, last):
    for n in range(first, last):
        stages = (("ttir", 1000 + n), ("cubin", 2000 + n))
        hooks.emit(event(block=n, stages_us=stages, at_ns=n, entry=f"{{n:064x}}", values=(("n", 7 * n),)))

reactions = []
with record() as recording, warmed_up(lambda error: reactions.append(error.recompile.seen and 1)):
    feed(0, 2000)
    before = resident_mb()
    feed(2000, {KEYS})
    print(resident_mb() - before)
    print(recording.count, len(recording.events), sum(reactions[1:]))
"""
HEADER = Header(
    tool_version="0",
    versions=(("triton", "3.9.0"),),
    target=None,
    compile_only=False,
    command=("p.py",),
    variables=(),
    rank=None,
    world_size=None,
    pid=1,
    started_at_ns=0,
)


def test_many_keys_take_little_memory_and_are_counted_exactly():
    skip_without("triton")
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM], capture_output=True, text=True, check=True)

    grown_mb, *counts = done.stdout.split()
    assert float(grown_mb) < LIMIT_MB
    # One event more than keys: the end of the warm-up.
    assert counts == [str(KEYS), str(KEYS + 1), str(KEYS - 1)]


def count_steps(events):
    """How many calls `explain_all` makes for `events`."""
    steps = 0

    def count(*_):
        nonlocal steps
        steps += 1

    sys.setprofile(count)
    try:
        explain_all(events)
    finally:
        sys.setprofile(None)
    return steps


@pytest.mark.parametrize("parts", [1, 2], ids=["one part differs", "two parts differ"])
def test_steps_to_explain_grow_as_the_keys_do(parts):
    few, many = (
        count_steps([event(block=n, options={"num_warps": n} if parts == 2 else None) for n in range(keys)])
        for keys in (1000, 2000)
    )

    assert many <= 2.1 * few


def test_key_that_compiled_long_ago_is_known():
    events = [event(block=n, thread=n % 3, at_ns=n) for n in range(10 * LOOK_BACK)]
    again = explain_all([*events, event(block=1, thread=5, at_ns=10**9, stages_us=(("ttir", 1),))])[-1]

    assert (again.code, again.changes) == ("TRD712", ())
    assert again.nearest is not None
    assert (again.nearest.at_ns, again.nearest.thread, again.nearest.launch_site) == (1, 1, None)


def test_values_are_counted_all_and_the_first_are_kept():
    (seen,) = explain_all([event(block=n) for n in range(1000)])[-1].seen

    assert (seen.count, seen.first) == (1000, tuple(range(VALUES_KEPT)))


@pytest.mark.parametrize(("options", "is_said"), [(None, False), ({"num_warps": 1}, True)])
def test_report_says_where_only_the_latest_keys_were_compared(options, is_said):
    events = [event(block=n, options=options and {"num_warps": n}, at_ns=n) for n in range(2 * LOOK_BACK)]
    said = "\n".join(describe_unseen(account([Recording(headers=[HEADER], events=events)])))

    assert (f"its latest {LOOK_BACK}" in said) is is_said


def test_event_log_is_the_sequence_of_what_was_added():
    log, added = EventLog(), [event(block=n) for n in range(5 * PACKED + 7)]
    log.extend(added)

    assert list(log) == added
    assert len(log) == len(added)
    assert (log[0], log[PACKED], log[-1], log[-len(added)]) == (added[0], added[PACKED], added[-1], added[0])
    assert log[3:-3] == added[3:-3]
    with pytest.raises(IndexError):
        log[len(added)]
    log.clear()
    assert not log


def test_account_of_a_compressed_recording_is_that_of_the_events():
    events = [
        event(block=n, stages_us=(("ttir", 1000),), at_ns=(n + 1) * 2_000_000, tier="compiled")
        for n in range(3 * PACKED)
    ]
    log = EventLog()
    log.extend(events)

    assert account([Recording(headers=[HEADER], events=log)]) == account([Recording(headers=[HEADER], events=events)])
