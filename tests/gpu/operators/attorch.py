"""attorch's layers: of images, of tokens and losses."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HIDDEN, VOCABULARY, normal, plain

REPOSITORY = "BobMcDear/attorch"
COMMIT = "67c2772baf33913ef51c2d1064f746ca17b63749"
CHANNELS, OUTPUT = 32, 64
# Images: so many pixels high and wide.
IMAGES = ((1, 4), (2, 7), (1, 8), (3, 12), (2, 14), (4, 20), (1, 28), (2, 33))
SHAPES_OF = dict.fromkeys(("convolve", "batch-norm", "pool"), IMAGES)


def layer(name: str, *arguments: object, **more: object) -> Any:
    """A layer of the library, on the device."""
    return getattr(importlib.import_module("attorch"), name)(*arguments, **more).to(DEVICE)


def single(*shape: int) -> torch.Tensor:
    """Single precision, as the layers have their weights."""
    return normal(*shape, dtype=torch.float32)


def convolve(batch: int, length: int) -> object:
    """An image, forward and backward."""
    return layer("Conv2d", CHANNELS, OUTPUT, 3, padding=1)(single(batch, CHANNELS, length, length))


def batch_norm(batch: int, length: int) -> object:
    """A norm over images, forward and backward."""
    return layer("BatchNorm2d", CHANNELS)(single(batch, CHANNELS, length, length))


def pool(batch: int, length: int) -> object:
    """The means of an image."""
    return layer("AvgPool2d", 2)(single(batch, CHANNELS, length, length))


def tokens(batch: int, length: int) -> object:
    """Norms, a layer, its gate and a probability for all tokens."""
    made = single(batch, length, HIDDEN)
    made = layer("RMSNorm", HIDDEN)(layer("LayerNorm", HIDDEN)(made))
    made = layer("Linear", HIDDEN, 2 * HIDDEN, act_func="gelu")(made)
    return layer("Softmax", dim=-1)(layer("Dropout", 0.5)(layer("GELU")(layer("GLU")(made))))


def losses(batch: int, length: int) -> object:
    """The losses of all tokens."""
    target = torch.zeros(batch * length, device=DEVICE, dtype=torch.int64)
    wanted = plain(batch * length, HIDDEN, dtype=torch.float32)
    layer("MSELoss")(single(batch * length, HIDDEN), wanted)
    layer("NLLLoss")(single(batch * length, VOCABULARY), target)
    return layer("CrossEntropyLoss")(single(batch * length, VOCABULARY), target)


OPERATORS = {
    "convolve": convolve,
    "batch-norm": batch_norm,
    "pool": pool,
    "tokens": tokens,
    "losses": losses,
}
