"""After a dry run the process is what it was: every attribute, every cache, and the device."""

import contextlib

import pytest

import triton_doctor
from triton_doctor.runtime.dry.patches import ABSENT


def test_every_attribute_that_a_dry_run_sets_is_restored(kernels):
    with triton_doctor.dry_run():
        from triton_doctor.runtime.dry import dry_process

        places = list(dry_process._process.patches.places)
        replaced = [vars(owner).get(name, ABSENT) for owner, name, _ in places]
    found = [vars(owner).get(name, ABSENT) for owner, name, _ in places]

    assert len(places) > 100
    # The first of each place: what was there before us.
    first = {}
    for (owner, name, before), _ in zip(places, replaced, strict=True):
        first.setdefault((id(owner), name), before)
    lost = [
        f"{owner}.{name}"
        for (owner, name, _), now in zip(places, found, strict=True)
        if now is not first[id(owner), name]
    ]
    assert lost == []


def test_torch_has_the_gpu_that_it_had(kernels):
    import torch

    had = torch.cuda.is_available()
    with triton_doctor.dry_run():
        fake = torch.ones(2, device="cuda")
    real = torch.ones(2)

    assert type(fake).__name__ == "FakeTensor"
    assert type(real) is torch.Tensor
    assert real.sum().item() == 2.0
    assert torch.cuda.is_available() == had
    with contextlib.nullcontext() if had else pytest.raises((RuntimeError, AssertionError)):
        assert torch.ones(2, device="cuda").sum().item() == 2.0


def test_nothing_of_a_dry_run_stays_on_tritons_objects(kernels):
    import torch

    # Whatever ran in this process before.
    vars(kernels.tuned_scale).pop("do_bench", None)
    before = {name: set(vars(owner)) for name, owner in (("jit", kernels.scale), ("tuner", kernels.tuned_scale))}
    with triton_doctor.dry_run():
        kernels.launch_scale(torch.randn(64, device="cuda"))
        kernels.launch_tuned(torch.randn(64, device="cuda"))
    made_by_triton = {"CompiledKernel", "compile", "ASTSource"}
    made_by_triton |= {"best_config", "configs_timings", "bench_time", "nargs"}

    assert set(vars(kernels.scale)) - before["jit"] <= made_by_triton
    assert set(vars(kernels.tuned_scale)) - before["tuner"] <= made_by_triton
    assert (kernels.scale.device_caches, kernels.tuned_scale.cache) == ({}, {})


def test_a_kernel_compiles_for_real_after_a_dry_run(kernels, tmp_path, monkeypatch):
    import torch
    import triton

    monkeypatch.setattr(triton.knobs.cache, "dir", str(tmp_path))
    with triton_doctor.dry_run():
        kernels.launch_scale(torch.randn(64, device="cuda"))
    assert list(tmp_path.iterdir()) == []
    with triton_doctor.record(target="cuda:90") as recording:
        kernels.launch_scale(torch.randn(64))
    kernels.scale.device_caches.clear()

    assert [event.dry for event in recording.compiled] == [False]
    assert list(tmp_path.iterdir())


def test_a_kernel_that_somebody_kept_from_a_dry_run_says_so(kernels):
    import torch

    with triton_doctor.dry_run():
        x = torch.randn(64, device="cuda")
        kept = kernels.scale.warmup(x, x, 64, 2.0, BLOCK=64, grid=(1,))

    with pytest.raises(RuntimeError, match="made by a dry run that is over"):
        kept.run(1, 1, 1, 0, 0, (), None, None, None)


def test_an_exception_of_the_program_leaves_nothing_behind(kernels):
    import torch

    def fail():
        with triton_doctor.dry_run():
            torch.ones(2, device="cuda", requires_grad=True)
            raise ZeroDivisionError

    had = torch.cuda.is_available()
    with pytest.raises(ZeroDivisionError):
        fail()

    assert type(torch.ones(2)) is torch.Tensor
    assert torch.cuda.is_available() == had
