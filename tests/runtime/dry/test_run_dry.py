"""`run --dry`: programs and what they start run dry, and the report says what was guessed and pretended."""

import json

import pytest

from tests.tritons import skip_without
from triton_doctor import Recording
from triton_doctor.errors import DoctorError
from triton_doctor.runtime.launch.run_options import read_options

PROGRAM = """
import subprocess, sys
import torch
import torch.distributed
from tests.runtime.dry import kernels

for n in (64, 100, 128):
    x = torch.randn(n, device="cuda", requires_grad=True)
    kernels.Scale.apply(x, 2.0).sum().backward()
kernels.launch_tuned(x)
print(x.grad.sum().item() > 0.5)
if sys.argv[1:] == ["parent"]:
    print(torch.cuda.get_device_properties(0).multi_processor_count)
    subprocess.run([sys.executable, "program.py"], check=True)
    torch.distributed.init_process_group("nccl")
    torch.distributed.all_reduce(x)
    print(torch.distributed.get_rank(), torch.distributed.get_world_size())
    kernels.launch_scale(torch.randn(256, device="cuda"))
"""


@pytest.fixture
def run(folder, runner):
    """Run PROGRAM under `run --dry` with our options."""
    (folder / "program.py").write_text(PROGRAM)
    return lambda *options: runner()(
        "-m", "triton_doctor", "run", "--dry", *options, "program.py", "parent", check=False
    )


def test_a_program_and_its_children_run_dry(run, folder, runner):
    done = run("--target", "cuda:90,sms=7", "-o", "dry.jsonl", "--world-size", "4", "--rank", "2")

    assert (done.returncode, done.stdout.split()) == (0, ["True", "7", "True", "2", "4"])
    recordings = [one for one in Recording.read_each("dry.jsonl") if one.compiles]
    assert [one.headers[0].dry for one in recordings] == [True, True]
    assert sorted(len(one.compiled) for one in recordings) == [5, 6]
    assert "run dry: " in done.stderr
    assert "`tuned_scale`: 2 rounds of tuning, 2 configs each: 4 trials" in done.stderr
    assert ".item() of a float32 tensor of shape (), made by sum at program.py:11" in done.stderr
    assert "GPU NVIDIA H100 80GB HBM3, multiprocessors 7, memory 80 GiB, capability 9.0" in done.stderr
    assert not list((folder / "kernels").glob("*")) if (folder / "kernels").exists() else True

    report = json.loads(runner()("-m", "triton_doctor", "report", "dry.jsonl", "--output-format", "json").stdout)
    assert (report["dry"], report["totals"]["compile_ms"]) == (True, None)
    assert [(kernel["compiled"], kernel["compile_ms"]) for kernel in report["kernels"]] == [(7, None), (4, None)]


def test_a_limit_holds_and_the_program_stops_at_what_is_unknown(run):
    done = run("--max-compiles", "2", "--dry-unknown", "stop")

    assert done.returncode == 1
    assert "DryStopError: .item() of a float32 tensor" in done.stderr
    assert "`scale` compiled 3 times, 2 allowed" in done.stderr
    assert "stopped, for want of data" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rank", "1", "a.py"], "--rank needs --dry"),
        (["--dry-unknown", "stop", "a.py"], "--dry-unknown needs --dry"),
        (["--dry", "--dry-unknown", "ask", "a.py"], "--dry-unknown takes guess or stop, not 'ask'"),
        (["--dry-writes", "allow", "a.py"], "--dry-writes needs --dry"),
        (["--dry", "--dry-writes", "ask", "a.py"], "--dry-writes takes overlay or allow, not 'ask'"),
        (["--dry", "--world-size", "2", "--rank", "2", "a.py"], "rank 2 of 2 processes does not exist"),
        (["--dry", "--world-size", "0", "a.py"], "rank 0 of 0 processes does not exist"),
    ],
)
def test_options_that_mean_nothing_are_refused(arguments, message):
    with pytest.raises(DoctorError) as caught:
        read_options(arguments)

    assert caught.value.message == message


def test_a_finding_is_confirmed_dry_and_after_a_guess_nothing_is_cleared(kernels, folder, doctor, write):
    import importlib.util

    import torch

    import triton_doctor

    path = write("program.py", KERNEL)
    spec = importlib.util.spec_from_file_location("program", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, asks in (("plain.jsonl", False), ("guessed.jsonl", True)):
        with triton_doctor.dry_run(path=name):
            if asks:
                torch.randn(1000, device="cuda").sum().item()
            for n in range(1, 20):
                module.launch(torch.randn(n, 16, device="cuda"))

    plain = doctor("check", "--show", "info", "--recording", "plain.jsonl", "program.py").out
    guessed = doctor("check", "--show", "info", "--recording", "guessed.jsonl", "program.py").out

    assert "confirmed by a dry run: 19 values seen, 19 compiles" in plain
    assert "cleared by a dry run: 1 value in 19 variants" in plain
    assert "confirmed by a dry run: 19 values seen, 19 compiles" in guessed
    assert "cleared" not in guessed.replace("nothing is cleared", "")


def test_check_runs_the_command_dry_and_judges_by_it(folder, runner, write):
    skip_without("torch")
    write("program.py", KERNEL)
    write(
        "test_kernel.py",
        "import torch\nfrom program import launch\n\n\n"
        "def test_kernel():\n"
        "    for n in range(1, 20):\n"
        "        launch(torch.empty(n, 16, device='cuda'))\n\n\n"
        "def test_value():\n"
        "    assert torch.randn(1000, device='cuda').sum().item() == 42\n",
    )
    write("pytest.ini", "[pytest]\n")
    done = runner()(
        "-m", "triton_doctor", "check", "--output-format", "json", "--no-cache", "program.py", "--dry",
        "--", "-m", "pytest", "-p", "no:cacheprovider", "test_kernel.py",
        check=False,
    )  # fmt: skip

    evidence = {one["parameter"]: one["evidence"] for one in json.loads(done.stdout)["findings"]}
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert (evidence["N"]["verdict"], evidence["N"]["dry"], evidence["N"]["values"]) == ("confirmed", True, 19)
    assert evidence["N"]["waited_ms"] is None
    assert "1 passed, 1 xfailed" in done.stderr


def test_check_runs_no_tests_of_another_project_dry(doctor, folder, write):
    write("other/pyproject.toml", "")
    write("other/program.py", KERNEL)

    outcome = doctor("check", "--dry", "other/program.py")

    assert (outcome.status, outcome.out) == (2, "")
    assert f"other/program.py is in the project {(folder / 'other').resolve()}, and --dry runs the tests" in outcome.err


KERNEL = """
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, N: tl.constexpr, M: tl.constexpr):
    tl.store(x_ptr, 1.0)


def launch(x):
    batch, rows = x.shape
    kernel[(1,)](x, batch, rows)
"""


REACHED = """
import torch
import triton
import triton.language as tl


@triton.jit
def fill(x_ptr, n):
    tl.store(x_ptr, n)


@triton.jit
def clear(x_ptr, n):
    tl.store(x_ptr, n)


def run(x, how):
    kernel = fill if how == "fill" else clear
    if how == "other":
        clear[(1,)](x, 0)
    fill[(1,)](x, 5)


if __name__ == "__main__":
    run(torch.empty(8, device="cuda"), "fill")
"""


def test_launched_kernels_of_the_project_that_were_never_reached_are_listed(folder, runner):
    (folder / "pyproject.toml").write_text("")
    (folder / "ops.py").write_text(REACHED)
    done = runner()("-m", "triton_doctor", "run", "--dry", "ops.py")
    told = done.stderr.partition("launched by the project, and never reached\n")[2].partition("\n\n")[0]

    assert [line.strip() for line in told.splitlines()] == [
        "`clear` (ops.py:13)",
        "1 of 2 launched kernels: of these the run says nothing",
    ]
