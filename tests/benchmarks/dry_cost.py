"""What a dry run costs, as ratios that are interleaved in one run: `python -m tests.benchmarks.dry --cost`.

Limits, in operators of torch's own FakeTensorMode: an operator 2.2, a launch with a new key twice that, a launch with a
known key a fifth of it.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

import triton_doctor

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS, OPERATORS, KNOWN, NEW = 15, 400, 2000, 200
LIMITS = {"operator": 2.2, "launch with a new key": 4.4, "launch with a known key": 0.44}


def measure_cost() -> None:
    """Print what each costs, and its ratio to an operator of FakeTensorMode; exit with 1 where a limit is passed."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    plain: list[float] = []
    dry: dict[str, list[float]] = {what: [] for what in LIMITS}
    for _ in range(ROUNDS):
        with FakeTensorMode():
            plain.append(_time_operators("cpu"))
        with triton_doctor.dry_run():
            dry["operator"].append(_time_operators("cuda"))
            for what, each in _time_launches().items():
                dry[what].append(each)
    base = statistics.median(plain)
    print(f"operator of FakeTensorMode: {base * 1e6:.1f} us")
    passed = []
    for what, limit in LIMITS.items():
        each = statistics.median(dry[what])
        print(f"{what}: {each * 1e6:.1f} us, ratio {each / base:.2f} (limit {limit})")
        if each / base > limit:
            passed.append(what)
    if passed:
        raise SystemExit(f"limit passed: {', '.join(passed)}")


def _time_operators(device: str) -> float:
    import torch

    a, b = torch.empty(64, 64, device=device), torch.empty(64, 64, device=device)

    def apply() -> None:
        c = a + b
        c = c.view(4096).mul(2.0).view(64, 64)
        (c @ b).sum(dim=-1)

    return _time_each(apply, OPERATORS // 6) / 6


def _time_launches() -> dict[str, float]:
    import torch

    from tests.runtime.dry.kernels import scale

    x, out = torch.empty(64, device="cuda"), torch.empty(64, device="cuda")
    sizes = iter(range(2, 3 * NEW))

    def launch_new() -> None:
        scale[(1,)](x, out, 64, 2.0, BLOCK=next(sizes))

    def launch_known() -> None:
        scale[(1,)](x, out, 64, 2.0, BLOCK=2)

    return {
        "launch with a new key": _time_each(launch_new, NEW),
        "launch with a known key": _time_each(launch_known, KNOWN),
    }


def _time_each(call: Callable[[], None], times: int) -> float:
    """Seconds of CPU of one call, after some that warm up."""
    for _ in range(10):
        call()
    began = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - began) / times
