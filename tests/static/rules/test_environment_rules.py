"""What is said of a setting: which rule, how severe by its place, and in which version of Triton."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from triton_doctor.finding import split_cell
from triton_doctor.settings import Settings
from triton_doctor.static.scan import scan
from triton_doctor.static.sources.files import find_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from triton_doctor.finding import Finding

ON = 'import os\nos.environ["TRITON_INTERPRET"] = "1"\n'
KERNEL = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef k(x_ptr):\n    tl.store(x_ptr, 1)\n\n\n"


DUMP = 'os.environ.setdefault("TRITON_KERNEL_DUMP", "1")\n'
NOTEBOOK = json.dumps(
    {
        "cells": [{"cell_type": "code", "source": ["import os\n", "os.environ['CUDA_LAUNCH_BLOCKING'] = '1'"]}],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
)
GSAN = "import runpy, triton\ntriton.knobs.compilation.instrumentation_mode = 'gsan'\nrunpy.run_path('a.py')\n"
BLOCKING = "os.environ['CUDA_LAUNCH_BLOCKING'] = '1'\n"
METHOD = f"import os\nclass Run:\n  def shrink(self):\n    {BLOCKING}  def go(self):\n    {{}}self.shrink()\n"
WORKFLOW = "env:\n  TRITON_INTERPRET: 1\njobs:\n  a:\n    runs-on: {}\n"
STEP = "jobs:\n  a:\n    runs-on: gpu\n    steps:\n    - env:\n        TRITON_INTERPRET: 1\n      run: pytest -m interpreter\n"
ASCEND = "export CUDA_LAUNCH_BLOCKING=${CUDA_LAUNCH_BLOCKING:-1}\ndocker run -e CUDA_LAUNCH_BLOCKING="
# Each beside what differs from it by the one thing that decides.
WHAT_IS_NOT_LEFT_ON = [
    ("dump_ttgir.sh", "export TRITON_ALWAYS_COMPILE=1\n", {"TRD105 info"}),
    ("gsan.py", GSAN, {"TRD105 info"}),
    ("gsan.py", GSAN.replace("runpy.run_path('a.py')", "print('a.py')"), {"TRD105 warning"}),
    ("run.py", METHOD.format("if self.args.shrink: "), set()),
    ("run.py", METHOD.format(""), {"TRD105 warning"}),
    ("run.py", f"import os\n# AMD's driver deadlocks otherwise\n{BLOCKING}", {"TRD105 info"}),
    ("run.py", f"import os\n# has to be set before torch is imported\n{BLOCKING}", {"TRD105 warning"}),
    ("run.py", f"import os\n# required for debugging\n{BLOCKING}", {"TRD105 warning"}),
    ("occupancy.sh", "export CUDA_LAUNCH_BLOCKING=1\n$1 > out.txt 2>&1\n", {"TRD105 info"}),
    ("occupancy.sh", 'export TRITON_INTERPRET=1\n"$@"\n', {"TRD102 info"}),
    ("occupancy.sh", 'export CUDA_LAUNCH_BLOCKING=1\nrun() {\n  "$@"\n}\nrun torchrun train.py\n', {"TRD105 warning"}),
    ("occupancy.sh", 'export CUDA_LAUNCH_BLOCKING=1\ntorchrun train.py \\\n"$@"\n', {"TRD105 warning"}),
    ("occupancy.sh", "export CUDA_LAUNCH_BLOCKING=1\neval ${run_cmd}\n", {"TRD105 warning"}),
    ("entrypoint.sh", 'export CUDA_LAUNCH_BLOCKING=1\n"$@"\n', {"TRD105 warning"}),
    ("entry.sh", 'export CUDA_LAUNCH_BLOCKING=1\nexec "$@"\n', {"TRD105 warning"}),
    ("ir.sh", "export AMDGCN_ENABLE_DUMP=1\npython a.py > a.s\ngrep vgpr_count a.s\n", {"TRD105 info"}),
    ("ir.sh", "export AMDGCN_ENABLE_DUMP=1\npython a.py > a.s\ngrep loss a.s\n", {"TRD105 warning"}),
    ("ir.sh", "export CUDA_LAUNCH_BLOCKING=1\npython a.py > a.s\ngrep vgpr_count a.s\n", {"TRD105 warning"}),
    ("look.py", f"import os\n{DUMP}found = sorted(folder.rglob('*.ttir'))\n", {"TRD105 info"}),
    ("look.py", f"import os\n{DUMP}found = sorted(folder.rglob('*.json'))\n", {"TRD105 warning"}),
    ("look.py", f"import os\n{BLOCKING}found = sorted(folder.rglob('*.ttir'))\n", {"TRD105 warning"}),
    ("host_env.sh", "module swap cmake/3.6 cmake/3.12\nexport CUDA_LAUNCH_BLOCKING=1\n", set()),
    ("host_env.sh", "export MPI_CXX=nvcc_wrapper\nmodule load python\nexport AMD_SERIALIZE_KERNEL=3\n", set()),
    ("host_env.sh", "export CXX=g++\nexport TRITON_ALWAYS_COMPILE=1\n", {"TRD105 warning"}),
    ("host_env.sh", "export CXX=g++\nexport CUDA_LAUNCH_BLOCKING=1\npython -m train\n", {"TRD105 warning"}),
    ("host_env.sh", "export OMP_NUM_THREADS=8\nexport CUDA_LAUNCH_BLOCKING=1\n", {"TRD105 warning"}),
    ("run.sh", "# works around a hang\nexport CUDA_LAUNCH_BLOCKING=1\n", {"TRD105 info"}),
    ("run.sh", "export CUDA_LAUNCH_BLOCKING=1  # a workaround for #12\n", {"TRD105 info"}),
    ("run.sh", "# a workaround\n\nexport CUDA_LAUNCH_BLOCKING=1\n", {"TRD105 warning"}),
    ("run.sh", f'{ASCEND}"$CUDA_LAUNCH_BLOCKING" image\n', {"TRD105 warning"}),
    ("run.sh", "CUDA_LAUNCH_BLOCKING=1 python train.py --log latest\n", {"TRD105 warning"}),
    ("run.sh", "CUDA_LAUNCH_BLOCKING=1 python -u train.py\npython eval.py\n", {"TRD105 warning"}),
    ("run.sh", "CUDA_LAUNCH_BLOCKING=1 python train.py\npython train.py\n", {"TRD105 info"}),
    ("run.sh", "CUDA_LAUNCH_BLOCKING=1 python tests/test_add.py\n", {"TRD105 info"}),
    ("run.sh", "CUDA_LAUNCH_BLOCKING=1 python bench_add.py\n", {"TRD105 info"}),
    ("run.sh", "CUDA_LAUNCH_BLOCKING=1 python -c 'import torch'\n", {"TRD105 info"}),
    ("run.sh", "CUDA_LAUNCH_BLOCKING=1 python -m pytest x\n", {"TRD105 info"}),
    ("a.ipynb", NOTEBOOK, {"TRD105 info"}),
    ("benchmarks/sweep.py", "import os\nos.environ['TRITON_ALWAYS_COMPILE'] = '1'\n", {"TRD105 info"}),
    ("benchmarks/sweep.py", f"import os\n{BLOCKING}", {"TRD105 warning"}),
    (".github/workflows/ci.yml", WORKFLOW.format("ubuntu-latest"), {"TRD102 info"}),
    (".github/workflows/ci.yml", WORKFLOW.format("[self-hosted, gpu]"), {"TRD102 warning"}),
    (".github/workflows/ci.yml", STEP, {"TRD102 info"}),
]


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
        ("benchmarks/bench.py", ON + "import time\nprint(time.time())\n", {"TRD101 warning", "TRD403 warning"}),
        ("tutorials/add.py", ON, {"TRD101 info"}),
        ("tests/test_add.py", ON, {"TRD101 info"}),
        ("pkg/tests/kernels.py", ON, {"TRD101 info"}),
        ("conftest.py", ON, {"TRD101 info"}),
        ("train.py", ON + 'os.environ["CUDA_VISIBLE_DEVICES"] = ""\n', {"TRD101 info"}),
        ("Dockerfile", "FROM nvidia/cuda\nENV TRITON_INTERPRET=1\n", {"TRD102 warning"}),
        ("Dockerfile", "FROM python\nRUN export TRITON_INTERPRET=1 && make\n", {"TRD102 warning"}),
        ("Dockerfile", "FROM x\nENV TRITON_INTERPRET=1 CUDA_VISIBLE_DEVICES=\n", {"TRD102 info"}),
        (".github/workflows/ci.yml", "env:\n  TRITON_INTERPRET: 1\n", {"TRD102 warning"}),
        ("tests/run.sh", "export TRITON_INTERPRET=1\n", {"TRD102 info"}),
        ("Makefile", "export TRITON_INTERPRET=1\ntest:\n\tpytest x\n", {"TRD102 info"}),
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
        ("train.sh", "export TRITON_ALWAYS_COMPILE=1\n", {"TRD105 warning"}),
        ("train.sh", "export CUDA_LAUNCH_BLOCKING=1\n", {"TRD105 warning"}),
        ("train.sh", "export TRITON_PRINT_AUTOTUNING=1\n", {"TRD105 info"}),
        ("train.sh", "export TRITON_ALWAYS_COMPILE=0\n", set()),
        ("train.sh", "export DISABLE_LLVM_OPT=1\n", {"TRD105 warning"}),
        ("train.sh", "export DISABLE_LLVM_OPT=disable-lsr\n", {"TRD105 info"}),
        ("Dockerfile", "FROM x\nENV TRITON_INTEL_ADVANCED_PATH=1\n", {"TRD104 info"}),
        ("tests/train.sh", "export TRITON_ALWAYS_COMPILE=1\n", {"TRD105 info"}),
        *WHAT_IS_NOT_LEFT_ON,
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
    assert {split_cell(finding.path)[0] for finding in found} <= {path}


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


def test_message_says_which_optimizations_are_off(findings: Callable[..., list[Finding]]) -> None:
    (named,) = findings("run.sh", "export DISABLE_LLVM_OPT=disable-lsr\n")
    (every,) = findings("run.sh", "export DISABLE_LLVM_OPT=1\n")

    assert "names one pass of LLVM to leave out; the others stay on" in named.message
    assert "turns off LLVM's optimizations, so kernels run many times slower" in every.message


@pytest.mark.parametrize(
    ("path", "text", "version", "told"),
    [
        ("Dockerfile", "# for GB10 (sm_121)\nFROM x\nENV TRITON_PTXAS_PATH=/p\n", None, True),
        ("spark.env", "TRITON_PTXAS_PATH=/p\nTORCH_CUDA_ARCH_LIST=12.1a\n", "3.6", True),
        ("run.sh", "export TORCH_CUDA_ARCH_LIST='9.0 12.0+PTX' TRITON_PTXAS_PATH=/p\n", None, True),
        ("spark.env", "TRITON_PTXAS_PATH=/p\nTORCH_CUDA_ARCH_LIST=12.1a\n", "3.5", False),
        ("run.sh", "export TRITON_PTXAS_PATH=/p TRITON_PTXAS_BLACKWELL_PATH=/p  # sm_121\n", None, False),
        ("run.sh", "export TRITON_PTXAS_PATH=/p TORCH_CUDA_ARCH_LIST=9.0\n", None, False),
        ("Dockerfile", "FROM x:12.8\nENV TRITON_PTXAS_PATH=/p\n", None, False),
    ],
)
def test_ptxas_path_is_an_info_where_the_file_names_a_gpu_that_ignores_it(
    findings: Callable[..., list[Finding]], path: str, text: str, version: str | None, told: bool
) -> None:
    found = findings(path, text, version)

    assert [(finding.code, finding.severity.label) for finding in found] == ([("TRD104", "info")] if told else [])


WITHOUT_FOLDER, BELOW_CWD = "every compile fails", "below the working directory of each process"
SERVICE = "services:\n  a:\n    environment:\n      {}\n"
EMPTY_FOLDERS = [
    ("a.env", "TRITON_CACHE_DIR=\n", None, [("warning", WITHOUT_FOLDER)]),
    ("a.env", 'TRITON_HOME=""\n', None, [("warning", BELOW_CWD)]),
    ("run.sh", "export TRITON_HOME=''\n", None, [("warning", BELOW_CWD)]),
    ("run.sh", 'docker run -e TRITON_CACHE_DIR="" x\n', None, [("warning", WITHOUT_FOLDER)]),
    ("Dockerfile", "FROM x\nENV TRITON_HOME=\n", None, [("warning", BELOW_CWD)]),
    ("docker-compose.yml", SERVICE.format('TRITON_HOME: ""'), None, [("warning", BELOW_CWD)]),
    ("docker-compose.yml", SERVICE.format("TRITON_CACHE_DIR: ${KERNELS:-}"), None, [("info", WITHOUT_FOLDER)]),
    ("run.sh", 'export TRITON_CACHE_DIR="${KERNELS:-}"\n', None, [("info", WITHOUT_FOLDER)]),
    ("docker-compose.yml", SERVICE.format("- TRITON_HOME="), None, [("warning", BELOW_CWD)]),
    # Triton 3.3 takes it for none; compose hands on what its own environment has.
    ("a.env", "TRITON_CACHE_DIR=\n", "3.3", []),
    ("docker-compose.yml", SERVICE.format("TRITON_HOME:"), None, []),
    ("a.env", "TRITON_HOME=\nTRITON_CACHE_DIR=/cache\n", None, []),
    ("run.sh", '[ -z "$A" ] || export TRITON_HOME=""\n', None, []),
    ("Dockerfile", "FROM x\nARG TRITON_HOME=\n", None, []),
    ("run.sh", "TRITON_HOME=\nunset TRITON_HOME\n", None, []),
]


@pytest.mark.parametrize(("path", "text", "version", "told"), EMPTY_FOLDERS)
def test_empty_folder_is_a_value(
    findings: Callable[..., list[Finding]], path: str, text: str, version: str | None, told: list[tuple[str, str]]
) -> None:
    found = findings(path, text, version)

    assert [(finding.code, finding.severity.label) for finding in found] == [("TRD106", level) for level, _ in told]
    assert all(result in finding.message for finding, (_, result) in zip(found, told, strict=True))


def test_variable_of_another_backend_is_called_that(findings: Callable[..., list[Finding]]) -> None:
    (found,) = findings("run.sh", "export TRITON_INTEL_ADVANCED_PATH=1\n")

    assert found.message == "`TRITON_INTEL_ADVANCED_PATH` is of another backend"


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


@pytest.mark.parametrize(
    ("call", "severity"),
    [
        pytest.param("if args.slow:\n    slow_down()", "info", id="behind a flag"),
        pytest.param("slow_down()", "warning", id="always"),
        pytest.param("pass", "info", id="never, in sight"),
    ],
)
def test_function_that_another_file_calls_is_left_on_where_no_flag_decides(
    tmp_path: Path, findings: Callable[..., list[Finding]], call: str, severity: str
) -> None:
    (tmp_path / "modes.py").write_text(f"import os\ndef slow_down():\n    {BLOCKING}", encoding="utf-8")

    found = findings("train.py", f"import triton\nfrom modes import slow_down\n{call}\n")

    assert [(one.path, one.code, one.severity.label) for one in found] == [("modes.py", "TRD105", severity)]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        pytest.param(f"import os\nfrom kernels import k\n{ON.splitlines()[1]}\n", {"TRD101", "TRD103"}, id="before it"),
        pytest.param(f"import kernels\n{ON}", {"TRD101", "TRD103"}, id="the module"),
        pytest.param(f"{ON}from kernels import k\n", {"TRD101"}, id="after it"),
        pytest.param(f"{ON}def f():\n    import kernels\n", {"TRD101"}, id="in a function"),
        pytest.param(f"import others\n{ON}", {"TRD101"}, id="a module without kernels"),
    ],
)
def test_setting_comes_too_late_for_kernels_that_were_imported_before_it(
    tmp_path: Path, findings: Callable[..., list[Finding]], text: str, codes: set[str]
) -> None:
    (tmp_path / "kernels.py").write_text(KERNEL, encoding="utf-8")
    (tmp_path / "others.py").write_text("import torch\n", encoding="utf-8")

    found = findings("main.py", text)

    assert {finding.code for finding in found} == codes
    assert {(step.path, step.line) for finding in found for step in finding.trail} >= (
        {("kernels.py", 6)} if "TRD103" in codes else set()
    )


SLIP = "export TRITON_CACHEDIR=/x\n"
OTHER = "export TRITON_DIST_BACKEND=x\n"


@pytest.mark.parametrize(
    ("setting", "path", "text", "told"),
    [
        pytest.param(OTHER, "a.py", "import os\nos.environ.get('TRITON_DIST_BACKEND')\n", set(), id="Python"),
        pytest.param(OTHER, "a.py", "import os\nprint(os.environ['TRITON_DIST_BACKEND'])\n", set(), id="an entry"),
        pytest.param(OTHER, "a.cpp", 'auto x = std::getenv("TRITON_DIST_BACKEND");\n', set(), id="C++"),
        pytest.param(OTHER, "CMakeLists.txt", "set(X $ENV{TRITON_DIST_BACKEND})\n", set(), id="CMake"),
        pytest.param(OTHER, "b.sh", "echo ${TRITON_DIST_BACKEND}\n", set(), id="a shell"),
        pytest.param(OTHER, "b.sh", "echo TRITON_DIST_BACKEND\n", {"TRD104 info"}, id="its name alone"),
        pytest.param(OTHER, "b.sh", "echo $TRITON_DIST_BACKENDS\n", {"TRD104 info"}, id="another variable"),
        pytest.param(SLIP, "a.py", "import os\nos.getenv('TRITON_CACHEDIR')\n", set(), id="what is alike, in code"),
        pytest.param(SLIP, "b.sh", "mkdir $TRITON_CACHEDIR\n", {"TRD104 warning"}, id="a slip that a shell reads"),
        pytest.param(
            SLIP, "a.cpp", 'setenv("TRITON_CACHEDIR", "/x", 1);\n', {"TRD104 warning"}, id="what is set once more"
        ),
    ],
)
def test_variable_that_the_project_reads_is_its_own(
    tmp_path: Path, findings: Callable[..., list[Finding]], setting: str, path: str, text: str, told: set[str]
) -> None:
    (tmp_path / path).write_text(text, encoding="utf-8")

    found = findings("run.sh", setting)

    assert {f"{finding.code} {finding.severity.label}" for finding in found} == told
