"""A program under the hook does what it does without, and finds triton as it left it."""

import importlib
import os
import resource
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import triton
from kernels import Mode, broken, copy, hungry, launch, tuned
from triton.compiler import compiler
from triton.compiler.compiler import CompiledKernel
from triton.runtime import jit
from triton.runtime.autotuner import Autotuner

import triton_doctor
from triton_doctor import Recording


def touched():
    """Everything of triton's that the hook puts something over."""
    from triton.backends import backends

    found = [vars(compiler.ASTSource), vars(CompiledKernel), vars(Autotuner), vars(jit.JITFunction), vars(jit)]
    found += [vars(backend.compiler) for backend in backends.values()]
    if importlib.util.find_spec("triton.knobs"):
        from triton import knobs

        groups = ("compilation", "runtime", "autotuning")
        found += [vars(getattr(knobs, name)) for name in groups if hasattr(knobs, name)]
    return [{name: id(value) for name, value in owner.items()} for owner in found]


def test_triton_is_restored_object_for_object(x):
    before = touched()
    with triton_doctor.record(), triton_doctor.record(count_launches=False):
        launch(copy(), x)
        during = touched()

    assert during != before
    assert touched() == before


def test_triton_is_restored_after_an_exception():
    before = touched()
    with pytest.raises(ZeroDivisionError), triton_doctor.record():
        1 / 0  # noqa: B018

    assert touched() == before


def test_many_recordings_leave_nothing_behind(x):
    kernel = copy()
    launch(kernel, x)
    before = touched()
    for _ in range(300):
        with triton_doctor.record():
            launch(kernel, x)

    assert touched() == before
    (compiled,) = _compiled(kernel)
    assert not [name for name in vars(compiled) if "doctor" in name]


def _compiled(kernel):
    caches = getattr(kernel, "device_caches", None) or {0: (kernel.cache[0],)}
    return caches[0][0].values()


@pytest.mark.parametrize("value", [Mode.FAST, b"bytes", frozenset({1}), object(), 1.5, "text", None, (1, 2)], ids=type)
def test_any_constexpr_launches_as_it_does_unwatched(x, value):
    with triton_doctor.record() as recording:
        launch(copy(), x, value=value)

    assert recording.count == 1
    assert recording.warnings == ()


def test_failing_compile_reaches_the_program(x):
    with triton_doctor.record() as recording:
        with pytest.raises(triton.compiler.errors.CompilationError):
            launch(broken(), x)
        launch(copy(), x)

    assert [event.kernel.name for event in recording.compiles] == ["_copy"]


def test_out_of_resources_reaches_the_program(x):
    with triton_doctor.record() as recording, pytest.raises(triton.runtime.errors.OutOfResources):
        launch(hungry(), x, num_stages=40)

    assert [event.kernel.name for event in recording.compiles] == ["_devour"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_interrupt_in_a_compile_passes_and_the_next_compile_is_seen(x, fresh, monkeypatch, error):
    stages = compiler.ASTSource.make_ir

    def interrupted(*args, **kwargs):
        monkeypatch.setattr(compiler.ASTSource, "make_ir", stages)
        raise error

    monkeypatch.setattr(compiler.ASTSource, "make_ir", interrupted)
    kernel = copy()
    with triton_doctor.record() as recording:
        with pytest.raises(error):
            launch(kernel, x, value=7_001)
        launch(kernel, x, value=7_001)

    assert [event.tier for event in recording.compiles] == ["compiled"]


def test_fault_of_ours_is_told_and_not_raised(x, monkeypatch):
    def fails(*_):
        raise RuntimeError("ours")

    monkeypatch.setattr("triton_doctor.runtime.hooks.observer.source_of", fails)
    with triton_doctor.record() as recording:
        kernel = launch(copy(), x)

    assert kernel is not None
    (warning,) = recording.warnings
    assert warning.kind == "fault"
    assert "RuntimeError: ours" in warning.message


def test_full_disk_costs_the_file_and_not_the_program(x, tmp_path):
    kernel = copy()
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    with triton_doctor.record(tmp_path / "run.jsonl") as recording:
        launch(kernel, x)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, limit[1]))
        try:
            # Found on disk: triton writes nothing, we do.
            launch(kernel, x, num_warps=4)
            launch(kernel, x, num_warps=4, num_stages=3)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)

    assert recording.count == 3
    assert [warning.kind for warning in recording.warnings] == ["fault"]
    assert Recording.read(tmp_path / "run.jsonl").count == 1


def test_threads_count_each_launch(x):
    kernel = copy()
    launch(kernel, x)

    def work():
        for _ in range(3000):
            launch(kernel, x)

    with triton_doctor.record() as recording:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert sum(recording.launches.values()) == 12_000


def test_compiles_of_threads_are_told_apart(x):
    kernels = [copy(), copy()]

    def work(number):
        for value in range(5):
            launch(kernels[number], x, value=100 * number + value)

    with triton_doctor.record() as recording:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    by_thread = {}
    for event in recording.compiles:
        by_thread.setdefault(event.thread, []).append(dict(event.key.constants)["VALUE"])
    assert sorted(by_thread.values()) == [[0, 1, 2, 3, 4], [100, 101, 102, 103, 104]]


def test_nested_recordings_see_what_is_theirs(x):
    kernel = copy()
    with triton_doctor.record() as outer:
        launch(kernel, x, value=1)
        with triton_doctor.record() as inner:
            launch(kernel, x, value=2)
            launch(kernel, x, value=2)
        launch(kernel, x, value=3)

    assert (outer.count, sum(outer.launches.values())) == (3, 4)
    assert (inner.count, sum(inner.launches.values())) == (1, 2)


def test_launches_are_not_counted_when_not_asked(x):
    with triton_doctor.record(count_launches=False) as recording:
        launch(copy(), x)

    assert (recording.count, recording.launches) == (1, {})


def test_kernels_that_are_gone_stay_counted(x):
    with triton_doctor.record() as recording:
        for _ in range(3):
            kernel = copy()
            launch(kernel, x)
            launch(kernel, x)
            del kernel

    assert sum(recording.launches.values()) == 6


def test_each_tuning_key_is_a_round_and_one_compiles_nothing(x):
    kernel = tuned()
    with triton_doctor.record() as recording:
        for n in (1000, 1001, 1003, 1000):
            kernel[(1,)](x, x, n)

    assert [dict(round_.key)["n"] for round_ in recording.tunings] == [1000, 1001, 1003]
    assert [len(round_.timings_ms) for round_ in recording.tunings] == [3, 3, 3]
    assert not any(round_.cached for round_ in recording.tunings)
    assert recording.count == 3
    assert all(event.tuning for event in recording.compiles)
    assert [recompile.code for recompile in recording.causes][-2:] == ["TRD714", "TRD714"]
    assert {round_.launch_site.path for round_ in recording.tunings} == {__file__}


def test_round_found_on_disk_is_told_as_such(x, fresh):
    if tuple(map(int, fresh.__version__.split(".")[:2])) < (3, 4):
        pytest.skip("triton 3.4 brought cache_results")
    with triton_doctor.record() as recording:
        for kernel in (tuned(cache_results=True), tuned(cache_results=True)):
            kernel[(1,)](x, x, 1000)

    assert [(round_.cached, round_.duration_us is None) for round_ in recording.tunings] == [
        (False, False),
        (True, True),
    ]


def test_file_survives_kill_9(tmp_path, x):
    program = (
        "import os, signal, torch, triton_doctor\n"
        "from triton_doctor.runtime.target import activate\n"
        "activate('cuda:90')\n"
        "from kernels import copy, launch\n"
        f"with triton_doctor.record({str(tmp_path / 'killed.jsonl')!r}):\n"
        "    launch(copy(), torch.zeros(64))\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=os.path.dirname(__file__), check=False)  # noqa: PTH120

    assert done.returncode == -signal.SIGKILL
    assert Recording.read(tmp_path / "killed.jsonl").count == 1


def test_forked_child_writes_a_file_of_its_own(tmp_path, x):
    kernel = copy()
    with triton_doctor.record(tmp_path / "run.jsonl"):
        launch(kernel, x, value=1)
        child = os.fork()
        if child == 0:
            launch(kernel, x, value=2)
            os._exit(0)
        os.waitpid(child, 0)
        launch(kernel, x, value=3)

    def values(path):
        return [dict(event.key.constants)["VALUE"] for event in Recording.read(path).compiles]

    assert values(tmp_path / "run.jsonl") == [1, 3]
    assert values(tmp_path / f"run.{child}.jsonl") == [2]


def test_compile_without_a_launch_is_told_as_such(x):
    with triton_doctor.record() as recording:
        copy().warmup(x, x, 1000, VALUE=0, BLOCK=64, grid=(1,))

    (event,) = recording.compiles
    assert event.warmup
    assert recording.launches == {}
    assert recording.in_memory == 0


def test_compile_on_a_worker_thread_is_told_by_its_launch(x):
    if not hasattr(triton, "AsyncCompileMode"):
        pytest.skip("triton 3.5 brought AsyncCompileMode")
    kernel = copy()
    with triton_doctor.record() as recording, ThreadPoolExecutor(2) as pool, triton.AsyncCompileMode(pool):
        for value in (9_001, 9_002, 9_002):
            kernel.warmup(x, x, 1000, VALUE=value, BLOCK=64, grid=(1,))

    assert sorted(dict(event.key.constants)["VALUE"] for event in recording.compiles) == [9_001, 9_002]
    assert {event.launch_site.path for event in recording.compiles} == {__file__}
    assert all(event.warmup and not event.direct and event.device == 0 for event in recording.compiles)
    assert recording.warnings == ()


def test_compile_that_no_launch_asked_for_is_told_as_direct(x):
    # As Inductor does: a source goes to the compiler itself.
    kernel = launch(copy(), x, value=9_003)
    with triton_doctor.record() as recording:
        triton.compile(kernel.src, options={"num_warps": 8})

    (event,) = recording.compiles
    assert event.direct
    assert (event.tier, dict(event.key.options)["num_warps"]) == ("compiled", 8)
    assert event.launch_site.path == __file__


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("3.1.0", "triton 3.1.0 is older than 3.2: nothing is watched"),
        ("4.0.1", "triton 4.0.1 is newer than 3.9, the newest tried: counts may miss"),
    ],
)
def test_version_that_was_never_tried_is_warned_of(monkeypatch, version, message):
    monkeypatch.setattr(triton, "__version__", version)
    before = touched()
    with triton_doctor.record() as recording:
        pass

    assert [warning.message for warning in recording.warnings] == [message]
    assert touched() == before


def test_triton_that_moved_what_we_look_for_is_warned_of_and_restored(monkeypatch):
    monkeypatch.delattr("triton.compiler.compiler.CompiledKernel")
    before = touched()
    with triton_doctor.record() as recording:
        pass

    assert recording.warnings[-1].message.startswith("cannot watch launches on this triton: ")
    assert touched() == before


def test_launch_site_is_the_users_line(x):
    with triton_doctor.record() as recording:
        launch(copy(), x)
    (event,) = recording.compiles

    assert event.launch_site.path.endswith("kernels.py")
    assert event.launch_site.function == "launch"
    assert event.kernel.path == event.launch_site.path
    assert dict(event.values)["n"] == 1000
