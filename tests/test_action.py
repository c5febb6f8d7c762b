"""The steps of action.yml, run as GitHub runs them, in a repository with a pull request."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"] if "run" in step and step["name"] != "install"}
EXPRESSION = re.compile(r"\$\{\{ ([\w.-]+) \}\}")
KERNELS = """\
import torch
import triton
import triton.language as tl


@triton.jit
def fill(x_ptr, n: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, 64), 1.0, mask=tl.arange(0, 64) < n)


def run(x, rows):
    fill[(1,)](x, len(rows))


if __name__ == "__main__":
    for count in (COUNTS):
        run(torch.empty(64, device="cuda"), range(count))
"""


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    return subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def pull_request(tmp_path: Path) -> tuple[Path, str]:
    """A repository whose last commit compiles one variant more, and the commit before."""
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q")
    for counts in ("3, 5", "3, 5, 7"):
        (folder / "kernels.py").write_text(KERNELS.replace("COUNTS", counts))
        git(folder, "add", ".")
        git(folder, "commit", "-qm", counts)
    return folder, git(folder, "rev-parse", "HEAD^").strip()


def run_step(name: str, folder: Path, **values: str) -> subprocess.CompletedProcess[str]:
    inputs = {f"inputs.{key}": str(given.get("default", "")) for key, given in ACTION["inputs"].items()}
    known = inputs | {"runner.temp": str(folder.parent)} | values
    variables = {key: EXPRESSION.sub(lambda match: known[match[1]], text) for key, text in STEPS[name]["env"].items()}
    variables["GITHUB_STEP_SUMMARY"] = str(folder.parent / "summary.md")
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[name]["run"]]
    return subprocess.run(command, cwd=folder, env=os.environ | variables, capture_output=True, text=True, check=False)


def test_findings_are_written_as_sarif_and_annotate_and_fail_the_job(pull_request: tuple[Path, str]) -> None:
    folder, _ = pull_request

    written = run_step("findings as SARIF", folder)
    annotated = run_step("findings", folder)
    allowed = run_step("findings", folder, **{"inputs.fail-on": "never"})

    assert written.returncode == 0, written.stderr
    (run,) = json.loads((folder.parent / "triton-doctor.sarif").read_text())["runs"]
    assert [result["ruleId"] for result in run["results"]] == ["TRD201"]
    assert annotated.returncode == 1
    assert "file=kernels.py,line=12" in annotated.stdout
    assert allowed.returncode == 0


def test_variant_that_a_pull_request_adds_fails_the_job_and_is_in_the_summary(pull_request: tuple[Path, str]) -> None:
    folder, base = pull_request
    given: dict[str, Any] = {"inputs.dry": "kernels.py", "github.event.pull_request.base.sha": base}

    done = run_step("variants that the pull request adds", folder, **given)

    assert done.returncode == 1, done.stderr
    assert "fill" in (folder.parent / "summary.md").read_text()
    assert (folder / "kernels.py").read_text() == KERNELS.replace("COUNTS", "3, 5, 7")
