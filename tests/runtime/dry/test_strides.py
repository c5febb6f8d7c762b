"""Results have the strides that torch gives them with data, those of axes of length 1 too."""

import pytest

import triton_doctor

OPERATORS = [
    "torch.empty_like(x)",
    "torch.full_like(x, 2.0)",
    "x.clone()",
    "x.clone(memory_format=torch.contiguous_format)",
    "x.half()",
    "x * 2",
    "1 - x",
    "x > 0",
    "x ** 2",
    "x + y",
    "x + x",
    "x.exp()",
    "x.clamp(min=0)",
    "x.masked_fill(x > 0, 0.0)",
    "torch.where(x > 0, x, y)",
    "torch.lerp(x, y, 0.5)",
    "x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True))",
]
VIEWS = [
    "torch.zeros(4, 1, 64).transpose(1, 2)",
    "torch.zeros(8, 1, 3).permute(0, 2, 1)[:4]",
    "torch.zeros(1, 1, 16, 1).permute(2, 3, 0, 1)",
    "torch.zeros(3, 1, 1, 16).permute(2, 3, 1, 0)",
    "torch.zeros(4, 3, 64)[:, :1].transpose(1, 2)",
    "torch.zeros(4, 64)",
]


@pytest.mark.parametrize("operator", OPERATORS)
def test_strides_are_those_of_real_tensors(operator):
    import torch

    def strides(device: str) -> list[tuple[int, ...]]:
        with torch.device(device):
            views = [eval(view, {"torch": torch}) for view in VIEWS]
            pairs = [(x, torch.zeros(x.shape)) for x in views]
            return [eval(operator, {"torch": torch, "x": x, "y": y}).stride() for x, y in pairs]

    with triton_doctor.dry_run():
        found = strides("cuda")
    assert found == strides("cpu")
