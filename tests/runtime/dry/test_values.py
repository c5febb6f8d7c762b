"""Values of small integer tensors are the real ones; other data is guessed, and told with its line, or refused."""

import pytest

import triton_doctor
from triton_doctor.runtime.dry.questions import DryStopError


@pytest.mark.parametrize("inference", [False, True], ids=["training", "inference"])
def test_lengths_and_offsets_have_their_values(dry, inference):
    import torch

    with torch.inference_mode(inference):
        lengths = torch.tensor([3, 0, 5], device="cuda")
        offsets = torch.nn.functional.pad(lengths.cumsum(0), (1, 0))

        assert offsets.tolist() == [0, 3, 3, 8]
        assert int(lengths.max()) == 5
        assert lengths.nonzero().flatten().tolist() == [0, 2]
        assert (torch.arange(4, device="cuda").view(2, 2).T.reshape(-1)).tolist() == [0, 2, 1, 3]
        assert torch.cat([lengths.new_tensor([1]), lengths]).tolist() == [1, 3, 0, 5]
    assert dry.guesses == ()


def test_a_write_in_place_changes_the_value_of_every_view(dry):
    import torch

    table = torch.zeros(4, dtype=torch.int64, device="cuda")
    row = table[2:]
    table[2] = 7

    assert row.tolist() == [7, 0]
    assert dry.guesses == ()


def test_what_a_kernel_overwrites_has_no_value_any_more(dry, kernels):
    import torch

    kept, written = torch.tensor([4], device="cuda"), torch.tensor([5], device="cuda")
    view = written[:1]
    kernels.read_and_write[(1,)](kept, kept, written, 1, BLOCK=16)

    assert kept.item() == 4
    assert dry.guesses == ()
    assert view.item() == 2
    assert len(dry.guesses) == 1


@pytest.mark.parametrize("kernel", ["scale", "read_and_write", "write_by_helper"])
def test_a_kernel_writes_through_what_reaches_the_address_of_a_store(kernels, kernel):
    from triton_doctor.runtime.dry.stores import find_written

    written = find_written(getattr(kernels, kernel))

    assert {name for name in written if name.endswith("_ptr")} == {"out_ptr"}


def test_a_guess_is_told_once_with_its_line(dry):
    import torch

    x = torch.randn(1000, device="cuda")
    for _ in range(3):
        x.sum().item()

    (guess,) = dry.guesses
    assert guess.question == ".item() of a float32 tensor of shape (), made by sum"
    assert guess.site.path == __file__
    assert not guess.stopped


def test_comparisons_hold_and_nothing_is_nan(dry):
    import torch

    x, y = torch.randn(1000, device="cuda"), torch.randn(1000, device="cuda")

    assert not torch.isnan(x).any()
    assert torch.isfinite(x).all()
    assert torch.allclose(x, y)
    assert ((x - y).abs() < 1e-3).all()
    assert (x - y).abs().max().item() == 0
    torch.testing.assert_close(x, y)


@pytest.mark.parametrize("make", ["arange(4, {})", "tensor([1, 2], {})", "randn(3, {})", "zeros(2, {})"])
def test_memory_that_is_to_be_pinned_is_there(dry, make):
    import torch

    assert eval(f"torch.{make.format('pin_memory=True')}", {"torch": torch}).device.type == "cpu"


def test_results_agree_and_are_alike(dry):
    import torch
    from torch.nn.functional import cosine_similarity

    result, expected = torch.randn(8, 64, device="cuda"), torch.randn(8, 64, device="cuda")
    error = (result - expected).flatten().square().mean().sqrt() / expected.square().mean().sqrt()

    assert error.item() < 1e-3
    assert cosine_similarity(result.flatten(), expected.flatten(), dim=0).item() > 0.99


def test_variants_after_a_guess_are_marked_until_the_next_case(dry, kernels):
    import torch

    from triton_doctor.runtime.dry import begin_case

    kernels.launch_scale(torch.randn(64, device="cuda"))
    torch.randn(1000, device="cuda").sum().item()
    kernels.launch_scale(torch.randn(128, device="cuda"))
    begin_case()
    kernels.launch_scale(torch.randn(256, device="cuda"))

    assert [event.guessed for event in dry.compiled] == [False, True, False]


def test_the_program_stops_at_what_is_unknown_where_it_is_told_to(kernels):
    import torch

    with triton_doctor.dry_run(unknown="stop") as recording:
        x = torch.randn(1000, device="cuda")
        with pytest.raises(DryStopError, match=r"\.item\(\) of a float32 tensor") as caught:
            x.sum().item()

    assert __file__ in str(caught.value)
    assert [stop.stopped for stop in recording.stops] == [True]


def test_a_gradient_of_ones_is_known(dry, kernels):
    import torch

    class Check(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sum()

        @staticmethod
        def backward(ctx, gradient):
            assert torch.equal(gradient, torch.tensor(1.0, device=gradient.device))
            return gradient.expand(100)

    Check.apply(torch.randn(100, device="cuda", requires_grad=True)).backward()

    assert dry.guesses == ()


@pytest.mark.parametrize("stop", ["isin", "prod", "all"])
def test_a_loop_that_ends_at_a_token_goes_on_to_its_own_limit(dry, kernels, stop):
    import torch

    ids = torch.zeros(2, 3, dtype=torch.int64, device="cuda")
    unfinished = torch.ones(2, dtype=torch.int64, device="cuda")
    eos = torch.tensor([2, 7], device="cuda")
    finished = False
    while not finished:
        scores = torch.randn(2, 100, device="cuda").softmax(-1)
        tokens = torch.multinomial(scores, 1).squeeze(1) if stop == "isin" else scores.argmax(-1)
        tokens = tokens * unfinished + 2 * (1 - unfinished)
        ids = torch.cat([ids, tokens[:, None]], dim=-1)
        kernels.launch_scale(ids.float(), block=16)
        is_long = torch.full((2,), ids.shape[1] >= 10, dtype=torch.bool, device="cuda")
        match stop:
            case "isin":
                done = torch.full((2,), False, device="cuda") | torch.isin(ids[:, -1], eos) | is_long
                unfinished = unfinished & ~done
                finished = unfinished.max() == 0
            case "prod":
                unfinished = unfinished.mul(tokens.tile(2, 1).ne(eos.unsqueeze(1)).prod(dim=0))
                finished = unfinished.max() == 0 or is_long.all()
            case "all":
                finished = (tokens == 2).all() or is_long.all()

    assert ids.shape == (2, 10)
    assert sum(dry.launches.values()) == 7
    assert len(dry.guesses) == 1


def test_equality_of_results_holds_and_a_count_of_none_is_zero(dry):
    import torch

    x, y = torch.empty(1000, dtype=torch.int32, device="cuda"), torch.empty(1000, dtype=torch.int32, device="cuda")

    assert (x == y).all()
    assert torch.isnan(torch.randn(1000, device="cuda")).sum() == 0
    assert (torch.isnan(torch.randn(1000, device="cuda")).sum() != 0).item() is False


def test_a_number_that_an_operator_of_a_library_asks_for_is_an_integer_where_the_tensor_has_integers(dry):
    import torch

    with torch.library._scoped_library("dry_tests_numbers", "DEF") as library:
        library.define("keep(Tensor x) -> Tensor")
        library.impl("keep", lambda x: torch.empty((x > 0).sum(), device=x.device), "CUDA")
        kept = torch.ops.dry_tests_numbers.keep(torch.randn(1000, device="cuda"))
    assert kept.shape == (2,)
    assert [guess.question.partition(" ")[0] for guess in dry.guesses] == [".item()"]


def test_unknown_values_fill_as_many_bins_as_the_program_asks_for(dry):
    import torch

    nearest = torch.randn(32, 16, device="cuda").argmin(dim=1)

    assert torch.bincount(nearest, minlength=16).shape == (16,)


def test_a_parameter_is_where_its_data_is(dry):
    import torch

    module = torch.nn.Module()
    module.scale = torch.nn.Parameter(torch.tensor([2.0]))  # its value is written out, so torch computes with it
    module.to("cuda")
    by_hand = torch.nn.Parameter(torch.randn(4))
    by_hand.data = by_hand.data.to("cuda", torch.float16)
    again = torch.nn.Parameter(torch.tensor([3.0]))
    again.data = torch.tensor([5.0])

    assert (module.scale * 2).device.type == "cuda"
    assert (by_hand.device.type, (by_hand * 2).device.type, (by_hand * 2).dtype) == ("cuda", "cuda", torch.float16)
    assert (again * 2).tolist() == [10.0]
