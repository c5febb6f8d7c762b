"""The example of triton-viz that has a function around its kernel."""

from __future__ import annotations

import importlib

from tests.gpu.operators.tensors import HEAD, plain

REPOSITORY = "Deep-Learning-Profiling-Tools/triton-viz"
COMMIT = "203b0c7cbb35448d53f3cf5359db55e0d4fb3522"
FOLDERS = ("examples/visualizer",)
UNUSED = ("triton_viz", "triton_viz.clients")


def add(batch: int, length: int) -> object:
    """A sum of three axes."""
    importlib.import_module("3dims").add_3d_slices(*(plain(batch, length, HEAD) for _ in range(3)))


OPERATORS = {"add": add}
