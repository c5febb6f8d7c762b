"""OpenFold3's attention over rows of alignments and its layers: the length is the number of residues."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tests.benchmarks.packages import Package
from tests.gpu.operators.tensors import HEAD, HEADS, HIDDEN, normal, plain

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Package("openfold3", "0.5.0")
BARE = (
    "openfold3",
    "openfold3.core",
    "openfold3.core.kernels",
    "openfold3.core.model",
    "openfold3.core.model.layers",
    "openfold3.core.utils",
)
UNUSED = (
    "ml_collections",
    "scipy",
    "scipy.spatial",
    "scipy.spatial.transform",
    "scipy.stats",
    "biotite",
    "biotite.structure",
    "biotite.structure.io",
    "biotite.structure.io.pdbx",
    "openfold3.core.config",
    "openfold3.core.config.default_linear_init_config",
    "openfold3.core.kernels.cueq_utils",
    "openfold3.core.model.primitives",
    "openfold3.core.utils.tensor_utils",
)
SHAPES = ((1, 32), (2, 48), (3, 33), (5, 100), (6, 127), (7, 200), (1, 300), (2, 257))
ROWS, WIDE = 8, 128


def attention(*, dynamic: bool) -> Callable[[int, int], object]:
    """Attention of each row of an alignment, with a bias for each pair."""

    def call(batch: int, length: int) -> object:
        made: list[Any] = [normal(batch, ROWS, length, HEADS, HEAD) for _ in range(3)]
        made += [plain(batch, ROWS, 1, 1, length), normal(batch, 1, HEADS, length, length)]
        module = importlib.import_module("openfold3.core.kernels.triton.evoformer")
        return module.EvoformerAttention.apply(*made, True, dynamic)

    return call


def softmax(batch: int, length: int) -> object:
    """A softmax of scores, forward and backward."""
    module = importlib.import_module("openfold3.core.kernels.triton.triton_softmax")
    scores, mask = plain(batch, ROWS, HEADS, length, length), plain(batch, ROWS, 1, 1, length)
    rows = batch * ROWS * HEADS * length
    out = module.softmax_triton_kernel_wrapper(scores, mask, plain(batch, 1, HEADS, length, length), rows, length)
    return module.softmax_grad_triton_kernel_wrapper(scores, out, rows, length)


def gated(batch: int, length: int) -> object:
    """A gated unit."""
    function = importlib.import_module("openfold3.core.kernels.triton.swiglu").LigerSiLUMulFunction
    return function.apply(normal(batch * length, HIDDEN), normal(batch * length, HIDDEN))


def of_pairs(name: str, *shapes: tuple[int, ...], like: int = 0) -> Callable[[int, int], object]:
    """A layer over all pairs of residues, `like` how many more tensors are of the same shape."""

    def call(batch: int, length: int) -> object:
        made = [plain(batch, length, length, WIDE) for _ in range(1 + like)]
        module = importlib.import_module("openfold3.core.model.layers.triangular_multiplicative_update")
        return getattr(module, name)(*made, *(plain(*shape) for shape in shapes))

    return call


OPERATORS = {
    "attention": attention(dynamic=False),
    "attention-dynamic": attention(dynamic=True),
    "softmax": softmax,
    "gated": gated,
    "sigmoid-mul": of_pairs("triton_sigmoid_mul", like=1),
    "layernorm": of_pairs("triton_layernorm", (WIDE,), (WIDE,)),
    "linear": of_pairs("triton_linear", (64, WIDE), (64,)),
    "linear-fused": of_pairs("triton_linear_fused", (WIDE, WIDE), (WIDE,)),
}
