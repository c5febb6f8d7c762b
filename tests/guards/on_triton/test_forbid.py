"""After a warm-up: what is in memory launches, and anything else is told with what changed."""

import threading
import warnings

import pytest
import triton

import triton_doctor
from tests.runtime.on_triton.kernels import copy, launch, tuned
from triton_doctor import CompileWarning, UnexpectedCompileError
from triton_doctor.errors import DoctorError
from triton_doctor.runtime import hooks
from triton_doctor.runtime.causes import ValuesSeen
from triton_doctor.runtime.guards.warmth import TimedGuard


def test_launch_that_is_in_memory_is_allowed(x):
    kernel = copy()
    launch(kernel, x)

    with triton_doctor.warmed_up("raise"):
        launch(kernel, x)


def test_new_value_raises_where_it_was_launched_and_names_what_changed(x):
    kernel = copy()
    launch(kernel, x, value=3)
    launch(kernel, x, value=4)
    with pytest.raises(UnexpectedCompileError) as raised, triton_doctor.warmed_up("raise"):
        launch(kernel, x, value=5)

    recompile = raised.value.recompile
    assert (recompile.code, recompile.seen) == ("TRD702", (ValuesSeen(name="VALUE", count=3, first=(3, 4, 5)),))
    first, why, hint = str(raised.value).splitlines()
    assert first.startswith("`_copy` compiled in ")
    assert first.endswith(f" at {launch.__code__.co_filename}:{launch.__code__.co_firstlineno + 1}, after the warm-up")
    assert why == "  TRD702: `VALUE` is 5, was 4: 3 values so far: 3, 4, 5"
    assert hint.startswith("  hint: ")


@pytest.mark.parametrize(
    ("before", "now", "code", "why"),
    [
        pytest.param({"n": 32}, {"n": 17}, "TRD703", "`n` is 17: no longer divisible by 16", id="divisibility"),
        pytest.param({"n": 32}, {"n": 1}, "TRD703", "`n` is 1: became the constant 1", id="became 1"),
        pytest.param({}, {"num_warps": 8}, "TRD707", "`num_warps` is 8, was 4", id="option"),
        pytest.param({}, {"num_warps": 4}, "TRD708", "the same options, spelled", id="option spelled"),
    ],
)
def test_what_nobody_saw_before_the_guard_is_read_from_memory(x, before, now, code, why):
    kernel = copy()
    launch(kernel, x, **before)
    with pytest.raises(UnexpectedCompileError) as raised, triton_doctor.warmed_up("raise"):
        launch(kernel, x, **now)

    assert raised.value.recompile.code == code
    assert why in str(raised.value)


def test_load_from_disk_is_told_as_such(x):
    launch(copy(), x)
    loaded = "`_copy` was loaded from disk in "
    with pytest.raises(UnexpectedCompileError, match=loaded) as raised, triton_doctor.warmed_up("raise"):
        launch(copy(), x)

    assert raised.value.event.tier == "loaded from disk"


def test_kernel_of_another_name_may_compile(x):
    with triton_doctor.warmed_up("raise", kernel="_rope*"):
        launch(copy(), x)


def test_round_of_tuning_is_told(x):
    kernel = tuned()
    kernel[(1,)](x, x, 64)
    told = []
    with triton_doctor.warmed_up(told.append):
        kernel[(1,)](x, x, 128)

    assert [type(error.event).__name__ for error in told] == ["AutotuneEvent"]
    assert "`_tune` was tuned" in str(told[0])
    assert "`n` is 128" in str(told[0])


def test_forbidden_round_of_tuning_raises(x):
    kernel = tuned()
    kernel[(1,)](x, x, 64)

    with pytest.raises(UnexpectedCompileError, match="was tuned"), triton_doctor.warmed_up("raise"):
        kernel[(1,)](x, x, 128)


def test_tuning_that_comes_from_disk_is_no_tuning(x, caplog):
    if triton.__version__ < "3.4":
        pytest.skip("triton 3.4 brought cache_results")
    tuned(cache_results=True)[(1,)](x, x, 64)
    kernel = tuned(cache_results=True)
    kernel[(1,)](x, x, 96)
    triton_doctor.watch(on_excess="raise")(kernel)
    timed = TimedGuard(0)
    hooks.attach(timed.receive, count_launches=False)
    try:
        with triton_doctor.warmed_up("raise"), triton_doctor.limit_compiling_steps(0, on_excess="raise"):
            kernel[(1,)](x, x, 64)
            triton_doctor.step()
    finally:
        hooks.detach(timed.receive)

    assert caplog.messages == []


def test_launch_works_once_the_guard_is_gone(x):
    kernel = copy()
    with pytest.raises(UnexpectedCompileError), triton_doctor.warmed_up("raise"):
        launch(kernel, x)

    assert launch(kernel, x) is not None


def test_nested_guards_and_recordings_all_see_the_compile(x):
    told = []
    with triton_doctor.record() as outer, triton_doctor.warmed_up(told.append):
        with pytest.raises(UnexpectedCompileError), triton_doctor.warmed_up("raise"):
            launch(copy(), x)
        launch(copy(), x)

    assert (outer.count, len(told)) == (2, 2)


def test_exception_inside_passes_and_leaves_no_guard(x):
    with pytest.raises(ZeroDivisionError), triton_doctor.warmed_up("raise"):
        1 / 0  # noqa: B018

    launch(copy(), x)


def test_warning_stands_at_the_line_that_launched(x):
    with triton_doctor.warmed_up(), pytest.warns(CompileWarning, match="after the warm-up") as caught:
        launch(copy(), x)

    assert (caught[0].filename, caught[0].lineno) == (launch.__code__.co_filename, launch.__code__.co_firstlineno + 1)


def test_warning_made_an_error_is_raised_by_the_launch(x):
    with warnings.catch_warnings(), triton_doctor.warmed_up():
        warnings.simplefilter("error")

        with pytest.raises(CompileWarning):
            launch(copy(), x)


def test_what_a_callback_raises_the_launch_raises(x):
    def refuse(error):
        raise KeyError(error.event.kernel.name)

    with triton_doctor.warmed_up(refuse), pytest.raises(KeyError, match="_copy"):
        launch(copy(), x)


def test_closed_guard_is_silent(x):
    told = []
    guard = triton_doctor.warmed_up(told.append)
    guard.close()
    guard.close()
    launch(copy(), x)

    assert told == []


@pytest.mark.parametrize("on_compile", ["ignore", None, 3])
def test_reaction_that_is_none_is_refused(on_compile):
    with pytest.raises(DoctorError, match="on_compile is"):
        triton_doctor.warmed_up(on_compile)


def test_other_threads_are_held_to_it(x):
    kernel = copy()
    launch(kernel, x)
    raised = []

    def serve(value):
        try:
            launch(kernel, x, value=value)
        except UnexpectedCompileError as error:
            raised.append(error.recompile.seen[0].count)

    threads = [threading.Thread(target=serve, args=(value,)) for value in range(8)]
    with triton_doctor.warmed_up("raise"):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert len(raised) == 7
    assert sorted(raised) == [2, 3, 4, 5, 6, 7, 8]


def test_ten_thousand_guards_leave_nothing_behind(x):
    from triton.compiler import compiler

    kernel = copy()
    launch(kernel, x)
    before = [dict(vars(owner)) for owner in (compiler.ASTSource, compiler.CompiledKernel, compiler)]
    for _ in range(10_000):
        with triton_doctor.warmed_up("raise"):
            launch(kernel, x)

    assert [dict(vars(owner)) for owner in (compiler.ASTSource, compiler.CompiledKernel, compiler)] == before


def test_listener_that_is_set_and_reset_hides_no_compile(x):
    knobs = pytest.importorskip("triton.knobs")
    kernel = copy()
    launch(kernel, x)
    with triton_doctor.warmed_up("raise"):
        knobs.compilation.listener = lambda **told: None
        with pytest.raises(UnexpectedCompileError):
            launch(kernel, x, value=1)
        knobs.compilation.listener = None
        with pytest.raises(UnexpectedCompileError):
            launch(kernel, x, value=2)


def test_guard_that_was_made_blind_fails_at_its_end(x, monkeypatch):
    knobs = pytest.importorskip("triton.knobs")
    guard = triton_doctor.warmed_up("raise")
    with monkeypatch.context() as patch:
        patch.setattr(type(knobs.compilation), "listener", None)
        launch(copy(), x)
        with pytest.raises(triton_doctor.UncheckedError, match="could not be checked: the program replaced"):
            guard.close()


def test_guard_in_which_we_failed_fails_at_its_end_and_not_in_the_launch(x, monkeypatch):
    def fails(*_):
        raise LookupError("ours")

    monkeypatch.setattr("triton_doctor.runtime.hooks.observer.source_of", fails)
    with pytest.raises(triton_doctor.UncheckedError, match="ours"), triton_doctor.warmed_up("raise"):
        assert launch(copy(), x) is not None


def test_guard_on_a_triton_that_nothing_watches_is_refused(monkeypatch):
    monkeypatch.setattr("triton_doctor.runtime.hooks.OLDEST", (99, 0))
    with pytest.raises(triton_doctor.UncheckedError, match="older than"):
        triton_doctor.warmed_up("raise")
