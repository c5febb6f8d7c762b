"""The representation of environment settings: plain values, from Python and from every other kind of file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from triton_doctor.finding import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleeting:
    """Why a folder does not outlive a process, job or container.

    `certain` unless something outside the file may keep it.
    """

    why: str
    certain: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOrder:
    """What had run in this process when the setting took effect, as far as its own file shows.

    `triton_imported` and `kernel_decorated` are lines of that file; `kernel` is that kernel's name. `kernels_after` are
    the kernels decorated later in the file, `helper` a jitted function of triton.language that one of them calls.
    """

    triton_imported: int | None = None
    kernel_decorated: int | None = None
    kernel: str | None = None
    kernels_after: tuple[str, ...] = ()
    helper: str | None = None


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
    order: RunOrder = RunOrder()
    is_brief: bool = False
    is_explained: bool = False


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
    mode is intended; `names_gpu` if it puts tensors on a GPU unconditionally. `runs_programs` if it runs a program
    named by its user, in the mode that it sets; `reads_dumps` if it searches the output of a compile.
    """

    path: str
    kind: str
    settings: tuple[EnvSetting, ...]
    timings: tuple[Timing, ...] = ()
    for_tests: bool = False
    cpu_only: bool = False
    names_gpu: bool = False
    runs_programs: bool = False
    reads_dumps: bool = False
