"""The entries of a project: what a user of it may call to launch its kernels, and where to import it from.

In: the files of a workspace, which are only read. Out: modules, autograd Functions, functions, optimizers and methods
that lead to `kernel[grid](...)` through names, in the order in which to drive them; what leads there and is no entry,
with the reason; and the kernels that the project launches, by a scan of the text that knows nothing of entries.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from triton_doctor.explore.leading import LaunchGraph, Place
from triton_doctor.explore.model import EntryKind, FunctionNotes, SweepEntry
from triton_doctor.explore.notes import read_notes
from triton_doctor.scan_caches import emptying_scan_caches
from triton_doctor.static.project.analysis.parts import whole_project
from triton_doctor.static.project.calls.call_graph import CallGraph, is_test_function, name_in_module
from triton_doctor.static.project.database.database import Database
from triton_doctor.static.project.names.resolver import DefinitionKind
from triton_doctor.static.python.imports import expand_name
from triton_doctor.static.python.ir import dotted
from triton_doctor.static.python.module import is_for_a_fork

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.module import Kernel, Module
    from triton_doctor.static.sources.workspace import Workspace

_ORDER: tuple[EntryKind, ...] = ("module", "autograd", "function", "optimizer", "method")
_SUBSCRIPTED = re.compile(r"(?<![\w.])([^\W\d][\w.]*)\s*\[")
_SCRIPT = re.compile(r"(?:^|_)(?:tests?|bench|benchmarks?|profile|demo|main)(?:_|$)")
# Names that lead to a launch somewhere, and say nothing elsewhere.
_GENERAL = frozenset("__init__ __call__ apply backward forward".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchedKernel:
    """A kernel of the project that it launches somewhere, apart from tests. `line` is that of its `def`."""

    path: str
    line: int
    name: str

    @property
    def key(self) -> str:
        """Return what `SweepEntry.kernels` holds of it."""
        return f"{self.path}:{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Something that leads to a launch and is no entry, with the reason, and the kernels that it `launches` itself."""

    path: str
    line: int
    name: str
    reason: str
    launches: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The entries of a project in the folder `root`. All paths are relative to it, and so are `import_roots`.

    `copied` are the files and folders in `root` that belong to the project. `leading_names` are names of functions,
    methods, classes and kernels that lead to a launch. `seed_files` are tests, benchmarks and examples that use
    something that leads to one, best first. `notes` are of every function that an entry leads to. `is_whole` if these
    are all entries of the project, and not only those that the user named. Paths in `graph` begin with `prefix`.
    """

    root: Path
    copied: tuple[str, ...]
    import_roots: tuple[str, ...]
    entries: tuple[SweepEntry, ...]
    launched: tuple[LaunchedKernel, ...]
    leading_names: tuple[str, ...]
    seed_files: tuple[str, ...]
    left_out: tuple[LeftOut, ...]
    notes: Mapping[str, tuple[FunctionNotes, ...]] = field(repr=False)
    is_whole: bool
    graph: LaunchGraph = field(repr=False)
    prefix: str

    def relative(self, path: str) -> str:
        """Return `path` relative to `root`, if it is absolute and below it."""
        return path.removeprefix(f"{self.root.as_posix().rstrip('/')}/")

    def entered(self, entry: SweepEntry) -> Place | None:
        """Return the place in the graph of the function that a call of `entry` enters."""
        place = (self.prefix + entry.path, entry.name)
        method = {"module": "forward", "autograd": "forward", "optimizer": "step"}.get(entry.kind)
        if method is not None:
            return self.graph.method(place, method)
        return self.graph.named.get(place)

    def notes_of(self, entry: SweepEntry) -> tuple[FunctionNotes, ...]:
        """Return the notes of `entry` and of the functions and kernels that it leads to."""
        return self.notes.get(entry.key, ())


@emptying_scan_caches()
def find_entries(workspace: Workspace, *, names: Sequence[str] = ()) -> Found:
    """Return the entries in the files of `workspace` to report on; only those called one of `names`, if there are any.

    A name is that of a function, a class, or `Class.method`. What the user names is an entry wherever it is.
    """
    root, copied = _root_of(workspace)
    prefix = "" if root == workspace.base else f"{root.relative_to(workspace.base).as_posix()}/"
    database = Database(workspace.files)
    project = whole_project(database, workspace.settings, workspace.base)
    return _EntryFinder(project, workspace.report_paths, prefix, names).found(root, copied)


def _root_of(workspace: Workspace) -> tuple[Path, tuple[str, ...]]:
    """Return the folder of the project, outside of every package, and what in it belongs to the project."""
    if len(workspace.projects) == 1:
        (root,) = workspace.projects
        if not (root / "__init__.py").exists():
            return root, ("",)
    base = workspace.base
    return base, tuple(
        project.relative_to(base).as_posix() for project in workspace.projects if project.is_relative_to(base)
    )


class _EntryFinder:
    """Finds the entries of one project."""

    def __init__(self, project: Project, reported: Collection[str] | None, prefix: str, names: Sequence[str]) -> None:
        """Read a project whose paths begin with `prefix`, which they do not in the result."""
        self._project = project
        self._prefix = prefix
        self._names = frozenset(names)
        self._graph = LaunchGraph(project, reported)
        self._calls = CallGraph(project)
        self._reported = [path for path in self._graph.modules if reported is None or path in reported]
        self._left_out: dict[tuple[str, int, str], LeftOut] = {}
        self._shown = self._files_that_show()
        self._roots = ImportRoots(project, self._graph.modules)

    def found(self, root: Path, copied: tuple[str, ...]) -> Found:
        """Return everything that was found."""
        kinds = dict(self._entries())
        keys = {place: f"{self._roots.module_name(place[0])}:{self._name(place)}" for place in kinds}
        owners = {inner: place for place in kinds for inner in self._parts(place)}
        reached = {place: self._entries_used(place, owners) for place in kinds}
        callers = defaultdict[Place, list[str]](list)
        for place, used in reached.items():
            for other in used:
                callers[other].append(keys[place])
        entries = sorted(
            (
                SweepEntry(
                    path=self._own(place[0]),
                    line=self._graph.line(place),
                    module=self._roots.module_name(place[0]),
                    name=self._name(place),
                    kind=kind,
                    kernels=tuple(f"{self._own(kernel.path)}:{kernel.name}" for kernel in self._graph.kernels(place)),
                    callers=tuple(sorted(callers[place])),
                    is_private=any(_is_private(part) for part in place[1].split(".")),
                )
                for place, kind in kinds.items()
            ),
            key=lambda each: (each.is_private, _ORDER.index(each.kind), each.path, each.line),
        )
        roots = Counter(self._roots.of(place[0]) for place in kinds)
        return Found(
            root=root,
            copied=copied,
            import_roots=tuple(self._own(item) for item, _ in roots.most_common()),
            entries=tuple(entries),
            launched=tuple(self._launched()),
            leading_names=tuple(sorted({place[1].rpartition(".")[2] for place in self._graph.leading} - _GENERAL)),
            seed_files=tuple(self._seed_files()),
            left_out=tuple(self._left_out[key] for key in sorted(self._left_out)),
            notes=read_notes(self._graph, keys, self._own, self._roots.module_name),
            is_whole=not self._names
            and all(
                path in self._shown or path in self._reported or path in self._project.tests
                for path, _ in self._graph.leading
            ),
            graph=self._graph,
            prefix=self._prefix,
        )

    def _own(self, path: str) -> str:
        return path.removeprefix(self._prefix) if path != self._prefix.rstrip("/") else ""

    def _files_that_show(self) -> frozenset[str]:
        """Return the files that only test, measure or teach, unless no file with a launch is anything else."""
        project, modules = self._project, self._graph.modules
        launching = {path for path, _ in self._graph.launches if path in self._reported}
        tests = frozenset(path for path in modules if path in project.tests)
        shown = tests | {path for path in modules if path in project.demonstrations}
        return next((left for left in (shown, tests) if not launching <= left), frozenset())

    def _entries(self) -> Iterator[tuple[Place, EntryKind]]:
        """Yield the places of entries with their kinds; what is none is kept in `_left_out`."""
        for path in self._reported:
            module = self._graph.modules[path]
            for qualname in module.classes:
                yield from self._entries_of_class((path, qualname))
            for qualname, function in module.functions.items():
                place = (path, qualname)
                is_last = self._graph.named.get((path, name_in_module(function))) == place
                if is_last and function.parent == "<module>" and function.class_name is None and self._is_entry(place):
                    yield place, "function"

    def _entries_of_class(self, place: Place) -> Iterator[tuple[Place, EntryKind]]:
        qualname = place[1]
        if place not in self._graph.leading:
            return
        kind = class_kind(self._graph, place)
        calling = {"autograd": "forward", "module": "forward", "optimizer": "step"}.get(kind or "")
        leads = {name: method for name in self._method_names(place) if (method := self._leading_method(place, name))}
        if kind is not None and (calling in leads or (kind == "autograd" and "backward" in leads)):
            if "<locals>" in qualname:
                self._leave_out(place, "is made inside of a function")
            elif self._is_wanted(place) and not self._is_left_out_file(place):
                yield place, kind
            return
        if kind == "autograd":
            return
        for name, method in leads.items():
            if method[1].rpartition(".")[0] == qualname and (name == "__call__" or not name.startswith("__")):
                function = self._graph.functions[method]
                if function.parent == "<module>" and self._is_entry(method):
                    yield method, "method"

    def _method_names(self, place: Place) -> Iterator[str]:
        for path, qualname in self._graph.ancestry(place):
            for function in self._graph.modules[path].functions.values():
                if function.class_name == qualname:
                    yield function.name

    def _leading_method(self, of: Place, name: str) -> Place | None:
        method = self._graph.method(of, name)
        return method if method in self._graph.leading else None

    def _is_wanted(self, place: Place) -> bool:
        name = self._name(place)
        return not self._names or not self._names.isdisjoint({name, name.rpartition(".")[2]})

    def _name(self, place: Place) -> str:
        """Return the name by which a user calls the function or class at `place`."""
        function = self._graph.functions.get(place)
        return place[1] if function is None else name_in_module(function)

    def _is_entry(self, place: Place) -> bool:
        """Return whether the function or method at `place` is an entry."""
        if not self._is_wanted(place):
            return False
        if self._names:
            return True
        module, function = self._graph.modules[place[0]], self._graph.functions[place]
        if self._is_left_out_file(place):
            return False
        if (
            self._calls.is_test(module, function, ())
            or is_test_function(function)
            or (function.class_name is None and _SCRIPT.search(function.name))
        ):
            self._leave_out(place, "only tests, measures or is a script")
        else:
            return True
        return False

    def _is_left_out_file(self, place: Place) -> bool:
        if place[0] in self._shown and not self._names:
            self._leave_out(place, "is in a file that tests, measures or teaches")
            return True
        if is_for_a_fork(self._graph.modules[place[0]]) and not self._names:
            self._leave_out(place, "is for hardware with a Triton of its own")
            return True
        if self._roots.module_name(place[0]) == "":
            self._leave_out(place, "is in a file whose name Python cannot import")
            return True
        return False

    def _leave_out(self, place: Place, reason: str) -> None:
        path, line = self._own(place[0]), self._graph.line(place)
        launched = () if place[0] in self._shown else self._graph.launches.get(place, ())
        kernels = tuple(f"{self._own(kernel.path)}:{kernel.name}" for kernel in launched)
        self._left_out[path, line, place[1]] = LeftOut(
            path=path, line=line, name=self._name(place), reason=reason, launches=kernels
        )

    def _parts(self, place: Place) -> Iterator[Place]:
        """Yield `place`, and its methods if it is a class."""
        yield place
        module = self._graph.modules[place[0]]
        if place[1] in module.classes:
            yield from (
                (place[0], value.qualname) for value in module.functions.values() if value.class_name == place[1]
            )

    def _entries_used(self, place: Place, owners: Mapping[Place, Place]) -> set[Place]:
        """Return the entries that the code at `place` uses, directly or through what is no entry."""
        pending, seen, found = [place], {place}, set[Place]()
        while pending:
            for used in (self._graph.uses(pending.pop()) & self._graph.leading) - seen:
                seen.add(used)
                owner = owners.get(used)
                if owner is None or owner == place:
                    pending.append(used)
                else:
                    found.add(owner)
        return found

    def _launched(self) -> Iterator[LaunchedKernel]:
        """Yield the kernels that the project launches: by the text of its files, and by launches followed to them."""
        found: dict[tuple[str, str, int], Kernel] = {}
        for launch in self._project.launches:
            if launch.module.path in self._reported and launch.module.path not in self._shown:
                found |= {kernel.key: kernel for kernel in launch.kernels}
        kernels = defaultdict[str, list["Kernel"]](list)
        for module in self._graph.modules.values():
            for kernel in module.kernels:
                kernels[kernel.name].append(kernel)
        for path in self._reported:
            if path in self._shown:
                continue
            module = self._graph.modules[path]
            for name in set(launched_names(self._project.modules.source(path).decode("utf-8", "replace"))):
                imported = module.imports.get(name)
                last = (imported.member if imported is not None and imported.member else name).rpartition(".")[2]
                place = self._project.names.locate(path, name)
                named = kernels.get(last, [])
                own = [item for item in named if item.path == (place.path if place is not None else path)]
                found |= {kernel.key: kernel for kernel in (own or (named if len(named) == 1 else []))}
        for key in sorted(found):
            kernel = found[key]
            if kernel.path not in self._shown and not is_for_a_fork(self._graph.modules[kernel.path]):
                yield LaunchedKernel(path=self._own(kernel.path), line=kernel.line, name=kernel.name)

    def _seed_files(self) -> Iterator[str]:
        """Yield the tests, then the examples, that import what leads to a launch; those that use the most first."""
        names, leading, found = self._project.names, self._graph.leading, []
        files = {path for path, _ in leading}
        for path in self._project.modules:
            is_test = path in self._project.tests
            module = None
            if path.endswith(".py") and (is_test or path in self._project.demonstrations or path in self._shown):
                module = self._project.modules.get(path)
            if module is None:
                continue
            used = 0
            for name, imported in module.imports.items():
                place = names.locate(path, name)
                targets = (place[0],) if place is not None else names.modules_imported(path, imported)
                is_whole = place is None or place.kind is DefinitionKind.MODULE
                used += (place is not None and place[:2] in leading) or (is_whole and not files.isdisjoint(targets))
            if used or path in files:
                found.append((not is_test, -used, self._own(path)))
        return (path for _, _, path in sorted(found))


def class_kind(graph: LaunchGraph, place: Place) -> EntryKind | None:
    """Return what torch makes of the class at `place`; None for a plain class."""
    has_forward = graph.method(place, "forward") is not None
    for path, qualname in graph.ancestry(place):
        module = graph.modules[path]
        for base in module.classes[qualname].bases:
            name = expand_name(dotted(base) or "", module.imports)
            last = name.rpartition(".")[2]
            if last == "Function" and ("autograd" in name or "torch" not in name):
                return "autograd"
            if last.endswith("Optimizer") or name.startswith("torch.optim."):
                return "optimizer"
            if last == "Module" or name.startswith("torch.nn."):
                return "module"
            if has_forward and "." in name and graph.project.names.locate(path, dotted(base) or "?") is None:
                return "module"
    return None


def launched_names(text: str) -> Iterator[str]:
    """Yield the names in `NAME[...](` of `text`, except in lines that hold only a comment."""
    for found in _SUBSCRIPTED.finditer(text):
        line = text[text.rfind("\n", 0, found.start()) + 1 : found.start()].lstrip()
        if not line.startswith("#") and _is_called(text, found.end()):
            yield found[1]


def _is_called(text: str, at: int) -> bool:
    """Return whether the bracket that is open at `at` ends before a parenthesis."""
    depth = 1
    while depth and at < len(text):
        depth += (text[at] in "[({") - (text[at] in "])}")
        at += 1
    return text[at : at + 80].lstrip(" \t\\\n").startswith("(") and text[at - 1] == "]"


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


class ImportRoots:
    """The folders from which the files of a project are imported: for a package, the one that holds it.

    For files without `__init__.py`, imports decide: relative ones by their dots, absolute ones by what they name.
    """

    def __init__(self, project: Project, modules: Mapping[str, Module]) -> None:
        """Read the imports of `modules`."""
        self._modules = modules
        self._voted = Counter[tuple[str, str]]()
        self._least: dict[str, str] = {}
        self._known: dict[str, str] = {}
        for path, module in modules.items():
            folder = posixpath.dirname(path)
            for imported in (*module.imports.values(), *module.star_imports):
                if imported.level:
                    top = folder
                    for _ in range(imported.level):
                        top = posixpath.dirname(top)
                    self._least[folder] = min(self._least.get(folder, top), top, key=len)
                    continue
                for target in project.names.modules_imported(path, imported)[:1]:
                    stem = target.removesuffix(".py").removesuffix("/__init__")
                    name = imported.module.replace(".", "/")
                    if stem == name or stem.endswith(f"/{name}"):
                        root = stem.removesuffix(name).rstrip("/")
                        self._voted[root, name.partition("/")[0]] += 1 if path in project.tests else 100

    def of(self, path: str) -> str:
        """Return the folder from which the file at `path` is imported."""
        folder = posixpath.dirname(path)
        if folder not in self._known:
            self._known[folder] = self._find(folder)
        return self._known[folder]

    def module_name(self, path: str) -> str:
        """Return the dotted name of the file at `path`; empty if Python cannot import it by a name."""
        root = self.of(path)
        parts = path.removeprefix(f"{root}/" if root else "").removesuffix(".py").removesuffix("/__init__").split("/")
        return ".".join(parts) if all(part.isidentifier() for part in parts) else ""

    def _find(self, folder: str) -> str:
        lowest = folder
        while lowest and posixpath.join(lowest, "__init__.py") in self._modules:
            lowest = posixpath.dirname(lowest)
        least = self._least.get(folder, lowest)
        if len(least) < len(lowest):
            lowest = least
        best = [(votes, len(root), root) for (root, first), votes in self._voted.items() if _is_in(folder, root, first)]
        above = [item for item in best if lowest == item[2] or lowest.startswith(f"{item[2]}/" if item[2] else "")]
        return max(above)[2] if above else lowest


def _is_in(folder: str, root: str, first: str) -> bool:
    inner = posixpath.join(root, first)
    return folder == inner or folder.startswith(f"{inner}/")
