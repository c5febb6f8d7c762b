"""What the source says of the parameters of functions: names of axes, ranks, kinds, dtypes and choices.

In: the functions that lead to a launch. Out: the `FunctionNotes` of each, which a child takes for its first guesses.
What a parameter is passed on to counts too, for as long as its name is not given to something of another shape: what
the called function and the kernel say of it, where the function itself says nothing.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from triton_doctor.explore.model import FunctionNotes, ParameterNotes
from triton_doctor.static.project.calls.surroundings import pointers
from triton_doctor.static.project.launches.argument_positions import bind
from triton_doctor.static.project.launches.launches import spelled_out
from triton_doctor.static.project.names.resolver import DefinitionKind
from triton_doctor.static.python.ir import (
    Attr,
    Call,
    Compare,
    Const,
    IterItem,
    Name,
    Subscript,
    TupleExpr,
    Unpacked,
    every_part,
)
from triton_doctor.static.variability.hints.name_words import names_config
from triton_doctor.static.variability.models.torch import KEEPING, METHODS, NEW
from triton_doctor.static.variability.notes.axis_names import (
    axes_read,
    expressions,
    keeps_argument,
    least_rank,
    named_axes,
)
from triton_doctor.static.variability.notes.kernel_notes import note_of_argument
from triton_doctor.static.variability.values.dims import OPEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from triton_doctor.explore.leading import LaunchGraph, Place
    from triton_doctor.static.project.project import LinkedLaunch
    from triton_doctor.static.python.function import Function, HostParam
    from triton_doctor.static.python.ir import Expr

_MOST_CALLS, _MOST_CLASSES = 6, 4
# What only tensors have, among what functions read off their parameters.
_OF_TENSORS = KEEPING | METHODS | NEW | frozenset(
    "T data_ptr device dim dtype is_contiguous mT ndim shape size stride contiguous view grad".split()
)  # fmt: skip
_KINDS = {
    **dict.fromkeys(("Tensor", "Parameter", "FloatTensor", "LongTensor"), "tensor"),
    **{kind: kind for kind in ("int", "float", "bool", "str", "dtype")},
    **dict.fromkeys(("list", "List", "tuple", "Tuple", "Sequence", "Iterable"), "list"),
    "Callable": "callable",
}
_LITERALS: dict[type, str] = {bool: "bool", int: "int", float: "float", str: "str"}


def read_notes(
    graph: LaunchGraph, keys: Mapping[Place, str], own: Callable[[str], str], module_name: Callable[[str], str]
) -> dict[str, tuple[FunctionNotes, ...]]:
    """Return, for each of the entries `keys`, the notes of the functions that it leads to and of the constructors.

    `own` gives the path of a file in the result, `module_name` the name by which it is imported.
    """
    reader = _NotesReader(graph, module_name)
    notes: dict[Place, FunctionNotes] = {}
    found = {}
    for place, key in keys.items():
        functions = sorted(each for each in graph.closure(place) if each in graph.functions)
        for inner in functions:
            if inner not in notes:
                function = graph.functions[inner]
                notes[inner] = FunctionNotes(
                    path=own(inner[0]), line=function.line, parameters=reader.of(inner, function)
                )
        found[key] = tuple(notes[item] for item in functions)
    return found


class _Parts(NamedTuple):
    """What was found of one parameter so far. A name of an axis that is already known stays."""

    axes: dict[int, str]
    choices: dict[str, None]
    attributes: set[str]
    kinds: list[str]
    ranks: list[int]
    least: list[int]
    dtypes: list[str]

    def notes(self) -> ParameterNotes:
        """Return the result. Axes from the end are counted from the front where the rank is known."""
        rank = next((rank for rank in self.ranks if rank), 0)
        axes = {at % rank if rank and at < 0 else at: name for at, name in self.axes.items() if name.strip("_")}
        kind = next(iter(self.kinds), "")
        if axes or rank or any(self.least):
            kind = "tensor" if kind in ("", "list", "config", "object") else kind
        return ParameterNotes(
            kind=kind,
            rank=rank,
            least_rank=max(self.least, default=0),
            axes=axes,
            dtype=next(iter(self.dtypes), ""),
            choices=tuple(self.choices),
            attributes=tuple(sorted(self.attributes)) if kind in ("config", "object", "") else (),
        )


class _NotesReader:
    """Reads notes, and keeps them by function."""

    def __init__(self, graph: LaunchGraph, module_name: Callable[[str], str]) -> None:
        self._graph, self._module_name = graph, module_name
        self._known: dict[Place, dict[str, ParameterNotes]] = {}
        self._launches: defaultdict[tuple[str, str], list[LinkedLaunch]] = defaultdict(list)
        for launch in graph.project.launches:
            self._launches[launch.module.path, launch.function.qualname].append(launch)

    def of(self, place: Place, function: Function, depth: int = 0) -> dict[str, ParameterNotes]:
        """Return the notes of the parameters of the function at `place`."""
        if place not in self._known:
            self._known[place] = {}  # for what calls itself
            found = {
                param.name: self._of_parameter(place, function, param, depth)
                for param in function.params
                if param.name not in ("self", "cls", "ctx")
            }
            self._known[place] = {name: notes for name, notes in found.items() if notes != ParameterNotes()}
        return self._known[place]

    def _of_parameter(self, place: Place, function: Function, param: HostParam, depth: int) -> ParameterNotes:
        name, project = param.name, self._graph.project
        note = note_of_argument(project, function, name)
        parts = _Parts(dict(axes_read(function, name)), {}, set(), [], [], [least_rank(function, name)], [])
        if names := named_axes(function, name):
            parts.ranks.append(len(names))
        written = ParameterNotes()
        if note is not None and OPEN not in note.axes:
            axes = {at: axis for at, axis in enumerate(note.axes) if axis.isidentifier()}
            written = ParameterNotes(rank=len(note.axes), axes=axes)
        if note is not None and not note.is_written:
            _merge(parts, written)
        if names_config(name) or (param.annotation or "").endswith("Config"):
            parts.kinds.append("config")
        elif param.annotation in _KINDS:
            parts.kinds.append(_KINDS[param.annotation])
        elif isinstance(param.default, Const) and type(param.default.value) in _LITERALS:
            parts.kinds.append(_LITERALS[type(param.default.value)])
        _read_uses(function, name, parts)
        if depth < _MOST_CALLS and keeps_argument(function, name):
            for other in self._passed_on(place, function, name, depth):
                _merge(parts, other)
        _merge(parts, written)  # last: authors err, code does not
        if param.annotation is not None and parts.kinds[:1] not in (["tensor"], []):
            parts.axes.clear()
            parts.ranks.clear()
            parts.least.clear()
        notes = parts.notes()
        annotated = project.names.locate(place[0], param.annotation or "?")
        classes: list[Place] = []
        if annotated is not None and annotated.kind is DefinitionKind.CLASS:
            classes = [annotated[:2]]
        elif notes.kind in ("object", "config") and notes.attributes:
            classes = self._graph.classes_with(notes.attributes)[:_MOST_CLASSES]
        return replace(notes, classes=tuple(f"{self._module_name(path)}:{of}" for path, of in classes))

    def _passed_on(self, place: Place, function: Function, name: str, depth: int) -> Iterator[ParameterNotes]:
        """Yield what kernels and called functions say of the argument `name` of `function`."""
        for launch in self._launches[place[0], function.qualname]:
            for kernel in launch.kernels:
                for taken, argument in spelled_out(launch, kernel).items():
                    if _kept(argument.value) == name:
                        is_pointer = taken in pointers(self._graph.project, kernel)
                        is_constexpr = any(param.name == taken and param.is_constexpr for param in kernel.params)
                        yield ParameterNotes(kind="tensor" if is_pointer else "int" if is_constexpr else "")
        for site in function.calls:
            if not any(
                _kept(value) == name for value in (*site.call.args, *(keyword for _, keyword in site.call.keywords))
            ):
                continue
            for called in self._graph.callees(place, function, site.call.func):
                callee = self._graph.functions[called]
                given = bind(callee, site.call)
                notes = self.of(called, callee, depth + 1)
                yield from (notes[item] for item, value in given.items() if _kept(value) == name and item in notes)


def _merge(parts: _Parts, other: ParameterNotes) -> None:
    """Add what a called function says of the same argument, where nothing is known yet."""
    if parts.ranks and other.rank and parts.ranks[0] != other.rank:
        return
    for at, axis in other.axes.items():
        if axis not in parts.axes.values():
            parts.axes.setdefault(at, axis)
    parts.kinds.extend(filter(None, [other.kind]))
    parts.ranks.extend(filter(None, [other.rank]))
    parts.least.append(other.least_rank)
    parts.dtypes.extend(filter(None, [other.dtype]))
    parts.choices.update(dict.fromkeys(other.choices))
    parts.attributes.update(other.attributes)


def _kept(value: Expr) -> str | None:
    """Return the name of which `value` has the shape: `x` for `x` and `x.contiguous()`."""
    match value:
        case Name(name):
            return name
        case Call(Attr(base, method), _, _) if method in KEEPING or method == "contiguous":
            return _kept(base)
        case _:
            return None


def _read_uses(function: Function, name: str, parts: _Parts) -> None:
    """Read how `function` uses its parameter `name`: attributes, comparisons, loops, calls."""
    own, kinds = Name(name), set[str]()
    tests = (part for test in function.text.contents.tests.values() for part in every_part(test.test))
    for expr in (*expressions(function), *tests):
        match expr:
            case Attr(base, attribute) if base == own:
                kinds.add("tensor" if attribute in _OF_TENSORS else "object")
                if attribute not in _OF_TENSORS:
                    parts.attributes.add(attribute)
            case Compare(_, operands) if own in operands:
                for choice in _literals(operands):
                    parts.choices[str(choice)] = None
                    kinds.add(_LITERALS[type(choice)])
            case Compare(_, operands) if Attr(own, "dtype") in operands:
                dtypes = [
                    operand.name for operand in operands if isinstance(operand, Attr) and operand.base == Name("torch")
                ]
                parts.dtypes.extend(dtypes)
            case IterItem(source) if source == own:
                kinds.add("list")
            case Unpacked(value) if value == own:
                kinds.add("list")
            case Call(func, args, _) if func == own:
                kinds.add("callable")
            case Call(Name("len"), (value,), ()) if value == own:
                kinds.add("list")
            case Call(Name("range"), args, ()) if own in args:
                kinds.add("int")
            case Subscript(base) if base == own:
                kinds.add("list")
            case _:
                pass
    order = ("tensor", "str", "bool", "int", "float", "callable", "list", "object")
    parts.kinds.extend(kind for kind in order if kind in kinds)


def _literals(operands: tuple[Expr, ...]) -> Iterator[str | int | float | bool]:
    for operand in operands:
        for item in operand.items if isinstance(operand, TupleExpr) else (operand,):
            if isinstance(item, Const) and type(item.value) in _LITERALS:
                yield item.value  # type: ignore[misc]  # the table has the types
