"""What programs do besides launching: threads, custom operators, hooks, copies, files, training, asking for a GPU."""

import contextlib
import copy
import os
import pickle
import subprocess
import threading

import pytest


def test_threads_run_dry(dry, kernels):
    import torch

    gradients = []

    def work():
        x = torch.randn(64, device="cuda", requires_grad=True)
        kernels.Scale.apply(x, 2.0).sum().backward()
        gradients.append(x.grad.device.type)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert gradients == ["cuda", "cuda"]
    assert sum(dry.launches.values()) == 4


def test_operators_with_kernels_in_python_launch_them(dry, kernels):
    import torch

    @torch.library.custom_op("dry_tests::scaled", mutates_args=())
    def scaled(x: torch.Tensor) -> torch.Tensor:
        return kernels.launch_scale(x, block=16)

    scaled.register_fake(torch.empty_like)
    scaled.register_autograd(lambda ctx, gradient: kernels.launch_scale(gradient, block=32))

    @torch.library.triton_op("dry_tests::wrapped", mutates_args=())
    def wrapped(x: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        torch.library.wrap_triton(kernels.scale)[(1,)](x, out, x.numel(), 2.0, BLOCK=128)
        return out

    with torch.library._scoped_library("dry_tests_library", "DEF") as library:
        library.define("plain(Tensor x) -> Tensor")
        library.impl("plain", lambda x: kernels.launch_scale(x, block=256), "CUDA")
        x = torch.randn(100, device="cuda", requires_grad=True)
        scaled(x).sum().backward()
        wrapped(x.detach())
        torch.ops.dry_tests_library.plain(x.detach())

    assert [dict(event.key.constants)["BLOCK"] for event in dry.compiled] == [16, 32, 128, 256]


def test_hooks_and_wrappers_of_the_program_see_the_calls_that_they_see_on_a_gpu(dry, kernels, monkeypatch):
    import torch
    import triton
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction

    calls, constants = [], []
    for owner in (JITFunction, Autotuner):
        run = owner.run
        monkeypatch.setattr(
            owner,
            "run",
            lambda self, *args, run=run, **options: (calls.append(type(self).__name__), run(self, *args, **options))[1],
        )
    monkeypatch.setattr(
        triton.knobs.runtime,
        "jit_post_compile_hook",
        lambda **told: constants.append(list(told["compile"]["constants"].values())),
    )
    kernels.launch_tuned(torch.randn(64, device="cuda"))

    # Two trials and the launch; a variant for each config.
    assert calls == ["Autotuner", "JITFunction", "JITFunction", "JITFunction"]
    assert constants == [[64], [128]]


def test_copies_and_files_keep_shapes_devices_and_values(dry, tmp_path):
    import torch

    module = torch.nn.Linear(4, 4).cuda()
    copied = copy.deepcopy(module)
    lengths = pickle.loads(pickle.dumps(torch.tensor([3, 1], device="cuda")))
    torch.save(module.state_dict(), tmp_path / "state.pt")
    copied.load_state_dict(torch.load(tmp_path / "state.pt"))

    assert (copied.weight.device.type, copied.weight is module.weight) == ("cuda", False)
    assert isinstance(copied.weight, torch.nn.Parameter)
    assert (lengths.tolist(), lengths.device.type) == ([3, 1], "cuda")
    assert dry.guesses == ()


def test_small_integers_of_a_file_from_outside_have_their_values(kernels, tmp_path):
    import torch

    import triton_doctor

    torch.save({"lengths": torch.tensor([3, 1, 4]), "weight": torch.randn(100, 100)}, tmp_path / "state.pt")
    with triton_doctor.dry_run() as recording:
        on_cpu = torch.load(tmp_path / "state.pt")
        on_cuda = torch.load(tmp_path / "state.pt", map_location="cuda")

        assert (on_cpu["lengths"].tolist(), on_cuda["lengths"].tolist()) == ([3, 1, 4], [3, 1, 4])
        assert (on_cuda["lengths"].device.type, on_cuda["weight"].shape) == ("cuda", (100, 100))
    assert recording.guesses == ()


def test_a_training_step_needs_no_value(dry, kernels):
    import torch
    from torch.utils.checkpoint import checkpoint

    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.LayerNorm(32)).to(0)
    for choice in ({"foreach": True}, {"fused": True}):
        optimizer = torch.optim.AdamW(model.parameters(), **choice)
        with torch.autocast("cuda", torch.bfloat16):
            out = checkpoint(model, torch.randn(8, 16, device=0), use_reentrant=False)
        out.float().sum().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    assert dry.guesses == ()


def test_every_way_to_ask_for_a_gpu_gives_the_same_answer(dry):
    import pynvml
    import torch

    asked = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"]
    said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()

    assert said == "NVIDIA H100 80GB HBM3, 81920"
    assert pynvml.nvmlDeviceGetName(pynvml.nvmlDeviceGetHandleByIndex(0)) == torch.cuda.get_device_name()
    assert torch.accelerator.current_accelerator() == torch.device("cuda")
    assert torch.get_device_module() is torch.cuda
    assert torch.cuda.mem_get_info()[1] == pynvml.nvmlDeviceGetMemoryInfo(0).total == 81920 << 20


def test_a_copy_of_pynvml_in_a_package_describes_the_same_gpu_and_is_the_packages_own_again(tmp_path, monkeypatch):
    import importlib

    import torch

    import triton_doctor

    package = tmp_path / "engine" / "vendored"
    package.mkdir(parents=True)
    package.joinpath("pynvml.py").write_text('raise OSError("no NVML")', encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    with triton_doctor.dry_run():
        copy = importlib.import_module("engine.vendored.pynvml")
        assert copy.nvmlDeviceGetName(copy.nvmlDeviceGetHandleByIndex(0)) == torch.cuda.get_device_name()
    with pytest.raises(OSError, match="no NVML"):
        importlib.import_module("engine.vendored.pynvml")


def test_each_question_to_torch_accelerator_has_an_answer(dry):
    import inspect

    import torch

    for name in torch.accelerator.__all__:
        function = getattr(torch.accelerator, name)
        # A class is made or entered, and not asked.
        if not isinstance(function, type) and inspect.isfunction(function):
            function("cuda") if "set" in name.split("_") and "reset" not in name else function()
    assert torch.cuda.get_allocator_backend() == "native"


def test_generator_on_the_gpu_draws_and_has_a_state_whatever_the_default_device(dry):
    import torch

    generator = torch.Generator("cuda").manual_seed(0)
    with torch.device("cuda"):
        state = generator.get_state()
        drawn = torch.empty(8).exponential_(generator=generator)

    assert (state.device.type, state.numel()) == ("cpu", 16)
    assert drawn.device.type == torch.randint(4, (2,), device="cuda", generator=generator).device.type == "cuda"


def test_events_and_streams_of_any_device_are_those_of_the_gpu(dry):
    import torch

    start, end = torch.Event(enable_timing=True), torch.Event(device="cuda", enable_timing=True)
    with torch.Stream(device="cuda") as stream:
        start.record(stream)
        end.record()
    end.synchronize()

    assert start.elapsed_time(end) > 0
    assert isinstance(torch.accelerator.current_stream(), torch.Stream)


def test_tensors_in_pinned_memory_are_made_and_copied(dry):
    import torch

    made = torch.tensor([1, 2], pin_memory=True).to("cuda", non_blocking=True)

    assert made.tolist() == [1, 2]
    assert torch.zeros(2, pin_memory=True).pin_memory().cuda().device.type == "cuda"


def test_tensor_is_made_of_tensors_on_the_gpu(dry):
    import torch

    lengths = torch.tensor([3, 4], device="cuda")
    unknown = torch.empty((), dtype=torch.float16, device="cuda")

    assert torch.tensor([lengths.sum(), 2]).tolist() == [7, 2]
    assert torch.tensor([lengths.max()], dtype=torch.int32, device="cuda").item() == 4
    made = torch.as_tensor([[unknown, unknown]], device=lengths.device)
    assert (made.shape, made.dtype, made.device.type) == ((1, 2), torch.float16, "cuda")
    assert dry.guesses == ()


def test_nothing_of_it_stays_on_the_path(kernels):
    import sys

    import triton_doctor

    path, module = os.environ["PATH"], sys.modules.get("pynvml")
    with triton_doctor.dry_run():
        assert os.environ["PATH"] != path

    assert os.environ["PATH"] == path
    assert sys.modules.get("pynvml") is module


def test_what_torch_compile_wraps_runs_eagerly_and_that_is_told_once(dry, kernels):
    import torch

    for _ in range(2):
        torch.compile(kernels.launch_scale)(torch.randn(64, device="cuda"))

    assert len(dry.compiled) == 1
    assert [(warning.kind, "runs eagerly" in warning.message) for warning in dry.warnings] == [("eager", True)]


def test_a_loader_with_workers_gives_its_batches(dry):
    import torch
    from torch.utils.data import DataLoader

    batches = list(DataLoader(torch.arange(6), batch_size=4, num_workers=2, pin_memory=True))

    assert [batch.tolist() for batch in batches] == [[0, 1, 2, 3], [4, 5]]


def test_a_cuda_graph_is_captured_and_replayed(dry, kernels):
    import torch

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernels.launch_scale(torch.randn(64, device="cuda"))
    graph.replay()

    assert sum(dry.launches.values()) == 1


def test_a_gluon_kernel_is_a_variant(dry, tmp_path):
    import importlib.util

    import torch

    path = tmp_path / "gluon_kernel.py"
    path.write_text(
        "from triton.experimental import gluon\n"
        "from triton.experimental.gluon import language as gl\n\n\n"
        "@gluon.jit\n"
        "def kernel(x_ptr, N: gl.constexpr):\n"
        "    gl.store(x_ptr, gl.load(x_ptr))\n"
    )
    spec = importlib.util.spec_from_file_location("gluon_kernel", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for n in (2, 3):
        module.kernel[(1,)](torch.randn(n, device="cuda"), n)

    assert [dict(event.key.constants) for event in dry.compiled] == [{"N": 2}, {"N": 3}]


def test_operators_of_higher_order_run_as_in_eager_mode_and_are_differentiated(dry):
    import torch
    from torch._higher_order_ops.scan import scan
    from torch._higher_order_ops.while_loop import while_loop
    from torch.nn.attention.flex_attention import flex_attention

    x = torch.randn(1, 2, 64, 64, device="cuda", requires_grad=True)
    chosen = torch.cond(
        torch.tensor(True, device="cuda"), lambda a: a[0] + torch.zeros(64, device="cuda"), lambda a: a[0], (x,)
    )
    count, _ = while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2), (torch.tensor(0), x.detach()))
    scanned = scan(lambda c, a: (c + a, c + a), torch.zeros(2, 64, 64, device="cuda"), x)[1]
    (chosen.sum() + scanned.sum() + flex_attention(x, x, x).sum()).backward()

    assert (chosen.shape, count.item(), scanned.shape) == ((2, 64, 64), 3, (1, 2, 64, 64))
    assert x.grad.shape == x.shape
    assert not dry.stops


def test_what_torch_compile_was_given_is_compiling_unless_it_is_disabled(dry):
    import torch

    def compile_itself(x):
        return x * 2 if torch.compiler.is_compiling() else torch.compile(compile_itself, fullgraph=True)(x)

    class Module(torch.nn.Module):
        def forward(self, x):
            if not torch.compiler.is_compiling():
                return torch.compile(self)(x)
            return torch.compiler.disable(torch.compiler.is_compiling)()

    x = torch.randn(3, device="cuda")

    assert compile_itself(x).shape == (3,)
    assert Module()(x) is False
    assert not torch.compiler.is_compiling()


def test_tensors_become_what_the_program_derives_from_them(dry, kernels):
    import torch
    from torch.nn.attention.bias import causal_lower_right

    class Named(torch.Tensor):
        pass

    class Loaded(torch.nn.Parameter):
        def __new__(cls, data, loader):
            return super().__new__(cls, data, requires_grad=False)

        def __init__(self, data, loader):
            self.loader = loader

    x = torch.randn(64, device="cuda", requires_grad=True)
    named = x.as_subclass(Named)
    (named * 2).sum().backward()
    made = torch.Tensor._make_subclass(Named, torch.empty(64, device="cuda"))
    kernels.launch_scale(made)
    module = torch.nn.Module()
    module.weight = Loaded(torch.empty(3, device="cuda"), loader=len)

    assert isinstance(named + 1, Named)
    assert not isinstance(named.as_subclass(torch.Tensor), Named)
    assert (x.grad.shape, named.data_ptr()) == (x.shape, x.data_ptr())
    assert Named([1, 2]).tolist() == [1, 2]
    assert (dict(module.named_parameters())["weight"].loader, causal_lower_right(4, 8).seq_len_kv) == (len, 8)
    assert len(dry.compiled) == 1


def test_class_derived_from_tensor_is_kept_where_the_modes_are_off(dry):
    """As a compiler that traces the program does it: its stand-ins for tiles are tensors of its own class."""
    import torch
    from torch.utils._python_dispatch import _disable_current_modes

    class Tile(torch.Tensor):
        pass

    with _disable_current_modes():
        assert type(Tile.__new__(Tile)) is Tile


def test_memory_is_shared_and_data_parallel_has_one_gpu(dry):
    import torch

    x = torch.randn(3, 16, device="cuda", requires_grad=True)
    torch.nn.DataParallel(torch.nn.Linear(16, 2).cuda())(x).sum().backward()

    assert x.share_memory_() is x
    assert x.is_shared()
    assert x.grad.shape == (3, 16)


def test_what_triton_refuses_is_tritons_error(dry, tmp_path):
    import importlib.util

    import torch

    path = tmp_path / "refused.py"
    path.write_text(
        "import typing\nimport triton\nimport triton.language as tl\n\n\n"
        "@triton.jit\ndef unreadable(p):\n    tl.store(p, typing.Tuple)\n\n\n"
        "@triton.jit\ndef fine(p, n, B: tl.constexpr):\n    tl.store(p + tl.arange(0, B), n)\n"
    )
    spec = importlib.util.spec_from_file_location("refused", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    x = torch.randn(64, device="cuda")
    compiled = module.fine.warmup(x, 7, B=16, grid=(1,))
    compiled[(1, 1, 1)](x, 7, 16)

    with pytest.raises(RuntimeError, match="Unsupported function referenced"):
        module.unreadable[(1,)](x)
    with pytest.raises(TypeError, match="takes exactly 3 arguments"):
        compiled[(1, 1, 1)](x)
    assert not [warning for warning in dry.warnings if warning.kind == "fault"]


def test_a_question_for_fakes_is_named_where_a_kernel_was_not_launched(write, monkeypatch):
    import importlib

    import triton_doctor

    write(
        "skipping.py",
        "import triton\nfrom torch._subclasses.fake_tensor import FakeTensor\n\n\n"
        "@triton.jit\ndef skipped(p):\n    pass\n\n\n"
        "def launch(x):\n    if not isinstance(x, FakeTensor):\n        skipped[(1,)](x)\n",
    )
    monkeypatch.syspath_prepend(str(write("empty.py", "").parent))
    with triton_doctor.dry_run() as recording:
        import torch

        importlib.import_module("skipping").launch(torch.ones(3, device="cuda"))

    assert [one.message for one in recording.warnings if "skipped" in one.message] == [
        "`skipped`: not launched, where skipping.py:11 asks whether a tensor is fake: in a dry run all are"
    ]


@pytest.mark.parametrize(("rank", "stops"), [(0, []), (1, ["broadcast_object_list", "scatter_object_list"])])
def test_collectives_of_objects_gather_what_this_process_has_and_stop_where_another_sends(kernels, rank, stops):
    import torch.distributed as distributed

    import triton_doctor

    with triton_doctor.dry_run(world_size=4, rank=rank) as recording:
        distributed.init_process_group("nccl")
        try:
            everywhere, here, mine = [None] * 4, [None] * 4, [None]
            groups = [distributed.new_group([0, 1, 2, 3], backend=backend) for backend in ("nccl", "gloo")]
            sizes = [distributed.get_world_size(group) for group in groups]
            distributed.all_gather_object(everywhere, {"loss": 1.0}, group=groups[0])
            distributed.gather_object("x", here if rank == 0 else None, dst=0)
            for call in (
                lambda: distributed.broadcast_object_list(["from 0"], src=0),
                lambda: distributed.scatter_object_list(mine, ["a", "b", "c", "d"], src=0),
            ):
                with contextlib.suppress(RuntimeError):
                    call()
        finally:
            distributed.destroy_process_group()

    assert sizes == [4, 4]
    assert everywhere == [{"loss": 1.0}] * 4
    assert (here, mine) == ((["x"] * 4, ["a"]) if rank == 0 else ([None] * 4, [None]))
    assert [stop.question.partition(":")[0] for stop in recording.stops] == stops
    assert "all_gather_object" in recording.guesses[0].question


def test_memory_that_is_not_there_is_given_to_nobody(dry):
    import torch

    with pytest.raises(RuntimeError, match="__dlpack__ of a float32 tensor"):
        torch.from_dlpack(torch.randn(3, device="cuda"))
