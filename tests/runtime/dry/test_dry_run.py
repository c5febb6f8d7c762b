"""A dry run makes the variants that a GPU would, and none of the rest."""

import dataclasses
from pathlib import Path

import pytest

import triton_doctor
from triton_doctor.errors import DoctorError
from triton_doctor.runtime.recording import Recording


def blocks(recording):
    """The values of BLOCK of each variant, in order."""
    return [dict(event.key.constants)["BLOCK"] for event in recording.compiled]


def test_each_new_key_is_a_variant_and_a_known_one_is_not(dry, kernels):
    import torch

    for n in (64, 100, 64, 128):
        kernels.launch_scale(torch.randn(n, device="cuda"))

    assert blocks(dry) == [64, 128, 128]
    assert sum(dry.launches.values()) == 4
    assert [cause.code for cause in dry.causes] == ["TRD701", "TRD702", "TRD703"]


def test_backward_launches_on_cuda(dry, kernels):
    import torch

    x = torch.randn(4, 16, device="cuda", requires_grad=True)
    kernels.Scale.apply(x, 3.0).sum().backward()

    assert (x.grad.shape, x.grad.device.type) == ((4, 16), "cuda")
    assert sum(dry.launches.values()) == 2


def test_events_say_that_they_are_dry_and_have_no_times(dry, kernels):
    import torch

    kernels.launch_tuned(torch.randn(64, device="cuda"))

    assert dry.headers[0].dry
    assert dry.pretended["GPU"] == "NVIDIA H100 80GB HBM3"
    assert {(event.dry, event.stages_us, event.tier) for event in dry.compiled} == {(True, (), "compiled")}
    assert [(each.duration_us, len(each.timings_ms), each.trials) for each in dry.tunings] == [(None, 2, 2)]


def test_tuning_tries_every_config_and_takes_the_first(dry, kernels):
    import torch

    kernels.launch_tuned(torch.randn(64, device="cuda"))
    kernels.launch_tuned(torch.randn(100, device="cuda"))

    assert len(dry.tunings) == 2
    assert {event.tuning for event in dry.compiled} == {True}
    assert dry.tunings[0].best.startswith("BLOCK: 64")


def test_launch_site_is_the_line_of_the_program(dry, kernels):
    import torch

    kernels.launch_scale(torch.randn(64, device="cuda"))

    site = dry.compiled[0].launch_site
    assert (Path(site.path).name, site.function) == ("kernels.py", "launch_scale")


def test_views_share_an_address_and_an_odd_offset_is_not_aligned(dry, kernels):
    import torch

    x = torch.randn(65, device="cuda")
    kernels.launch_scale(x[:64])
    kernels.launch_scale(x[1:])

    assert [dict(event.key.attributes).get("x_ptr") for event in dry.compiled] == ["%16", None]


def test_what_the_target_names_is_what_the_program_is_told(kernels):
    import torch

    had = torch.cuda.is_available()
    with triton_doctor.dry_run(target="cuda:80,sms=99") as recording:
        properties = torch.cuda.get_device_properties(device=0)
        torch.cuda.set_rng_state(torch.cuda.get_rng_state(device="cuda"), device="cuda")
        kernels.launch_scale(torch.randn(64, device="cuda"))

    assert (properties.multi_processor_count, torch.cuda.is_available()) == (99, had)
    assert recording.pretended["capability"] == "8.0"
    assert recording.compiled[0].key.target == "cuda:80"


def test_an_inner_dry_run_sees_all_that_it_needs_and_the_outer_one_nothing_twice(dry, kernels):
    import torch

    x = torch.randn(64, device="cuda")
    kernels.launch_scale(x)
    with triton_doctor.dry_run() as inner:
        kernels.launch_scale(x)
    kernels.launch_scale(x)

    assert blocks(inner) == [64]
    assert len(dry.compiled) == 2  # its own, and that of the inner one
    assert sum(dry.launches.values()) == 3


def test_a_recording_on_disk_is_the_one_in_memory(kernels, tmp_path):
    import torch

    with triton_doctor.dry_run(path=tmp_path / "dry.jsonl") as recording:
        kernels.launch_scale(torch.randn(64, device="cuda"))
        torch.randn(100, device="cuda").sum().item()
    read = Recording.read(tmp_path / "dry.jsonl")

    assert read.headers == recording.headers
    assert read.guesses == recording.guesses
    assert [dataclasses.replace(event, device=0) for event in read.compiled] == list(recording.compiled)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": "cuda"}, "no such target: 'cuda'"),
        ({"target": "cuda:90,sm=3"}, "no such part of a target: 'sm=3'"),
        ({"target": "cuda:90,sms=0"}, "no such part of a target: 'sms=0'"),
        ({"unknown": "perhaps"}, "unknown is 'perhaps'"),
    ],
)
@pytest.mark.usefixtures("kernels")
def test_what_cannot_be_meant_is_refused_in_a_line(arguments, message):
    with pytest.raises(DoctorError) as caught, triton_doctor.dry_run(**arguments):
        pass

    assert caught.value.message == message


def test_an_inner_dry_run_for_another_gpu_is_refused(dry):
    with pytest.raises(DoctorError, match="already runs dry for cuda:90"), triton_doctor.dry_run(target="cuda:80"):
        pass


def test_grid_can_be_sized_by_what_a_kernel_uses(dry, kernels):
    import torch

    x = torch.randn(64, device="cuda")
    kernel = kernels.scale.warmup(x, x, 64, 2.0, BLOCK=64, grid=(1,))
    kernel._init_handles()

    assert 65_536 // (kernel.n_regs * 32 * kernel.metadata.num_warps) > 0
    assert 232_448 // kernel.metadata.shared > 0
