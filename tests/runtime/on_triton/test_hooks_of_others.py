"""A program that sets hooks of its own, before and after us, keeps them: called, and restored."""

import pytest

knobs = pytest.importorskip("triton.knobs")

from kernels import Mode, copy, launch  # noqa: E402

import triton_doctor  # noqa: E402


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


def test_listener_set_after_that_calls_ours_stays_and_hides_nothing(x, calls, monkeypatch):
    monkeypatch.setattr(knobs.compilation, "listener", None)
    with triton_doctor.record() as recording:
        ours = knobs.compilation.listener

        def chained(**told):
            calls.append("chained")
            return ours(**told)

        knobs.compilation.listener = chained
        launch(copy(), x)

    assert recording.count == 1
    assert recording.compiles[0].launch_site.function == "launch"
    assert knobs.compilation.listener is chained
    assert [warning.kind for warning in recording.warnings] == ["unseen"]
    launch(copy(), x)
    assert calls == ["chained", "chained"]
    assert recording.count == 1


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
