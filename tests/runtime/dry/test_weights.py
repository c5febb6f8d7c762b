"""Files of safetensors, read in a dry run."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors import torch as weights
from torch._subclasses.fake_tensor import FakeTensor

import triton_doctor


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A file with lengths and a weight."""
    file = tmp_path / "weights.safetensors"
    weights.save_file({"lengths": torch.tensor([3, 1, 4]), "weight": torch.ones(128, 128, dtype=torch.bfloat16)}, file)
    return str(file)


@pytest.mark.parametrize("device", ["cpu", "cuda", 0])
def test_file_has_its_shapes_and_the_values_of_small_integers(path: str, device: str | int) -> None:
    with triton_doctor.dry_run() as recording:
        loaded = weights.load_file(path, device=device)
        lengths = loaded["lengths"].tolist()

    assert lengths == [3, 1, 4]
    assert isinstance(loaded["weight"], FakeTensor)
    assert (loaded["weight"].shape, loaded["weight"].dtype) == ((128, 128), torch.bfloat16)
    assert loaded["weight"].device.type == ("cpu" if device == "cpu" else "cuda")
    assert recording.guesses == ()


def test_part_of_a_tensor_is_read(path: str) -> None:
    with triton_doctor.dry_run(), weights.safe_open(path, framework="pt", device="cuda") as file:
        part = file.get_slice("lengths")[1:]
        weight = file.get_slice("weight")[:64]

        assert (part.tolist(), tuple(weight.shape), weight.device.type) == ([1, 4], (64, 128), "cuda")
        assert sorted(file.keys()) == ["lengths", "weight"]


def test_bytes_are_read(path: str) -> None:
    data = Path(path).read_bytes()
    with triton_doctor.dry_run():
        loaded = weights.load(data)

        assert loaded["lengths"].tolist() == [3, 1, 4]
    assert isinstance(loaded["weight"], FakeTensor)


def test_files_are_real_again_after_a_dry_run(path: str) -> None:
    before = weights.safe_open
    with triton_doctor.dry_run():
        assert weights.safe_open is not before

    assert weights.safe_open is before
    assert torch.equal(weights.load_file(path)["weight"], torch.ones(128, 128, dtype=torch.bfloat16))
