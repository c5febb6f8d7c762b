"""The folder of a run's notes goes with the run; what a killed one left goes with the next."""

import os
from pathlib import Path

from triton_doctor.runtime.launch.process_notes import PREFIX, YOUNGEST_ABANDONED_S, NotesFolder, remove_abandoned

LONG_AGO = (YOUNGEST_ABANDONED_S, YOUNGEST_ABANDONED_S)


def make_folder(base, name):
    folder = base / name
    folder.mkdir()
    (folder / "1.launches").write_text("")
    os.utime(folder, LONG_AGO)
    return folder


def test_only_folders_that_no_run_holds_are_removed(tmp_path):
    abandoned = make_folder(tmp_path, f"{PREFIX}1-1")
    (tmp_path / f"{PREFIX}3-1").write_text("a file")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"{PREFIX}4-1").symlink_to(make_folder(tmp_path / "elsewhere", "mine"), target_is_directory=True)
    make_folder(tmp_path, "another-tool")
    (tmp_path / f"{PREFIX}5-1").mkdir()  # by a run that has yet to lock it

    remove_abandoned(str(tmp_path))

    assert not abandoned.exists()
    kept = sorted(path.name for path in tmp_path.iterdir())
    assert kept == ["another-tool", "elsewhere", *(f"{PREFIX}{number}-1" for number in (3, 4, 5))]
    assert (tmp_path / "elsewhere" / "mine" / "1.launches").exists()


def test_folder_of_a_run_that_goes_on_is_kept():
    notes = NotesFolder()
    try:
        os.utime(notes.path, LONG_AGO)
        NotesFolder().remove()

        assert Path(notes.path).is_dir()
    finally:
        notes.remove()
    assert not Path(notes.path).exists()


def test_folder_of_a_run_that_was_killed_is_removed_by_the_next():
    child = os.fork()
    if child == 0:
        os.utime(NotesFolder().path, LONG_AGO)
        os._exit(0)  # as kill -9 does, without a word
    os.waitpid(child, 0)

    notes = NotesFolder()
    notes.remove()

    assert not list(Path(notes.path).parent.glob(f"{PREFIX}{child}-*"))
