"""What surrounds a compile: what only the first pays, modules and launchers, and compiles that fail."""

import gc
import sys
import threading

import pytest
from kernels import broken, copy, hungry, launch
from triton.backends import backends
from triton.compiler import CompiledKernel

import triton_doctor
from triton_doctor.runtime.event import FailureEvent, ModuleEvent, UnloadEvent


def events_of(recording, kind):
    return [event for event in recording.events if isinstance(event, kind)]


def test_each_thread_of_the_first_compile_is_timed_apart(x):
    together = threading.Barrier(4)
    kernel = copy()

    def work():
        together.wait()
        launch(kernel, x)

    with triton_doctor.record() as recording:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert {cause.code for cause in recording.causes} <= {"TRD701", "TRD715"}
    assert recording.warnings == ()


def test_each_variant_loads_its_module_once(x):
    kernel = copy()
    with triton_doctor.record() as recording:
        for value in (1, 1, 2):
            launch(kernel, x, value=value)

    loaded = events_of(recording, ModuleEvent)
    assert [event.kernel.name for event in loaded] == ["_copy", "_copy"]
    assert all(event.module_us >= 0 and event.launcher_us == 0 for event in loaded)


@pytest.mark.skipif(not hasattr(CompiledKernel, "__del__"), reason="this triton never unloads a kernel")
def test_kernel_that_is_freed_outside_a_capture_is_unloaded_and_not_told(x):
    def note(*args, **kwargs):
        unloaded.append(kwargs.get("hash") or args[4])

    unloaded = []
    hook = sys.modules["triton"].knobs.runtime.kernel_unload_hook
    hook.add(note)
    before = vars(CompiledKernel)["__del__"]
    with triton_doctor.record() as recording:
        kernel = copy()
        freed = launch(kernel, x, value=80_001).hash
        kernel.device_caches.clear()
        gc.collect()
    hook.remove(note)

    assert unloaded.count(freed) == 1
    assert events_of(recording, UnloadEvent) == []
    assert recording.warnings == ()
    assert vars(CompiledKernel)["__del__"] is before


LAUNCHER = """\
#include <Python.h>
static PyObject *launch(PyObject *self, PyObject *args) { Py_RETURN_NONE; }
static PyMethodDef methods[] = {{"launch", launch, METH_VARARGS, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "__triton_launcher", NULL, -1, methods};
PyMODINIT_FUNC PyInit___triton_launcher(void) { return PyModule_Create(&module); }
"""


def test_launcher_that_is_built_in_c_is_timed_apart(fresh, monkeypatch, x):
    backend = backends["nvidia"].driver
    beside = backend.__init__.__globals__
    if "make_launcher" not in beside or "compile_module_from_src" not in beside:
        pytest.skip("this triton builds no launchers in C")
    # The launcher of a GPU links to CUDA's library, which is not here; what builds it is Triton's own.
    for name, value in (("make_launcher", lambda *_: LAUNCHER), ("libraries", []), ("library_dirs", list)):
        monkeypatch.setitem(beside, name, value)
    monkeypatch.setattr(sys.modules["triton.runtime.driver"].driver.active, "launcher_cls", beside["CudaLauncher"])

    with triton_doctor.record() as recording:
        launch(copy(), x, value=77)

    (loaded,) = events_of(recording, ModuleEvent)
    assert loaded.launcher_us > 0


@pytest.mark.parametrize(
    ("kernel", "options", "stage"),
    [
        pytest.param(broken, {}, "ir", id="in the source"),
        pytest.param(hungry, {"block": 32, "num_stages": 31}, "module", id="too much shared memory"),
    ],
)
def test_compile_that_fails_is_told_with_its_stage_and_raises_the_same(kernel, options, stage, x):
    with triton_doctor.record() as recording, pytest.raises(Exception) as raised:  # noqa: PT011, each triton has its own
        launch(kernel(), x, **options)

    (failure,) = events_of(recording, FailureEvent)
    assert (failure.stage, failure.refused) == (stage, False)
    assert failure.error.startswith(type(raised.value).__name__)
    assert failure.launch_site.path.endswith("kernels.py")
    assert failure.duration_us > 0


@pytest.mark.parametrize("name", [None, "no/such/folder"])
def test_compile_that_cannot_write_its_cache_is_told_with_its_error(name, x, monkeypatch, tmp_path):
    kernel = copy()
    if name is None:
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "file"))
    else:
        monkeypatch.setattr(kernel.fn, "__name__", name)
        kernel.__name__ = name
    with triton_doctor.record() as recording, pytest.raises(OSError) as raised:  # noqa: PT011, each system has its own
        launch(kernel, x)

    (failure,) = events_of(recording, FailureEvent)
    assert (failure.stage, failure.kernel.name) == ("cache", name or "_copy")
    assert failure.error.startswith(type(raised.value).__name__)


def test_refused_launch_is_told_and_compiles_again_for_the_same_reason(x):
    kernel = copy()
    launch(kernel, x, value=1)
    with triton_doctor.record() as recording:
        launch(kernel, x, value=2)
        with pytest.raises(triton_doctor.UnexpectedCompileError), triton_doctor.warmed_up("raise"):
            launch(kernel, x, value=3)
        launch(kernel, x, value=3)

    (failure,) = events_of(recording, FailureEvent)
    assert failure.refused
    assert recording.causes[-1].code == "TRD702"
