"""On a real GPU: the calls that a sweep makes need the values of constexprs that they need dry."""

import os

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from tests.gpu.sweep_values import PACKAGES, compare  # noqa: E402

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")]


# trinix takes PyTorch where its kernel raises. A dry run does not compile, and sees no such kernel fail.
FAILING = {"trinix": pytest.mark.xfail(reason="its kernels of small heads do not compile", strict=True)}


@pytest.mark.parametrize("library", [pytest.param(name, marks=FAILING.get(name, ())) for name in PACKAGES])
def test_same_calls_need_the_same_values(library, tmp_path):
    assert compare(library, tmp_path, min(os.cpu_count() or 1, 14)) == []
    assert '"ran": [\n' in (tmp_path / f"{library}.gpu.json").read_text(encoding="utf-8")
