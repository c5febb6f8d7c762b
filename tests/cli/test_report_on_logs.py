"""`report serve.log`: lines of engines and of Triton to kernels, what changed, and the rule that mends it."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.engine_logs import COMPILED, TUNED, read_log

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """\
import triton
import triton.language as tl


@triton.jit
def metadata(lens, out, num_reqs, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(lens + at, mask=at < num_reqs), mask=at < num_reqs)


def build(lens, out, requests):
    metadata[(1,)](lens, out, len(requests), BLOCK=triton.next_power_of_2(len(requests)))
"""
VLLM = "(EngineCore pid=7) WARNING [jit_monitor.py:97] Triton kernel JIT compilation during inference: "
END = ". This causes a latency spike; consider extending warmup to cover this shape/config."
ONE = "(key=[('*i32', 'D'), ('*i32', 'D'), ('constexpr', 1), ('constexpr', 1)]{'debug': False})"
FOUR = "(key=[('*i32', 'D'), ('*i32', 'D'), ('i32', ''), ('constexpr', 4)]{'debug': False})"
VERBOSE = (
    "(constexprs={BLOCK=8, num_reqs=1}; signature={BLOCK='constexpr', lens='*i32', num_reqs='i32'}; "
    "extra_compile_info={configs=[{(0,): [['tt.divisibility', 16]]}]}; key='[(...')"
)
SGLANG = "[TP0] Triton kernel 'metadata' took 2.31 s to compile after serving started. Serving-time compilation can"
ROUND = (
    "Triton autotuning for function metadata,\nwith key as (40, 'torch.int32'),\nfinished after 1.20s,\n"
    "best config selected: BLOCK: 64;"
)
OLD_ROUND = "Triton autotuning for function metadata finished after 0.50s; best config selected: BLOCK: 64;"


def written(folder: Path, *lines: str) -> Path:
    """A log of `lines` in `folder`, between others."""
    path = folder / "serve.log"
    path.write_text("INFO starting\n" + "\nINFO 200 OK\n".join(lines) + "\nINFO done\n")
    return path


def doctor(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """`triton-doctor *words` in `folder`."""
    environment = {**os.environ, "TRITON_DOCTOR_CACHE": "0"}
    return subprocess.run(
        [sys.executable, "-m", "triton_doctor", *words], cwd=folder, env=environment, capture_output=True, text=True
    )


def test_each_text_of_the_engines_is_read(tmp_path: Path) -> None:
    log = written(tmp_path, VLLM + "Pack.kernel" + END, VLLM + f"metadata {VERBOSE}{END}", SGLANG, ROUND, OLD_ROUND)

    bare, verbose, slow, tuned, before = read_log(log)

    assert (bare.kernel, bare.what, bare.key, bare.named) == ("Pack.kernel", COMPILED, (), {})
    assert verbose.named == {"BLOCK": "8", "lens": "*i32", "num_reqs": "1"}
    assert (slow.kernel, slow.seconds) == ("metadata", 2.31)
    assert (tuned.what, tuned.tuning_key, tuned.seconds) == (TUNED, "(40, 'torch.int32')", 1.2)
    assert (before.what, before.tuning_key, before.seconds) == (TUNED, "", 0.5)


LINE = VLLM + f"metadata {FOUR}{END}"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(LINE.encode() + b"\r\n", id="CRLF"),
        pytest.param(LINE.replace("metadata", "\x1b[1mmetadata\x1b[0m").encode(), id="colours"),
        pytest.param(gzip.compress(LINE.encode()), id="gzip"),
        pytest.param(LINE.encode("utf-16"), id="UTF-16"),
        pytest.param(json.dumps({"log": LINE, "stream": "stderr"}).encode(), id="JSON of a container"),
        pytest.param(f"[rank3]: {LINE}".encode(), id="a rank before it"),
    ],
)
def test_line_is_read_however_the_log_was_kept(tmp_path: Path, data: bytes) -> None:
    log = tmp_path / "serve.log"
    log.write_bytes(data)

    (found,) = read_log(log)

    assert (found.kernel, found.key[-1]) == ("metadata", ("constexpr", 4))


def test_kernel_of_a_line_that_is_cut_is_read_without_its_key(tmp_path: Path) -> None:
    (found,) = read_log(written(tmp_path, LINE[:-120]))

    assert (found.kernel, found.key) == ("metadata", ())


def test_rounds_that_two_processes_print_into_each_other_keep_their_keys(tmp_path: Path) -> None:
    both = [part for line in ROUND.split("\n") for part in (line, line.replace("(40,", "(41,").replace("1.20", "1.30"))]

    assert [(found.tuning_key, found.seconds) for found in read_log(written(tmp_path, *both))] == [
        ("(40, 'torch.int32')", 1.2),
        ("(41, 'torch.int32')", 1.3),
    ]


def test_report_names_what_changed_the_rule_and_what_the_warm_up_lacks(tmp_path: Path) -> None:
    (tmp_path / "build.py").write_text(SOURCE)
    (tmp_path / "pyproject.toml").touch()
    log = written(tmp_path, VLLM + f"metadata {ONE}{END}", VLLM + f"metadata {FOUR}{END}", VLLM + f"gone{END}")

    done = doctor(tmp_path, "report", log.name)

    assert done.returncode == 0, done.stderr
    assert "metadata  2x compiled  build.py:6" in done.stdout
    assert "`num_reqs` changed: 1, neither 1 nor a multiple of 16" in done.stdout
    assert "`BLOCK` changed: 1, 4" in done.stdout
    assert "TRD206 at build.py:12" in done.stdout
    assert "add to the warm-up: a launch for each value of `num_reqs`, `BLOCK`" in done.stdout
    assert "gone  1x compiled  not in the sources (--src)" in done.stdout
    assert "`--jit-monitor-verbose` adds them" in done.stdout


def test_json_has_the_values_and_the_findings(tmp_path: Path) -> None:
    (tmp_path / "build.py").write_text(SOURCE)
    log = written(tmp_path, VLLM + f"metadata {ONE}{END}", VLLM + f"metadata {FOUR}{END}")

    document = json.loads(doctor(tmp_path, "report", log.name, "--output-format", "json", "--src", "build.py").stdout)

    (kernel,) = document["kernels"]
    assert (kernel["path"], kernel["line"]) == ("build.py", 6)
    assert kernel["changed"]["BLOCK"] == ["1", "4"]
    assert "TRD206" in [finding["code"] for finding in kernel["findings"]]


def test_prewarm_says_what_a_log_lacks(tmp_path: Path) -> None:
    log = written(tmp_path, VLLM + "metadata" + END)

    done = doctor(tmp_path, "prewarm", log.name)

    assert done.returncode == 2
    assert done.stderr.startswith("triton-doctor: serve.log is no recording: a server's log names kernels")


def test_prewarm_adds_what_a_log_shows_to_a_recording_of_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "build.py").write_text(SOURCE)
    serve = "import torch, build\nlens = torch.zeros(64, device='cuda')\nbuild.build(lens, lens, [0] * 4)\n"
    (tmp_path / "serve.py").write_text(serve)
    larger = FOUR.replace("('constexpr', 4)", "('constexpr', 32)").replace("*i32", "*fp32")
    log = written(tmp_path, VLLM + f"metadata {larger}{END}", VLLM + "metadata" + END, VLLM + "gone" + END, SGLANG)

    recorded = doctor(tmp_path, "run", "--dry", "--target", "cuda:90", "-o", "warm.jsonl", "serve.py")
    done = doctor(tmp_path, "prewarm", "warm.jsonl", log.name, "--cache-dir", "cache")
    refused = doctor(tmp_path, "prewarm", "warm.jsonl", log.name, "--recorded-only")

    assert recorded.returncode == 0, recorded.stderr
    assert "added by a log:\n  `metadata`: compiled while serving: line 2 of the log" in done.stdout
    assert done.stdout.count("of the log") == 1
    assert done.returncode == 0, done.stdout + done.stderr
    assert refused.returncode == 2


def test_log_without_a_kernel_is_one_line_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(DoctorError, match="as a log it names no kernel"):
        read_log(written(tmp_path, "nothing"))
