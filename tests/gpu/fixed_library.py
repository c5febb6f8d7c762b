"""Liger as it is and as `check --fix` leaves it: same results, fewer compiles. `fixed_library.py ORIGINAL FIXED OUT`.

ORIGINAL and FIXED are folders that hold the package. Each is run in a process of its own with an empty cache: forward
and backward of four operators at 12 shapes, batch and length varying and the model staying. Needs a GPU, or
`--target cuda:90` to compile without one, where there are no results to compare.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

HIDDEN, HEADS, HEAD = 512, 8, 64
SHAPES = (
    (1, 1),
    (2, 7),
    (3, 17),
    (4, 33),
    (5, 48),
    (6, 64),
    (8, 100),
    (1, 128),
    (2, 256),
    (3, 513),
    (4, 777),
    (2, 1024),
)
ROOT = Path(__file__).parent.parent.parent


def rope(make: Callable[..., torch.Tensor], batch: int, length: int) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Each gives its outputs, and the tensors whose gradients count."""
    from liger_kernel.ops.rope import LigerRopeFunction

    q, k = make(batch, HEADS, length, HEAD), make(batch, HEADS, length, HEAD)
    angles = make(1, length, HEAD).detach()
    # It works in place: on views of what is differentiated.
    turned = LigerRopeFunction.apply(q * 1, k * 1, angles.cos(), angles.sin())
    return list(turned), [q, k]


def layer_norm(
    make: Callable[..., torch.Tensor], batch: int, length: int
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    from liger_kernel.ops.layer_norm import LigerLayerNormFunction

    x, weight, bias = make(batch, length, HIDDEN), make(HIDDEN), make(HIDDEN)
    return [LigerLayerNormFunction.apply(x, weight, bias, 1e-6)], [x, weight, bias]


def fused_add_rms_norm(
    make: Callable[..., torch.Tensor], batch: int, length: int
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    from liger_kernel.ops.fused_add_rms_norm import LigerFusedAddRMSNormFunction

    x, residual, weight = make(batch, length, HIDDEN), make(batch, length, HIDDEN), make(HIDDEN)
    return list(LigerFusedAddRMSNormFunction.apply(x, residual, weight, 1e-6, 0.0, "llama", False)), [
        x,
        residual,
        weight,
    ]


def poly_norm(
    make: Callable[..., torch.Tensor], batch: int, length: int
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    from liger_kernel.ops.poly_norm import LigerPolyNormFunction

    x, weight, bias = make(batch, length, HIDDEN), make(3), make()
    return [LigerPolyNormFunction.apply(x, weight, bias, 1e-6, False)], [x, weight, bias]


OPERATORS = (rope, layer_norm, fused_add_rms_norm, poly_norm)


def run_one(out: Path, target: str | None) -> None:
    """Run all operators with the package that stands first on the path; keep the recording and the results in `out`."""
    from triton_doctor import record

    device = "cpu" if target else "cuda"
    generator = torch.Generator().manual_seed(20260101)

    def make(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator).to(device).requires_grad_()

    results: dict[str, torch.Tensor] = {}
    with record(out / "recording.jsonl", target=target):
        for operator in OPERATORS:
            for batch, length in SHAPES:
                outputs, inputs = operator(make, batch, length)
                sum(output.float().square().sum() for output in outputs).backward()
                name = f"{operator.__name__} {batch}x{length}"
                results |= {f"{name} output {at}": one.detach().cpu() for at, one in enumerate(outputs)}
                results |= {
                    f"{name} gradient {at}": one.grad.cpu() for at, one in enumerate(inputs) if one.grad is not None
                }
    if not target:
        torch.save(results, out / "results.pt")


def compiles(folder: Path) -> dict[str, int]:
    """The compiles of each kernel in the recording of `folder`."""
    from triton_doctor import Recording

    found: dict[str, int] = {}
    for event in Recording.read(folder / "recording.jsonl").compiled:
        found[event.kernel.name] = found.get(event.kernel.name, 0) + 1
    return found


def differences(original: Path, fixed: Path) -> dict[str, dict[str, float]]:
    """By operator: how many tensors there are, how many are equal to the last bit, and the greatest relative error."""
    one, other = torch.load(original / "results.pt"), torch.load(fixed / "results.pt")
    assert one.keys() == other.keys()
    told: dict[str, dict[str, float]] = {}
    for name, expected in one.items():
        row = told.setdefault(name.partition(" ")[0], {"tensors": 0, "equal": 0, "greatest_relative": 0.0})
        scale = expected.abs().max().clamp_min(1e-30)
        row["tensors"] += 1
        row["equal"] += bool(torch.equal(expected, other[name]))
        row["greatest_relative"] = max(row["greatest_relative"], float((other[name] - expected).abs().max() / scale))
    return told


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("original", type=Path)
    parser.add_argument("fixed", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--target")
    parser.add_argument("--one", action="store_true", help="run the one package that is on the path")
    chosen = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    chosen.out.mkdir(parents=True, exist_ok=True)
    if chosen.one:
        run_one(chosen.out, chosen.target)
        return
    more = ["--target", chosen.target] if chosen.target else []
    for name in ("original", "fixed"):
        package, out = getattr(chosen, name).resolve(), chosen.out / name
        with tempfile.TemporaryDirectory() as cache:
            paths = os.pathsep.join([str(package), str(ROOT), os.environ.get("PYTHONPATH", "")])
            environment = {**os.environ, "PYTHONPATH": paths, "TRITON_CACHE_DIR": cache}
            command = [sys.executable, __file__, str(package), str(package), str(out), "--one", *more]
            subprocess.run(command, env=environment, check=True)
    before, after = compiles(chosen.out / "original"), compiles(chosen.out / "fixed")
    report = {"compiles": {name: [before[name], after.get(name, 0)] for name in sorted(before)}}
    if not chosen.target:
        report["results"] = differences(chosen.out / "original", chosen.out / "fixed")
        report["gpu"] = torch.cuda.get_device_name()
    (chosen.out / "report.json").write_text(json.dumps(report, indent=1), encoding="utf-8")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
