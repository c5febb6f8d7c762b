"""`triton-doctor run`: a program under watch, then the report on stderr.

Stands beside `cli`, whose library takes longer to import than a small program to run: the program is started first,
and what the report needs is imported after it.
"""

from __future__ import annotations

import os
import shutil
import sys
import time

from triton_doctor.errors import DoctorError, reason_of, working_folder
from triton_doctor.regular_files import file_holds
from triton_doctor.runtime.launch.command import resolve
from triton_doctor.runtime.launch.environment import watched
from triton_doctor.runtime.launch.following import is_python
from triton_doctor.runtime.launch.process_notes import NotesFolder, process_of
from triton_doctor.runtime.launch.processes import ProcessTree
from triton_doctor.runtime.launch.readiness import CALL, LINE
from triton_doctor.runtime.launch.recording_folder import RecordingFolder
from triton_doctor.runtime.launch.run_options import read_options
from triton_doctor.runtime.launch.supervise import supervise
from triton_doctor.runtime.launch.unseen import gather_unseen
from triton_doctor.terminal import escape_line, use_color, width_of_report

# As `typing` has it, whose import costs a start of a program 10 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from triton_doctor.runtime.account import Account
    from triton_doctor.runtime.launch.gauge import Gauge
    from triton_doctor.runtime.launch.run_display import Board
    from triton_doctor.runtime.launch.run_options import RunOptions
    from triton_doctor.runtime.recording import Recording

FOUND, UNCHECKED, TESTS_FAILED = 1, 2, 1
# How often we look at what the program has recorded, and how often the GPUs are asked.
LOOK_S, FIRST_SAMPLE_S, SAMPLE_S = 0.1, 1.0, 0.5
PREPARE_AFTER_S = 0.3
# What ends with its parent, such as Inductor's workers, is given this long before it is said to outlive the run.
OUTLIVE_S = 2.0
LONGEST_PROGRAM = 80


def run_command(arguments: Sequence[str], *, report: bool = True) -> int:
    """Run the program that `arguments` name; return its exit status, negative for the signal that ended it.

    Without `report`, nothing is printed about its kernels. If the program succeeded, the status is 1 if a limit is
    exceeded and 2 if a limit could not be checked. Raises DoctorError if the program was not started.
    """
    options = read_options(arguments)
    command = resolve(options.program)
    if options.dry is not None:
        from triton_doctor.runtime.dry.gpu import read_gpu

        read_gpu(options.target)
    elif options.target is not None:
        from triton_doctor.runtime.compile_target import parse_target

        parse_target(options.target)
    budgets, keep = read_project()
    if command[0] != sys.executable and command[0] != options.program[0] and is_python(command[0]):
        print_message(f"running {command[0]}: triton is not installed in triton-doctor's own Python")
    folder = RecordingFolder(options.output, force=options.force, keep=keep and report)
    notes = NotesFolder()
    overlay = None
    if options.diverts:
        import tempfile

        overlay = tempfile.mkdtemp(prefix="triton-doctor-overlay-")
    watch = Watch(options, command, folder, notes, budgets, overlay=overlay, report=report)
    environment = watched(
        os.environ,
        folder,
        notes=notes.path,
        target=options.target,
        parent=os.getpid(),
        dry=options.dry,
        overlay=overlay,
        line=(options.warm_when or "").removeprefix(LINE) if (options.warm_when or "").startswith(LINE) else None,
    )
    try:
        status, pid = supervise(command, environment, every_s=LOOK_S, meanwhile=watch.look)
    except DoctorError:
        folder.close()
        notes.remove()
        shutil.rmtree(overlay or "", ignore_errors=True)
        raise
    try:
        return watch.end(status, pid)
    except BrokenPipeError:
        return status
    except Exception as error:  # a fault of ours must not cost the program its status
        error.add_note("the program had ended; this was triton-doctor reporting on it")
        sys.excepthook(type(error), error, error.__traceback__)
        return status
    finally:
        notes.remove()


class Watch:
    """What `run` does beside the program: tells its compiles live, asks the GPUs, reports."""

    def __init__(
        self,
        options: RunOptions,
        command: tuple[str, ...],
        folder: RecordingFolder,
        notes: NotesFolder,
        budgets: tuple[tuple[str, int], ...],
        *,
        overlay: str | None,
        report: bool,
    ) -> None:
        self._options, self._command, self._folder, self._budgets = options, command, folder, budgets
        self._notes, self._overlay, self._reports = notes, overlay, report
        self._tree: ProcessTree | None = None
        self._started_ns, self._started_at_ns = time.perf_counter_ns(), time.time_ns()
        self._gauge: Gauge | None = None
        self._board: Board | None = None
        self._sample_at_ns = 0
        self._prepared, self._looking = False, True
        self._warm_at_ns: int | None = None
        self._waits = options.warm_when is not None

    def look(self, pid: int) -> None:
        """Check on the program. An error of ours ends the checks, not the program."""
        if self._looking:
            try:
                self._look(pid)
            except Exception as error:
                self._looking = False
                print_message(f"looking at the program failed, and it goes on: {error!r}")

    def _look(self, pid: int) -> None:
        now_ns = time.perf_counter_ns()
        self._tree_of(pid).look()
        if self._waits:
            self._waits = False
            self._wait_until_ready()
        if not self._prepared and now_ns - self._started_ns > PREPARE_AFTER_S * 1e9:
            self._prepared = True
            prepare()
        recordings = self._folder.recordings()
        if not recordings:
            return
        self._open_board().look(now_ns)
        # Not at once: starting NVML takes a while, and a program that is over soon would wait for it.
        self._sample_at_ns = self._sample_at_ns or now_ns + int(FIRST_SAMPLE_S * 1e9)
        if now_ns >= self._sample_at_ns:
            self._sample_at_ns = now_ns + int(SAMPLE_S * 1e9)
            if self._gauge is None:
                from triton_doctor.runtime.launch.gauge import Gauge

                self._gauge = Gauge()
            self._gauge.read()

    def _wait_until_ready(self) -> None:
        from triton_doctor.runtime.launch.readiness import wait_until

        def note(at_ns: int) -> None:
            self._warm_at_ns = at_ns

        condition = self._options.warm_when or ""
        if not condition.startswith(LINE):
            wait_until(condition, note)

    def _find_warm(self, recordings: Sequence[str]) -> str | None:
        """Determine when the warm-up ended. Returns why that is unknown, if it was requested."""
        options = self._options
        if options.warm_when is None and options.warmup_seconds is None:
            return None
        from triton_doctor.runtime.launch.exceeded_limits import find_first_launch, find_mark
        from triton_doctor.runtime.recording_files import read_recordings

        if self._warm_at_ns is None:
            self._warm_at_ns = self._notes.warm_at_ns()
        processes = read_recordings(recordings).processes if recordings and self._warm_at_ns is None else ()
        if options.warmup_seconds is not None:
            first = find_first_launch(processes)
            self._warm_at_ns = None if first is None else first + int(options.warmup_seconds * 1e9)
            return None
        if options.warm_when == CALL:
            self._warm_at_ns = find_mark(processes)
        if self._warm_at_ns is None:
            return f"the warm-up did not end: {options.warm_when} was not seen"
        return None

    def end(self, status: int, pid: int) -> int:
        """Report, store what is to be kept, and return the exit status."""
        wall_ns = time.perf_counter_ns() - self._started_ns
        tree = self._tree_of(pid)
        outliving = tree.wait_for_the_rest(OUTLIVE_S)
        recordings = self._folder.recordings()
        if recordings:
            self._open_board().close()
        alive = {pid for pid, _ in outliving}
        incomplete = self._notes.complete(path for path in recordings if process_of(path) not in alive)
        unseen = gather_unseen(self._command, self._notes, tree, self._folder, outliving) + incomplete
        unready = self._find_warm(recordings)
        unwritten = None
        if recordings or self._folder.kept:
            unwritten = self._write_program(status, pid, wall_ns, unseen)
        found, unchecked = False, [*unseen, *filter(None, [unready])]
        if unready:
            print_message(unready)
        if recordings:
            found, hidden = self._report()
            unchecked += hidden
            is_pytest = any(os.path.basename(word) in ("pytest", "py.test") for word in self._options.program)
            if status == TESTS_FAILED and is_pytest and self._options.dry is not None:
                print_message(
                    "tests may have failed because the tensors of a dry run hold no values",
                    hint="`pytest --triton-doctor-dry` does not count such failures",
                )
        if unwritten and os.path.isdir(self._folder.path):
            print_message(unwritten)
        if unwritten or not recordings:
            for line in unseen:
                print_message(line)
        missing = self._folder.close(outliving=alive)
        if not alive:
            shutil.rmtree(self._overlay or "", ignore_errors=True)
        if missing:
            print_message(missing)
            unchecked.append(missing)
        elif not recordings:
            which = "that could be followed " if unseen else ""
            words = " ".join(self._options.program)[:LONGEST_PROGRAM]
            print_message(f"no process of {words} {which}imported triton: nothing to report")
        elif self._reports:
            self._name_recording()
        if status > 0 and recordings and self._options.dry is None and not has_gpu():
            words = " ".join(self._options.program)[:LONGEST_PROGRAM]
            print_message(
                "this machine has no GPU", hint=f"`triton-doctor run --dry {words}` runs the program without one"
            )
        return self._leave(status, found=found, unchecked=unchecked)

    def _name_recording(self) -> None:
        """Print where the recording is, and how to read it again."""
        options = self._options
        if options.report:
            print_message(f"the report is in {options.report}")
        if options.output:
            print_message(f"the recording is in {options.output}: `triton-doctor report {options.output}`")
        elif self._folder.run_path is not None:
            shown = os.path.relpath(self._folder.run_path)
            shown = self._folder.run_path if shown.startswith("..") else shown
            print_message(f"the recording is kept in {shown}: `triton-doctor report --open` shows it as a page")

    def _leave(self, status: int, *, found: bool, unchecked: Sequence[str]) -> int:
        options = self._options
        limited = options.max_compiles is not None or options.max_compiles_after_warmup is not None or self._budgets
        if status or found:
            return status or FOUND
        if unchecked and limited:
            print_message(f"the limit on compiles could not be checked: {unchecked[0]}")
            return UNCHECKED
        return status

    def _open_board(self) -> Board:
        if self._board is None:
            from triton_doctor.runtime.launch.run_display import Board

            self._board = Board(self._folder, print_line=print_message if self._options.live else None)
        return self._board

    def _tree_of(self, pid: int) -> ProcessTree:
        if self._tree is None:
            self._tree = ProcessTree(pid, self._notes.path)
        return self._tree

    def _write_program(self, status: int, pid: int, wall_ns: int, unseen: Sequence[str]) -> str | None:
        from pathlib import Path

        from triton_doctor.runtime.launch.program_recording import make_program_header, write_program
        from triton_doctor.runtime.program_event import ProgramEvent

        header = make_program_header(
            command=self._command,
            target=self._options.target,
            is_dry=self._options.dry is not None,
            started_at_ns=self._started_at_ns,
        )
        program = ProgramEvent(
            wall_us=wall_ns // 1000,
            status=status,
            at_ns=self._started_at_ns + wall_ns,
            pid=pid,
            gpus=() if self._gauge is None else self._gauge.summary(),
        )
        path = Path(self._folder.path, f"{self._folder.run}.program.jsonl")
        return write_program(
            path, header, program, warm_at_ns=self._warm_at_ns, unseen=unseen, files=self._describe_files()
        )

    def _describe_files(self) -> list[str]:
        """Return lines on what a dry run did to files, or would have done."""
        if self._overlay is None:
            return []
        from triton_doctor.runtime.dry.file_overlay import describe_files
        from triton_doctor.runtime.live.live_folder import live_folder

        return list(describe_files(self._overlay, (self._folder.path, self._notes.path, live_folder())))

    def _report(self) -> tuple[bool, list[str]]:
        """Write the report. Returns whether a limit is exceeded, and reasons why compiles may be missing."""
        from pathlib import Path

        from triton_doctor.report.recording.choice import sort_kernels
        from triton_doctor.report.recording.text import render_text
        from triton_doctor.runtime.account import account
        from triton_doctor.runtime.launch.exceeded_limits import find_unchecked
        from triton_doctor.runtime.recording_files import read_recordings

        reading = read_recordings(self._folder.recordings())
        errors = [error.message for error in reading.errors]
        for message in errors:
            print_message(message)
        processes = reading.processes
        if not processes:
            return False, errors
        if not self._reports:
            return False, [*errors, *find_unchecked(processes)]
        excess = self._excess(processes)
        whole = sort_kernels(account(processes))
        text = render_text(
            whole,
            cwd=Path(working_folder()),
            color=use_color(on_terminal=sys.stderr.isatty()),
            excess=excess,
            width=width_of_report(sys.stderr),
        )
        encoding = sys.stderr.encoding or "utf-8"
        sys.stderr.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stderr.flush()
        if self._options.report:
            errors += write_form(whole, processes, Path(self._options.report))
        return bool(excess), [*errors, *find_unchecked(processes)]

    def _excess(self, processes: Sequence[Recording]) -> list[str]:
        from triton_doctor.runtime.launch.exceeded_limits import describe_excess

        options = self._options
        excess = describe_excess(
            processes,
            budgets=self._budgets,
            at_most=options.max_compiles,
            warm_at_ns=self._warm_at_ns,
            at_most_warm=options.max_compiles_after_warmup,
        )
        most = [limit for limit in (options.max_compiles, *(count for _, count in self._budgets)) if limit is not None]
        trials = sum(event.tuning for process in processes for event in process.compiles)
        if most and trials > min(most):
            print_message(f"{trials:,} compiles of rounds of tuning do not count toward the limit")
        return list(excess)


def write_form(account: Account, processes: Sequence[Recording], path: Path) -> list[str]:
    """Write the report to `path`, in the form of its suffix. Returns why that failed."""
    from pathlib import Path

    from triton_doctor.report import choose_form
    from triton_doctor.report.recording import RunForm, render_account

    form = choose_form(RunForm, None, path)
    text = render_account(account, form, recordings=processes, cwd=Path(working_folder()), color=False)
    try:
        path.write_text(text.lstrip("\n"), encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        print_message(message := f"{path} cannot be written: {reason_of(error)}")
        return [message]
    return []


def prepare() -> None:
    """Import what the report needs while the program runs, rather than after it."""
    import triton_doctor.report.recording.choice
    import triton_doctor.report.recording.text
    import triton_doctor.runtime.launch.exceeded_limits
    import triton_doctor.runtime.launch.program_recording
    import triton_doctor.runtime.recording_files  # noqa: F401


def read_project() -> tuple[tuple[tuple[str, int], ...], bool]:
    """Return the budgets of the settings that hold here, and whether to keep the recording.

    Most projects have no settings, and need not wait for a reader of toml.
    """
    folder = working_folder()
    while not file_holds(os.path.join(folder, "pyproject.toml"), b"triton-doctor"):
        if folder == os.path.dirname(folder):
            return (), True
        folder = os.path.dirname(folder)
    from pathlib import Path

    from triton_doctor.settings import load_settings

    settings = load_settings(Path.cwd())
    return settings.budgets, settings.keep


def has_gpu() -> bool:
    """Return whether the kernel of this machine offers a GPU: NVIDIA's, AMD's, or that of a Windows around it."""
    try:
        names = os.listdir("/dev")
    except OSError:
        return False
    return any(name in ("kfd", "dxg") or (name.startswith("nvidia") and name[6:].isdecimal()) for name in names)


def print_message(message: str, *, hint: str | None = None) -> None:
    """Print a message to stderr, and a hint on what to do about it."""
    for line in (f"triton-doctor: {message}", f"hint: {hint}" if hint else None):
        if line is not None:
            sys.stderr.write(f"{escape_line(line)}\n")
    sys.stderr.flush()
