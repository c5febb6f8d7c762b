"""VMamba's scans of an image in four directions."""

from __future__ import annotations

import importlib
from typing import Any

from tests.gpu.operators.tensors import normal

REPOSITORY = "MzeroMiko/VMamba"
COMMIT = "2ed52ead062a51a64521ed3871d52914bf532876"
FOLDERS = ("classification/models",)
CHANNELS, DIRECTIONS = 96, 4
# Images: so many pixels high, and a little less wide.
SHAPES = ((1, 7), (2, 10), (1, 14), (3, 20), (2, 28), (4, 33), (1, 40), (2, 56))


def call(name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module("csm_triton"), name)(*arguments, **more)


def scan(scans: int) -> Any:
    """An image into sequences, forward and backward."""

    def run(batch: int, length: int) -> object:
        return call("cross_scan_fn", normal(batch, CHANNELS, length, length - 1), scans=scans)

    return run


def merge(batch: int, length: int) -> object:
    """Sequences into an image, forward and backward."""
    return call("cross_merge_fn", normal(batch, DIRECTIONS, CHANNELS, length, length - 1))


def last(batch: int, length: int) -> object:
    """An image whose channels come last into sequences."""
    image = normal(batch, length, length - 1, CHANNELS)
    return call("cross_scan_fn", image, in_channel_first=False, out_channel_first=False)


OPERATORS = {"scan": scan(0), "scan-one-way": scan(1), "merge": merge, "channels-last": last}
