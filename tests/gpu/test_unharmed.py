"""On a real GPU: a program under the hook does what it does without, and is counted."""

import contextlib
import gc
import threading

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")

from triton import knobs  # noqa: E402
from triton.compiler import CompiledKernel  # noqa: E402

import triton_doctor  # noqa: E402
from tests.gpu.torch_kernels import add_one  # noqa: E402
from triton_doctor.runtime.event import UnloadEvent  # noqa: E402

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")]


@triton.jit
def scale(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=inside) * factor, mask=inside)


@triton.autotune(configs=[triton.Config({"BLOCK": block}) for block in (64, 128, 256)], key=["n"])
@triton.jit
def tuned_scale(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=inside) * factor, mask=inside)


@triton.jit
def hungry(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    # Each stage of the loop's pipeline keeps two blocks in shared memory.
    tile = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(n):
        total = tl.dot(tl.load(x_ptr + start * BLOCK + tile), tl.load(out_ptr + start * BLOCK + tile), total)
    tl.store(out_ptr + tile, total)


@triton.jit
def broken(x_ptr, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK == 0)
    tl.store(x_ptr + tl.arange(0, BLOCK), 0)


def vectors(n=1000):
    return torch.arange(n, device="cuda", dtype=torch.float32), torch.zeros(n, device="cuda")


def test_graph_is_captured_and_replayed_while_recorded():
    x, out = vectors()
    with triton_doctor.record() as recording:
        scale[(8,)](x, out, 1000, 2.0, BLOCK=128)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            scale[(8,)](x, out, 1000, 3.0, BLOCK=128)
        out.zero_()
        graph.replay()
        torch.cuda.synchronize()

    assert torch.equal(out, x * 3)
    assert (recording.count, recording.in_memory) == (1, 1)


def test_compile_inside_a_capture_is_seen_and_the_graph_replays():
    x, out = vectors()
    scale[(8,)](x, out, 1000, 2.0, BLOCK=128)
    torch.cuda.synchronize()
    with triton_doctor.record() as recording:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            scale[(4,)](x, out, 1000, 5.0, BLOCK=256)
        graph.replay()
        torch.cuda.synchronize()

    assert torch.equal(out, x * 5)
    assert recording.count == 1
    assert [warning.kind for warning in recording.warnings] == ["replays"]


@pytest.mark.skipif(not hasattr(CompiledKernel, "__del__"), reason="this triton never unloads a kernel")
@pytest.mark.parametrize("record", [contextlib.nullcontext, triton_doctor.record], ids=["bare", "recorded"])
def test_kernel_unloaded_inside_a_capture_is_told_and_breaks_the_capture_as_it_does_unrecorded(record):
    x, out = vectors()
    kernel = triton.jit(add_one)
    with record() as recording:
        kernel[(1,)](x, 64, BLOCK=64)
        torch.cuda.synchronize()
        scale[(8,)](x, out, 1000, 2.0, BLOCK=128)
        try:
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                scale[(8,)](x, out, 1000, 3.0, BLOCK=128)
                kernel.device_caches.clear()
                gc.collect()
            ended = "captured"
        except Exception as error:
            ended = type(error).__name__
        print(ended)

    if recording is not None:
        told = [event for event in recording.events if isinstance(event, UnloadEvent)]
        assert [event.kernel.name for event in told] == ["add_one"]
        assert [warning for warning in recording.warnings if warning.kind == "fault"] == []


def test_tuning_inside_a_capture_ends_as_it_does_unrecorded():
    # Measuring synchronizes, which a capture forbids: with us and without us, the program sees the same error.
    def capture():
        x, out = vectors(777)
        tuned_scale.cache.clear()
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph):
                tuned_scale[lambda meta: (triton.cdiv(777, meta["BLOCK"]),)](x, out, 777, 5.0)
        except Exception as error:
            return type(error).__name__
        finally:
            with contextlib.suppress(Exception):
                torch.cuda.synchronize()
        return "captured"

    bare = capture()
    with triton_doctor.record() as recording:
        watched = capture()

    assert watched == bare
    assert [warning for warning in recording.warnings if warning.kind == "fault"] == []


def test_each_tuning_key_is_a_round():
    x, out = vectors()
    with triton_doctor.record() as recording:
        for n in (1000, 999, 1000):
            tuned_scale[lambda meta, n=n: (triton.cdiv(n, meta["BLOCK"]),)](x, out, n, 2.0)

    assert [dict(round_.key)["n"] for round_ in recording.tunings] == [1000, 999]
    assert all(len(round_.timings_ms) == 3 and round_.duration_us > 0 for round_ in recording.tunings)
    assert torch.equal(out, x * 2)


def test_out_of_resources_reaches_the_program():
    x = torch.zeros(512, 512, device="cuda")
    with triton_doctor.record() as recording, pytest.raises(triton.runtime.errors.OutOfResources):
        hungry[(1,)](x, torch.empty_like(x), 8, BLOCK=64, num_stages=40)

    assert [event.kernel.name for event in recording.compiles] == ["hungry"]


def test_failing_compile_reaches_the_program():
    x, _ = vectors()
    with triton_doctor.record() as recording, pytest.raises(triton.compiler.errors.CompilationError):
        broken[(1,)](x, BLOCK=64)

    assert recording.compiles == ()


def test_two_threads_count_each_launch():
    x, out = vectors()
    outs = [torch.zeros_like(x) for _ in range(2)]
    scale[(8,)](x, out, 1000, 2.0, BLOCK=128)

    def work(out):
        for _ in range(2000):
            scale[(8,)](x, out, 1000, 2.0, BLOCK=128)

    with triton_doctor.record() as recording:
        threads = [threading.Thread(target=work, args=(out,)) for out in outs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        torch.cuda.synchronize()

    assert recording.launches == {next(iter(recording.launches)): 4000}
    assert all(torch.equal(out, x * 2) for out in outs)


def test_hooks_set_before_and_after_are_called_and_kept():
    calls = []

    def note(name):
        return lambda *args, **kwargs: calls.append(name)

    before, after, entering = note("before"), note("after"), note("enter")
    x, out = vectors()
    knobs.compilation.listener = before
    try:
        with triton_doctor.record() as recording:
            knobs.runtime.jit_post_compile_hook = after
            knobs.runtime.launch_enter_hook.add(entering)
            scale[(8,)](x, out, 1000, 2.0, BLOCK=512)
        kept = knobs.compilation.listener
    finally:
        knobs.compilation.listener = None
        knobs.runtime.jit_post_compile_hook = None
        knobs.runtime.launch_enter_hook.remove(entering)

    assert kept is before
    assert calls == ["before", "after", "enter"]
    assert recording.count == 1
