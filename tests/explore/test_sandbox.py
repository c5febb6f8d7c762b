"""The sandbox: whatever the code of a project does, nothing outside of its scratch folder changes, and others go on."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from triton_doctor.explore.fork_client import ForkServer, make_environment
from triton_doctor.explore.model import Limits

SOON = Limits(wall_s=2)
# Where nothing is to be waited for, and a slow machine is not to matter.
LONG = Limits(wall_s=120)


@pytest.fixture
def call(server, project):
    def call(name, argument=None, limits=LONG):
        return server.call(f"hostile:{name}", argument, root=project, limits=limits)

    return call


def value_of(result):
    assert result.problem == ""
    return json.loads(bytes(result.answer.value))


def picture(folder):
    """Everything about the files in `folder` that could be changed."""
    paths = [folder, *sorted(folder.rglob("*"))]
    status = [path.lstat() for path in paths]
    contents = [path.read_bytes() if path.is_file() else None for path in paths]
    marks = [os.listxattr(path) for path in paths]
    fields = [(each.st_mode, each.st_uid, each.st_size, each.st_mtime_ns, each.st_nlink) for each in status]
    return list(zip(map(str, paths), fields, contents, marks, strict=True))


def test_no_file_outside_of_the_scratch_folder_changes(call, tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "kept.txt").write_text("kept")
    (tmp_path / "deep" / "other.txt").write_text("other")
    before = picture(tmp_path)

    value_of(call("harm_files", str(tmp_path)))

    assert picture(tmp_path) == before


def test_copy_of_the_project_does_not_change(call, project):
    before = picture(Path(project))

    value_of(call("harm_files", project))

    assert picture(Path(project)) == before


def test_devices_and_settings_of_the_kernel_cannot_be_written(call):
    harmless = {f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom")}

    assert set(value_of(call("write_devices"))) <= harmless


def test_no_connection_is_made_by_internet_or_by_a_file(call, tmp_path, monkeypatch):
    with socket.socket() as internet, socket.socket(socket.AF_UNIX) as local:
        internet.bind(("127.0.0.1", 0))
        local.bind("\0triton-doctor-test")
        by_file = socket.socket(socket.AF_UNIX)
        monkeypatch.chdir(tmp_path)
        by_file.bind("here")
        for listener in (internet, local, by_file):
            listener.listen()
            listener.setblocking(False)

        addresses = [internet.getsockname(), "\0triton-doctor-test", str(tmp_path / "here"), ("192.0.2.1", 80)]
        errors = value_of(call("connect", addresses))

        assert all(errors)
        for listener in (internet, local, by_file):
            with pytest.raises(BlockingIOError):
                listener.accept()
        by_file.close()


def test_no_other_process_is_reached(call):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        before = os.getpriority(os.PRIO_PROCESS, other.pid), os.sched_getaffinity(other.pid)

        value_of(call("harm_process", other.pid))

        assert other.poll() is None
        assert (os.getpriority(os.PRIO_PROCESS, other.pid), os.sched_getaffinity(other.pid)) == before
        other.kill()


def test_signals_to_everyone_reach_nobody_else(call):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        call("kill_everyone")

        assert other.poll() is None
        other.kill()
    assert value_of(call("allocate", 1)) == 1


def test_what_a_child_started_ends_with_it(call, tmp_path):
    name = f"daemon-of-{tmp_path}"

    assert value_of(call("leave_daemons", name)) == "left"

    assert not [path for path in Path("/proc").glob("[0-9]*/cmdline") if name in read(path)]


def read(path):
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        pytest.param("never_return", "it took longer than 2 s", id="ignores every signal"),
        pytest.param("fork_without_end", "it ", id="fork bomb"),
    ],
)
def test_child_that_does_not_end_is_ended(call, name, reason):
    result = call(name, limits=SOON)

    assert (result.reply.ended, result.answer) == ("over a limit", None)
    assert result.reply.reason.startswith(reason)


def test_memory_is_bounded(call):
    result = call("allocate", 100 << 30)

    assert result.problem.startswith("MemoryError")


def test_disk_is_bounded_for_a_file_and_for_all_together(call):
    limits = Limits(wall_s=120, file_size=4 << 20)

    assert value_of(call("write_one_file", 16 << 20, limits)) == 4 << 20
    assert call("write_without_end", limits=limits).reply.reason == "it wrote more than 16 MiB of files"


@pytest.mark.parametrize(
    ("name", "argument", "reason"),
    [
        pytest.param("end_at_once", 3, "it ended itself with status 3", id="status"),
        pytest.param("end_at_once", 0, "it gave no answer", id="status 0"),
        pytest.param("crash", None, "it was ended by SIGSEGV", id="crash"),
        pytest.param("raise_error", None, "SystemExit: I am leaving", id="exception"),
        pytest.param("no_such_function", None, "AttributeError: ", id="no such function"),
    ],
)
def test_child_that_dies_says_how(call, name, argument, reason):
    result = call(name, argument)

    assert result.problem.startswith(reason)


def test_flood_of_output_is_dropped_and_the_answer_comes(call):
    result = call("print_much")

    assert value_of(result) == "printed"


def test_answer_comes_from_a_child_that_closed_all_descriptors(call):
    assert value_of(call("close_everything")) == "closed"


def test_link_in_place_of_an_answer_is_not_followed(call, tmp_path):
    secret = tmp_path / "secret.json"
    secret.write_text('{"value": "secret", "files": [], "is_final": true}')

    assert call("forge_by_link", str(secret)).answer is None
    assert call("forge_by_pipe").answer is None


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"value": 1}', "\0"])
def test_answer_that_is_none_is_no_answer(call, text):
    assert call("forge_by_text", text).answer is None


def test_scratch_folder_goes_whatever_is_in_it(call):
    scratch = Path(value_of(call("leave_hard_folders"))).parent

    assert not scratch.exists()
    assert scratch.parent.exists()


def test_child_sees_a_home_of_its_own_and_no_secrets(call, project, monkeypatch):
    seen = value_of(call("tell"))

    assert seen["home"].startswith(f"{Path(seen['environment']['TMPDIR']).parent}/")
    assert seen["folder"] == f"{Path(seen['environment']['TMPDIR']).parent}/work"
    assert seen["path"] == project
    assert not set(seen["environment"]) & {"SSH_AUTH_SOCK", "PYTEST_CURRENT_TEST", "USER", "DISPLAY"}


def test_environment_keeps_what_torch_needs_and_no_keys():
    kept = make_environment({
        "PATH": "/bin", "HF_TOKEN": "x", "AWS_SECRET_ACCESS_KEY": "x", "TRITON_API_KEY": "x", "TORCH_PASSWORD": "x",
        "TRITON_PTXAS_PATH": "/ptxas", "PYTHONPATH": "lib::/abs",
    })  # fmt: skip

    assert {"PATH", "TRITON_PTXAS_PATH"} <= set(kept)
    assert "x" not in kept.values()
    assert kept["PYTHONPATH"] == f"{Path.cwd()}/lib:/abs"


def test_server_that_dies_is_started_again(server, call):
    server._process.kill()

    assert value_of(call("allocate", 1)) == 1


def test_children_end_with_the_process_that_swept(project, tmp_path):
    program = (
        "import sys; from triton_doctor.explore.fork_client import ForkServer\n"
        "with ForkServer() as server:\n"
        "    print(server._process.pid, server._folder, flush=True)\n"
        f"    server.call('hostile:never_return', None, root={project!r})"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as sweep:
        first, folder = sweep.stdout.readline().split()
        started = int(first)
        while not (below := descendants(started)):
            time.sleep(0.05)
        sweep.kill()

    for process in (started, *below):
        while Path(f"/proc/{process}").exists() and "Z" not in read(Path(f"/proc/{process}/stat")).split(")")[-1]:
            time.sleep(0.05)
    assert not Path(folder).exists()


def descendants(process):
    found = []
    waiting = [process]
    while waiting:
        current = waiting.pop()
        children = read(Path(f"/proc/{current}/task/{current}/children")).split()
        found += map(int, children)
        waiting += map(int, children)
    return found


# Where nothing may make namespaces, as in most containers: a filter of this process' own refuses them for good.
CONTAINER = """
from triton_doctor.explore.fork_client import ForkServer
from triton_doctor.explore.system_calls import forbid_new_privileges, refuse_system_calls
forbid_new_privileges()
refuse_system_calls(has_own_network=True, has_own_mounts=True, has_own_processes=True, has_own_signals=True)
with ForkServer(means={means}) as server:
    print(server.walls)
"""


@pytest.mark.parametrize(
    ("means", "said"),
    [
        pytest.param(("namespaces", "landlock"), "files kept read-only by Landlock", id="landlock is left"),
        pytest.param(("namespaces",), "the code cannot be confined here", id="nothing is left"),
    ],
)
def test_container_without_namespaces_has_landlock_or_nothing_runs(means, said):
    done = subprocess.run([sys.executable, "-c", CONTAINER.format(means=means)], capture_output=True, text=True)

    assert said in done.stdout + done.stderr
    assert ("DoctorError" in done.stderr) is (means == ("namespaces",))


def test_without_a_sandbox_limits_hold_all_the_same(project):
    with ForkServer(means=()) as server:
        result = server.call("hostile:never_return", None, root=project, limits=SOON)

        assert str(server.walls) == "not sandboxed: the code ran with your rights"
        assert result.reply.reason == "it took longer than 2 s"
