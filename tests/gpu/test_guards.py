"""The plugin and the guards where kernels really run."""

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")

import triton_doctor  # noqa: E402

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")]
REPOSITORY = Path(__file__).parents[2]
PLUGIN = "triton_doctor.pytest_plugin"

KERNEL = """
import pytest
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, n{annotation}, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(x_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=inside), mask=inside)


@pytest.mark.max_compiles(2)
def test_lengths():
    for n in (700, 701, 702, 704, 705):
        x = torch.ones(1024, device="cuda")
        scale[(4,)](x, n, BLOCK=256)
        assert x.sum().item() == 1024 + n
"""


def run_pytest(folder, annotation):
    # An installed triton-doctor has its plugin loaded by pytest.
    installed = any(point.value == PLUGIN for point in entry_points(group="pytest11"))
    plugin = [] if installed else ["-p", PLUGIN]
    (folder / "test_scale.py").write_text(KERNEL.format(annotation=annotation))
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *plugin, "-q"]
    path = os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path, "TRITON_CACHE_DIR": str(folder / "kernels")}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False).stdout


def test_constexpr_that_varies_fails_its_test_with_its_values(tmp_path):
    said = run_pytest(tmp_path, ": tl.constexpr")
    print(said)

    assert "triton-doctor: `scale` compiled 5 times in this test, at most 2 allowed" in said
    assert "TRD702 4 times, last: `n` is 705, was 704: 5 values so far: 700, 701, 702, 704, 705" in said
    assert "launched at test_scale.py:19" in said


def test_annotation_dropped_the_test_passes(tmp_path):
    assert "1 passed" in run_pytest(tmp_path, "")


def test_forbidden_compile_raises_before_the_kernel_runs_and_leaves_the_gpu_sound():
    from tests.gpu.torch_kernels import add_one

    kernel = triton.jit(add_one)
    x = torch.zeros(64, device="cuda")
    kernel[(1,)](x, 64, BLOCK=64)
    refused = pytest.raises(triton_doctor.UnexpectedCompileError, match="`n` is 1: became the constant 1")
    with triton_doctor.warmed_up("raise"):
        kernel[(1,)](x, 64, BLOCK=64)
        with refused:
            kernel[(1,)](x, 1, BLOCK=64)

    assert x.sum().item() == 128
    kernel[(1,)](x, 1, BLOCK=64)
    assert x.sum().item() == 129
