"""What is said of a setting: which rule, how severe by its place, and in which version of Triton."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from triton_doctor.settings import Settings
from triton_doctor.static.files import find_files
from triton_doctor.static.scan import scan

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from triton_doctor.finding import Finding

ON = 'import os\nos.environ["TRITON_INTERPRET"] = "1"\n'
KERNEL = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef k(x_ptr):\n    tl.store(x_ptr, 1)\n\n\n"


@pytest.fixture
def findings(tmp_path: Path) -> Callable[..., list[Finding]]:
    def found(path: str, text: str, triton_version: str | None = None) -> list[Finding]:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        settings = Settings(root=tmp_path, triton_version=triton_version)
        return list(scan(list(find_files([tmp_path], settings, cwd=tmp_path)), settings, cwd=tmp_path).findings)

    return found


@pytest.mark.parametrize(
    ("path", "text", "told"),
    [
        ("train.py", ON, {"TRD101 warning"}),
        ("benchmarks/bench.py", ON, {"TRD101 warning"}),
        ("tests/test_add.py", ON, {"TRD101 info"}),
        ("pkg/tests/kernels.py", ON, {"TRD101 info"}),
        ("conftest.py", ON, {"TRD101 info"}),
        ("train.py", ON + 'os.environ["CUDA_VISIBLE_DEVICES"] = ""\n', {"TRD101 info"}),
        ("Dockerfile", "FROM nvidia/cuda\nENV TRITON_INTERPRET=1\n", {"TRD102 warning"}),
        ("Dockerfile", "FROM python\nRUN export TRITON_INTERPRET=1 && make\n", {"TRD102 warning"}),
        ("Dockerfile", "FROM x\nENV TRITON_INTERPRET=1 CUDA_VISIBLE_DEVICES=\n", {"TRD102 info"}),
        (".github/workflows/ci.yml", "env:\n  TRITON_INTERPRET: 1\n", {"TRD102 warning"}),
        ("tests/run.sh", "export TRITON_INTERPRET=1\n", {"TRD102 info"}),
        ("Makefile", "test:\n\tTRITON_INTERPRET=1 pytest x\n", {"TRD102 info"}),
        ("Makefile", "export TRITON_INTERPRET=1\ntest:\n\tpytest x\n", {"TRD102 warning"}),
        ("run.sh", "TRITON_ALWAYS_COMPILE=1 pytest x\n", {"TRD105 info"}),
        ("run.sh", "TRITON_ALWAYS_COMPILE=1 torchrun train.py\n", {"TRD105 warning"}),
        ("run.sh", "TRITON_ALWAYS_COMPILE=1 python -m torch.distributed.launch train.py\n", {"TRD105 warning"}),
        ("run.sh", "TRITON_ALWAYS_COMPILE=1 torchrun -m pytest x\n", {"TRD105 info"}),
        ("run.sh", "export TRITON_ALWAYS_COMPILE=1\npython a.py\nunset TRITON_ALWAYS_COMPILE\n", {"TRD105 info"}),
        (
            "run.sh",
            "export TRITON_ALWAYS_COMPILE=1\nif [ $A ]; then unset TRITON_ALWAYS_COMPILE; fi\n",
            {"TRD105 warning"},
        ),
        ("a.py", "import os\ndef test_it():\n    os.environ['TRITON_ALWAYS_COMPILE'] = '1'\n", {"TRD105 info"}),
        ("Dockerfile", "FROM x\nCMD TRITON_INTERPRET=1 python serve.py\n", {"TRD102 warning"}),
        (
            "sets_in_a_scope.py",
            "import triton\nwith triton.knobs.runtime.scope():\n    triton.knobs.runtime.interpret = True\n",
            {"TRD101 info", "TRD103 info"},
        ),
        (
            "restores.py",
            "import os, pytest\n@pytest.fixture\ndef on():\n    os.environ['TRITON_INTERPRET'] = '1'\n    yield\n"
            "    del os.environ['TRITON_INTERPRET']\n",
            {"TRD101 info"},
        ),
        ("pytest.ini", "[pytest]\nenv =\n    TRITON_INTERPRET=1\n", {"TRD102 info"}),
        ("tox.ini", "[testenv]\nsetenv =\n    TRITON_INTERPRET=1\n", {"TRD102 info"}),
        ("pyproject.toml", '[tool.pytest.ini_options]\nenv = ["TRITON_INTERPRET=1"]\n', {"TRD102 info"}),
        ("pyproject.toml", '[tool.hatch.envs.a.env-vars]\nTRITON_INTERPRET = "1"\n', {"TRD102 warning"}),
        ("late.py", KERNEL + ON, {"TRD103 warning"}),
        ("late.py", KERNEL + ON.replace("import os\n", "import os\nif DEBUG:\n    "), {"TRD103 info"}),
        ("late.py", "import triton\n" + ON, {"TRD101 warning", "TRD103 warning"}),
        ("late.py", "import triton\ntriton.knobs.runtime.interpret = True\n", {"TRD101 warning", "TRD103 warning"}),
        ("tests/test_late.py", KERNEL + ON, {"TRD103 info"}),
        ("early.py", ON + KERNEL, {"TRD101 warning"}),
        ("early.py", f"import os\ndef on():\n    {ON.splitlines()[1]}\non()\n{KERNEL}", {"TRD101 warning"}),
        ("slip.py", ON.replace("INTERPRET", "INTERPT"), {"TRD104 warning"}),
        ("slip.py", ON.replace("INTERPRET", "MY_PLUGIN"), {"TRD104 info"}),
        ("tests/test_slip.py", ON.replace("INTERPRET", "INTERPT"), {"TRD104 info"}),
        ("old.sh", "export TRITON_HIP_LLD_PATH=/x\n", {"TRD104 warning"}),
        ("old.sh", "export USE_TTGIR_LOC=1\n", {"TRD104 warning"}),
        ("Dockerfile", "FROM x\nARG TRITON_COMMIT=abc\n", set()),
        ("debug.sh", "export TRITON_ALWAYS_COMPILE=1\n", {"TRD105 warning"}),
        ("debug.sh", "export CUDA_LAUNCH_BLOCKING=1\n", {"TRD105 warning"}),
        ("debug.sh", "export TRITON_PRINT_AUTOTUNING=1\n", {"TRD105 info"}),
        ("debug.sh", "export TRITON_ALWAYS_COMPILE=0\n", set()),
        ("tests/debug.sh", "export TRITON_ALWAYS_COMPILE=1\n", {"TRD105 info"}),
        ("cache.sh", "export TRITON_CACHE_DIR=$(mktemp -d)\n", {"TRD106 warning"}),
        ("cache.sh", "export TRITON_CACHE_DIR=/x/$SLURM_JOB_ID\n", {"TRD106 info"}),
        ("bench.py", ON + "import time\nprint(time.perf_counter())\n", {"TRD101 warning", "TRD403 warning"}),
        ("bench.py", KERNEL + ON + "import time\nprint(time.time())\n", {"TRD103 warning"}),
    ],
)
def test_severity_follows_the_place(
    findings: Callable[..., list[Finding]], path: str, text: str, told: set[str]
) -> None:
    found = findings(path, text)

    assert {f"{finding.code} {finding.severity.label}" for finding in found} == told
    assert {finding.path for finding in found} <= {path}


@pytest.mark.parametrize(
    ("value", "version", "told"),
    [("1", "3.2", True), ("true", "3.2", False), ("true", "3.4", True), ("yes", None, True), ("2", None, False)],
)
def test_value_is_understood_as_that_version_does(
    findings: Callable[..., list[Finding]], value: str, version: str | None, told: bool
) -> None:
    found = findings("run.sh", f"export TRITON_INTERPRET={value}\n", version)

    assert ([finding.code for finding in found] == ["TRD102"]) is told


def test_variable_that_is_too_new_names_the_first_version_that_reads_it(findings: Callable[..., list[Finding]]) -> None:
    (finding,) = findings("run.sh", "export TRITON_CACHE_AUTOTUNING=1\n", "3.2")

    assert finding.message == "triton 3.2 does not read `TRITON_CACHE_AUTOTUNING`, triton 3.4 is the first that does"


def test_renamed_variable_is_told_its_new_name(findings: Callable[..., list[Finding]]) -> None:
    (finding,) = findings("run.sh", "export MLIR_ENABLE_REMARK=1\n", "3.6")

    assert finding.advice == "set `MLIR_ENABLE_DIAGNOSTICS=remarks`"


def test_trail_of_a_late_setting_runs_from_import_to_setting(findings: Callable[..., list[Finding]]) -> None:
    (finding,) = findings("late.py", KERNEL + ON)

    assert [step.line for step in finding.trail] == [1, 5, 11]


def test_helper_that_fails_at_launch_is_named(findings: Callable[..., list[Finding]]) -> None:
    text = (
        "import triton\nimport triton.language as tl\n"
        + ON
        + "@triton.jit\ndef k(p):\n    tl.store(p, tl.cdiv(3, 2))\n"
    )

    late = next(finding for finding in findings("late.py", text) if finding.code == "TRD103")

    assert "`tl.cdiv`" in late.message


def test_comment_suppresses_in_every_kind_of_file(findings: Callable[..., list[Finding]]) -> None:
    assert findings("a.py", f"{ON.rstrip()}  # triton-doctor: ignore[TRD101] teaching\n") == []
    assert findings("a.sh", "export TRITON_INTERPRET=1  # triton-doctor: ignore[TRD102] teaching\n") == []
    assert (
        findings("Dockerfile", "# triton-doctor: ignore-file[TRD102] teaching\nFROM x\nENV TRITON_INTERPRET=1\n") == []
    )
