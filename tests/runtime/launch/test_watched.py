"""What `run` tells of programs that launch kernels: real compiles for a GPU that is not there, in real processes."""

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runtime.tritons import VERSIONS
from triton_doctor import Recording

HERE = Path(__file__).parent
RUN = ("-m", "triton_doctor", "run", "--target", "cuda:90")


@pytest.fixture
def run(folder, runner, doctor):
    """Run a program, given as text, under `run`; its report as JSON is `.seen`."""

    class Done:
        def __init__(self, program, *options, version=None, command=("program.py",), environment=None):
            (folder / "program.py").write_text(f"import sys\nsys.path.append({str(HERE)!r})\n{program}")
            python = runner(version) if version else runner()
            python.environment |= environment or {}
            done = python(*RUN, "-o", "run.jsonl", *options, *command, check=False)
            self.status, self.out, self.err = done.returncode, done.stdout, done.stderr
            report = doctor("report", "run.jsonl", "--output-format", "json")
            self.seen = json.loads(report.out) if report.out else {}
            self.kernels = {kernel["kernel"]: kernel for kernel in self.seen.get("kernels", ())}

    return Done


@pytest.mark.parametrize("version", VERSIONS)
def test_kernels_of_a_script_are_counted(run, version):
    done = run("from kernels import launch\nlaunch(10, 11, 12, 12, 12)\nprint('done')", version=version)

    scale = done.kernels["scale"]
    assert (done.status, done.out) == (0, "done\n")
    assert (scale["launches"], scale["in_memory"], scale["compiled"]) == (5, 2, 3)
    assert scale["causes"][0]["code"] == "TRD702"
    assert (scale["causes"][0]["parameter"], scale["causes"][0]["values"]) == ("n", [10, 11, 12])
    assert done.seen["totals"]["unseen"] == []
    assert "2x TRD702 constexpr-changed: `n`, 3 values: 10, 11, 12" in done.err


def test_parts_of_the_time_add_up_to_the_wall_time(run):
    done = run("from kernels import launch\nlaunch(10, 11)")

    (process,) = done.seen["processes"]
    parts = sum(value for name, value in process.items() if name.endswith("_ms") and name != "wall_ms")
    assert parts == pytest.approx(process["wall_ms"], abs=0.01)
    assert process["wall_ms"] == done.seen["totals"]["wall_ms"]
    assert process["compiling_ms"] == pytest.approx(done.seen["totals"]["compile_ms"], rel=0.01)
    assert process["first_process_ms"] > 0


@pytest.mark.parametrize(
    ("end", "status"),
    [
        pytest.param("raise ValueError", 1, id="raises"),
        pytest.param("sys.exit(3)", 3, id="exits"),
        pytest.param("import os; os._exit(4)", 4, id="exits at once"),
        pytest.param("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL, id="is killed"),
        pytest.param("import os; os.kill(os.getpid(), 15)", -signal.SIGTERM, id="is terminated"),
        pytest.param("import os; os.execv('/bin/sh', ['sh', '-c', 'exit 5'])", 5, id="execs"),
        pytest.param("import os; os.chdir('/')", 0, id="changes directory"),
    ],
)
def test_report_comes_however_the_program_ends(run, end, status):
    done = run(f"from kernels import launch\nlaunch(10, 10)\n{end}")

    assert done.status == status
    assert done.kernels["scale"]["compiled"] == 1
    # Of a program that is killed, those are counted that were written: the more, the longer it took.
    assert done.kernels["scale"]["launches"] in ((1, 2) if status < 0 else (2,))
    assert bool(done.seen["totals"]["unseen"]) is (status < 0 or status == 5)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_children_are_followed(run, method):
    program = (
        "from kernels import launch\nimport multiprocessing\n"
        "if __name__ == '__main__':\n"
        "    launch(10)\n"
        f"    Process = multiprocessing.get_context({method!r}).Process\n"
        "    children = [Process(target=launch, args=(n, n)) for n in (11, 12)]\n"
        "    [child.start() for child in children]\n    [child.join() for child in children]\n"
    )
    done = run(program)

    assert len(done.seen["processes"]) == 3
    assert (done.kernels["scale"]["launches"], done.kernels["scale"]["compiled"]) == (5, 3)
    assert done.seen["totals"]["unseen"] == []


def test_child_that_is_given_another_path_is_followed(run):
    program = (
        "import os, subprocess\n"
        "path = os.pathsep.join(sys.path)\n"
        "code = 'from kernels import launch; launch(10)'\n"
        "subprocess.run([sys.executable, '-c', code], env=dict(os.environ, PYTHONPATH=path), check=True)\n"
    )
    done = run(program)

    assert done.kernels["scale"]["compiled"] == 1


def test_program_that_execs_itself_has_a_recording_of_each_life(run):
    program = (
        "import os\nfrom kernels import launch\n"
        "lives = int(os.environ.get('LIVES', '0'))\nlaunch(10 + lives, 10 + lives)\n"
        "again = os.environ | {'LIVES': str(lives + 1)}\n"
        "if lives < 2:\n    os.execve(sys.executable, [sys.executable, *sys.argv], again)\n"
    )
    done = run(program)

    assert (done.kernels["scale"]["launches"], done.kernels["scale"]["compiled"]) == (6, 3)


def test_ranks_stand_side_by_side(run):
    program = (
        "import os, subprocess\n"
        "if 'RANK' not in os.environ:\n"
        "    for rank in '01':\n"
        "        environment = os.environ | {'RANK': rank, 'WORLD_SIZE': '2'}\n"
        "        subprocess.run([sys.executable, __file__], env=environment, check=True)\n"
        "else:\n"
        "    from kernels import launch\n"
        "    launch(*range(10, 12 + 2 * int(os.environ['RANK'])))\n"
    )
    done = run(program)

    ranks = [(rank["rank"], rank["compiled"] + rank["from_disk"]) for rank in done.kernels["scale"]["ranks"]]
    assert ranks == [(0, 2), (1, 4)]
    assert [process["rank"] for process in done.seen["processes"]] == [0, 1]
    assert "rank 1 compiled 2 variants of `scale` that no other rank did" in done.err


@pytest.mark.parametrize(
    ("options", "status"),
    [
        pytest.param(("--max-compiles", "3"), 0, id="as many as allowed"),
        pytest.param(("--max-compiles", "2"), 1, id="one too many"),
        pytest.param(("--warmup-seconds", "0", "--max-compiles-after-warmup", "0"), 1, id="after the warm-up"),
        pytest.param(("--warmup-seconds", "99999", "--max-compiles-after-warmup", "0"), 0, id="in the warm-up"),
    ],
)
def test_limit_makes_a_0_into_1(run, options, status):
    done = run("from kernels import launch\nlaunch(10, 11, 12)", *options)

    assert done.status == status
    assert ("allowed; the last time: `n` is 12, was 11" in done.err) is bool(status)


SERVER = """
import http.server, threading, time
from kernels import launch

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if ready else 503)
        self.end_headers()
    def log_message(self, *_):
        pass

ready = False
launch(10, 11)
"""
LISTEN = """
server = http.server.HTTPServer(("127.0.0.1", {port}), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
"""


FORK = """
import os
if not os.fork():
    print("ready", flush=True)
    os._exit(0)
"""


@pytest.mark.parametrize(
    ("condition", "end"),
    [
        pytest.param("port:{port}", LISTEN, id="port"),
        pytest.param("http://127.0.0.1:{port}/health", f"{LISTEN}time.sleep(1)\nready = True", id="address"),
        pytest.param("line:^ERROR.*ready at 9$", "import logging\nlogging.error('ready at %d', 9)", id="line of a log"),
        pytest.param("line:ready", FORK, id="line of a child"),
        pytest.param("call", "import triton_doctor\ntriton_doctor.warmed_up(lambda error: None)", id="call"),
    ],
)
@pytest.mark.parametrize("late", [False, True])
def test_compile_is_late_once_the_program_is_ready(run, condition, end, late):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    after = f"{end.format(port=port)}\ntime.sleep(1.5)\n" + "launch(12)\n" * late
    limit = ("--warm-when", condition.format(port=port), "--max-compiles-after-warmup", "0")
    done = run(SERVER + after, *limit)

    assert done.status == int(late), done.err
    assert ("`scale` compiled 1 time after the warm-up, 0 allowed" in done.err) is late


def test_limit_is_not_checked_where_the_program_was_never_ready(run):
    done = run("from kernels import launch\nlaunch(10)", "--warm-when", "port:1", "--max-compiles-after-warmup", "0")

    assert done.status == 2
    assert "the limit on compiles could not be checked: the warm-up did not end: port:1 was not seen" in done.err


def test_watching_for_a_line_leaves_the_streams_as_they_are(run):
    program = (
        "before = sys.stdout, sys.stderr\nprint('re', end='')\nprint('ady')\nprint(sys.stdout is sys.__stdout__)\n"
    )
    done = run(f"{program}print('write' in vars(sys.stdout), vars(sys.stderr))", "--warm-when", "line:ready")

    assert done.out == "ready\nTrue\nFalse {'mode': 'w'}\n"


def test_limit_leaves_another_status_alone(run):
    assert run("from kernels import launch\nlaunch(10, 11)\nsys.exit(3)", "--max-compiles", "1").status == 3


def test_budget_of_the_settings_is_a_limit(run, write):
    write("pyproject.toml", "[tool.triton-doctor.budgets]\n'sca*' = 1\n")

    done = run("from kernels import launch\nlaunch(10, 11)")

    assert done.status == 1
    assert "`scale` compiled 2 times, 1 allowed" in done.err


def test_live_tells_each_compile_as_it_happens(run):
    done = run("from kernels import launch\nlaunch(10, 11)", "--live")

    lines = [line for line in done.err.splitlines() if line.startswith("triton-doctor: compiled")]
    assert [line.rpartition(": ")[2] for line in lines] == ["the first variant of its kernel in this process", "10, 11"]
    assert "kernels.py:" in lines[0]


def test_interpreter_mode_is_told_first(run):
    pytest.importorskip("numpy")
    done = run(
        "import os\nos.environ['TRITON_INTERPRET'] = '1'\nimport triton, torch\nfrom kernels import scale\n"
        "scale[(1,)](torch.ones(64), 10, BLOCK=64)"
    )

    assert done.status == 0, done.err
    report = done.err[done.err.index("triton-doctor: ") :].splitlines()
    assert report[2].startswith("interpreter mode: `scale` (1 launch, ")
    assert [(one["kernel"], one["launches"]) for one in done.seen["interpreted"]] == [("scale", 1)]
    assert done.seen["processes"][0]["interpreting_ms"] == done.seen["interpreted"][0]["took_ms"] > 0


@pytest.mark.parametrize("kept", [(), ("-o", "folder"), ("-o", "file.jsonl")], ids=["no output", "folder", "file"])
def test_folder_that_the_program_removes_costs_a_line(run, folder, runner, write, kept):
    write(
        "program.py",
        f"import sys; sys.path.append({str(HERE)!r})\nimport os, shutil\nfrom kernels import launch\nlaunch(10)\n"
        "shutil.rmtree(os.environ['_TRITON_DOCTOR_RUN'])\nlaunch(11)\nprint('done')\n",
    )
    done = runner()(*RUN, *kept, "program.py")

    assert done.stdout == "done\n"
    assert "are gone: the program, or somebody, removed them" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_full_disk_costs_the_recording_and_not_the_program(run):
    program = (
        "import resource\nfrom kernels import launch\nlaunch(10)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1))\n"
        "launch(10)\nprint('done')"
    )
    done = run(program)

    assert (done.status, done.out) == (0, "done\n")
    assert done.kernels["scale"]["compiled"] == 1
    unseen = done.seen["totals"]["unseen"]
    assert next(line.rpartition(": ")[2] for line in unseen) == "it ended without closing its recording"
    assert any("stopped recording" in line for line in unseen)


def test_tests_under_run_pass_and_fail_as_they_would(folder, runner, write):
    write(
        "test_it.py",
        f"import sys; sys.path.append({str(HERE)!r})\nimport pytest\nfrom kernels import launch\n"
        "def test_passes(): launch(10)\ndef test_fails(capfd): launch(11); assert capfd.readouterr().err == 'x'\n"
        "@pytest.mark.skip\ndef test_skipped(): pass\n",
    )
    pytest_command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", ".", "test_it.py")
    done = runner()(*RUN, "-o", "run.jsonl", *pytest_command, check=False)

    assert done.returncode == 1
    assert "1 failed, 1 passed, 1 skipped" in done.stdout
    assert len(Recording.read(folder / "run.jsonl").compiled) == 2


def test_killed_run_takes_its_program_along_and_leaves_what_was_recorded(folder, runner, write):
    write(
        "program.py",
        f"import sys, time; sys.path.append({str(HERE)!r})\nfrom kernels import launch\nlaunch(10)\n"
        "print('up', flush=True)\ntime.sleep(600)\n",
    )
    command = [sys.executable, *RUN, "-o", "run.jsonl", "program.py"]
    with subprocess.Popen(command, cwd=folder, env=runner().environment, stdout=-1, stderr=-1, text=True) as process:
        assert process.stdout.readline() == "up\n"
        process.kill()

        assert process.stdout.read() == ""  # its end: nobody has the pipe any more

    assert len(Recording.read(folder / "run.jsonl.parts").compiled) == 1
