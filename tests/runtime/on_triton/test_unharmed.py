"""A program under the hook does what it does without, and finds triton as it left it."""

import importlib
import inspect
import resource

import pytest
import triton
from kernels import Mode, broken, copy, hungry, launch
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
        found += [vars(type(getattr(knobs, name))) for name in groups if hasattr(knobs, name)]
    return [{name: id(value) for name, value in owner.items()} for owner in found]


def test_triton_is_restored_object_for_object(x):
    before = touched()
    with triton_doctor.record(), triton_doctor.record(count_launches=False):
        launch(copy(), x)
        during = touched()

    assert during != before
    assert touched() == before


def test_what_is_replaced_keeps_its_signature_for_libraries_that_ask(x):
    # torch.compile counts the parameters of `make_ir`, to tell Tritons apart.
    asked = [
        (owner, name)
        for owner in (compiler.ASTSource, CompiledKernel, Autotuner, jit.JITFunction)
        for name, value in vars(owner).items()
        if inspect.isfunction(value)
    ]
    before = {pair: (vars(pair[0])[pair[1]], inspect.signature(vars(pair[0])[pair[1]])) for pair in asked}
    with triton_doctor.record():
        launch(copy(), x)
        during = {pair: (vars(pair[0])[pair[1]], inspect.signature(vars(pair[0])[pair[1]])) for pair in asked}

    replaced = [pair for pair in asked if during[pair][0] is not before[pair][0]]
    assert (compiler.ASTSource, "make_ir") in replaced
    assert [pair for pair in replaced if during[pair][1] != before[pair][1]] == []


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


def test_nothing_of_ours_is_in_a_compiled_kernel(x):
    # torch pickles all that is (torch 2.13 _inductor/runtime/triton_heuristics.py:2696).
    kernel = copy()
    launch(kernel, x)
    (compiled,) = _compiled(kernel)
    before = {name: id(value) for name, value in vars(compiled).items()}
    with triton_doctor.record() as recording:
        launch(kernel, x)
        during = {name: id(value) for name, value in vars(compiled).items()}

    assert sum(recording.launches.values()) == 1
    assert during == before


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
        launch(hungry(), x, block=32, num_stages=31)

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
