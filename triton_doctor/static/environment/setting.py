"""The representation of environment settings: plain values for every kind of file, names of interest, comments."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from triton_doctor.variables import looks_like_triton, variables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.finding import Span
    from triton_doctor.static.python.module import Import

_COMMENT = re.compile(r"\s*(?:#|//|::|[Rr][Ee][Mm]\s)(?P<text>.*)")
_BESIDE = re.compile(r"(?:^|\s)(?:#|//)\s(?P<text>.*)")
# Words that state a reason. "For debugging" is not one: that is what gets forgotten. Neither is "before torch is
# imported".
_REASON = re.compile(
    r"work-?\s?around|https?://|\b(?:hangs?|dead-?lock\w*|race|crash\w*|seg-?faults?|avoids?|prevents?|required|requires"
    r"|necessary|otherwise|because|known (?:bug|issue)|deterministic)\b",
    re.IGNORECASE,
)
# Variables that name a job: a folder named after one is new in each job.
JOB_IDS = frozenset(
    "SLURM_JOB_ID SLURM_JOBID PBS_JOBID LSB_JOBID JOB_ID GITHUB_RUN_ID CI_JOB_ID CI_PIPELINE_ID BUILDKITE_JOB_ID "
    "BUILD_ID github.run_id github.run_number".split()
)
# Folders private to a container, unless something is mounted there.
SCRATCH = re.compile(r"/(?:tmp|var/tmp|dev/shm|run)(?:/|$)")
_TO_DEBUG = re.compile(r"\b(?:to debug|debugging|debug only)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleeting:
    """Why a folder does not outlive a process, job or container, or is shared by ranks over the network.

    `certain` unless something outside the file may keep it.
    """

    why: str
    certain: bool = True


# An empty folder by the default of another variable, as in `${KERNELS:-}`.
MAYBE_EMPTY = Fleeting(why="empty by default", certain=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOrder:
    """What had run in this process when the setting took effect, as far as its own file shows.

    `triton_imported` and `kernel_decorated` are lines of that file; `kernel` is that kernel's name. `kernels_after` are
    the kernels decorated later in the file, `helper` a jitted function of triton.language that one of them calls.
    `modules` are what the file had imported at module level, each with its line.
    """

    triton_imported: int | None = None
    kernel_decorated: int | None = None
    kernel: str | None = None
    kernels_after: tuple[str, ...] = ()
    helper: str | None = None
    modules: tuple[tuple[int, Import], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvSetting:
    """One environment variable that is given a value.

    `value` is None if the file does not state it. `how` is the form, as users know it: `os.environ`, `ENV`, `export`.
    `guarded` if a debug flag, an argument, another variable or a missing GPU decides whether it happens. `own_process`
    is false if only a child process sees it. `function` is None at module level. `build_only` if it lasts only while an
    image is built. `is_brief` if it is undone at the end of a block or test, or applies to one command only.
    `is_explained` if a comment gives the reason for it.
    """

    variable: str
    value: str | None
    span: Span
    how: str
    guarded: bool = False
    own_process: bool = True
    build_only: bool = False
    function: str | None = None
    fleeting: Fleeting | None = None
    shared: Fleeting | None = None
    order: RunOrder = RunOrder()
    is_brief: bool = False
    is_explained: bool = False


# What the project itself requires, in one of its own files.
PROJECT = "."


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingCompiler:
    """A Dockerfile whose image installs `package` at `span`, on a `base` without a C compiler, and adds none.

    `package` is empty if it installs what the file `requirements` lists, relative to its own folder, or PROJECT.
    `headers` is the package with Python's headers, if they are missing too. `is_for_kernels` if more than torch is
    installed or the base is for GPUs; `has_kernels` if compiled kernels are copied into the image.
    """

    package: str
    requirements: str
    base: str
    span: Span
    headers: str | None
    by_dnf: bool
    is_for_kernels: bool
    has_kernels: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """A place where time is measured; `text` is the call as written."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentFile:
    """The environment settings of one file, in order of lines.

    `kind` is "python", "notebook", "dockerfile", "compose", "yaml", "shell", "dotenv", "tox", "make" and so on.
    `for_tests` if it only configures a test runner. `cpu_only` if it states that no GPU is used, so that interpreter
    mode is intended; `names_gpu` if it puts tensors on a GPU unconditionally. `names_blackwell` if a settings
    file names an architecture of capability 10 or newer. `runs_programs` if it runs a program named by its user, in the
    mode that it sets; `reads_dumps` if it searches the output of a compile; `builds_cpp` if it names the toolchain of a
    C++ build, and nothing of Python. `missing_compiler` is what the image of a Dockerfile lacks.
    """

    path: str
    kind: str
    settings: tuple[EnvSetting, ...]
    timings: tuple[Timing, ...] = ()
    for_tests: bool = False
    cpu_only: bool = False
    names_gpu: bool = False
    names_blackwell: bool = False
    runs_programs: bool = False
    reads_dumps: bool = False
    builds_cpp: bool = False
    missing_compiler: MissingCompiler | None = None


def is_watched(name: str) -> bool:
    """Return whether a setting of `name` is of interest."""
    return name in variables() or name == "CUDA_VISIBLE_DEVICES" or looks_like_triton(name)


def fleeting_folder(name: str) -> Fleeting | None:
    """Return why a folder named by a shell variable or command substitution does not outlive the process or job."""
    if name in {"$", "BASHPID"}:
        return Fleeting(why="named after the process id, so it is a new one in each process")
    if name == "RANDOM":
        return Fleeting(why="named by a random number, so it is a new one in each run")
    if name.split(" ")[0] in {"mktemp", "tempfile"}:
        return Fleeting(why="a new temporary folder in each run")
    if name.split(" ")[0] in {"date", "uuidgen"}:
        return Fleeting(why=f"named by `{name.split(' ')[0]}`, so it is a new one in each run")
    if name in {"runner.temp", "RUNNER_TEMP"}:
        return Fleeting(why="in a folder that GitHub's runner empties after each job")
    if name in JOB_IDS or name.replace(" ", "") in JOB_IDS:
        return Fleeting(why=f"named after {name}, so it is a new one in each job", certain=False)
    return None


def mark_explained(settings: Sequence[EnvSetting], text: str) -> tuple[EnvSetting, ...]:
    """Return `settings`, with `is_explained` set where a comment of `text` beside or right above gives a reason."""
    if not settings:
        return ()
    lines = text.split("\n")
    return tuple(
        replace(setting, is_explained=True)
        if _gives_reason(" ".join(_comments_at(lines, setting.span.line)))
        else setting
        for setting in settings
    )


def _gives_reason(comment: str) -> bool:
    return _REASON.search(comment) is not None and _TO_DEBUG.search(comment) is None


def _comments_at(lines: Sequence[str], line: int) -> Iterator[str]:
    """Yield the comments on line number `line` and on the lines right above it."""
    if 0 < line <= len(lines) and (beside := _BESIDE.search(lines[line - 1])):
        yield beside["text"]
    above = line - 1
    while 0 < above <= len(lines) and (comment := _COMMENT.fullmatch(lines[above - 1])):
        yield comment["text"]
        above -= 1
