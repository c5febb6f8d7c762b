"""Whether a fix accounts for each occurrence of a kernel's name in the Python files of a scan.

It accounts for the definition, imports, the launches that the plan lists, uses of other definitions with the same name,
and prose. An import under another name adds that name to those of the kernel.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.plan import LaunchStart, Safety
from triton_doctor.static.project.database.import_index import last_name
from triton_doctor.static.project.database.roles import takes_all
from triton_doctor.static.project.database.tracked_modules import TrackedModules
from triton_doctor.static.project.names.resolver import DefinitionKind, DefinitionPlace, Resolver
from triton_doctor.static.python.module import Import
from triton_doctor.static.python.occurrences import OccurrenceKind, find_occurrences, find_renames
from triton_doctor.static.sources.notebooks import SUFFIX
from triton_doctor.static.sources.spellings import (
    computed_words,
    holds_word,
    is_plain,
    looks_up,
    may_compute,
    may_hold,
    spells_otherwise,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from triton_doctor.finding import Finding
    from triton_doctor.plan import ChangedKernel, Plan
    from triton_doctor.static.project.database.database import Database
    from triton_doctor.static.python.occurrences import Occurrence

UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
# Larger files are not parsed for this.
MOST_BYTES = 2 << 20


class KernelNames(NamedTuple):
    """The names of a kernel in the scanned files, and whether each occurrence of them there is accounted for.

    If so, `lookers` are the last names of its module, the first, and of those that may look up members of it.
    """

    names: frozenset[str]
    lookers: tuple[str, ...]
    is_accounted: bool

    def hold_after(self, edited: Iterable[tuple[str, bytes]]) -> bool:
        """Return whether none of the texts in `edited`, by path, concerns the kernel."""
        return self.is_accounted and not any(
            last_name(path) in self.lookers
            or _is_near(data, self.lookers)
            or any(may_hold(data, name) for name in self.names)
            for path, data in edited
        )


_UNACCOUNTED = KernelNames(frozenset(), (), is_accounted=False)


def key_of(kernel: ChangedKernel) -> str:
    """Return the key of the names of `kernel`."""
    return f"{kernel.path}:{kernel.qualname}"


def find_names(
    database: Database, findings: Iterable[Finding], known: Mapping[str, KernelNames]
) -> dict[str, KernelNames]:
    """Return the names, by `key_of`, of each kernel that a safe fix of one of `findings` changes.

    Those that are `known` from an earlier scan are not searched for.
    """
    search = _NameSearch(database)
    found: dict[str, KernelNames] = {}
    for finding in findings:
        plan = finding.fix
        if plan is not None and plan.kernel is not None and plan.safety is Safety.SAFE:
            key = key_of(plan.kernel)
            if key not in found:
                found[key] = known[key] if key in known else search.names(plan.kernel, plan)
    return found


class _NameSearch:
    """Searches the Python files of `database`. Notebooks are searched as text, with the files outside the scan."""

    def __init__(self, database: Database) -> None:
        self._texts: Mapping[str, bytes] = {
            path: database.python[path] for path in database.python if not path.endswith(SUFFIX)
        }
        self._resolver = Resolver(TrackedModules(database))
        self._database = database
        self._near: dict[str, tuple[tuple[str, ...], list[str]]] = {}

    def names(self, kernel: ChangedKernel, plan: Plan) -> KernelNames:
        qualname = kernel.qualname.partition("#")[0]
        names, pending = set[str](), {qualname.rpartition(".")[2]}
        lookers, near = self._lookers(last_name(kernel.path))
        module = self._database.module(kernel.path)
        variants = len(module.kernels_named[qualname]) if module is not None else 0
        try:
            while pending:
                name = pending.pop()
                names.add(name)
                written = name.encode()
                for path, data in self._texts.items():
                    if written not in data and (path in self._plain or not may_hold(data, name)):
                        continue
                    pending |= find_renames(data, name) - names
                    if len(data) > MOST_BYTES or spells_otherwise(data, name):
                        return _UNACCOUNTED
                    user = _KernelUser(self._resolver, kernel, plan.launches, variants, path, takes_all(data))
                    if not all(map(user.accounts_for, find_occurrences(data, name))):
                        return _UNACCOUNTED
        except UNPARSABLE:
            return _UNACCOUNTED
        is_looked_up = any(may_compute(self._database.computed_words(path), name) for path in near for name in names)
        return KernelNames(frozenset(names), lookers, not is_looked_up)

    @cached_property
    def _plain(self) -> frozenset[str]:
        return frozenset(path for path, data in self._texts.items() if is_plain(data))

    @cached_property
    def _looking_up(self) -> list[str]:
        return [path for path, data in self._texts.items() if looks_up(data)]

    def _lookers(self, home: str) -> tuple[tuple[str, ...], list[str]]:
        """Return the last names of modules that may look up members of the module `home`, and the files near it.

        Those are the files of these modules, and the files that name one of them. `home` itself comes first.
        """
        if home not in self._near:
            looking = [path for path in self._looking_up if holds_word(self._texts[path], home)]
            lookers = tuple(dict.fromkeys((home, *map(last_name, looking))))
            near = [
                path
                for path, data in self._texts.items()
                if path in looking or last_name(path) in lookers or _names_looker(data, lookers)
            ]
            self._near[home] = lookers, near
        return self._near[home]


def may_look_up(data: bytes, name: str, lookers: tuple[str, ...]) -> bool:
    """Return whether a text outside the scan may have a kernel called `name` looked up.

    The first of `lookers` is the module of the kernel; the others may look up its members.
    """
    return _is_near(data, lookers) and may_compute(computed_words(data), name)


def _is_near(data: bytes, lookers: tuple[str, ...]) -> bool:
    return _names_looker(data, lookers) or (holds_word(data, lookers[0]) and looks_up(data))


def _names_looker(data: bytes, lookers: tuple[str, ...]) -> bool:
    return any(holds_word(data, other) for other in lookers[1:])


class _KernelUser(NamedTuple):
    """A file that has the name of a kernel, which is launched at `launches` and has `variants` in its scope."""

    resolver: Resolver
    kernel: ChangedKernel
    launches: Sequence[LaunchStart]
    variants: int
    path: str
    has_star: bool

    def accounts_for(self, occurrence: Occurrence) -> bool:
        """Return whether the fix accounts for an occurrence of the kernel's name in the file."""
        if occurrence.kind is not OccurrenceKind.USE:
            return occurrence.kind is not OccurrenceKind.OTHER
        dotted, bindings = occurrence.dotted, occurrence.bindings
        if dotted is None:
            return False
        own = DefinitionPlace(self.kernel.path, self.kernel.qualname.partition("#")[0], DefinitionKind.KERNEL)
        is_own = (self.path, occurrence.scope + dotted) == (own.path, own.qualname)
        if LaunchStart(self.path, *occurrence.start) in self.launches:
            # Other bindings of the name than the definitions of the kernel may be launched there too.
            return set(bindings) == {None} and len(bindings) == self.variants if is_own else len(set(bindings)) <= 1
        first, _, rest = dotted.partition(".")
        if is_own or (first in ("self", "cls") and "." in own.qualname):
            return False
        if first in ("self", "cls") and rest:
            return True
        if bindings and not any(bindings) and not rest and (occurrence.scope or not self.has_star):
            return True  # another definition
        places = _places(self.resolver, self.kernel, self.path, dotted, bindings)
        return places is None or (bool(places) and own not in places)


def _places(
    resolver: Resolver, kernel: ChangedKernel, path: str, dotted: str, bindings: Sequence[Import | None]
) -> list[DefinitionPlace] | None:
    """Return what `dotted` may be in the file at `path`, where `bindings` bind its first part; empty if not known.

    None if it comes from modules outside the scan.
    """
    if not bindings:  # a star import, or a name of Python's own
        place = resolver.locate(path, dotted)
        return [place] if place is not None else []
    found, is_outside = list[DefinitionPlace](), True
    for imported in bindings:
        if imported is None:
            return []
        parts = [*filter(None, [*imported.module.split("."), imported.member]), *dotted.split(".")[1:]]
        for end in range(len(parts), -1 if imported.level else 0, -1):
            module = Import(module=".".join(parts[:end]), member=None, level=imported.level)
            for target in resolver.modules_imported(path, module)[:1]:
                is_outside = False
                place = resolver.locate(target, ".".join(parts[end:])) if end < len(parts) else None
                if end == len(parts):
                    place = DefinitionPlace(target, "", DefinitionKind.MODULE)
                found += [place] if place is not None else []
        is_outside &= imported.level == 0 and last_name(kernel.path) not in parts
    return None if is_outside else found
