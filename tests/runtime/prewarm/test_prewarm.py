"""What is prewarmed is found: on each Triton, by the program itself and by `--check`."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

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


@pytest.mark.parametrize(
    ("named", "printed"),
    [
        pytest.param(
            [], ["there is no recording to prewarm from", "name one that `run -o` wrote, or --from-tests"], id="none"
        ),
        pytest.param(
            ["serve.log"],
            [
                "serve.log is no recording: a server's log names kernels, but not their modules, options and target",
                "name a recording that has them too; `triton-doctor report serve.log` says what to warm up",
            ],
            id="the log of a server",
        ),
    ],
)
def test_what_is_no_recording_is_one_line_with_a_hint(workshop: Workshop, named: list[str], printed: list[str]) -> None:
    (workshop.folder / "serve.log").write_text("WARNING: a kernel was compiled\n")
    lines = workshop.doctor("prewarm", *named, status=2).splitlines()

    assert lines == [f"triton-doctor: {printed[0]}", f"hint: {printed[1]}"]


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


@pytest.mark.long
def test_kernels_of_classes_in_a_script_are_prewarmed_and_named_with_their_class(workshop: Workshop) -> None:
    script = workshop.folder / "packs.py"
    script.write_text(
        dedent(
            """
            import torch
            import triton
            import triton.language as tl

            class Pack:
                @staticmethod
                @triton.jit
                def kernel(x, n, BLOCK: tl.constexpr):
                    at = tl.arange(0, BLOCK)
                    tl.store(x + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)

            class Unpack:
                @staticmethod
                @triton.jit
                def kernel(x, n, BLOCK: tl.constexpr):
                    at = tl.arange(0, BLOCK)
                    tl.store(x + at, 3 * tl.load(x + at, mask=at < n), mask=at < n)

            if __name__ == "__main__":
                for n in (5, 16):
                    Pack.kernel[(4,)](torch.ones(1024), n, BLOCK=256)
                Unpack.kernel[(4,)](torch.ones(1024), 5, BLOCK=256)
            """
        )
    )
    first = workshop.record("first.jsonl", script, cache="first")
    workshop.doctor("prewarm", first, "--cache-dir", "warm", "--jobs", 2)
    second = workshop.record("second.jsonl", script, cache="warm")
    listed = json.loads(workshop.doctor("cache", "list", "--cache-dir", "warm", "--output-format", "json"))

    assert tiers(second) == ["loaded from disk"] * 3
    assert {kernel["kernel"]: kernel["variants"] for kernel in listed["kernels"]} == {
        "Pack.kernel": 3,
        "Unpack.kernel": 1,
    }
    assert "3 variants" in workshop.doctor("cache", "show", "Pack.kernel", "--cache-dir", "warm")
    reported = json.loads(workshop.doctor("report", second, "--output-format", "json"))
    assert sorted(kernel["kernel"] for kernel in reported["kernels"]) == ["Pack.kernel", "Unpack.kernel"]


@pytest.mark.long
def test_gluon_kernel_is_prewarmed_with_its_layout_and_the_cache_names_its_constexpr(workshop: Workshop) -> None:
    script = workshop.folder / "copies.py"
    script.write_text(
        dedent(
            """
            import torch
            from triton.experimental import gluon
            from triton.experimental.gluon import language as gl

            @gluon.jit
            def memcpy(src, dst, n, rows: gl.constexpr, BLOCK: gl.constexpr, layout: gl.constexpr):
                at = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
                ok = at < n + rows
                gl.store(dst + at, gl.load(src + at, mask=ok), mask=ok)

            if __name__ == "__main__":
                for rows in (7, 33):
                    layout = gl.BlockedLayout([1], [32], [4], [0])
                    x = torch.ones(1024)
                    memcpy[(4,)](x, x, 1024, rows, BLOCK=256, layout=layout, num_warps=4)
            """
        )
    )
    first = workshop.record("first.jsonl", script, cache="first")
    printed = workshop.doctor("prewarm", first, "--cache-dir", "warm", "--jobs", 2)
    second = workshop.record("second.jsonl", script, cache="warm")

    assert "2 compiled" in printed
    assert tiers(second) == ["loaded from disk"] * 2
    assert "rows: 2 values" in workshop.doctor("cache", "show", "memcpy", "--cache-dir", "warm")
