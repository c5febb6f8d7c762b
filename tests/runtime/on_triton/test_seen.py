"""What is seen: each launch, compile and round of tuning, by whom and from where."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import triton
from kernels import copy, launch, tuned

import triton_doctor
from triton_doctor.runtime.kernel_account import account_kernels


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


def test_nested_recording_knows_what_was_in_memory_before_it(x):
    kernel = copy()
    with triton_doctor.record():
        launch(kernel, x, value=1)
        with triton_doctor.record() as inner:
            launch(kernel, x, value=2)

    assert [cause.code for cause in inner.causes] == ["TRD702"]


def test_file_knows_what_was_in_memory_before_it(x, tmp_path):
    kernel = copy()
    launch(kernel, x, value=1)
    with triton_doctor.record(tmp_path / "run.jsonl"):
        launch(kernel, x, value=2)
        launch(kernel, x, value=3)

    read = triton_doctor.Recording.read(tmp_path / "run.jsonl")
    assert [cause.code for cause in read.causes] == ["TRD702", "TRD702"]
    (account,) = account_kernels([read])
    assert [(cause.code, cause.parameter, cause.values) for cause in account.causes] == [("TRD702", "VALUE", (1, 2, 3))]


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
    assert sum(recording.launches.values()) - sum(round_.trials for round_ in recording.tunings) == 4
    assert recording.count == 3
    assert all(event.tuning for event in recording.compiles)
    assert [recompile.code for recompile in recording.causes][-2:] == ["TRD714", "TRD714"]
    assert {round_.launch_site.path for round_ in recording.tunings} == {__file__}


class TextKeyed(triton.runtime.Autotuner):
    """A tuner that makes one text of its key, as some libraries have."""

    def run(self, *args, **kwargs):
        key = f"{args[2]}_{args[0].dtype}"
        if key not in self.cache:
            self.nargs = dict(zip(self.arg_names, args, strict=False))
            timings = {config: self._bench(*args, config=config, **kwargs) for config in self.prune_configs(kwargs)}
            self.cache[key] = min(timings, key=timings.get)
        self.best_config = self.cache[key]
        return self.fn.run(*args, **kwargs, **self.best_config.all_kwargs())


def test_a_tuning_key_that_is_one_text_is_one_part_without_a_name(x):
    if tuple(map(int, triton.__version__.split(".")[:2])) >= (3, 8):
        pytest.skip("triton 3.8 brought a listener, which this tuner does not call")
    kernel = tuned()
    kernel.__class__ = TextKeyed
    with triton_doctor.record() as recording:
        for n in (1000, 1001):
            kernel[(1,)](x, x, n)

    assert [round_.key for round_ in recording.tunings] == [
        (("part 1", "1000_torch.float32"),),
        (("part 1", "1001_torch.float32"),),
    ]


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


def test_compile_without_a_launch_is_told_as_such(x):
    with triton_doctor.record() as recording:
        copy().warmup(x, x, 1000, VALUE=0, BLOCK=64, grid=(1,))

    (event,) = recording.compiles
    assert event.warmup
    assert recording.launches == {}
    assert recording.in_memory == 0


def test_compile_on_a_worker_thread_is_told_by_its_launch(x, fresh):
    if not hasattr(triton, "AsyncCompileMode"):
        pytest.skip("triton 3.5 brought AsyncCompileMode")
    kernel = copy()
    # One worker: in Python 3.11 two threads that parse at once can fail (python/cpython#106905), as two compiles do.
    with triton_doctor.record() as recording, ThreadPoolExecutor(1) as pool, triton.AsyncCompileMode(pool):
        for value in (9_001, 9_002, 9_002):
            kernel.warmup(x, x, 1000, VALUE=value, BLOCK=64, grid=(1,))

    assert sorted(dict(event.key.constants)["VALUE"] for event in recording.compiles) == [9_001, 9_002]
    assert {event.launch_site.path for event in recording.compiles} == {__file__}
    assert all(event.warmup and not event.direct and event.device == 0 for event in recording.compiles)
    assert recording.warnings == ()


def test_compile_that_no_launch_asked_for_is_told_as_direct(x, fresh):
    # As Inductor does: a source goes to the compiler itself.
    kernel = launch(copy(), x, value=9_003)
    with triton_doctor.record() as recording:
        triton.compile(kernel.src, options={"num_warps": 8})

    (event,) = recording.compiles
    assert event.direct
    assert (event.tier, dict(event.key.options)["num_warps"]) == ("compiled", 8)
    assert event.launch_site.path == __file__


def test_launch_site_is_the_users_line(x):
    with triton_doctor.record() as recording:
        launch(copy(), x)
    (event,) = recording.compiles

    assert event.launch_site.path.endswith("kernels.py")
    assert event.launch_site.function == "launch"
    assert event.kernel.path == event.launch_site.path
    assert dict(event.values)["n"] == 1000
