"""What is prewarmed is found: on each Triton, by the program itself and by `--check`."""

import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.runtime.prewarm.conftest import SERVE, Workshop, tiers
from tests.runtime.tritons import NEWEST
from tests.tritons import triton_folder


@pytest.mark.long
@pytest.mark.parametrize("version", ["3.2.0", "3.6.0", NEWEST])
def test_program_finds_all_that_was_prewarmed_from_its_recording(workshop: Workshop, version: str) -> None:
    workshop = replace(workshop, triton=triton_folder(version))
    # Triton 3.2 takes no tuples.
    words = ("go",) if version == "3.2.0" else ("go", "tuples")
    first = workshop.record("first.jsonl", SERVE, *words, cache="first")
    printed = workshop.doctor("prewarm", first, "--cache-dir", "warm", "--jobs", 2)
    second = workshop.record("second.jsonl", SERVE, *words, cache="warm")

    assert "working" not in printed
    assert set(tiers(first)) == {"compiled"}
    assert tiers(second) == ["loaded from disk"] * len(tiers(first))
    assert "0 missed, 0 unused" in workshop.doctor(
        "prewarm", "--check", "--recorded-only", second, "--cache-dir", "warm"
    )
    launchers = list((workshop.folder / "warm").rglob("__triton_launcher*"))
    assert bool(launchers) == (version != NEWEST and shutil.which("gcc") is not None)


@pytest.mark.long
def test_check_names_what_the_cache_misses_and_what_nothing_uses(workshop: Workshop) -> None:
    recording = workshop.record("made.jsonl", SERVE, "go", "made", cache="filled")

    printed = workshop.doctor("prewarm", recording, "--cache-dir", "warm", status=1)
    assert "could not be prewarmed: `made`, 1 variant: no kernel of this name in serve.py" in printed
    assert "4 compiled" in printed
    again = workshop.doctor("prewarm", recording, "--cache-dir", "warm", status=1)
    assert "0 compiled, 4 found in the cache" in again

    checked = workshop.doctor("prewarm", "--check", "--recorded-only", recording, "--cache-dir", "filled", status=1)
    assert "1 missed, 1 unused" in checked
    assert "unused: `made`, 1 entry" in checked
    shutil.rmtree(workshop.folder / "warm")
    assert "5 missed, 0 unused" in workshop.doctor(
        "prewarm", "--check", "--recorded-only", recording, "--cache-dir", "warm", status=1
    )


SAMPLER = """\
import torch
import triton
import triton.language as tl


@triton.jit
def top_k_top_p(logits, k, p, batch, WIDTH: tl.constexpr, HAS_K: tl.constexpr, HAS_P: tl.constexpr):
    row = tl.program_id(0)
    if row < batch:
        at = row * WIDTH + tl.arange(0, WIDTH)
        x = tl.load(logits + at)
        if HAS_K:
            x = tl.where(x < tl.load(k + row), 0.0, x)
        if HAS_P:
            x = x - tl.load(p + row)
        tl.store(logits + at, x)


def apply(logits, k=None, p=None):
    top_k_top_p[(8,)](logits, k, p, logits.shape[0], WIDTH=64, HAS_K=k is not None, HAS_P=p is not None)
"""
WARM = "import torch\nfrom sampler import apply\nks = torch.ones(256)\napply(torch.randn(256, 64), ks, ks)\n"
REQUESTS = """\
import torch
from sampler import apply

ks = torch.ones(256)
for batch, k, p in ((16, True, True), (15, True, True), (9, True, False), (8, False, True), (1, True, True)):
    apply(torch.randn(batch, 64), ks[:batch] if k else None, ks[:batch] if p else None)
"""


@pytest.mark.long
def test_requests_compile_nothing_after_the_warm_up_was_prewarmed_with_its_cover(workshop: Workshop) -> None:
    for name, text in (("sampler", SAMPLER), ("warm", WARM), ("requests", REQUESTS)):
        (workshop.folder / f"{name}.py").write_text(text)
    (workshop.folder / "pyproject.toml").touch()
    recording = workshop.record("warm.jsonl", "warm.py", cache="first")
    check = ("prewarm", "--check", recording, "--cache-dir", "warm")

    assert "12 missed, 0 unused" in workshop.doctor(*check, status=1)
    printed = workshop.doctor("prewarm", recording, "--cache-dir", "warm", "-o", "covered.jsonl")
    assert "12 likely variants: 1 recorded, 11 added (by the source 11); 1 kernel" in printed
    assert "`top_k_top_p`: `batch` 1: `logits.shape[0]` is per call, sampler.py:20" in printed
    assert workshop.doctor(*check) == "0 missed, 0 unused\n"
    assert tiers(workshop.folder / "covered.jsonl") == ["compiled"] * 12
    requests = workshop.record("requests.jsonl", "requests.py", cache="warm")
    assert tiers(requests) == ["loaded from disk"] * 5


def test_a_missing_recording_is_one_line_with_a_hint(workshop: Workshop) -> None:
    printed = workshop.doctor("prewarm", status=2)

    assert printed.splitlines() == [
        "triton-doctor: there is no recording to prewarm from",
        "hint: name one that `run -o` wrote, or --from-tests",
    ]


@pytest.mark.long
def test_kill_9_leaves_no_process_and_loses_nothing_that_was_done(workshop: Workshop) -> None:
    recording = workshop.record("first.jsonl", SERVE, "go", "tuples", cache="first")
    warm = workshop.folder / "warm"
    command = [sys.executable, "-m", "triton_doctor", "prewarm", str(recording), "--cache-dir", str(warm)]
    environment = {**os.environ, "PYTHONPATH": workshop.path, "HERE": str(workshop.folder)}
    with subprocess.Popen([*command, "--jobs", "1"], env=environment, cwd=workshop.folder) as prewarming:
        while not (done := list(warm.glob("*/__grp__*"))) and prewarming.poll() is None:
            time.sleep(0.02)
        prewarming.kill()

    ends = time.monotonic() + 60
    while left := [each.name for each in Path("/proc").glob("[1-9]*") if f"HERE={workshop.folder}" in environ(each)]:
        assert time.monotonic() < ends, left
        time.sleep(0.1)
    found = re.search(r"(\d+) compiled, (\d+) found", workshop.doctor("prewarm", recording, "--cache-dir", warm))
    assert found is not None
    assert int(found[2]) >= len(done) >= 1


def environ(process: Path) -> str:
    """The environment of a process; empty where it has ended."""
    try:
        return (process / "environ").read_text(errors="replace")
    except OSError:
        return ""
