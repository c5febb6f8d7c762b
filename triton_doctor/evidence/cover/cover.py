"""The source of a program and its recorded variants to what they lack: kernels, keys, and tuning that is not kept."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from triton_doctor.evidence.cover import NOT_LAUNCHED, NOT_PROVED, NOT_TUNED, Cover, Gap, KernelSpace, ParameterSpace
from triton_doctor.evidence.cover.formulas import read_spaces
from triton_doctor.evidence.cover.keys import find_missing
from triton_doctor.evidence.cover.set_values import SetValues
from triton_doctor.evidence.kernel_matching import find_owners, is_program
from triton_doctor.evidence.weighing import script_of
from triton_doctor.runtime.event import HOOKED, NOT_KEPT
from triton_doctor.runtime.sweep_event import SweepEvent
from triton_doctor.static.project.analysis.unresolved import explain_unresolved
from triton_doctor.static.project.calls.entry_reach import find_reached
from triton_doctor.static.project.launches.launches import launches_of
from triton_doctor.static.python.ir import (
    Attr,
    Call,
    Const,
    IterItem,
    Name,
    Slice,
    Subscript,
    TupleExpr,
    every_part,
    final_name,
)
from triton_doctor.static.python.module import Kernel
from triton_doctor.static.python.printing import spell
from triton_doctor.static.rules.registry import run_checks
from triton_doctor.static.variability.queries.kernel_hints import interpreter_of, thorough_interpreter_of
from triton_doctor.static.variability.values.values import ProgramPoint, SymbolicValue, Tensor, Union

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from triton_doctor.evidence.cover.formulas import LaunchSpace
    from triton_doctor.runtime.event import CompileEvent, KernelName
    from triton_doctor.runtime.prewarm.kernel_variants import KernelVariant
    from triton_doctor.runtime.recording import Recording
    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.function import Binding, CallSite, Function, Returned
    from triton_doctor.static.python.ir import Expr

# Their own kernels are no program's, and torch.compile's are not prewarmed.
FRAMEWORKS = frozenset({"torch", "triton", "triton_doctor", "torchvision", "torchaudio"})
MISALIGNED = "TRD209"
VIEWS = frozenset({"narrow", "chunk", "split", "tensor_split", "unbind", "select", "as_strided", "hsplit", "vsplit"})
# What is sliced and holds no elements.
NO_TENSORS = frozenset({"argv", "args", "shape", "stride", "parts", "words", "os", "str"})
REMEDIES = {
    HOOKED: "a `pre_hook` of a config keeps the timings from being kept",
    NOT_KEPT: "pass `cache_results=True`, or set TRITON_CACHE_AUTOTUNING=1 where the program starts",
}


def base_of_view(expr: Expr) -> Expr | None:
    """Return the tensor of which `expr` is a part that need not begin where it does, nor 16 elements on."""
    match expr:
        case Subscript(base, key):
            keys = key.items if isinstance(key, TupleExpr) else (key,)
            return None if all(_is_aligned(part.lower) for part in keys if isinstance(part, Slice)) else base
        case Call(Attr(base, name), args) if name in VIEWS:
            texts = (part for part in args if isinstance(part, Const) and isinstance(part.value, str))
            tensor = args[0] if args and base == Name("torch") else base
            return tensor if next(texts, None) is None else None
        case _:
            return None


def base_of_row(expr: Expr) -> Expr | None:
    """Return what `expr` is an item of: of a tensor, a row, which begins where the rows before it end."""
    match expr:
        case IterItem(source):
            return source
        case Subscript(base, key) if base_of_view(expr) is None:
            first = key.items[0] if isinstance(key, TupleExpr) and key.items else key
            is_index = isinstance(first, Name | IterItem) or (isinstance(first, Const) and type(first.value) is int)
            return base if is_index and not _is_aligned(first) else None
        case _:
            return None


def _is_aligned(start: Expr | None) -> bool:
    return start is None or (isinstance(start, Const) and type(start.value) is int and start.value % 16 == 0)


class CoverSearch:
    """Compares one project with recordings. `unresolved` are the launches whose kernel was not found.

    Paths are relative to `base`, and shown by `show`; commands were run in `cwd`.
    """

    def __init__(
        self,
        project: Project,
        unresolved: Sequence[LinkedLaunch],
        recordings: Sequence[Recording],
        variants: Sequence[KernelVariant],
        *,
        base: Path,
        cwd: Path,
        show: Callable[[str], str],
    ) -> None:
        self._project, self._unresolved, self._base, self._cwd, self._show = project, unresolved, base, cwd, show
        self._recordings, self._variants = recordings, variants
        # A sweep shows which kernel a launch starts, and which parts of its key move, where no launch is read.
        sweeps = [swept for swept in recordings if any(isinstance(event, SweepEvent) for event in swept.events)]
        self._swept = [event for sweep in sweeps for event in sweep.compiles if event.launch_site is not None]
        self._moved = [event for sweep in sweeps for event in sweep.events if isinstance(event, SweepEvent)]
        self._owners = self._find_owners()
        self._entries = tuple(sorted(set(self._find_entries())))
        self._reached = tuple(find_reached(project, entry, FRAMEWORKS) for entry in self._entries)
        self._set_values = SetValues(project, self._reached_functions())

    def find(self) -> Cover:
        """Return what the recordings lack."""
        spaces: list[KernelSpace] = []
        gaps: list[Gap] = [*self._unproved()]
        unaligned = self._find_unaligned()
        for kernel in self._project.kernels():
            launches = [launch for launch in launches_of(self._project).get(kernel.key, ()) if self._counts(launch)]
            names = self._owners.get(kernel.key, ())
            recorded = [variant for variant in self._variants if variant.kernel in names]
            if not recorded:
                gaps += [self._gap(NOT_LAUNCHED, launch, kernel=kernel.name) for launch in launches[:1]]
                continue
            gaps += self._unread(kernel, names, launches)
            read = self._read(kernel, launches, names)
            rows: dict[ParameterSpace, None] = {}
            missing: list[KernelVariant] = []
            for target in dict.fromkeys(variant.key.target for variant in recorded):
                own = [variant for variant in recorded if variant.key.target == target]
                found = find_missing(read, own, unaligned.get((kernel.path, kernel.line), ()))
                missing += found.missing
                rows |= dict.fromkeys(found.rows)
                gaps += [*found.gaps, *self._untuned(kernel, names, found.tuning_keys, launches)]
            spaces.append(
                KernelSpace(kernel=min(names), parameters=tuple(rows), recorded=len(recorded), missing=tuple(missing))
            )
        return Cover(
            spaces=tuple(spaces), gaps=tuple(dict.fromkeys(gaps)), entries=tuple(map(self._show, self._entries))
        )

    def _read(
        self, kernel: Kernel, launches: Sequence[LinkedLaunch], names: Sequence[KernelName]
    ) -> Sequence[LaunchSpace]:
        """Return the spaces of `launches`, with the values that the recording of another launch does not show."""
        spaces = read_spaces(self._project, kernel, launches, self._is_reached, self._set_values)
        events = [event for recording in self._recordings for event in recording.compiles if event.kernel in names]
        is_seen = [bool(self._made_at(launch, events)) for launch in launches]
        # A launch that made no compile may have found another's: then what lasts is the same at both.
        seen = frozenset[str]().union(*(space.lasting() for space, made in zip(spaces, is_seen, strict=True) if made))
        return [
            space._replace(
                path=self._show(space.path), unseen=space.lasting() - seen if any(is_seen) and not made else frozenset()
            )
            for space, made in zip(spaces, is_seen, strict=True)
        ]

    def _gap(self, kind: str, place: LinkedLaunch | Kernel, *, kernel: str = "", reason: str = "") -> Gap:
        if isinstance(place, Kernel):
            path, line = place.path, place.line
        else:
            path, line = place.module.path, place.launch.span.line
        return Gap(kind=kind, path=self._show(path), line=line, kernel=kernel, reason=reason)

    def outside(self) -> Mapping[str, str]:
        """Return the packages that the program imports and that were not read, each with a file that imports it."""
        return {name: self._show(path) for reached in self._reached for name, path in reached.outside}

    def _find_owners(self) -> Mapping[tuple[str, str, int], Sequence[KernelName]]:
        parameters = {variant.kernel: frozenset(dict(variant.key.signature)) for variant in self._variants}
        found: defaultdict[tuple[str, str, int], list[KernelName]] = defaultdict(list)
        for name, owners in find_owners(self._project, parameters, self._base).items():
            if len(owners) == 1:
                found[owners[0].key].append(name)
        return found

    def _find_entries(self) -> Iterator[str]:
        """Yield the scripts and modules that the recorded commands ran, as far as they were read."""
        paths = {path: (self._base / path).as_posix() for path in self._project.modules}
        for words in (header.command for recording in self._recordings for header in recording.headers):
            at = words.index("-m") if "-m" in words[:-1] else -1
            if at > 0:
                stem = f"/{words[at + 1].replace('.', '/')}"
                wanted = (f"{stem}.py", f"{stem}/__main__.py")
                yield from (path for path, whole in paths.items() if whole.endswith(wanted))
            elif script := script_of(words):
                found = [path for path, whole in paths.items() if is_program(whole, script)]
                exact = (self._cwd / script).as_posix()
                yield from [path for path in found if paths[path] == exact] or found

    def _is_reached(self, function: Function) -> bool:
        """Return whether the program can come to `function`; where its script is not known, to any."""
        place = (function.path, function.qualname)
        return not self._reached or any(place in reached.functions for reached in self._reached)

    def _reached_functions(self) -> Iterator[Function]:
        """Yield the functions that the program comes to; those that launch where its script is not known."""
        places = sorted({place for reached in self._reached for place in reached.functions})
        yield from (self._project.modules[path].functions[name] for path, name in places)
        if not places:
            yield from dict.fromkeys(launch.function for launch in self._project.launches)

    def _counts(self, launch: LinkedLaunch) -> bool:
        """Return whether the program can come to `launch`."""
        if self._reached:
            return self._is_reached(launch.function)
        graph = interpreter_of(self._project).call_graph
        return not graph.is_no_program(launch.module, launch.function, launch.launch.arms)

    def _unread(self, kernel: Kernel, names: Sequence[KernelName], launches: Sequence[LinkedLaunch]) -> Iterator[Gap]:
        """Yield what is not proved of a kernel that no launch, or not each launch, is read of."""
        here = {event.kernel for launch in self._unresolved for event in self._made_at(launch, self._swept)}
        if launches and here.isdisjoint(names):
            return
        reason = "no launch of it is read: code that is not followed launches it"
        if not any(event.kernel in names for event in self._swept):
            yield self._gap(NOT_PROVED, kernel, kernel=kernel.name, reason=reason)
        swept = {(name.name, name.module) for name in names}
        for part in self._moved:
            if (part.function, part.module) in swept and not part.per_model:
                moved = f"a launch of it is not read, and in a sweep `{part.name}` had {part.describe()}"
                yield self._gap(NOT_PROVED, kernel, kernel=kernel.name, reason=moved)

    def _made_at(self, launch: LinkedLaunch, events: Iterable[CompileEvent]) -> list[CompileEvent]:
        """Return those of `events` that `launch` made."""
        lines = range(launch.launch.span.line, launch.launch.span.end_line + 1)
        whole = (self._base / launch.module.path).as_posix()
        sites = ((event, event.launch_site) for event in events)
        return [
            event for event, site in sites if site is not None and site.line in lines and is_program(whole, site.path)
        ]

    def _unproved(self) -> Iterator[Gap]:
        for launch in (
            launch for launch in self._unresolved if self._counts(launch) and not self._made_at(launch, self._swept)
        ):
            reason = f"the kernel of a launch is not found: {explain_unresolved(launch, self._project.names)}"
            yield self._gap(NOT_PROVED, launch, reason=reason)
        if not all(map(self._counts, self._project.launches)):
            for path, line, how in (place for reached in self._reached for place in reached.computed):
                reason = f"{how} may lead to launches that are not listed"
                yield Gap(kind=NOT_PROVED, path=self._show(path), line=line, reason=reason)
        yield from dict.fromkeys(self._views())
        owned = {name for names in self._owners.values() for name in names}
        for name in dict.fromkeys(variant.kernel for variant in self._variants if variant.kernel not in owned):
            reason = "its source is not among the files that were read: `--src` names more"
            yield Gap(kind=NOT_PROVED, path=name.path, line=name.line, kernel=name.name, reason=reason)
        if not self._entries:
            reason = "the script of the recorded command is not among the files that were read: all launches count"
            yield Gap(kind=NOT_PROVED, path="", line=0, reason=reason)

    def _views(self) -> Iterator[Gap]:
        """Yield the tensors that begin at any element of another, which kernels may be passed: aligned, or not."""
        interpreter = thorough_interpreter_of(self._project)
        for function in self._reached_functions() if self._reached else ():
            path, module = function.path, self._project.names.home(function)
            frame = interpreter.frame(module, function)
            written: list[tuple[Expr, Binding | Returned | CallSite]] = [
                (binding.value, binding) for found in function.bindings.values() for binding in found
            ]
            written += [(returned.value, returned) for returned in function.returns]
            written += [(call.call, call) for call in function.calls]
            for expr, at in written:
                for part in every_part(expr):
                    view, row = base_of_view(part), base_of_row(part)
                    base = view or row
                    if base is None or final_name(base) in NO_TENSORS:
                        continue
                    value = interpreter.value(base, ProgramPoint(frame, at.order, at.arms, line=at.line))
                    if isinstance(value, Tensor | SymbolicValue | Union if view is not None else Tensor):
                        reason = f"`{spell(part)}` may be unaligned: a kernel that is passed it needs a variant more"
                        yield Gap(kind=NOT_PROVED, path=self._show(path), line=at.line, reason=reason, code=MISALIGNED)

    def _find_unaligned(self) -> Mapping[tuple[str, int], set[str]]:
        """Return, by path and line of a kernel, the parameters that may begin at any element of a tensor."""
        found: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
        for finding in run_checks(self._project, frozenset({MISALIGNED}), "the cover"):
            place, name = finding.facts.kernel_location, finding.facts.parameter
            if place is not None and name is not None:
                found[place.path, place.line].add(name)
        return found

    def _untuned(
        self,
        kernel: Kernel,
        names: Sequence[KernelName],
        tuning_keys: Iterable[tuple[tuple[str, object], ...]],
        launches: Sequence[LinkedLaunch],
    ) -> Iterator[Gap]:
        """Yield the rounds of tuning that were not made, and whether their results are lost."""
        every = (event for recording in self._recordings for event in recording.tunings)
        events = [event for event in every if event.kernel in names]
        seen = [{(name, repr(value)) for name, value in event.key} for event in events]
        for wanted in sorted(tuning_keys, key=repr):
            if not any({(name, repr(value)) for name, value in wanted} <= key for key in seen):
                text = ", ".join(f"{name} {value!r}" for name, value in wanted)
                yield self._gap(NOT_TUNED, launches[0], kernel=kernel.name, reason=f"not tuned for {text}")
        for kept in sorted({event.kept for event in events if event.is_lost}):
            reason = f"each start tunes it again: {REMEDIES[kept]}"
            yield self._gap(NOT_TUNED, kernel, kernel=kernel.name, reason=reason)
