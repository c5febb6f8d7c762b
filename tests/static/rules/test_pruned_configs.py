"""What chooses configs by an argument needs it in the autotune key: there is no advice to take it out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from triton_doctor.finding import Severity
from triton_doctor.settings import Settings
from triton_doctor.static.scan import scan
from triton_doctor.static.sources.files import FileKind, SourceFile

if TYPE_CHECKING:
    from pathlib import Path

    from triton_doctor.finding import Finding

SOURCE = """\
import triton
import triton.language as tl


{pruner}


@triton.autotune(
    configs=[triton.Config({{"BLOCK": 64}}), triton.Config({{"BLOCK": 128}})],
    key=["n_rows"],
    prune_configs_by={pruned_by},
)
@triton.jit
def double(x_ptr, n_rows{annotation}, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for start in range(0, width, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + (n_rows - 1 - row) * width + at)
        tl.store(x_ptr + row * width + at, 2 * x)


def launch(lengths, x):
    double[(8,)](x, len(lengths), 512)
"""
READS = """\
def prune(configs, named_args, **kwargs):
    n_rows = named_args.get("n_rows", kwargs.get("n_rows"))
    return [config for config in configs if config.kwargs["BLOCK"] <= n_rows]
"""
RAISES = """\
def prune(configs, named_args, **kwargs):
    kept = [config for config in configs if config.kwargs["BLOCK"] <= named_args["n_rows"]]
    if not kept:
        raise ValueError("too few rows")
    return kept
"""
HANDS_ON = """\
def fits(config, arguments):
    return config.kwargs["BLOCK"] <= arguments["n_rows"]


def prune(configs, named_args, **kwargs):
    return [config for config in configs if fits(config, named_args)]
"""
NAMES = """\
def prune(configs, named_args, n_rows=None, **kwargs):
    return [config for config in configs if config.kwargs["BLOCK"] <= n_rows]
"""
OTHER = """\
def rows_of(device):
    return {"n_rows": 4}[device]


def prune(configs, named_args, **kwargs):
    rows_of("cuda")
    return [config for config in configs if config.kwargs["BLOCK"] <= named_args["width"]]
"""
PRUNED_BY = '{"early_config_prune": prune}'


def find(folder: Path, pruner: str, *, pruned_by: str = PRUNED_BY, annotation: str = "") -> Finding:
    text = SOURCE.format(pruner=pruner, pruned_by=pruned_by, annotation=annotation)
    file = SourceFile("a.py", "a.py", FileKind.PYTHON, text.encode())
    (found,) = scan([file], Settings(root=folder, ignore=("TRD304",)), cwd=folder).findings
    return found


@pytest.mark.parametrize(
    ("pruner", "severity"),
    [
        pytest.param(READS, Severity.WARNING, id="reads it"),
        pytest.param(HANDS_ON, Severity.WARNING, id="hands it on to what reads it"),
        pytest.param(NAMES, Severity.WARNING, id="takes it by its name"),
        pytest.param(RAISES, Severity.INFO, id="raises where no config suits"),
    ],
)
def test_key_that_the_pruner_reads_is_told_without_advice(tmp_path: Path, pruner: str, severity: Severity) -> None:
    finding = find(tmp_path, pruner)

    assert (finding.code, finding.severity, finding.advice) == ("TRD301", severity, None)
    assert finding.message.endswith("`n_rows` is in its autotune key; `prune` chooses configs by `n_rows`")


@pytest.mark.parametrize(
    ("pruner", "pruned_by"),
    [
        pytest.param(OTHER, PRUNED_BY, id="reads another argument"),
        pytest.param(READS, '{"perf_model": prune, "top_k": 4}', id="ranks the configs"),
    ],
)
def test_key_that_no_pruner_reads_may_lose_the_name(tmp_path: Path, pruner: str, pruned_by: str) -> None:
    finding = find(tmp_path, pruner, pruned_by=pruned_by)

    assert (finding.code, finding.severity) == ("TRD301", Severity.WARNING)
    assert (finding.advice or "").startswith("take `n_rows` out of the key")
    assert "chooses" not in finding.message


@pytest.mark.parametrize(("pruner", "is_told"), [(READS, False), (OTHER, True)])
def test_constexpr_stays_in_the_key_that_the_pruner_reads(tmp_path: Path, pruner: str, *, is_told: bool) -> None:
    finding = find(tmp_path, pruner, annotation=": tl.constexpr")

    assert finding.code == "TRD201"
    assert ("remove `n_rows` from the autotune key" in (finding.advice or "")) == is_told
