"""Python files to EnvironmentFile: every variable that a file sets, and every place where it measures time."""

from __future__ import annotations

import ast
import re
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from triton_doctor.static.environment.python_code.program import Program
from triton_doctor.static.environment.setting import EnvironmentFile, EnvSetting, Timing, mark_explained
from triton_doctor.static.python.clocks import BENCHMARKS, CPU_CLOCKS, GPU_EVENTS, WALL_CLOCKS
from triton_doctor.static.python.parse import read_with_tree
from triton_doctor.static.python.pieces import parse
from triton_doctor.static.sources.notebooks import SUFFIX
from triton_doctor.static.sources.source_text import SourceText
from triton_doctor.variables import INTERPRET, variables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.python.module import Module

_ON_GPU = re.compile(rb"([\"']cuda(?::\d+)?[\"']|\.cuda\()")
_ASKS_FOR_GPU = re.compile(rb"(cuda\.is_available|device_count|is_interpreted)")
_RUNS_PROGRAMS = re.compile(rb"\b(runpy\.run_(?:path|module)|from runpy import)\b")
# A search for the files that a compile leaves: `folder.rglob("*.ttir")`.
_READS_DUMPS = re.compile(
    rb"(?m)^[^#\n]*(\b(?:[ir]?glob|fnmatch|filter|endswith)\([^\n]*[\"'][^\"'\n]*\.(?:tt|ttg|ll)ir[\"'])"
)
_MEANS = (b"env", b"ENV", b"subprocess", b"system", b"popen")
_MEASURES = WALL_CLOCKS | CPU_CLOCKS | BENCHMARKS
# The beginnings of Triton's variable names, including common misspellings; `looks_like_triton` requires an N later.
_HEADS = ("TRIT", r"TRT\w{0,4}N", r"TIRT\w{0,3}N")
# A name begins a word. Only an escape, as in "\\nX=1", or an option, as in `-eX=1`, may precede it directly.
_BEGINNING = r"{0}(?:(?<![A-Za-z0-9_]{0})|(?<=\\[a-z]{0})|(?<=-e{0}))(?:{1})"


@cache
def _names() -> tuple[re.Pattern[bytes], ...]:
    """Return patterns for the beginning of each variable of interest: one a first letter, which `re` finds fastest."""
    explained = (variable for variable in variables().values() if variable.harm or variable.instead)
    heads = sorted({*_HEADS, *(variable.name for variable in explained if not variable.name.startswith("TRITON_"))})
    return tuple(
        re.compile(_BEGINNING.format(letter, "|".join(head[1:] for head in same)).encode())
        for letter, same in groupby(heads, key=itemgetter(0))
    )


def _is_named(data: bytes) -> bool:
    return any(name.search(data) for name in _names()) or b"triton_interpret" in data


def may_set(data: bytes) -> bool:
    """Return whether a file that holds `data` may set a variable of interest. False positives only."""
    return _is_named(data) or b"knobs" in data


def python_may_set(data: bytes) -> bool:
    """Return the same for a Python file, which may also set variables through `triton.knobs`."""
    return (b"triton" in data and may_set_knobs(data)) or may_set_by_name(data)


def may_set_knobs(data: bytes) -> bool:
    """Return whether a Python file that names Triton may set one of its knobs."""
    return b"knobs" in data


def may_set_by_name(data: bytes) -> bool:
    """Return whether a Python file names a variable and a way to set one: `environ`, `env=`, `setenv`, shell."""
    return any(word in data for word in _MEANS) and _is_named(data)


def read_module_that_sets(path: str, source: bytes) -> tuple[Module, EnvironmentFile]:
    """Return the module at `path` and its settings. Raises as `read_module` does."""
    module, tree = read_with_tree(path, source)
    return module, _read_environment(path, Program(tree, SourceText(source)))


def read_setter(path: str, source: bytes) -> EnvironmentFile:
    """Return only the settings of the module at `path`. Raises as `read_module` does."""
    return _read_environment(path, Program(parse(source), SourceText(source)))


def _read_environment(path: str, program: Program) -> EnvironmentFile:
    """Return the environment settings of the Python file at `path`, a path as findings spell it."""
    source = program.source
    settings = mark_explained(program.settings(_read_shell), source.text.decode("utf-8", "replace"))
    interprets = any(setting.variable == INTERPRET for setting in settings)
    return EnvironmentFile(
        path=path,
        kind="notebook" if path.endswith(SUFFIX) else "python",
        settings=settings,
        timings=tuple(sorted(_timings(program), key=lambda timing: timing.span)) if interprets else (),
        cpu_only=hides_gpus(settings),
        names_gpu=interprets and bool(source.found(_ON_GPU)) and not source.found(_ASKS_FOR_GPU),
        runs_programs=bool(source.found(_RUNS_PROGRAMS)),
        reads_dumps=bool(settings) and bool(source.found(_READS_DUMPS)),
    )


def _read_shell(text: str) -> tuple[EnvSetting, ...]:
    """Return what a command sets that a program runs; few programs run any, so its reader is imported here."""
    from triton_doctor.static.environment.settings_files.shell import read_shell

    return read_shell(text)


def _timings(program: Program) -> Iterator[Timing]:
    """Yield every call that reads a clock or runs a benchmark."""
    for full, call in program.calls():
        if full in _MEASURES:
            yield Timing(span=program.source.span(call), text=full)
        elif full in GPU_EVENTS and any(_is_set(keyword) for keyword in call.keywords):
            yield Timing(span=program.source.span(call), text=f"{full}(enable_timing=True)")


def _is_set(keyword: ast.keyword) -> bool:
    return keyword.arg == "enable_timing" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True


def hides_gpus(settings: tuple[EnvSetting, ...]) -> bool:
    """Return whether a file hides the GPUs from its own process, so that interpreter mode is intended."""
    return any(
        setting.variable == "CUDA_VISIBLE_DEVICES" and setting.value in {"", "-1"} and not setting.guarded
        for setting in settings
    )
