"""Why a kernel compiled: by the difference from the nearest earlier key. Pure: values in, values out."""

from dataclasses import replace

import pytest

import triton_doctor
from triton_doctor.runtime.cause_wording import describe_recompile
from triton_doctor.runtime.causes import ValuesSeen, explain, explain_all
from triton_doctor.runtime.event import AutotuneEvent, CompileEvent, CompileKey, FailureEvent, KernelName
from triton_doctor.runtime.recording import Recording

KERNEL = KernelName(name="scale", module="m", path="m.py", line=3)
SIGNATURE = {"x_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}
OPTIONS = {"debug": False, "num_stages": 3, "num_warps": 4}


def event(
    n=16,
    block=64,
    signature=None,
    attributes=None,
    options=None,
    spelled=(),
    kernel=KERNEL,
    **more,
):
    """A compile; the integer `n` gets the class that triton would give it."""
    classes = {"x_ptr": "%16"}
    if n == 1:
        classes["n"] = "=1"
    elif n % 16 == 0:
        classes["n"] = "%16"
    key = CompileKey(
        signature=tuple((SIGNATURE | (signature or {})).items()),
        constants=(("BLOCK", block),),
        attributes=tuple((classes | (attributes or {})).items()),
        options=tuple(sorted((OPTIONS | (options or {})).items())),
        spelled=spelled,
        target="cuda:90",
    )
    known = {
        "values": (("n", n),),
        "tier": "compiled",
        "stages_us": (),
        "launch_site": None,
        "device": 0,
        "thread": 1,
        "rank": None,
    }
    return CompileEvent(kernel=kernel, key=key, source="s", **({"at_ns": 0} | known | more))


def tuning(n, **more):
    key = (("n", n), ("dtype 1", "torch.float32"))
    known = {"best": "", "timings_ms": (), "duration_us": 1, "cached": False, "launch_site": None, "thread": 1}
    return AutotuneEvent(kernel=KERNEL, key=key, rank=None, at_ns=0, **(known | more))


@pytest.mark.parametrize(
    ("before", "now", "code", "told"),
    [
        pytest.param(
            event(block=64),
            event(block=128),
            "TRD702",
            "`BLOCK` is 128, was 64: 2 values so far: 64, 128",
            id="another constexpr",
        ),
        pytest.param(
            event(n=16),
            event(n=17),
            "TRD703",
            "`n` is 17, was 16: no longer divisible by 16",
            id="no longer divisible",
        ),
        pytest.param(
            event(n=17), event(n=32), "TRD703", "`n` is 32, was 17: now divisible by 16", id="became divisible"
        ),
        pytest.param(
            event(n=2), event(n=1), "TRD703", "`n` is 1, was 2: became the constant 1", id="became the constant 1"
        ),
        pytest.param(
            event(n=1), event(n=2), "TRD703", "`n` is 2, was 1: no longer the constant 1", id="was the constant 1"
        ),
        pytest.param(
            event(n=17),
            event(n=2**31 + 1, signature={"n": "i64"}),
            "TRD703",
            "`n` is 2147483649, was 17: now i64, was i32",
            id="wider",
        ),
        pytest.param(
            event(), event(signature={"x_ptr": "*fp16"}), "TRD704", "`x_ptr` is *fp16, was *fp32", id="another dtype"
        ),
        pytest.param(
            event(n=17), event(n=17, signature={"n": "fp32"}), "TRD704", "`n` is fp32, was i32", id="int to float"
        ),
        pytest.param(
            event(n=2, values=()),
            event(n=1, values=()),
            "TRD703",
            "`n` became the constant 1",
            id="became 1, values unknown",
        ),
        pytest.param(
            event(n=16, values=()),
            event(n=2, values=()),
            "TRD703",
            "`n` is no longer divisible by 16",
            id="no longer divisible, values unknown",
        ),
        pytest.param(
            event(),
            event(attributes={"x_ptr": ""}),
            "TRD705",
            "`x_ptr` is not aligned to 16 bytes, was aligned",
            id="unaligned",
        ),
        pytest.param(
            event(attributes={"x_ptr": ""}),
            event(),
            "TRD705",
            "`x_ptr` is aligned to 16 bytes, was not",
            id="aligned again",
        ),
        pytest.param(
            event(attributes={"x_ptr": "%16 tt.pointer_range=32"}),
            event(),
            "TRD705",
            "`x_ptr` is of another class: %16, was %16 tt.pointer_range=32",
            id="larger than 2 GiB",
        ),
        pytest.param(
            event(),
            event(signature={"x_ptr": "none"}, attributes={"x_ptr": ""}),
            "TRD706",
            "`x_ptr` is none, was *fp32",
            id="None",
        ),
        pytest.param(
            event(), event(options={"num_warps": 8}), "TRD707", "`num_warps` is 8, was 4", id="another option"
        ),
        pytest.param(
            event(spelled=("debug=False",)),
            event(spelled=("num_warps=4", "debug=False")),
            "TRD708",
            "the same options, spelled (num_warps=4), were (not at all)",
            id="a default spelled out",
        ),
        pytest.param(
            event(), event(device=1), "TRD709", "on cuda:90 device 1, was on cuda:90 device 0", id="another device"
        ),
        pytest.param(event(), event(options={"debug": True}), "TRD710", "`debug` is True, was False", id="debug"),
        pytest.param(
            event(),
            replace(event(), source="t"),
            "TRD711",
            "the source of the kernel, or a constant it captures, changed",
            id="edited",
        ),
        pytest.param(
            event(made=1),
            event(made=2),
            "TRD712",
            "the kernel was created again: object 2 of that name",
            id="another object",
        ),
        pytest.param(
            event(),
            event(),
            "TRD712",
            "nothing in its key changed: the kernel, or its cache in memory, was created again",
            id="the same again",
        ),
        pytest.param(
            event(block=2),
            event(block=2.0),
            "TRD713",
            "`BLOCK` is 2.0, was 2: equal values of two types, which can share one kernel",
            id="equal, of another type",
        ),
    ],
)
def test_one_difference_is_told_as_its_cause(before, now, code, told):
    recompile = explain(now, [before])

    assert recompile.code == code
    assert describe_recompile(recompile) == told


def test_first_compile_is_the_first_cause():
    assert explain(event(), []).code == "TRD701"


def test_nearest_key_is_told_and_not_the_latest():
    near, far = event(block=64, n=17), event(block=256, n=16, options={"num_warps": 8})

    recompile = explain(event(block=128, n=17), [near, far])

    assert recompile.nearest is near
    assert [(change.name, change.before) for change in recompile.changes] == [("BLOCK", 64)]


def test_latest_of_equally_near_keys_is_told():
    recompile = explain(event(block=256), [event(block=64), event(block=128)])

    assert recompile.changes[0].before == 128


def test_several_changes_are_told_with_the_one_that_matters_first():
    recompile = explain(event(n=17, block=2.0, options={"num_warps": 8}), [event(n=16, block=2)])

    assert recompile.code == "TRD713"
    assert describe_recompile(recompile).split("; ") == [
        "`BLOCK` is 2.0, was 2: equal values of two types, which can share one kernel",
        "`n` is 17, was 16: no longer divisible by 16",
        "`num_warps` is 8, was 4",
    ]


def test_values_so_far_are_those_of_the_kernel_oldest_first():
    causes = explain_all([event(block=block) for block in (64, 32, 64, 128)])

    assert causes[-1].seen == (ValuesSeen(name="BLOCK", count=3, first=(64, 32, 128)),)


def test_many_values_are_told_by_their_number():
    causes = explain_all([event(block=block) for block in range(100, 140)])

    assert describe_recompile(causes[-1]).endswith("40 values so far: 100, 101, 102, 103, 104, 105, 106, 107, ...")


def test_kernels_and_ranks_are_kept_apart():
    other = KernelName(name="scale", module="m", path="other.py", line=3)
    causes = explain_all([event(), event(kernel=other), event(rank=1), event(block=128)])

    assert [cause.code for cause in causes] == ["TRD701", "TRD701", "TRD701", "TRD702"]


def test_tuning_again_names_what_differs_in_the_key():
    causes = explain_all([tuning(1000), tuning(1001)])

    assert [cause.code for cause in causes] == ["TRD714"]
    assert describe_recompile(causes[0]) == "the tuning key's `n` is 1001, was 1000"


def compiled_by(thread, begin_ms, end_ms, **more):
    return event(thread=thread, at_ns=end_ms * 1_000_000, stages_us=(("cubin", (end_ms - begin_ms) * 1000),), **more)


def test_load_that_waited_for_its_turn_while_another_thread_compiled_is_at_once():
    compiled = event(thread=1, at_ns=123_400_000, stages_us=(("cubin", 123_400),))
    load = {"tier": "loaded from disk", "stages_us": (("load", 1_000),)}
    waited = event(thread=2, at_ns=135_900_000, **load)
    of_same_thread = event(thread=2, at_ns=150_000_000, **load)
    much_later = event(thread=3, at_ns=90_000_000_000, **load)

    causes = explain_all([compiled, waited, of_same_thread, much_later])

    assert [cause.code for cause in causes] == ["TRD701", "TRD715", "TRD712", "TRD712"]


def test_timings_that_came_from_disk_are_no_tuning_again():
    assert [cause.event.cached for cause in explain_all([tuning(1), tuning(2, cached=True), tuning(3)])] == [False]


def test_one_key_compiled_by_threads_at_once_is_a_cause_of_its_own():
    first, second = compiled_by(1, 0, 100), compiled_by(2, 50, 150)

    causes = explain_all([first, compiled_by(3, 20, 120, n=17), second])

    assert [cause.code for cause in causes] == ["TRD701", "TRD703", "TRD715"]
    assert causes[-1].nearest is first
    assert describe_recompile(causes[-1]) == "thread 1 was compiling the same key: Triton has no lock there"


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(compiled_by(2, 101, 150), id="after the other thread was through"),
        pytest.param(compiled_by(1, 50, 150), id="on the same thread"),
    ],
)
def test_one_key_compiled_in_turn_is_a_kernel_made_anew(second):
    assert explain_all([compiled_by(1, 0, 100), second])[-1].code == "TRD712"


def test_what_a_guard_refused_is_not_in_memory():
    refusal = FailureEvent(
        kernel=KERNEL, stage="launch", error="", duration_us=0, thread=1, rank=None, at_ns=0, refused=True
    )

    causes = explain_all([event(block=64), event(block=32), refusal, event(block=32)])

    assert [cause.code for cause in causes] == ["TRD701", "TRD702", "TRD702"]
    assert causes[-1].changes[0].before == 64


def test_recording_prints_as_a_summary():
    recording = Recording(events=[event(block=block) for block in (64, 32)])

    assert repr(recording) == "<Recording: 2 compiled, 0 from disk>"
    assert str(recording) == "Recording: 2 compiled, 0 from disk\n  scale: 1x TRD701\n  scale: 1x TRD702"


def test_recording_in_a_notebook_is_a_table_of_kernels_whose_names_stay_text():
    hostile = replace(KERNEL, name="<img src=x onerror=alert(1)>")
    events = [replace(event(block=block), kernel=hostile) for block in (64, 32)]
    shown = Recording(events=events)._repr_html_()

    assert "<code>&lt;img src=x onerror=alert(1)&gt;</code>" in shown
    assert "1x TRD702: <code>BLOCK</code> 64, 32" in shown
    assert "<img" not in shown
    assert Recording()._repr_html_() == "<div><p><b>Recording: 0 compiled, 0 from disk</b></p></div>"


def test_event_prints_in_one_line():
    assert repr(event(block=64)) == "<CompileEvent scale BLOCK=64: compiled in 0.0 ms>"


def test_package_lists_its_public_names_and_nothing_else():
    assert dir(triton_doctor) == sorted(triton_doctor.__all__)
    assert all(hasattr(triton_doctor, name) for name in dir(triton_doctor))
