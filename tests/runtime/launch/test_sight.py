"""Nothing hides a process, a compile or a launch from `run` unsaid; a limit that could not be checked fails."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from triton_doctor import Recording
from triton_doctor.runtime.launch.following import find_blocking_option, is_python
from triton_doctor.runtime.program_event import VariableEvent

HERE = Path(__file__).parent
RUN = ("-m", "triton_doctor", "run", "--target", "cuda:90")
LAUNCH = f"import sys\nsys.path.append({str(HERE)!r})\nfrom kernels import launch\n"


@pytest.fixture
def run(folder, runner, write):
    """Run a program, given as text, under `run` with options, and return what it did."""

    def run_program(program, *options, command=("program.py",), **variables):
        write("program.py", program)
        return runner()(*RUN, *options, *command, check=False, **variables)

    return run_program


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (["python", "-E", "x.py"], "-E"),
        (["/usr/bin/python3.12", "-sI", "-c", "pass"], "-I"),
        (["python", "-X", "dev", "-W", "error", "-S", "x.py"], "-S"),
        (["python", "-Xdev", "-uE", "-"], "-E"),
        (["python", "x.py", "-E"], None),
        (["python", "-c", "pass", "-I"], None),
        (["python", "-mIE"], None),
        (["python", "-W", "-E", "x.py"], None),
        (["bash", "-E"], None),
        ([], None),
    ],
)
def test_option_that_disables_recording_is_found(command, option):
    assert find_blocking_option(command) == option


@pytest.mark.parametrize(
    ("program", "found"),
    [("python", True), ("/x/python3", True), ("python3.13t", True), ("pythonw-tool", False), ("ipython", False)],
)
def test_python_is_known_by_its_name(program, found):
    assert is_python(program) is found


MOVE = "import os\nos.environ['TRITON_CACHE_DIR'] = os.getcwd() + '/moved'\n"


@pytest.mark.parametrize(
    ("program", "moved"),
    [
        pytest.param(MOVE + LAUNCH + "launch(3)\n", True, id="before triton was imported"),
        pytest.param(LAUNCH + "launch(3)\n" + MOVE + "launch(4)\n", True, id="after a kernel was compiled"),
        pytest.param(LAUNCH + "launch(3)\n", False, id="by whoever started the program"),
        pytest.param(
            "import os, subprocess, sys\nenvironment = os.environ | {'TRITON_CACHE_DIR': os.getcwd() + '/moved'}\n"
            f"subprocess.run([sys.executable, '-c', {LAUNCH + 'launch(3)'!r}], env=environment, check=True)\n",
            False,
            id="by a launcher, for the process that it starts",
        ),
    ],
)
def test_cache_folder_that_the_program_moves_is_reported(run, folder, program, moved):
    done = run(program, "-o", "run.jsonl", TRITON_CACHE_DIR=str(folder / "kernels"))

    recorded = [one for one in Recording.read(folder / "run.jsonl").events if isinstance(one, VariableEvent)]
    assert [(one.name, one.value, one.setter) for one in recorded] == (
        [("TRITON_CACHE_DIR", str(folder / "moved"), "the program")] if moved else []
    )
    assert (f"kernels are kept in {folder / 'moved'}: the program set TRITON_CACHE_DIR" in done.stderr) is moved


@pytest.mark.parametrize("option", ["-E", "-I", "-S"])
def test_python_that_cannot_be_recorded_fails_the_limit(run, option):
    done = run("", "--max-compiles", "9", command=("python", option, "-c", "print('done')"))

    assert (done.returncode, done.stdout) == (2, "done\n")
    assert f"`python {option} -c print('done')` was not followed: {option} disables recording" in done.stderr
    assert "the limit on compiles could not be checked" in done.stderr


def test_python_that_cannot_be_recorded_is_named_without_a_limit_and_changes_no_status(run):
    done = run("", command=("python", "-E", "-c", "exit(0)"))

    assert done.returncode == 0
    assert "was not followed" in done.stderr
    assert "that could be followed imported triton" in done.stderr


def test_child_that_cannot_be_recorded_is_in_the_report_and_the_recording(run, folder):
    child = "subprocess.run([sys.executable, '-I', '-c', 'pass'], check=True)"
    done = run(f"{LAUNCH}import subprocess\n{child}\nlaunch(10)\n", "--max-compiles", "9", "-o", "run.jsonl")

    (line,) = [one for one in Recording.read(folder / "run.jsonl").warnings if one.kind == "unseen"]
    assert done.returncode == 2
    assert "-I disables recording" in line.message
    assert line.message in " ".join(done.stderr.split())


def test_child_with_an_emptied_environment_is_followed(run, folder):
    kept = "{name: os.environ[name] for name in ('TRITON_CACHE_DIR', 'PATH')}"
    code = f"{LAUNCH}launch(10)"
    program = (
        f"import os, subprocess, sys\npath = os.pathsep.join(sys.path)\n"
        f"subprocess.run([sys.executable, '-c', {code!r}], env={kept} | {{'PYTHONPATH': path}}, check=True)\n"
    )
    done = run(program, "-o", "run.jsonl")

    assert done.returncode == 0, done.stderr
    assert Recording.read(folder / "run.jsonl").count == 1


def test_program_that_sets_its_own_listener_is_held_to_the_limit(run):
    listener = "import triton\ntriton.knobs.compilation.listener = lambda **told: None\n"
    done = run(f"{listener}{LAUNCH}launch(10, 11)", "--max-compiles", "1")

    assert done.returncode == 1
    assert "2 compiled" in done.stderr


def test_full_disk_fails_the_limit_and_not_the_program(run):
    program = (
        f"{LAUNCH}import resource\nlaunch(10)\nresource.setrlimit(resource.RLIMIT_FSIZE, (1, 1))\n"
        "launch(10)\nprint('done')"
    )
    done = run(program, "--max-compiles", "9")

    assert (done.returncode, done.stdout) == (2, "done\n")
    assert "stopped recording" in done.stderr


def test_launches_of_a_terminated_process_are_counted(run, folder):
    program = (
        f"{LAUNCH}import os, pathlib, signal\n"
        "def noted():\n"
        "    notes = pathlib.Path(os.environ['_TRITON_DOCTOR_NOTES']).glob('*.launches')\n"
        "    return any('\"count\":1}' not in note.read_text() for note in notes)\n"
        "launched = 0\n"
        "while not noted():\n    launch(10)\n    launched += 1\n"
        "print(launched, flush=True)\nos.kill(os.getpid(), signal.SIGTERM)"
    )
    done = run(program, "-o", "run.jsonl")

    (counted,) = Recording.read(folder / "run.jsonl").launches.values()
    assert 1 < counted <= int(done.stdout)
    assert f"at least {counted:,} launches" in done.stderr
    assert "it ended without closing its recording" in done.stderr


def test_terminated_workers_that_compiled_nothing_are_counted(run, folder):
    program = (
        f"{LAUNCH}import multiprocessing\n"
        "if __name__ == '__main__':\n    launch(10)\n"
        "    with multiprocessing.get_context('fork').Pool(2) as pool:\n"
        "        pool.map(launch, [10] * 4, chunksize=1)\n"
    )
    run(program, "-o", "run.jsonl")

    workers = [one for one in Recording.read_each(folder / "run.jsonl") if one.launches and not one.compiles]
    assert len(workers) in (1, 2)


def test_process_that_outlives_the_run_is_named_and_goes_on_recording(run, folder):
    program = (
        f"{LAUNCH}import os\nlaunch(10)\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n    [os.dup2(os.open('/dev/null', os.O_RDWR), stream) for stream in (0, 1, 2)]\n"
        "    while not os.path.exists('go'):\n        __import__('time').sleep(0.05)\n"
        "    launch(11)\n    open('gone', 'w').close()\n    os._exit(0)\n"
    )
    done = run(f"{program}\n", "-o", "run.jsonl", "--max-compiles", "9")
    (folder / "go").touch()
    while not (folder / "gone").exists():
        time.sleep(0.05)
    parts = folder / "run.jsonl.parts"

    assert done.returncode == 2
    assert "outlives the run; what it does from now on is recorded in" in done.stderr
    assert Recording.read(folder / "run.jsonl").count == 1
    assert Recording.read(parts).count == 1


def test_second_recording_replaces_the_first_only_when_forced(run, folder):
    first = run(f"{LAUNCH}launch(10)", "-o", "run.jsonl")
    refused = run(f"{LAUNCH}launch(10, 11)", "-o", "run.jsonl")
    kept = Recording.read(folder / "run.jsonl").count
    forced = run(f"{LAUNCH}launch(10, 11)", "-o", "run.jsonl", "--force")

    assert (first.returncode, refused.returncode, forced.returncode) == (0, 2, 0)
    assert (kept, Recording.read(folder / "run.jsonl").count) == (1, 2)


def test_folder_takes_several_runs_named_by_host_rank_and_process(run, folder):
    run(f"{LAUNCH}launch(10)", "-o", "runs")
    run(f"{LAUNCH}launch(10, 11)", "-o", "runs", RANK="3", WORLD_SIZE="4")

    names = sorted(path.name for path in (folder / "runs").iterdir())
    assert len(names) == 4
    assert all(name.startswith(f"{os.uname().nodename}-") for name in names)
    assert sum(".rank3." in name for name in names) == 1
    assert Recording.read(folder / "runs").count == 3


def test_own_python_without_triton_runs_the_projects(folder, write, tmp_path):
    """As pipx and uv install: our own Python has no triton, the project's Python is on PATH."""
    own = tmp_path / "own"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(own)], check=True)
    write("program.py", "import sys, json; print(json.dumps(sys.executable))")
    site = next((own / "lib").glob("python*/site-packages"))
    (site / "ours.pth").write_text(str(HERE.parents[2]) + "\n")
    project = Path(sys.executable)
    environment = {"PATH": str(project.parent), "HOME": str(folder)}
    command = [str(own / "bin" / "python"), "-m", "triton_doctor", "run", "program.py"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    assert json.loads(done.stdout) == str(project)
    assert f"running {project}: triton is not installed in triton-doctor's own Python" in done.stderr


TAKING = {
    "closerange": "os.closerange(3, 256)\nfiles = [open(f'{number}.txt', 'w') for number in range(24)]\n",
    "dup2": (
        "files = [open('0.txt', 'w')]\n"
        "for number in set(range(3, 64)) - {files[0].fileno()}:\n    os.dup2(files[0].fileno(), number)\n"
    ),
}


@pytest.mark.parametrize("taking", TAKING.values(), ids=TAKING)
def test_program_that_takes_our_descriptors_has_its_files_and_we_all_compiles(run, folder, taking):
    program = (
        f"{LAUNCH}import os\nlaunch(10)\n{taking}launch(11)\n"
        # Where an exec fails, what we had open is closed already.
        "try:\n    os.execv('/nowhere', ['nowhere'])\nexcept OSError:\n    pass\n"
        "launch(12)\nfor file in files:\n    file.write('mine')\n    file.close()\nos._exit(0)\n"
    )
    done = run(program, "-o", "run.jsonl", TRITON_DOCTOR="live")

    assert done.returncode == 0, done.stderr
    assert {path.read_text() for path in folder.glob("*.txt")} == {"mine"}
    assert Recording.read(folder / "run.jsonl").count == 3


def test_daemon_that_closes_what_it_inherits_is_recorded_beside_its_own_files(run, folder):
    program = (
        f"{LAUNCH}import os\nlaunch(10)\n"
        "if os.fork():\n    os.wait()\n    os._exit(0)\n"
        "os.setsid()\nlaunch(11)\nos.closerange(0, 256)\n"
        "streams = [os.open(os.devnull, os.O_RDWR), os.dup(0), os.dup(0)]\n"
        "files = [open(f'{number}.txt', 'w') for number in range(24)]\nlaunch(12)\n"
        "for file in files:\n    file.write(str(streams))\n    file.close()\nos._exit(0)\n"
    )
    done = run(program, "-o", "run.jsonl")

    assert done.returncode == 0, done.stderr
    assert {path.read_text() for path in folder.glob("*.txt")} == {"[0, 1, 2]"}
    assert Recording.read(folder / "run.jsonl").count == 3


def test_recording_that_cannot_be_opened_again_is_said_to_have_stopped(run):
    program = (
        f"{LAUNCH}import glob, os\nlaunch(10)\n"
        "os.unlink(*glob.glob('run.jsonl.parts/*.jsonl'))\nos.closerange(3, 256)\nlaunch(11)\n"
    )
    done = run(program, "-o", "run.jsonl", "--max-compiles", "9")

    assert done.returncode == 2
    assert "stopped recording: the program closed the descriptor of" in done.stderr
