"""What the recordings of a run do not hold, in a line each: limits cannot be checked where there is such a line."""

from __future__ import annotations

from triton_doctor.runtime.launch.following import describe_unfollowed, find_blocking_option
from triton_doctor.runtime.launch.process_notes import process_of

# As `typing` has it, whose import costs a start of a program 10 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.runtime.launch.process_notes import NotesFolder
    from triton_doctor.runtime.launch.processes import ProcessTree
    from triton_doctor.runtime.launch.recording_folder import RecordingFolder


def gather_unseen(
    command: Sequence[str],
    notes: NotesFolder,
    tree: ProcessTree,
    folder: RecordingFolder,
    outliving: Sequence[tuple[int, str]],
) -> list[str]:
    """Return what was not recorded; observations of a process replace earlier notes about it."""
    lines = [*_unfollowed_program(command), *notes.unrecorded()]
    lines += tree.unfollowed({process_of(path) for path in folder.recordings()})
    by_process = {line.partition("` was not followed")[0]: line for line in lines}
    return [*by_process.values(), *_outliving(outliving, folder)]


def _unfollowed_program(command: Sequence[str]) -> Iterator[str]:
    option = find_blocking_option(command)
    if option is not None:
        yield describe_unfollowed(command, f"{option} disables recording, and whether it imported triton is unknown")


def _outliving(processes: Sequence[tuple[int, str]], folder: RecordingFolder) -> Iterator[str]:
    for pid, command in processes:
        where = f"recorded in {folder.path}" if folder.kept else "not recorded"
        yield f"process {pid} (`{command}`) outlives the run; what it does from now on is {where}"
