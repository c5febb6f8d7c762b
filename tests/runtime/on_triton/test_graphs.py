"""What torch says of graphs: each compile of Dynamo's with the guard that made it again, CUDA graphs captured."""

import pytest
import torch
import triton

import triton_doctor
from triton_doctor.runtime import hooks
from triton_doctor.runtime.program_event import GraphEvent


def test_each_compile_of_dynamo_is_recorded_with_its_guard():
    def double(x):
        return 2 * x

    torch._dynamo.reset()
    compiled = torch.compile(double, backend="eager")
    compiled(torch.ones(3, 2))
    with triton_doctor.record() as recording:
        compiled(torch.ones(4, 2))

    (graph,) = [event for event in recording.events if isinstance(event, GraphEvent)]
    assert (graph.function, graph.path, graph.failure) == ("double", __file__, "")
    assert "tensor 'x' size mismatch at index 0. expected 3, actual 4" in graph.reason
    assert graph.duration_us > 0


@pytest.mark.skipif(
    hooks.parse_version(triton.__version__) < (3, 9), reason="Inductor's cache, the same on each triton"
)
def test_graph_that_inductor_has_on_disk_is_told(monkeypatch, tmp_path):
    def multiply(x):
        return x @ x  # nothing to compile in C++

    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    with triton_doctor.record() as recording:
        for _ in range(2):
            torch._dynamo.reset()
            torch.compile(multiply)(torch.ones(8, 8))

    graphs = [event for event in recording.events if isinstance(event, GraphEvent)]
    assert [(graph.cached, graph.uncached) for graph in graphs] == [(0, 1), (1, 0)]


def test_replays_are_said_not_to_be_counted_once_torch_has_a_stream_for_captures(monkeypatch):
    with triton_doctor.record() as none_captured:
        pass
    with triton_doctor.record() as captured:
        # What the first `torch.cuda.graph` sets, which needs a GPU.
        monkeypatch.setattr(torch.cuda.graph, "default_capture_stream", object())

    assert none_captured.warnings == ()
    assert [(warning.kind, warning.message) for warning in captured.warnings] == [
        ("replays", "launches in replays of CUDA graphs: a replay launches its kernels past triton")
    ]
