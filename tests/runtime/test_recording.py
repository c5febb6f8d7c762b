"""A recording on disk: what is written comes back, and what is broken is said."""

import dataclasses
import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from triton_doctor import Recording
from triton_doctor.errors import DoctorError
from triton_doctor.runtime.decoding import decode_line
from triton_doctor.runtime.event import (
    AutotuneEvent,
    CompileEvent,
    CompileKey,
    EndEvent,
    Header,
    InterpretedEvent,
    KernelName,
    LaunchesEvent,
    LaunchSite,
    MemoryEvent,
    WarningEvent,
)
from triton_doctor.runtime.lines import write_line
from triton_doctor.runtime.program_event import MarkEvent, ProgramEvent
from triton_doctor.runtime.recording_files import read_recordings
from triton_doctor.runtime.watch import make_header

RUNS = Path(__file__).parents[2] / "fixtures" / "runs"
TEXT = st.text(max_size=12)
COUNT = st.integers(0, 2**63)
SCALAR = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
PAIRS = st.lists(st.tuples(TEXT, SCALAR), max_size=3).map(tuple)
TEXTS = st.lists(st.tuples(TEXT, TEXT), max_size=3).map(tuple)
KERNEL = st.builds(KernelName, name=TEXT, module=TEXT, path=TEXT, line=COUNT)
SITE = st.none() | st.builds(LaunchSite, path=TEXT, line=COUNT, function=TEXT)
RANK = st.none() | COUNT
STAGES = st.lists(st.tuples(TEXT, COUNT), max_size=3).map(tuple)
KEY = st.builds(
    CompileKey,
    signature=TEXTS,
    constants=PAIRS,
    attributes=TEXTS,
    options=PAIRS,
    spelled=st.lists(TEXT, max_size=2).map(tuple),
    target=TEXT,
)
EVENTS = st.one_of(
    st.builds(
        CompileEvent,
        kernel=KERNEL,
        key=KEY,
        tier=st.sampled_from(["compiled", "loaded from disk"]),
        stages_us=STAGES,
        launch_site=SITE,
        device=RANK,
        thread=COUNT,
        rank=RANK,
        at_ns=COUNT,
        values=PAIRS,
        source=TEXT,
        made=COUNT,
    ),
    st.builds(
        AutotuneEvent,
        kernel=KERNEL,
        key=PAIRS,
        best=TEXT,
        timings_ms=st.lists(st.tuples(TEXT, st.floats(0, 1e6)), max_size=3).map(tuple),
        duration_us=RANK,
        cached=st.booleans(),
        launch_site=SITE,
        thread=COUNT,
        rank=RANK,
        at_ns=COUNT,
    ),
    st.builds(LaunchesEvent, launches=st.lists(st.tuples(KERNEL, COUNT), max_size=3).map(tuple), at_ns=COUNT),
    st.builds(WarningEvent, kind=TEXT, message=TEXT, at_ns=COUNT, kernel=st.none() | KERNEL),
    st.builds(EndEvent, wall_us=COUNT, at_ns=COUNT),
    st.builds(InterpretedEvent, kernel=KERNEL, count=COUNT, took_us=COUNT, at_ns=COUNT),
    st.builds(MarkEvent, name=TEXT, at_ns=COUNT),
    st.builds(MemoryEvent, kernel=KERNEL, key=KEY, device=RANK, rank=RANK, at_ns=COUNT, source=TEXT, made=COUNT),
    st.builds(
        ProgramEvent,
        wall_us=COUNT,
        status=st.integers(-64, 255),
        at_ns=COUNT,
        gpus=st.lists(st.tuples(TEXT, COUNT, COUNT, st.floats(0, 100)), max_size=2).map(tuple),
    ),
)
HEADER = Header(
    tool_version="0.1.0",
    versions=(("triton", "3.9.0"),),
    target="cuda:90",
    compile_only=True,
    command=("python", "x.py"),
    variables=(),
    rank=None,
    world_size=None,
    pid=1,
    started_at_ns=5,
)
WARNING = WarningEvent(kind="interpreted", message="`k` runs in interpreter mode", at_ns=7)


# A slow machine is no failure.
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(EVENTS)
def test_event_written_is_the_event_read(event):
    line = write_line(event)

    assert "\n" not in line
    assert decode_line(line) == event


def test_header_written_is_the_header_read():
    assert decode_line(write_line(HEADER)) == HEADER


def edited(event, **fields):
    """The line of `event` with other values; where they are Ellipsis, without them."""
    values = json.loads(write_line(event)) | fields
    return json.dumps({name: value for name, value in values.items() if value is not ...})


@pytest.fixture
def file(tmp_path):
    def write(*lines, end="\n"):
        path = tmp_path / "run.jsonl"
        path.write_text("\n".join(lines) + end)
        return path

    return write


def test_torn_last_line_is_said_and_skipped(file):
    recording = Recording.read(file(write_line(HEADER), write_line(WARNING), write_line(WARNING)[:30], end=""))

    assert [warning.kind for warning in recording.warnings] == ["interpreted", "torn"]
    assert recording.warnings[1].message == "the last line of run.jsonl is torn: the program ended while it was written"


def test_event_of_an_unknown_kind_is_skipped(file):
    recording = Recording.read(file(write_line(HEADER), '{"event":"tomorrow","x":1}', write_line(WARNING)))

    assert recording.warnings == (WARNING,)


def test_unknown_field_of_an_event_is_skipped(file):
    line = json.dumps(json.loads(write_line(WARNING)) | {"tomorrow": 1})

    assert Recording.read(file(write_line(HEADER), line)).warnings == (WARNING,)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        pytest.param((), "run.jsonl is empty: no recording", id="empty"),
        pytest.param(("hello", "world"), "run.jsonl is not a recording: line 1 is no event", id="text"),
        pytest.param(('{"a": 1}', '{"a": 2}'), "run.jsonl is not a recording: line 1 is no event", id="other JSON"),
        pytest.param(("[1]",), "run.jsonl is not a recording: line 1 is no event", id="one line of other JSON"),
        pytest.param(("[" * 100_000,), "run.jsonl is not a recording: line 1 is no event", id="deep"),
        pytest.param(('{"event":{}}',), "run.jsonl is not a recording: line 1 is no event", id="an event of no name"),
        pytest.param((f'{{"event":{"9" * 5000}}}',), "line 1 is no event", id="many digits"),
        pytest.param((write_line(WARNING),), "run.jsonl is not a recording: it has no header", id="no header"),
        pytest.param(
            (edited(HEADER, pid="1"), write_line(WARNING)),
            "line 1 is a damaged header event: expected `int`, got `str` - at `$.pid`",
            id="damaged header",
        ),
        pytest.param(
            (write_line(HEADER).replace('"schema":1', '"schema":2'),),
            "run.jsonl: the recording has schema 2, this triton-doctor reads 1",
            id="newer",
        ),
    ],
)
def test_what_is_no_recording_is_said_in_one_line(file, lines, message):
    with pytest.raises(DoctorError) as caught:
        Recording.read(file(*lines, end=""))

    assert caught.value.message.endswith(message)
    assert caught.value.hint


COMPILE = CompileEvent(
    kernel=KernelName(name="k", module="m", path="m.py", line=1),
    key=CompileKey(signature=(("n", "i32"),)),
    tier="compiled",
    stages_us=(("ir", 5),),
    launch_site=LaunchSite(path="m.py", line=9, function="f"),
    device=0,
    thread=1,
    rank=None,
    at_ns=9,
)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        pytest.param("noise", "no event", id="no JSON"),
        pytest.param("[" * 100_000, "no event", id="deep"),
        pytest.param("{}", "no event", id="empty object"),
        pytest.param('{"event":["compile"]}', "no event", id="the kind is a list"),
        pytest.param(edited(COMPILE, kernel=7), "expected `str`, got `int` - at `$.kernel.name`", id="kernel"),
        pytest.param(edited(COMPILE, line=...), "missing required field `line` - at `$.kernel`", id="no line"),
        pytest.param(edited(COMPILE, key=[]), "expected `object`, got `array` - at `$.key`", id="key"),
        pytest.param(edited(COMPILE, key={"signature": [["n"]]}), "length 2, got 1", id="a pair of one"),
        pytest.param(edited(COMPILE, stages_us=[["ir", -5]]), "out of range - at `$.stages_us`", id="negative time"),
        pytest.param(edited(COMPILE, at_ns=10**400), "out of range - at `$.at_ns`", id="huge time"),
        pytest.param(edited(COMPILE, rank="0"), "expected `int | null`, got `str` - at `$.rank`", id="rank"),
        pytest.param(edited(COMPILE, launch_site={"path": None}), "expected `str`, got `null`", id="launch site"),
        pytest.param(edited(COMPILE, warmup="yes"), "expected `bool`, got `str`", id="flag"),
        pytest.param(edited(COMPILE, values={"n": 1}), "expected `array`, got `object`", id="values"),
        pytest.param(edited(COMPILE, values=[["n", [1]]]), "got `array`", id="an argument that is a list"),
        pytest.param('{"event":"launches","launches":[3],"at_ns":1}', "got `int`", id="launches of a number"),
        pytest.param('{"event":"launches","launches":null,"at_ns":1}', "got `null`", id="no launches"),
        pytest.param('{"event":"end","\\ud800":1}', "a key is no UTF-8", id="a key of surrogates"),
        pytest.param('{"event":"end","at_ns":1}', "missing required field `wall_us`", id="no wall time"),
    ],
)
def test_damaged_line_is_said_and_costs_no_other(file, line, reason):
    recording = Recording.read(file(write_line(HEADER), line, write_line(COMPILE), write_line(WARNING)))

    assert recording.compiles == (COMPILE,)
    assert [warning.kind for warning in recording.warnings] == ["interpreted", "damaged"]
    assert recording.warnings[-1].message.startswith("line 2 of run.jsonl is left out: it is ")
    assert reason in recording.warnings[-1].message


def test_several_damaged_lines_are_one_warning(file):
    recording = Recording.read(file(write_line(HEADER), "noise", write_line(COMPILE), "[]", write_line(WARNING)))

    message = "2 damaged lines of run.jsonl are left out; the first, line 2, is no event"
    assert [warning.message for warning in recording.warnings] == [WARNING.message, message]


def test_events_after_a_damaged_header_belong_to_no_other_process(file):
    damaged = write_line(HEADER).replace('"pid":1', '"pid":"1"')
    lines = (write_line(HEADER), write_line(COMPILE), damaged, write_line(COMPILE), write_line(HEADER))
    first, second = Recording.read_each(file(*lines))

    assert (len(first.compiles), len(second.compiles)) == (1, 0)
    assert first.warnings[-1].message.startswith("2 damaged lines of run.jsonl are left out; the first, line 3, ")


def test_causes_of_several_processes_are_told_process_by_process(file):
    other = dataclasses.replace(COMPILE, thread=2)
    again = dataclasses.replace(other, at_ns=99)
    recording = Recording.read(file(*map(write_line, (HEADER, COMPILE, HEADER, other, again))))

    assert [cause.code for cause in recording.causes] == ["TRD701", "TRD701", "TRD712"]
    assert [cause.code for cause in recording.of("k").causes] == ["TRD701", "TRD701", "TRD712"]
    assert [cause.code for cause in recording.of("other").causes] == []


def test_arguments_may_be_any_number(file):
    values = (("n", 10**30), ("m", -1), ("x", float("inf")), ("two", 2.0), ("flag", True))
    event = dataclasses.replace(COMPILE, values=values)

    read = Recording.read(file(write_line(HEADER), write_line(event))).compiles[0]

    assert [(name, repr(value)) for name, value in read.values] == [(name, repr(value)) for name, value in values]


def test_one_unreadable_file_does_not_hide_the_others(tmp_path):
    (tmp_path / "a.jsonl").write_text("noise\n")
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "b.jsonl").write_text(write_line(HEADER) + "\n")

    reading = read_recordings([tmp_path, tmp_path / "none.jsonl", "/dev/null", "\0"])

    assert [process.headers for process in reading.processes] == [[HEADER]]
    assert [error.message.partition(str(tmp_path))[0] for error in reading.errors[:2]] == ["", "cannot read "]
    assert reading.errors[2].message == "cannot read /dev/null: not a regular file"
    assert len(reading.errors) == 4


def test_missing_file_and_empty_folder_are_said(tmp_path):
    with pytest.raises(DoctorError, match=r"cannot read .*none\.jsonl: no such file"):
        Recording.read(tmp_path / "none.jsonl")
    with pytest.raises(DoctorError, match="no recording in"):
        Recording.read(tmp_path)


def test_recordings_of_several_processes_are_one(tmp_path):
    kernel = KernelName(name="k", module="m", path="m.py", line=1)
    for process, count in (("a", 3), ("b", 4)):
        early, late = (LaunchesEvent(launches=((kernel, launches),), at_ns=launches) for launches in (count - 1, count))
        lines = map(write_line, (HEADER, early, WARNING, late))
        (tmp_path / f"{process}.jsonl").write_text("\n".join(lines) + "\n")

    recording = Recording.read(tmp_path)

    assert recording.launches == {kernel: 7}
    assert len(recording.headers) == len(recording.warnings) == 2


def test_of_a_glob_is_what_concerns_those_kernels():
    kernels = [KernelName(name=name, module="m", path="m.py", line=1) for name in ("_rope_fwd", "_rope_bwd", "norm")]
    events = [LaunchesEvent(launches=tuple((kernel, 2) for kernel in kernels), at_ns=1)]
    events += [WarningEvent(kind="interpreted", message="", at_ns=2, kernel=kernel) for kernel in kernels]

    rope = Recording(events=events).of("_rope*")

    assert sorted(kernel.name for kernel in rope.launches) == ["_rope_bwd", "_rope_fwd"]
    assert len(rope.warnings) == 2


def test_header_has_values_of_what_triton_reads_alone_without_their_secrets(monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/home/me/inductor")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    monkeypatch.setenv("TRITON_CACHE_REDIS", "redis://me:hunter2@host")
    monkeypatch.setenv("TRITON_CACHE_DIR", "/kernels")
    monkeypatch.setenv("MY_TOKEN", "hunter2")

    kept = dict(make_header().variables)
    assert (kept["TORCHINDUCTOR_CACHE_DIR"], kept["CUDA_VISIBLE_DEVICES"]) == ("***", "***")
    assert kept["TRITON_CACHE_REDIS"] == "redis://***@host"
    assert (kept["TRITON_CACHE_DIR"], "MY_TOKEN" in kept) == ("/kernels", False)


@pytest.mark.parametrize("path", sorted(RUNS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_parts_that_lines_share_change_no_event_and_are_one_object(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    shared = {}
    events = [decode_line(line, shared) for line in lines]

    # By text, for 1, 1.0 and True are equal.
    assert repr(events) == repr([decode_line(line) for line in lines])
    again = [decode_line(line, shared) for line in lines]
    pairs = [(one, other) for one, other in zip(events, again, strict=True) if isinstance(one, CompileEvent)]
    assert all(one.key is other.key and one.kernel is other.kernel for one, other in pairs)


def test_values_that_are_equal_and_of_two_types_are_not_shared():
    recorded = (RUNS / "two_ranks.jsonl").read_text(encoding="utf-8").splitlines()
    line = next(one for one in recorded if '["length",16]' in one)
    shared = {}
    spelled = [line.replace('["length",16]', f'["length",{value}]') for value in ("1", "1.0", "true")]

    assert [repr(decode_line(one, shared).key.constants[0][1]) for one in spelled] == ["1", "1.0", "True"]
