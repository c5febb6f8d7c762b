"""A program that sets hooks of its own, before and after us, keeps them: called, and restored."""

import os
import sys
import types

import pytest
import triton

knobs = pytest.importorskip("triton.knobs")

from kernels import Mode, copy, launch, tuned  # noqa: E402

import triton_doctor  # noqa: E402
from triton_doctor.runtime import hooks  # noqa: E402


@pytest.fixture
def calls():
    return []


def noting(calls, name, result=None):
    def hook(*args, **kwargs):
        calls.append(name)
        return result

    return hook


def test_listener_set_before_is_called_and_stands_again(x, calls, monkeypatch):
    before = noting(calls, "before")
    monkeypatch.setattr(knobs.compilation, "listener", before)
    with triton_doctor.record() as recording:
        launch(copy(), x)

    assert calls == ["before"]
    assert recording.count == 1
    assert knobs.compilation.listener is before


def test_listener_set_after_us_is_called_and_hides_nothing(x, calls, monkeypatch):
    monkeypatch.setattr(knobs.compilation, "listener", None)
    theirs = noting(calls, "theirs")
    with triton_doctor.record() as recording:
        knobs.compilation.listener = theirs
        launch(copy(), x, value=1)
        during = knobs.compilation.listener
        knobs.compilation.listener = None
        launch(copy(), x, value=2)

    assert during is theirs
    assert calls == ["theirs"]
    assert recording.count == 2
    assert recording.compiles[0].launch_site.function == "launch"
    assert recording.warnings == ()
    assert knobs.compilation.listener is None


def test_listener_that_outlives_us_stays(x, calls, monkeypatch):
    monkeypatch.setattr(knobs.compilation, "listener", None)
    theirs = noting(calls, "theirs")
    with triton_doctor.record():
        knobs.compilation.listener = theirs

    assert knobs.compilation.listener is theirs
    launch(copy(), x)
    assert calls == ["theirs"]


def test_program_reads_the_listener_that_it_set(monkeypatch):
    monkeypatch.setattr(knobs.compilation, "listener", None)
    before = dict(vars(knobs.compilation))
    with triton_doctor.record():
        during, stored = knobs.compilation.listener, dict(vars(knobs.compilation))

    assert during is None
    assert stored == before


def test_scope_and_copies_of_the_knobs_hide_nothing(x, calls, monkeypatch):
    monkeypatch.setattr(knobs, "compilation", knobs.compilation)
    with triton_doctor.record() as recording:
        with knobs.compilation.scope():
            knobs.compilation.listener = noting(calls, "scoped")
            launch(copy(), x, value=1)
        launch(copy(), x, value=2)
        knobs.compilation = knobs.compilation.copy().reset()
        launch(copy(), x, value=3)

    assert calls == ["scoped"]
    assert recording.count == 3
    assert recording.warnings == ()


def test_falsy_listener_is_not_called_as_without_us(x, calls, monkeypatch):
    class Falsy(list):
        def __call__(self, **told):
            calls.append("falsy")

    monkeypatch.setattr(knobs.compilation, "listener", Falsy())
    with triton_doctor.record() as recording:
        launch(copy(), x)

    assert (calls, recording.count) == ([], 1)


def test_listener_of_tuning_set_after_us_is_called_and_hides_nothing(x, calls, monkeypatch):
    if not hasattr(knobs, "autotuning") or not hasattr(knobs.autotuning, "listener"):
        pytest.skip("triton 3.8 brought the listener")
    monkeypatch.setattr(knobs.autotuning, "listener", None)
    with triton_doctor.record() as recording:
        knobs.autotuning.listener = noting(calls, "theirs")
        tuned()[(1,)](x, x, 1000)
        knobs.autotuning.listener = None
        tuned()[(1,)](x, x, 1000)

    assert calls == ["theirs"]
    assert len(recording.tunings) == 2


def test_triton_runs_a_function_in_a_process_as_without_us():
    if triton.__version__ < "3.8":
        pytest.skip("triton 3.9 sends its listener to that process")
    testing = pytest.importorskip("triton._internal_testing")

    def run():
        # It ends with an error where there is no GPU.
        try:
            return repr(testing.run_in_process(os.getpid))
        except AssertionError as error:
            return repr(error)

    bare = run()
    with triton_doctor.record():
        watched = run()

    assert watched == bare


@pytest.mark.parametrize("replace", ["listener of the class", "triton itself"])
def test_replacing_what_we_watch_by_is_warned_of_once(monkeypatch, replace):
    with triton_doctor.record() as recording, monkeypatch.context() as patch:
        if replace == "triton itself":
            patch.setitem(sys.modules, "triton", types.ModuleType("triton"))
        else:
            patch.setattr(type(knobs.compilation), "listener", None)
        hooks.verify()
        hooks.verify()

    assert [warning.kind for warning in recording.warnings] == ["unseen"]


def test_jit_hooks_of_the_program_are_its_own(x, calls, monkeypatch):
    monkeypatch.setattr(knobs.runtime, "jit_cache_hook", noting(calls, "cache"))
    with triton_doctor.record() as recording:
        monkeypatch.setattr(knobs.runtime, "jit_post_compile_hook", noting(calls, "post"))
        launch(copy(), x)

    assert calls == ["cache", "post"]
    assert recording.count == 1


def test_hook_that_forbids_the_launch_is_obeyed(x, calls, monkeypatch):
    monkeypatch.setattr(knobs.runtime, "jit_cache_hook", noting(calls, "forbid", True))
    with triton_doctor.record() as recording:
        launched = launch(copy(), x)

    assert launched is None
    assert recording.count == 0


def test_hook_that_raises_raises_as_before(x, monkeypatch):
    def raises(**_):
        raise LookupError("theirs")

    monkeypatch.setattr(knobs.compilation, "listener", raises)
    with triton_doctor.record() as recording, pytest.raises(LookupError, match="theirs"):
        launch(copy(), x)

    assert recording.count == 1


def test_enum_constexpr_is_safe_because_no_jit_hook_is_set(x):
    with triton_doctor.record():
        assert knobs.runtime.jit_cache_hook is None
        assert knobs.runtime.jit_post_compile_hook is None
        launch(copy(), x, value=Mode.SAFE)
