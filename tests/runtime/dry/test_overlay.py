"""Files in a dry run: what was there before stays as it is, and the program finds what it did to it."""

from __future__ import annotations

import glob
import io
import os
import pickle
import shutil
import socket
import sys
from multiprocessing import get_context
from pathlib import Path

import pytest

import triton_doctor
from triton_doctor.errors import DoctorError
from triton_doctor.runtime.dry.file_overlay import divert_writes, locate

GOOD = "weeks of training"


def read_tree(folder):
    """Everything below `folder`, with its content."""
    return {
        str(path.relative_to(folder)): os.readlink(path)
        if path.is_symlink()
        else path.read_text()
        if path.is_file()
        else "a folder"
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture
def existing(folder):
    """A folder of checkpoints, with a link to the last: the working directory."""
    for step in (1, 2, 3):
        (folder / f"step-{step}").mkdir()
        (folder / f"step-{step}" / "model.pt").write_text(f"{GOOD} {step}")
    (folder / "latest").symlink_to("step-3")
    (folder / "model.pt").write_text(GOOD)
    (folder / "lock").touch()
    return folder


def replace_by_a_temporary_file():
    Path("model.pt.tmp").write_text("fake")
    os.replace("model.pt.tmp", "model.pt")


def write_through_a_descriptor():
    descriptor = os.open("model.pt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.write(descriptor, b"fake")
    os.close(descriptor)


def write_in_a_folder_by_its_descriptor():
    folder = os.open(".", os.O_RDONLY)
    descriptor = os.open("model.pt", os.O_WRONLY | os.O_TRUNC, dir_fd=folder)
    os.write(descriptor, b"fake")
    os.close(descriptor)
    os.close(folder)


def write_in_place():
    with open("model.pt", "r+") as file:
        file.write("fake")
        file.truncate()


def write_by_another_name():
    os.symlink("model.pt", "new-link")
    Path("new-link").write_text("fake")


def write_after_changing_the_folder():
    os.chdir("step-1")
    Path("../model.pt").write_text("fake")
    os.chdir("..")


def write_at_home():
    os.environ["HOME"] = os.getcwd()
    Path("~/model.pt").expanduser().write_text("fake")


def move_over():
    Path("new").write_text("fake")
    shutil.move("new", "model.pt")


def copy_over():
    Path("new").write_text("fake")
    shutil.copy("new", "model.pt")


@pytest.mark.parametrize(
    "write",
    [
        replace_by_a_temporary_file,
        write_through_a_descriptor,
        write_in_a_folder_by_its_descriptor,
        write_in_place,
        write_by_another_name,
        write_after_changing_the_folder,
        write_at_home,
        move_over,
        copy_over,
        pytest.param(lambda: open(b"model.pt", "wb").write(b"fake"), id="bytes"),
        pytest.param(lambda: io.FileIO("model.pt", "w").write(b"fake"), id="FileIO"),
        pytest.param(lambda: open("model.pt", "w", opener=os.open).write("fake"), id="an opener of its own"),
    ],
)
def test_what_is_written_to_an_existing_file_is_read_again_and_the_file_is_as_it_was(existing, write, monkeypatch):
    monkeypatch.setenv("HOME", os.environ.get("HOME", "/"))
    before = read_tree(existing)
    with divert_writes("overlay"):
        write()
        found = Path("model.pt").read_text()

    assert found == "fake"
    assert read_tree(existing).items() >= before.items()


def test_what_is_appended_follows_what_was_there(existing):
    with divert_writes("overlay"):
        with open("model.pt", "a") as file:
            file.write(" and more")
        os.truncate("step-1/model.pt", 5)
        found = Path("model.pt").read_text(), Path("step-1/model.pt").read_text()

    assert found == (f"{GOOD} and more", "weeks")
    assert Path("model.pt").read_text() == GOOD


def test_a_rotation_that_keeps_one_checkpoint_ends_and_removes_none_that_was_there(existing):
    before = read_tree(existing)
    with divert_writes("overlay"):
        os.mkdir("step-4")
        Path("step-4/model.pt").write_text("fake")
        while len(steps := sorted(glob.glob("step-*"))) > 1:
            shutil.rmtree(steps[0])
        os.remove("latest")
        os.symlink("step-4", "latest")
        found = Path("latest/model.pt").read_text(), [entry.name for entry in os.scandir() if entry.is_dir()]
        listed = [str(path) for path in Path().glob("step-*/model.pt")]
        gone = [os.path.exists("step-1"), Path("step-2/model.pt").exists(), os.access("step-3", os.R_OK)]

    assert (found[0], sorted(found[1])) == ("fake", ["latest", "step-4"])
    assert listed == ["step-4/model.pt"]
    assert gone == [False, False, False]
    assert read_tree(existing).items() >= before.items()
    assert Path("step-4/model.pt").read_text() == "fake"


def test_a_folder_that_is_renamed_replaced_and_removed_stays(existing):
    before = read_tree(existing)
    with divert_writes("overlay"):
        os.mkdir("new")
        Path("new/model.pt").write_text("fake")
        os.rename("step-1", "step-1.old")
        os.rename("new", "step-1")
        found = Path("step-1/model.pt").read_text(), Path("step-1.old/model.pt").read_text()
        Path("step-1.old/model.pt").write_text("changed")
        Path("step-1.old/added").write_text("added")
        walked = [(folder, sorted(files)) for folder, _, files in os.walk("step-1.old")]
        shutil.rmtree("step-1.old")
        left = sorted(os.listdir())

    assert found == ("fake", f"{GOOD} 1")
    assert walked == [("step-1.old", ["added", "model.pt"])]
    assert left == ["latest", "lock", "model.pt", "step-1", "step-2", "step-3"]
    assert read_tree(existing) == before


@pytest.mark.parametrize(
    ("act", "error"),
    [
        (lambda: os.remove("none"), FileNotFoundError),
        (lambda: os.remove("step-2"), IsADirectoryError),
        (lambda: os.rmdir("step-2"), OSError),
        (lambda: os.rename("step-2", "step-3"), OSError),
        (lambda: os.rename("model.pt", "step-2"), IsADirectoryError),
        (lambda: os.rename("step-2", "none/step-2"), FileNotFoundError),
        (lambda: os.mkdir("step-2"), FileExistsError),
        (lambda: open("model.pt", "x"), FileExistsError),
        (lambda: open("step-1/model.pt"), FileNotFoundError),
        (lambda: os.listdir("step-1"), FileNotFoundError),
    ],
)
def test_what_fails_on_a_disk_fails_and_names_the_path_as_it_was_given(existing, act, error):
    before = read_tree(existing)
    with divert_writes("overlay"):
        shutil.rmtree("step-1")
        with pytest.raises(error) as caught:
            act()

    assert not str(caught.value.filename).startswith("/")
    assert read_tree(existing) == before


def test_what_was_not_there_and_what_is_empty_is_written_for_real(existing):
    with divert_writes("overlay"):
        Path("new").mkdir()
        Path("new/file").write_text("1")
        Path("new/file").write_text("2")
        Path("lock").write_text("3")
        Path("lock").write_text("4")
        os.remove("new/file")
        Path("new/other").write_text("5")

    assert read_tree(existing / "new") == {"other": "5"}
    assert Path("lock").read_text() == "4"


def test_a_module_that_was_rewritten_is_imported_as_it_is_now(existing, monkeypatch):
    Path("rewritten_module.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(str(existing))
    with divert_writes("overlay"):
        Path("rewritten_module.py").write_text("value = 'new'\n")
        module = __import__("rewritten_module")
        del sys.modules["rewritten_module"]

    assert module.value == "new"
    assert __import__("rewritten_module").value == 1
    del sys.modules["rewritten_module"]


def write_in_child():
    Path("model.pt").write_text("of a child")
    os.remove("latest")


def test_forked_workers_and_their_parent_see_the_same_files(existing):
    before = read_tree(existing)
    with divert_writes("overlay"):
        worker = get_context("fork").Process(target=write_in_child)
        worker.start()
        worker.join()
        found = worker.exitcode, Path("model.pt").read_text(), os.path.lexists("latest")

    assert found == (0, "of a child", False)
    assert read_tree(existing) == before


def test_every_function_is_what_it_was_afterwards_also_where_somebody_kept_it(existing):
    modules = [os, io, shutil, sys.modules["builtins"], sys.modules["_io"], sys.modules["posix"]]
    before = [dict(vars(module)) for module in modules]
    with divert_writes("overlay"):
        kept = [open, os.remove, io.FileIO]
        assert pickle.loads(pickle.dumps(os.remove)) is os.remove
        assert isinstance(open("model.pt", "rb", buffering=0), io.FileIO)

    assert [dict(vars(module)) for module in modules] == before
    with kept[0]("model.pt", "w") as file:
        file.write("for real")
    assert Path("model.pt").read_text() == "for real"
    kept[1]("model.pt")
    kept[2]("model.pt", "w").close()
    assert Path("model.pt").read_text() == ""


def save_torch(state):
    import torch

    torch.save(state, "saved")
    return torch.load("saved", mmap=True)


def save_torch_as_before(state):
    import torch

    torch.save(state, "saved", _use_new_zipfile_serialization=False)
    return torch.load("saved")


def save_safetensors(state):
    from safetensors.torch import load_file, save_file

    save_file(state, "saved", {"format": "pt"})
    return load_file("saved", device="cuda")


def save_numpy(state):
    import numpy
    import torch

    with open("saved", "wb") as file:
        numpy.savez(file, **{name: tensor.cpu().numpy() for name, tensor in state.items()})
    return {name: torch.from_numpy(array) for name, array in numpy.load("saved").items()}


def save_raw(state):
    import numpy
    import torch

    state["weight"].cpu().numpy().tofile("saved")
    return {"weight": torch.from_numpy(numpy.fromfile("saved", numpy.float32).reshape(64, 4))}


def save_pickle(state):
    with open("saved", "wb") as file:
        pickle.dump(state, file)
    with open("saved", "rb") as file:
        return pickle.load(file)


def save_script(state):
    import torch

    torch.jit.save(torch.jit.script(torch.nn.Identity()), "saved")
    torch.jit.load("saved")
    return state


@pytest.mark.parametrize(
    "save", [save_torch, save_torch_as_before, save_script, save_safetensors, save_numpy, save_raw, save_pickle]
)
def test_each_saver_leaves_an_existing_file_and_loads_what_it_saved(folder, save):
    (folder / "saved").write_text(GOOD)
    with triton_doctor.dry_run() as recording:
        import torch

        state = {"weight": torch.randn(64, 4, device="cuda"), "steps": torch.tensor([3, 1], device="cuda")}
        loaded = save(state)
        shapes = {name: tuple(tensor.shape) for name, tensor in loaded.items()}
        steps = loaded["steps"].tolist() if "steps" in loaded else [3, 1]

    assert (shapes["weight"], steps) == ((64, 4), [3, 1])
    assert read_tree(folder) == {"saved": GOOD}
    files = [warning.message for warning in recording.warnings if warning.kind == "files"]
    assert files == [f"{folder}/saved is as it was before: the program wrote it"]


def test_a_distributed_checkpoint_is_left_and_loaded(folder):
    (folder / "step").mkdir()
    for name in (".metadata", "__0_0.distcp"):
        (folder / "step" / name).write_text(GOOD)
    before = read_tree(folder)
    with triton_doctor.dry_run():
        import torch
        import torch.distributed.checkpoint as checkpoint

        state = {"steps": torch.tensor([3, 1], device="cuda")}
        checkpoint.save(state, checkpoint_id="step")
        checkpoint.load(state, checkpoint_id="step")

    assert read_tree(folder) == before


def test_allow_writes_for_real_and_another_word_is_refused(existing):
    with divert_writes("allow"):
        assert locate("model.pt", to_write=True) == "model.pt"
        Path("model.pt").write_text("fake")

    assert Path("model.pt").read_text() == "fake"
    with pytest.raises(DoctorError, match="writes is 'ask'"), divert_writes("ask"):
        pass


PROGRAM = """
import os, subprocess, sys
os.remove("early.pt")
import torch
model = torch.nn.Linear(4, 4).cuda()
torch.save(model.state_dict(), "model.pt")
torch.save(model.state_dict(), "new.pt")
child = "import os; os.replace('tool.tmp', 'tool.txt')"
open("tool.tmp", "w").write("fake")
subprocess.run([sys.executable, "-c", child], check=True)
print(open("tool.txt").read(), os.path.exists("early.pt"), len(torch.load("model.pt")))
import socket
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))):
    pass
"""


def test_a_run_keeps_files_of_all_its_processes_and_names_them(folder, runner):
    for name in ("early.pt", "model.pt", "tool.txt"):
        (folder / name).write_text(GOOD)
    (folder / "program.py").write_text(PROGRAM)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        done = runner()("-m", "triton_doctor", "run", "--dry", "program.py", str(port), check=False)

    assert (done.returncode, done.stdout) == (0, "fake False 2\n"), done.stderr
    assert {(folder / name).read_text() for name in ("early.pt", "model.pt", "tool.txt")} == {GOOD}
    assert f"{folder}/early.pt is as it was before: the program removed it" in done.stderr
    assert f"{folder}/model.pt is as it was before: the program wrote it" in done.stderr
    assert f"{folder}/tool.txt is as it was before: the program replaced it" in done.stderr
    assert f"{folder}/new.pt was written" in done.stderr
    assert f"connected to 127.0.0.1:{port}" in done.stderr
    assert "not listed: files and connections that compiled code or another program opened" in done.stderr
    assert sorted(os.listdir(folder)) == ["early.pt", "model.pt", "new.pt", "program.py", "tool.txt"]


def test_a_run_that_allows_it_replaces_files(folder, runner):
    (folder / "model.pt").write_text(GOOD)
    (folder / "program.py").write_text("import torch\ntorch.save(torch.ones(3), 'model.pt')\n")
    runner()("-m", "triton_doctor", "run", "--dry", "--dry-writes", "allow", "program.py")

    assert (folder / "model.pt").read_bytes() != GOOD.encode()
