"""What a kernel's author wrote beside its parameters: the shapes that pointers lead to, and what numbers are.

    @triton.jit
    def kernel(
        q_ptr,  # [B, H, T, D]
        n: tl.constexpr,  # sequence length
    ):

A tensor that a launch passes as `q_ptr` has the axes "B", "H", "T", "D"; `n` is
described as a length.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.launches.argument_positions import match_positions
from triton_doctor.static.python.ir import Attr, Call, Name
from triton_doctor.static.python.remarks import NO_REMARKS, read_remarks
from triton_doctor.static.variability.notes.axis_meanings import AxisMeanings, meaning_of_prose
from triton_doctor.static.variability.notes.axis_names import keeps_shape, least_rank, named_axes
from triton_doctor.static.variability.notes.shape_notes import note_of_parameter, notes_in_header, with_meanings
from triton_doctor.static.variability.notes.written_shapes import may_annotate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.function import Function
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.python.module import Kernel
    from triton_doctor.static.python.remarks import Remarks
    from triton_doctor.static.variability.values.dims import ShapeNote

# An entry of a docstring: `n: the number of rows`, `n (int): ...` or `:param n: ...`.
_ENTRY = re.compile(
    r"^[ \t]*(?:[-*+][ \t]+)?(?::param[ \t]+)?[`*]{0,2}(\w+)[`*]{0,2}[ \t]*(?:\([^)\n]*\)[ \t]*)?:[ \t]*(\S[^\n]*)",
    re.MULTILINE,
)
# Words for something other than the size: a stride, a test, a capacity.
_NO_SIZE = re.compile(
    r"\b(?:strides?|offset|whether|if|index|max|maximum|per|pointers?|flag|true|false)\b|[=<>\[]", re.IGNORECASE
)
# Words that describe a size: `number of tokens`, `sequence length`.
_COUNTED = re.compile(r"\b(?:num\w*|count|total|lengths?|size|seq_?len\w*)\b|#", re.IGNORECASE)
# Words for a part of a size, per program or by a setting.
_PART = re.compile(r"block|tile|chunk|group|program|process|elem|round|pad|draft|specul|-|`|\+", re.IGNORECASE)


def note_of_argument(project: Project, function: Function, name: str) -> ShapeNote | None:
    """Return the note for the parameter `name` of `function`, or else the one that the kernels receiving it agree on.

    A kernel's note of fewer axes than the function reads is one of a view, and none of the tensor.
    """
    own = note_of_parameter(function, name)
    if own is not None:
        return own
    found = list(_notes_of_pointers(project, function, name))
    if not found or any(note.axes != found[0].axes for note in found):
        return None
    rank, names = found[0].rank, named_axes(function, name)
    if rank is None:
        return found[0]
    fits = rank == len(names) if names else rank >= least_rank(function, name)
    return found[0] if fits else None


@cached_in_scan()
def described_as_data(kernel: Kernel) -> frozenset[str]:
    """Return the constexprs that a kernel's comments or docstring describe as a batch, a length or rows."""
    remarks = _remarks_of(kernel)
    entries = dict(_ENTRY.findall(remarks.docstring)) if remarks.docstring else {}
    found = set[str]()
    for param in kernel.params:
        remark = remarks.parameters.get(param.name)
        if not param.is_constexpr or remark is None:
            continue
        if _names_data(remark.comment) or _names_data(entries.get(param.name, "")):
            found.add(param.name)
    return frozenset(found)


def _names_data(prose: str) -> bool:
    """Return whether a number with this description follows the data."""
    is_size = _COUNTED.search(prose) is not None and not (_NO_SIZE.search(prose) or _PART.search(prose))
    return is_size and meaning_of_prose(prose) is True


def _notes_of_pointers(project: Project, function: Function, name: str) -> Iterator[ShapeNote]:
    for launch in _launches_by_function(project).get(id(function), ()):
        for kernel in launch.kernels:
            notes = _pointer_notes(kernel)
            for param, expr in _arguments(launch, kernel) if notes else ():
                if param in notes and _is_argument(expr, name, function):
                    note = with_meanings(notes[param], _meanings(launch, kernel, notes))
                    if note is not None:
                        yield note


@cached_in_scan(most=1)
def _launches_by_function(project: Project) -> Mapping[int, Sequence[LinkedLaunch]]:
    found: defaultdict[int, list[LinkedLaunch]] = defaultdict(list)
    for launch in project.launches:
        found[id(launch.function)].append(launch)
    return found


@cached_in_scan()
def _pointer_notes(kernel: Kernel) -> Mapping[str, ShapeNote]:
    """Return the shapes in the header and docstring of a kernel, by parameter."""
    remarks = _remarks_of(kernel)
    pointers = {param.name for param in kernel.params if not param.is_constexpr}
    return {
        name: note._replace(path=kernel.path, kind=f"kernel's {note.kind}")
        for name, note in notes_in_header(remarks).items()
        if name in pointers
    }


@cached_in_scan()
def _remarks_of(kernel: Kernel) -> Remarks:
    return read_remarks(kernel.text.text, kernel.line) if _may_have_remarks(kernel) else NO_REMARKS


def _may_have_remarks(kernel: Kernel) -> bool:
    """Return whether a comment or annotation in the header, or a docstring, may describe a parameter."""
    if kernel.text.holds(b'"""') or kernel.text.holds(b"'''"):
        return True
    if not kernel.params or kernel.params[-1].default is not None:
        return kernel.text.holds(b"#")  # a default may continue after the line of its parameter
    lines = kernel.params[-1].span.end_line - kernel.line + 1
    header = "\n".join(kernel.text.text.split("\n", lines)[:lines])
    return "#" in header or may_annotate(header)


def _arguments(launch: LinkedLaunch, kernel: Kernel) -> Iterator[tuple[str, Expr]]:
    """Yield the arguments of the launch by parameter of `kernel`, as far as they are spelled out."""
    for param, _, expr in match_positions(launch.launch, kernel, lambda _: None):
        yield param, expr
    for argument in launch.launch.arguments:
        if argument.name is not None:
            yield argument.name, argument.value


def _is_argument(expr: Expr, name: str, function: Function) -> bool:
    """Return whether `expr` is the argument `name` in its original shape."""
    match expr:
        case Call(Attr(Name(base), _)) if base == name:
            return keeps_shape(expr, name)
        case Name(base) if base == name:
            return all(keeps_shape(binding.value, name) for binding in function.bindings.get(name, ()))
        case _:
            return False


def _meanings(launch: LinkedLaunch, kernel: Kernel, notes: Mapping[str, ShapeNote]) -> AxisMeanings:
    """Return the meanings of letters in the notes of `kernel`: by an argument of that name, a legend, or the letter."""
    axes = {name: note.axes for name, note in notes.items()}
    renamed = {param: expr for param, expr in _arguments(launch, kernel) if expr != Name(param)}
    legends = (_remarks_of(kernel).docstring, kernel.text.file_docstring)
    return AxisMeanings(launch.function, axes, *legends, renamed=renamed)
