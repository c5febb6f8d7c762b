"""A recording on disk: what is written comes back, and what is broken is said."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triton_doctor import Recording
from triton_doctor.errors import DoctorError
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
    MarkEvent,
    ProgramEvent,
    WarningEvent,
)
from triton_doctor.runtime.lines import read_line, write_line

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


@given(EVENTS)
def test_event_written_is_the_event_read(event):
    line = write_line(event)

    assert "\n" not in line
    assert read_line(line) == event


def test_header_written_is_the_header_read():
    assert read_line(write_line(HEADER)) == HEADER


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
        pytest.param(
            (write_line(HEADER), "torn", write_line(WARNING)),
            "run.jsonl is not a recording: line 2 is no event",
            id="broken in the middle",
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


def test_missing_file_and_empty_folder_are_said(tmp_path):
    with pytest.raises(DoctorError, match=r"cannot read .*none\.jsonl: No such file"):
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
