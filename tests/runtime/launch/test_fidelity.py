"""A program under `run` sees and does what it sees and does without: run both ways, and compared."""

import os
import signal
import subprocess
import sys

import pytest

from tests.runtime.tritons import REPOSITORY

ENVIRONMENT = os.environ | {"PYTHONPATH": str(REPOSITORY)}
RUN = ("-m", "triton_doctor", "run")
NOTHING = "imported triton: nothing to report"


def python(*command, folder, stdin="", **variables):
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=ENVIRONMENT | variables,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def both(folder):
    """What a program does, without `run` and with it."""

    def run_both(*command, **how):
        return python(*command, folder=folder, **how), python(*RUN, *command, folder=folder, **how)

    return run_both


SEEN = "import sys; print(sys.argv, sys.path, __name__, sys.orig_argv, sys.flags, sys.meta_path[-3:], __file__)\n"


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("seen.py", "-o", "--live"), id="script"),
        pytest.param(("-m", "package.seen", "-h"), id="module"),
        pytest.param(("deep/seen.py",), id="script in a folder"),
        pytest.param(("app",), id="folder with a main"),
    ],
)
def test_program_sees_what_it_would_see(both, write, command):
    for name in ("seen.py", "package/seen.py", "deep/seen.py", "app/__main__.py"):
        write(name, SEEN)

    plain, watched = both(*command)

    assert plain.returncode == 0
    assert (watched.returncode, watched.stdout) == (0, plain.stdout)
    assert NOTHING in watched.stderr


@pytest.mark.parametrize(
    "program",
    [
        pytest.param("raise ValueError('theirs')", id="raises"),
        pytest.param("import sys; sys.exit(3)", id="exits with 3"),
        pytest.param("import sys; sys.exit('words')", id="exits with words"),
        pytest.param("import os; os._exit(4)", id="exits at once"),
        pytest.param("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", id="is killed"),
        pytest.param("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", id="is terminated"),
        pytest.param("import os; os.abort()", id="aborts"),
        pytest.param("import os; os.fork() and os.wait(); print(os.getcwd())", id="forks"),
        pytest.param("import os, sys; os.execv(sys.executable, [sys.executable, '-c', 'exit(5)'])", id="execs"),
        pytest.param("import os; os.chdir('/'); print(os.getcwd())", id="changes directory"),
        pytest.param("import sys; print(sys.stdin.read().upper())", id="reads stdin"),
        pytest.param("import signal; print(signal.getsignal(signal.SIGPIPE), signal.getsignal(signal.SIGCHLD), "
                     "signal.getsignal(signal.SIGINT), signal.pthread_sigmask(signal.SIG_BLOCK, []))", id="signals"),
        pytest.param("import subprocess, sys; code = 'import sys; print(sys.path)'; "
                     "print(subprocess.run([sys.executable, '-c', code], capture_output=True).stdout)", id="a child"),
        pytest.param("import sys; sys.stderr.write('said'); print('said')", id="writes both"),
        pytest.param("x = (", id="does not parse"),
        pytest.param("import nowhere", id="imports what is not there"),
    ],
)  # fmt: skip
def test_program_ends_as_it_would_end(both, write, program):
    write("program.py", program)

    plain, watched = both("program.py", stdin="given")

    assert (watched.returncode, watched.stdout) == (plain.returncode, plain.stdout)
    assert watched.stderr.startswith(plain.stderr)


def test_hidden_sitecustomize_still_runs(both, write):
    write("site/sitecustomize.py", "import sys; sys.customized = __file__\n")
    write("program.py", "import sys; print(sys.customized, sys.modules['sitecustomize'].__name__)\n")

    plain, watched = both("program.py", PYTHONPATH=os.pathsep.join(["site", str(REPOSITORY)]))

    assert "sitecustomize.py sitecustomize" in plain.stdout
    assert watched.stdout == plain.stdout


def test_there_is_no_sitecustomize_where_there_was_none(both, write):
    write("program.py", "import sys; print('sitecustomize' in sys.modules)\n")

    plain, watched = both("program.py", PYTHONNOUSERSITE="1")

    assert watched.stdout == plain.stdout


def test_command_by_its_name_has_its_status(folder):
    assert python(*RUN, "sh", "-c", "echo said; exit 6", folder=folder).returncode == 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["gone.py"], "there is no script gone.py", id="script"),
        pytest.param(["--target", "cuda", "a.py"], "no such target: 'cuda'", id="target"),
        pytest.param(["-o", "/proc/none/x", "a.py"], "cannot write /proc/none/x", id="output"),
        pytest.param(["-o", "kept/1.jsonl", "a.py"], "kept/1.jsonl is there already", id="file in use"),
        pytest.param([], "run needs a program", id="nothing"),
    ],
)
def test_what_was_not_started_ends_with_2_and_two_lines(folder, write, arguments, message):
    write("a.py", "print('started')")
    write("kept/1.jsonl", "{}")
    write("cut.jsonl.parts/1.jsonl", "{}")

    done = python(*RUN, *arguments, folder=folder)

    assert (done.returncode, done.stdout) == (2, "")
    first, second = done.stderr.splitlines()
    assert first.startswith("triton-doctor: ")
    assert message in first
    assert second.startswith("hint: ")


@pytest.mark.parametrize(
    ("sent", "status"), [(signal.SIGINT, 7), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGHUP, -signal.SIGHUP)]
)
def test_signal_reaches_the_program_and_its_end_is_ours(folder, write, sent, status):
    write(
        "program.py",
        "import sys, time\n"
        "try:\n    print('up', flush=True)\n    time.sleep(600)\nexcept KeyboardInterrupt:\n    sys.exit(7)\n",
    )
    command = [sys.executable, *RUN, "program.py"]
    with subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stdout=-1, stderr=-1, text=True) as process:
        assert process.stdout.readline() == "up\n"
        process.send_signal(sent)

        assert process.wait(timeout=600) == status
        assert NOTHING in process.stderr.read()


def test_little_is_imported_before_a_program_starts_and_nearly_nothing_in_it(folder):
    def modules(*command):
        return set(python(*command, folder=folder).stdout.split())

    told = "import sys; print(*sys.modules)"
    plain, watched = modules("-c", told), modules(*RUN, "-c", told)
    command = modules("-c", f"import triton_doctor.run_command; {told}")

    assert len(watched - plain) < 5
    assert len(command - plain) < 80
    assert not {"ast", "inspect", "json", "pathlib", "rich", "subprocess", "tomllib", "typer"} & (command - plain)
