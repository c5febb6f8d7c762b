"""A program with one launch, and runs of it as the recorder would have seen them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.evidence.weighing import Weighing
from triton_doctor.finding import Severity
from triton_doctor.runtime.event import (
    AutotuneEvent,
    CompileEvent,
    CompileKey,
    Header,
    KernelName,
    LaunchesEvent,
    LaunchSite,
)
from triton_doctor.runtime.recording import Recording
from triton_doctor.settings import Settings
from triton_doctor.static.scan import scan
from triton_doctor.static.sources.files import find_files

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from triton_doctor.finding import Finding
    from triton_doctor.runtime.event import Scalar

SOURCE = """\
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, out_ptr, m, n_rows: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    tl.store(out_ptr + (n_rows - row) * m + cols, tl.load(x_ptr + row * m + cols))


def launch(x, out, m):
    scale[(8,)](x, out, m, x.shape[0], BLOCK=64)
"""
SCALE = KernelName(name="scale", module="pack.kernels", path="/opt/env/site-packages/pack/kernels.py", line=6)


def compile_event(
    n_rows: Scalar, m: int = 7, kernel: KernelName = SCALE, name: str = "n_rows", **more: object
) -> CompileEvent:
    """A launch of `scale` that compiled, for 50 ms; its first constexpr is called `name`."""
    pointers = (("x_ptr", "*fp32"), ("out_ptr", "*fp32"))
    known: dict[str, object] = {
        "tier": "compiled",
        "stages_us": (("cubin", 50_000),),
        "launch_site": LaunchSite(path="/opt/env/site-packages/pack/kernels.py", line=13, function="launch"),
        "device": 0,
        "thread": 1,
        "rank": None,
        "at_ns": 0,
        "values": (("m", m),),
    }
    key = CompileKey(
        signature=(*pointers, ("m", "i32"), (name, "constexpr"), ("BLOCK", "constexpr")),
        constants=((name, n_rows), ("BLOCK", 64)),
        attributes=(("m", "%16"),) if m % 16 == 0 else (),
        options=(("num_warps", 4),),
    )
    return CompileEvent(kernel=kernel, key=key, source="s", **(known | more))  # type: ignore[arg-type]


def tuning_event(n_rows: Scalar, trials: int | None = None) -> AutotuneEvent:
    """A round of tuning of `scale`, for 200 ms."""
    return AutotuneEvent(
        kernel=SCALE,
        key=(("n_rows", n_rows),),
        best="BLOCK: 64, num_warps: 4, num_ctas: 1",
        timings_ms=(),
        duration_us=200_000,
        cached=False,
        launch_site=None,
        thread=1,
        rank=None,
        at_ns=0,
        trials=trials,
    )


def process(
    events: Sequence[CompileEvent | AutotuneEvent], launches: int, kernel: KernelName = SCALE, pid: int = 1
) -> Recording:
    """One process that launched `kernel` so often; its events follow one another, a second apart."""
    header = Header(
        tool_version="0",
        versions=(("triton", "3.6.0"),),
        target=None,
        compile_only=False,
        command=("serve.py",),
        variables=(),
        rank=None,
        world_size=None,
        pid=pid,
        started_at_ns=0,
    )
    timed = [replace(event, at_ns=second * 1_000_000_000) for second, event in enumerate(events, 1)]
    return Recording(headers=[header], events=[*timed, LaunchesEvent(launches=((kernel, launches),), at_ns=1)])


def weigh(folder: Path, *recordings: Recording, source: str = SOURCE, path: str = "pack/kernels.py") -> list[Finding]:
    """The findings about `source` as a file of `folder`, weighed by `recordings`."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source, encoding="utf-8")
    return weigh_folder(folder, *recordings)


def weigh_folder(folder: Path, *recordings: Recording) -> list[Finding]:
    """The findings in `folder`, weighed by `recordings`."""
    settings = Settings(root=folder, fail_on=Severity.WARNING)
    weighing = Weighing(recordings=recordings, cwd=folder)
    return list(scan(list(find_files([folder], settings, cwd=folder)), settings, cwd=folder, weigh=weighing).findings)
