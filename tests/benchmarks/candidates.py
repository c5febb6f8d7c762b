"""Places of real code that come near a rule, for a person to read: `python -m tests.benchmarks.candidates FOLDER RULE`.

Each is printed as `path:line: what is near about it`. What was read, and must stay silent, goes into near_misses.tsv.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.settings import load_settings
from triton_doctor.static.project.analysis.parts import whole_project
from triton_doctor.static.project.database.database import Database
from triton_doctor.static.project.launches.launches import launches_of, origin_of, spelled_out
from triton_doctor.static.python.ir import Attr, BinaryOp, Call, Const, Name, Slice, Subscript, TupleExpr
from triton_doctor.static.python.printing import spell
from triton_doctor.static.sources.files import find_files
from triton_doctor.static.variability.queries.configs import config_count
from triton_doctor.static.variability.queries.kernel_hints import interpreter_of
from triton_doctor.static.variability.queries.parameter_uses import LAUNCH_OPTIONS
from triton_doctor.static.variability.queries.queries import find_literals
from triton_doctor.static.variability.values.lattice import Variability

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.python.module import Kernel

_CLOCK = re.compile(r"\b(?:perf_counter|monotonic|time\.time|default_timer)\(")
_BATCH = re.compile(r"per_device_(?:train|eval)_batch_size\s*=|^\s*(?:x|batch|input_ids|tokens)\s*=\s*torch\.rand")


class Near(NamedTuple):
    """A place, and what is near about it."""

    path: str
    line: int
    what: str


def launched(project: Project) -> Iterator[tuple[Kernel, LinkedLaunch]]:
    """Every kernel with each of its launches."""
    for kernel in project.kernels():
        for launch in launches_of(project).get(kernel.key, ()):
            yield kernel, launch


def lists_of_the_unspecialized(project: Project) -> Iterator[Near]:
    """TRD204: a list of parameters not to specialize on."""
    for kernel in project.kernels():
        names = (*kernel.do_not_specialize, *kernel.do_not_align)
        if names and kernel.jit_span is not None:
            yield Near(kernel.path, kernel.jit_span.line, f"{kernel.name}: {', '.join(names)}")


def kernels_made_inside(project: Project) -> Iterator[Near]:
    """TRD205: a kernel inside a function."""
    for kernel in project.kernels():
        if kernel.made_in is not None:
            yield Near(kernel.path, kernel.line, f"{kernel.name} in {kernel.made_in}")


def counts(project: Project) -> Iterator[Near]:
    """TRD208: a plain argument that changes with each call, alone, or not to be specialized on."""
    interpreter = interpreter_of(project)
    for kernel, launch in launched(project):
        for param in kernel.params:
            argument = spelled_out(launch, kernel).get(param.name)
            if argument is None or isinstance(argument.value, Const):
                continue
            number = interpreter.number(argument.value, interpreter.at(launch))
            if number.decide() is Variability.PER_CALL:
                how = "constexpr" if param.is_constexpr else "not specialized"
                if param.is_constexpr or param.name in kernel.do_not_specialize or not param.is_constexpr:
                    how = how if param.is_constexpr or param.name in kernel.do_not_specialize else "alone"
                    yield Near(launch.module.path, argument.span.line, f"{param.name} of {kernel.name}: {how}")


def views(project: Project) -> Iterator[Near]:
    """TRD209: a tensor argument that is part of another."""
    for kernel, launch in launched(project):
        for name, argument in spelled_out(launch, kernel).items():
            origin = origin_of(launch, argument.value)
            if is_part(origin):
                yield Near(launch.module.path, argument.span.line, f"{name} of {kernel.name}: {spell(origin)}")


def is_part(expr: Expr) -> bool:
    """`x[a:]`, `x[:, a:]`, `x.narrow(...)`."""
    match expr:
        case Subscript(_, Slice()) | Call(Attr(_, "narrow" | "chunk" | "split"), _, _):
            return True
        case Subscript(_, TupleExpr(items)):
            return any(isinstance(item, Slice) for item in items)
        case _:
            return False


def globals_in_kernels(project: Project) -> Iterator[Near]:
    """TRD210: a global that a kernel reads and that its file sets."""
    for kernel in project.kernels():
        top = project.modules[kernel.path].functions.get("<module>")
        for name in sorted(kernel.uses.outer):
            if top is not None and name in top.bindings:
                value = spell(top.bindings[name][-1].value)
                yield Near(kernel.path, kernel.line, f"{kernel.name} reads {name} = {value}")


def options_among_parameters(project: Project) -> Iterator[Near]:
    """TRD211: a parameter with the name of a launch option."""
    for kernel, launch in launched(project):
        for param in kernel.params:
            argument = spelled_out(launch, kernel).get(param.name)
            if param.name in LAUNCH_OPTIONS:
                how = "not given" if argument is None else "by name" if argument.name else "by position"
                span = argument.span if argument is not None else launch.launch.span
                yield Near(launch.module.path, span.line, f"{param.name} of {kernel.name}: {how}")


def many_configs(project: Project) -> Iterator[Near]:
    """TRD302: a kernel with a good many configs."""
    for kernel in project.kernels():
        count = config_count(project, kernel)
        if kernel.autotune is not None and count is not None and count >= 8:
            how = "pruned" if kernel.autotune.prunes else "kept" if kernel.autotune.keeps else "all"
            yield Near(kernel.path, kernel.autotune.span.line, f"{kernel.name}: {count} configs, {how}")


def keys(project: Project) -> Iterator[Near]:
    """TRD303: an autotune key, of whatever tuner."""
    for kernel in project.kernels():
        if kernel.autotune is not None:
            key = ", ".join(kernel.autotune.key)
            yield Near(kernel.path, kernel.autotune.span.line, f"{kernel.name}: {kernel.autotune.by} by {key}")


def aranges(project: Project) -> Iterator[Near]:
    """TRD502: a range whose end is written out, or is a parameter that gets a literal."""
    for kernel in project.kernels():
        for arange in kernel.uses.aranges:
            match arange.end:
                case Const() | BinaryOp():
                    yield Near(kernel.path, arange.span.line, f"{kernel.name}: {spell(arange.end)}")
                case Name(name):
                    for launch in launches_of(project).get(kernel.key, ()):
                        argument = spelled_out(launch, kernel).get(name)
                        values = find_literals(project, launch, argument.value) if argument is not None else ()
                        if argument is not None and values:
                            what = f"{kernel.name}: {name} is {values[0].value}"
                            yield Near(launch.module.path, argument.span.line, what)


def lines(folder: Path, pattern: re.Pattern[str]) -> Iterator[Near]:
    """TRD401, TRD402, TRD501: lines of files that say triton or torch."""
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), start=1) if "triton" in text or "Training" in text else ():
            if pattern.search(line):
                yield Near(path.relative_to(folder).as_posix(), number, line.strip())


LISTED: Mapping[str, Callable[[Project], Iterator[Near]]] = {
    "TRD204": lists_of_the_unspecialized,
    "TRD205": kernels_made_inside,
    "TRD208": counts,
    "TRD209": views,
    "TRD210": globals_in_kernels,
    "TRD211": options_among_parameters,
    "TRD302": many_configs,
    "TRD303": keys,
    "TRD502": aranges,
}
SEARCHED: Mapping[str, re.Pattern[str]] = {"TRD401": _CLOCK, "TRD402": _CLOCK, "TRD501": _BATCH}


def main() -> None:
    """Print the places of one folder for one rule."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("rule", choices=sorted([*LISTED, *SEARCHED]))
    options = parser.parse_args()
    folder = options.folder.resolve()
    if options.rule in SEARCHED:
        found = lines(folder, SEARCHED[options.rule])
    else:
        settings = load_settings(folder)
        library = Database(list(find_files([folder], settings, cwd=folder)))
        found = LISTED[options.rule](whole_project(library, settings, folder))
    for near in found:
        print(f"{near.path}:{near.line}: {near.what}")


if __name__ == "__main__":
    main()
