"""Which variables are looked at, whose they are, what is told of them, and what is never shown."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.machine.sick import DOCTOR, ask_env
from tests.runtime.tritons import triton_folder
from triton_doctor.errors import DoctorError
from triton_doctor.finding import Severity
from triton_doctor.machine.diagnose import diagnose
from triton_doctor.machine.facts import Machine
from triton_doctor.machine.probe import choose_variables, read_env_file, read_process
from triton_doctor.report.machine import variable_rows
from triton_doctor.variables import parse_version

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

SECRETS = {
    "TRITON_REDIS_HOST": "redis://user:hunter2secret@host",
    "TORCH_HUB_TOKEN": "hunter2secret",
    "TRITON_API_KEY": "hunter2secret",
    "CUDA_X_CREDENTIALS": "hunter2secret",
    "TRITON_CACHE_DIR": "/x/hf_hunter2secretsecret",
    "AWS_REGION": "hunter2secret",
    "DATABASE_URL": "hunter2secret",
}


def test_secrets_and_what_is_nothing_of_tritons_are_never_shown(machine: dict[str, str]) -> None:
    for form in ("text", "json", "markdown"):
        done = subprocess.run(
            [*DOCTOR, "env", "--output-format", form],
            env=machine | SECRETS,
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )

        assert "hunter2" not in done.stdout + done.stderr
        assert "TRITON_REDIS_HOST" in done.stdout
        assert "DATABASE_URL" not in done.stdout


def test_cache_folder_is_shown_as_it_is_where_nothing_in_it_looks_secret() -> None:
    assert choose_variables({"TRITON_CACHE_DIR": "/scratch/bob/kernels"}) == {
        "TRITON_CACHE_DIR": "/scratch/bob/kernels"
    }


@pytest.mark.parametrize(
    ("version", "variables", "codes"),
    [
        pytest.param("3.6", {"TRITON_INTERPRET": "1"}, {"TRD601"}, id="interpreter"),
        pytest.param("3.3", {"TRITON_INTERPRET": "true"}, {"TRD604"}, id="a word, before it was one"),
        pytest.param("3.4", {"TRITON_INTERPRET": "true"}, {"TRD601"}, id="a word"),
        pytest.param("3.4", {"TRITON_INTERPRET": " 2"}, {"TRD604"}, id="no word"),
        pytest.param("3.6", {"TRITON_INTERPRET": "0"}, set(), id="off"),
        pytest.param("3.6", {"MLIR_ENABLE_DUMP": "1"}, {"TRD602"}, id="dump"),
        pytest.param("3.6", {"MLIR_ENABLE_DUMP": "my_kernel"}, {"TRD602"}, id="dump of one kernel"),
        pytest.param("3.6", {"TRITON_INTERPET": "1"}, {"TRD603"}, id="misspelt"),
        pytest.param("3.6", {"TRITON_DEFAULT_BACKEND": "amd"}, {"TRD603"}, id="of a newer triton"),
        pytest.param("3.7", {"TRITON_DEFAULT_BACKEND": "amd"}, set(), id="of this triton"),
        pytest.param("3.6", {"TRITON_KERNEL_DUMP": "1"}, {"TRD602", "TRD605"}, id="dump that may find its kernels"),
        pytest.param("3.6", {"TRITON_DUMP_DIR": "/d"}, {"TRD605"}, id="folder for no dump"),
        pytest.param("3.6", {"CC": "gcc", "CUDA_HOME": "/usr/local/cuda"}, set(), id="harmless"),
    ],
)
def test_variables_are_judged_as_the_version_reads_them(
    version: str, variables: dict[str, str], codes: set[str]
) -> None:
    found = diagnose(Machine(variables=variables), parse_version(version))

    assert {finding.code for finding in found} == codes


@pytest.mark.parametrize(
    ("value", "severity", "effect"),
    [
        pytest.param("1", Severity.WARNING, "it slows kernels", id="all optimizations"),
        pytest.param("True", Severity.WARNING, "it slows kernels", id="in any case"),
        pytest.param("disable-lsr", Severity.INFO, "names one pass of LLVM to leave out", id="a pass"),
        pytest.param("disable-lsr,disable-cgp", Severity.INFO, "names 2 passes", id="two passes"),
        pytest.param("yes", Severity.INFO, "names one pass", id="no word of LLVM"),
    ],
)
def test_disabled_optimizations_are_those_that_are_named(value: str, severity: Severity, effect: str) -> None:
    machine = Machine(variables={"DISABLE_LLVM_OPT": value})
    (found,) = diagnose(machine, parse_version("3.9"))
    ((_, described),) = variable_rows(machine, parse_version("3.9"))

    assert (found.code, found.severity) == ("TRD602", severity)
    assert effect in f"{found.message} {found.evidence}"
    assert ("turns off LLVM's optimizations" in f"{found.evidence} {described}") is (severity is Severity.WARNING)


def test_variable_of_another_backend_is_not_said_to_do_nothing() -> None:
    machine = Machine(variables={"TRITON_INTEL_ADVANCED_PATH": "1", "TRITON_ACME_FAST_PATH": "1"})

    intel, acme = diagnose(machine, parse_version("3.9"))

    assert (intel.code, intel.severity, intel.command) == ("TRD603", Severity.INFO, None)
    assert intel.message == "`TRITON_INTEL_ADVANCED_PATH` is of another backend"
    assert acme.remedy == "another backend, a fork or a plug-in may read it"
    assert "nothing" not in f"{acme.evidence} {intel.evidence} {intel.remedy}"


KEPT = """
import triton
import triton.language as tl

configs = [triton.Config({"BLOCK": size}) for size in (64, 128)]


@triton.autotune(configs=configs, key=["n"], cache_results=True)
@triton.jit
def fill(x_ptr, n, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), n)


fill[(1,)](None, 3)
"""


@pytest.mark.parametrize(("version", "fails"), [("3.4.0", True), ("3.5.1", True), ("3.6.0", False)])
def test_kept_tuning_is_named_where_interpreter_mode_breaks_it(
    machine: dict[str, str], tmp_path: Path, version: str, fails: bool
) -> None:
    (tmp_path / "program.py").write_text(KEPT)
    folder = triton_folder(version)
    interpreted = machine | {"PYTHONPATH": str(folder), "TRITON_INTERPRET": "1"}
    (found,) = diagnose(Machine(variables={"TRITON_INTERPRET": "1"}), parse_version(version))

    done = subprocess.run(
        [sys.executable, "program.py"], env=interpreted, cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert ("'function' object has no attribute 'fn'" in done.stderr) is fails
    assert ("kernels tuned with `cache_results=True` fail in it" in found.evidence) is fails


def test_value_of_another_process_steers_neither_terminal_nor_shell(machine: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "environ"
    path.write_bytes(b"TRITON_DUMP_DIR=/x\x1b[31m\ny\0TRITON_INTERPET=$(touch me)\0")

    outcomes = [
        subprocess.run(
            [*DOCTOR, "env", "--env-file", str(path), "--output-format", form],
            env=machine,
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        for form in ("text", "markdown")
    ]

    for text in outcomes:
        assert "\x1b" not in text
        assert "TRITON_DUMP_DIR is set to /x" in text
        assert "export TRITON_INTERPRET='$(touch me)'" in text


def test_three_sick_variables_are_all_found(machine: dict[str, str]) -> None:
    sick = {"TRITON_INTERPRET": "1", "MLIR_ENABLE_DUMP": "1", "TRITON_INTERPET": "1"}

    said = ask_env(machine | sick)

    assert {"TRD601", "TRD602", "TRD603"} <= said.codes
    assert said.finding("TRD601")["command"] == "unset TRITON_INTERPRET"
    assert "TRITON_INTERPRET" in said.finding("TRD603")["remedy"]
    assert not {"TRD601", "TRD602", "TRD603"} & ask_env(machine).codes


def test_environment_file_is_looked_at_instead(machine: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "server.env").write_text("# of the server\nexport TRITON_INTERPRET='1'  \nX\nHOME=/srv # its home\n")

    said = ask_env(machine, "--env-file", str(tmp_path / "server.env"))

    assert "TRD601" in said.codes
    assert said.document["facts"]["cache"]["path"] == "/srv/.triton/cache"


def test_running_process_is_looked_at_instead(machine: dict[str, str]) -> None:
    program = [sys.executable, "-c", "print(flush=True); input()"]
    with subprocess.Popen(
        program, env=machine | {"TRITON_DEBUG": "1"}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdout
        assert server.stdin
        server.stdout.readline()

        said = ask_env(machine, "--pid", str(server.pid))

        server.stdin.close()
    assert said.document["facts"]["variables"] == {"TRITON_DEBUG": "1"}
    assert "TRD602" in said.codes


def test_environment_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(DoctorError, match="there is no process 12"):
        read_process(12, tmp_path)
    with pytest.raises(DoctorError, match="cannot be read: no such file or directory"):
        read_env_file(tmp_path / "none")


LIGHT = """
import sys
started = []
sys.addaudithook(lambda event, told: started.append(told[0]) if event == "subprocess.Popen" else None)
from triton_doctor.cli import main
main(["env", "--output-format", "json"])
print(len(started), "torch" in sys.modules, "triton" in sys.modules, file=sys.stderr)
"""


def test_env_loads_neither_torch_nor_triton_and_starts_few_programs(machine: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIGHT], env=machine, cwd="/", capture_output=True, text=True, check=False
    )

    started, *loaded = done.stderr.split()
    assert json.loads(done.stdout)
    assert loaded == ["False", "False"]
    assert int(started) < 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["env", "interp"], "env takes no `interp`", id="a word"),
        pytest.param(["env", "--pid", "1", "--env-file", "x"], "--env-file does not go with --pid", id="two of them"),
        pytest.param(["env", "--triton-version", "new"], "`new` is no version of triton", id="no version"),
        pytest.param(
            ["env", "--variables", "zzzz"], "triton 3.9 reads no variable about `zzzz`", id="no such variable"
        ),
    ],
)
def test_wrong_arguments_are_told_with_a_hint(
    doctor: Callable[..., Outcome], arguments: list[str], message: str
) -> None:
    extra = ["--triton-version", "3.9"] if "--variables" in arguments else []

    outcome = doctor(*arguments, *extra)

    assert outcome.status == 2
    assert outcome.err.splitlines()[0] == f"triton-doctor: {message}"
    assert outcome.err.splitlines()[1].startswith("hint: ")


def test_variables_are_listed_with_effect_and_default(doctor: Callable[..., Outcome]) -> None:
    outcome = doctor("env", "--variables", "print_autotuning", "--triton-version", "3.6")

    assert outcome.status == 0
    assert outcome.out.splitlines()[0] == "TRITON_PRINT_AUTOTUNING"
    assert "default: 0" in outcome.out
    assert outcome.out.splitlines()[-1] == "triton 3.6 reads 1 such variable"


def test_every_variable_of_a_version_is_listed(doctor: Callable[..., Outcome]) -> None:
    old, new = (doctor("env", "--variables", "--triton-version", version).out for version in ("3.2", "3.9"))

    assert "TRITON_HIP_USE_ASYNC_COPY" in new
    assert "TRITON_HIP_USE_ASYNC_COPY" not in old


def test_misspelt_variable_that_would_slow_kernels_is_to_be_unset(machine: dict[str, str]) -> None:
    slow = ask_env(machine | {"TRITON_INTERPET": "1"}).finding("TRD603")
    kept = ask_env(machine | {"TRITON_CACHE_DRI": "/cache"}).finding("TRD603")

    assert (slow["command"], "unset it" in slow["remedy"]) == ("unset TRITON_INTERPET", True)
    assert kept["command"] == "unset TRITON_CACHE_DRI; export TRITON_CACHE_DIR=/cache"
