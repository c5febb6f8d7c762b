"""torch.compile in a report: kernels by template, graphs with their guards, benchmarks, in one screen."""

from dataclasses import replace
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from tests.evidence.recorded import compile_event, process
from triton_doctor.report.recording import RunForm, render_account
from triton_doctor.runtime.account import account
from triton_doctor.runtime.event import UnloadEvent
from triton_doctor.runtime.program_event import ChoicesEvent, GraphEvent, VariableEvent
from triton_doctor.runtime.recording import Recording

SECOND = 1_000_000_000


def inductors(name, second):
    kernel = replace(compile_event(1).kernel, name=name, path=f"/tmp/torchinductor_me/{name}.py")
    return compile_event(1, kernel=kernel, direct=True, maker="inductor", at_ns=second * SECOND)


def graph(number, end_second, reason="", **more):
    return GraphEvent(
        compile_id=f"0/{number}",
        function="forward",
        path="/model.py",
        line=9,
        duration_us=10_000_000,
        at_ns=end_second * SECOND,
        reason=reason,
        **more,
    )


def recorded(choices):
    main, worker = process([], 0), process([], 0, pid=2)
    events = [
        VariableEvent(
            name="TRITON_CACHE_DIR",
            value="/tmp/torchinductor_me/triton/0",
            setter="torch.compile (Inductor)",
            at_ns=SECOND,
        ),
        graph(0, 20),
        graph(1, 40, "0/0: tensor 'x' size mismatch at index 0. expected 64, actual 128"),
        ChoicesEvent(name="addmm", count=2, precompile_us=9_000_000, benchmark_us=7_800_000, at_ns=40 * SECOND),
    ]
    compiles = [inductors(f"triton_mm_{number}", 15) for number in range(choices)]
    compiles += [inductors("triton_poi_fused_gelu_0", 18), inductors("triton_tem_fused_addmm_1", 35)]
    return [
        Recording(headers=main.headers, events=events),
        Recording(headers=worker.headers, events=compiles),
    ]


def test_model_that_made_many_kernels_is_one_screen():
    text = render_account(account(recorded(340)), RunForm.TEXT, recordings=(), cwd=Path("/"), color=False)

    assert len(text.splitlines()) < 40
    assert text[text.index("torch.compile\n") : text.index("not seen")] == snapshot("""\
torch.compile
  342 kernels of Inductor: 342 compiled, 0.15 s; launches not counted
    pointwise: 1 kernel, 0.050 s
    template: 1 kernel, 0.050 s
    choices for mm: 340 kernels, 0.050 s
  benchmarked addmm 2 times: 7.80 s, after 9.00 s of compiling the choices
  [0/0] forward at model.py:9: 10.00 s, 1 kernel, 340 choices
  [0/1] forward at model.py:9: 10.00 s, 1 kernel
    again, since 0/0: tensor 'x' size mismatch at index 0. expected 64, actual 128

""")
    assert "342 kernels: launches not counted, 342 compiled" in text
    assert "kernels are kept in /tmp/torchinductor_me/triton/0: torch.compile (Inductor) set TRITON_CACHE_DIR" in text


@pytest.mark.parametrize(
    ("cached", "uncached", "told"),
    [
        pytest.param(0, 1, "10.00 s\n", id="compiled"),
        pytest.param(1, 0, "10.00 s, found in Inductor's cache\n", id="found"),
        pytest.param(1, 2, "10.00 s, 1 of 3 graphs found in Inductor's cache\n", id="found in part"),
    ],
)
def test_graph_found_in_the_cache_of_inductor_is_told(cached, uncached, told):
    main = process([], 0)
    recording = Recording(headers=main.headers, events=[graph(0, 20, cached=cached, uncached=uncached)])

    text = render_account(account([recording]), RunForm.TEXT, recordings=(), cwd=Path("/"), color=False)

    assert f"[0/0] forward at model.py:9: {told}" in text


def test_kernel_unloaded_inside_a_capture_is_told_with_the_remedy():
    main = process([compile_event(1)], 1)
    kernel = compile_event(1).kernel
    main.events.append(UnloadEvent(kernel=kernel, thread=1, rank=None, at_ns=2 * SECOND))

    text = render_account(account([main]), RunForm.TEXT, recordings=(), cwd=Path("/"), color=False)

    assert (
        "1x TRD716 compiled-in-graph-capture: unloaded in a capture: "
        "keep a reference to the kernel until the capture has ended"
    ) in text
