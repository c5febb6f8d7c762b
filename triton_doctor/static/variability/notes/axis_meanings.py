"""The meaning of an axis name: True if it follows the data, False the model, None if unknown.

A single letter means what its function binds it to: after `L = chunk_size`, `L` is no length. If the function does not
bind it, the legend in its docstring or its file's decides (`NC: number of chunks`), and then the letter itself.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from triton_doctor.static.python.ir import (
    Attr,
    BinaryOp,
    Call,
    Const,
    Name,
    Star,
    Subscript,
    TupleExpr,
    Unpacked,
    final_name,
)
from triton_doctor.static.variability.hints import name_words
from triton_doctor.static.variability.hints.name_words import names_of_width
from triton_doctor.static.variability.notes.axis_names import are_twins, counts_of_chunks
from triton_doctor.static.variability.values.dims import OPEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from triton_doctor.static.python.function import Function
    from triton_doctor.static.python.ir import Expr

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_NUMBERED = re.compile(r"(?:dim|axis)_?\d")
# A fraction has the meaning of its numerator; the denominator may cancel.
_DIVISION = re.compile(r"//?")
_DATA_LETTERS = frozenset({"B", "b", "T", "t", "S", "s", "bs", "BS", "sl", "M"})
# Letters of heads and widths of queries, keys and values: `D`, `DH`, `DHQK`, `HV`, `NH`, `d_k`.
_MODEL_LETTERS = re.compile(
    r"(?:n?h|d|n?hd?|dh|hd)_?(?:q|k|v|h|o|i|qk|kv|hv|vo|qkv|in|out|model|inner|state)?|c|e|k|v|g"
)
# Names that precede a length; rows and tokens include theirs.
_BATCHES = frozenset("B b bs bsz BS batch batch_size".split())
# Letters that are a length if no other axis of the shape is one.
_LENGTH_LETTERS = re.compile(r"[LMNZlmnz]_?[a-z]?|P")
_LEGEND = re.compile(
    r"^[ \t]*(?:[-*+#][ \t]+)?[`*]{0,2}([A-Za-z]\w{0,5})[`*]{0,2}[ \t]*(?:[:=]|--?)[ \t]+(\S[^\n]{3,100})",
    re.MULTILINE,
)
_PROSE_DATA = frozenset(
    "batch batches sequence sequences seq seqlen token tokens timestep timesteps length lengths rows requests "
    "samples".split()
)
_PROSE_MODEL = frozenset(
    "head heads hidden channel channels feature features dim dims dimension dimensions expert experts vocab vocabulary "
    "width embedding state rank layers groups".split()
)
_PROSE_PARTS = frozenset("chunk chunks block blocks tile tiles".split())
_QUOTIENTS = frozenset("cdiv ceil_div ceildiv div_up int ceil floor".split())
_MOST_STEPS = 4
_FEWEST_BEFORE_STATE = 3
_WITH_HEADS = 4
_WITH_CHANNELS = 3
_OF_SEQUENCES = 2
# Letters that are a length if only a batch is beside them.
_SEQUENCE_LETTERS = frozenset("lts")


@lru_cache(maxsize=8192)
def has_meaning(name: str) -> bool:
    """Return whether `name` has a meaning by its words, not only by its letters."""
    if len(name) < 2:
        return False
    return (
        name_words.names_data(name)
        or name_words.names_model(name)
        or name_words.names_heads(name)
        or bool(name_words.words(name) & (_PROSE_DATA | _PROSE_MODEL))
    )


@lru_cache(maxsize=8192)
def meaning_of_word(name: str) -> bool | None:
    """Return the meaning of a name by itself."""
    if name in _DATA_LETTERS:
        return True
    if _NUMBERED.fullmatch(name):
        return None
    words = name_words.words(name)
    if words & _PROSE_PARTS:
        return True if words & {"num", "n", "nr", "number"} else None
    if "max" in words:
        return None  # either the longest of this call, or a capacity
    if name_words.names_room(name) or name_words.names_model(name) or _MODEL_LETTERS.fullmatch(name.lower()):
        return False
    if name_words.names_data(name) or words & _PROSE_DATA:
        return True
    return None


@lru_cache(maxsize=4096)
def are_axes_of_activation(names: tuple[str, ...]) -> bool:
    """Return whether the names are a batch, a length after it, and more: `B, T, C`."""
    return len(names) >= _WITH_CHANNELS and names[0] in _BATCHES and any(map(meaning_of_word, names[1:-1]))


@lru_cache(maxsize=4096)
def are_axes_of_sequences(names: tuple[str, ...]) -> bool:
    """Return whether two names are a batch and a length: `B, T = ids.shape`."""
    if len(names) != _OF_SEQUENCES or names[0] not in _BATCHES:
        return False
    return names[1].lower() in _SEQUENCE_LETTERS or name_words.names_length(names[1])


class AxisMeanings:
    """The meanings of axis names in one function."""

    def __init__(
        self,
        function: Function,
        axes: Mapping[str, Sequence[str]],
        *legends: str,
        renamed: Mapping[str, Expr] | None = None,
    ) -> None:
        """`axes` are the axes named in notes, by tensor.

        `legends` are docstrings that may explain letters, nearest first. `renamed` has the arguments that `function`
        passes for the names, if the notes are a kernel's.
        """
        self._function = function
        self._renamed = renamed or {}
        self._axes = axes
        self._legend: dict[str, bool | None] = {}
        for text in legends:
            for name, prose in _LEGEND.findall(text):
                self._legend.setdefault(name, meaning_of_prose(prose))

    def of_shape(self, axes: Sequence[str]) -> tuple[bool | None, ...]:
        """Return the meaning of each of `axes`.

        An axis between a batch and a width is the length, whatever its letter.
        """
        meanings = [self._of_text(axis, _MOST_STEPS) for axis in axes]
        if len(axes) > 2 and name_words.names_pool(axes[0]) and any(map(name_words.names_page_size, axes[1:])):
            meanings[0] = None  # of a pool that is allocated once: `(num_blocks, block_size, heads, dim)`
        for at, axis in enumerate(axes):
            if axis.lower() == "s" and (_names_time(axes) or (at == len(axes) - 1 and at >= _FEWEST_BEFORE_STATE)):
                meanings[at] = None  # as likely a state, a part, or a selection: `(batch, T, heads, S)`
            elif axis.lower() == "t" and at == len(axes) - 1 and at >= _FEWEST_BEFORE_STATE and _names_length(axes[1:]):
                meanings[at] = None  # the same: `(B, M, groups, T)`
            elif (axis in ("M", "m") and at) or any(width in axes for width in names_of_width(axis)):
                meanings[at] = None  # a height beside its width is no number of heads
        is_image = len(axes) >= _WITH_HEADS and (meanings[0] is True or axes[0] in ("N", "n"))
        for at in range(1, len(axes) - 1) if is_image else ():
            if axes[at + 1] in names_of_width(axes[at]):
                meanings[at : at + 2] = True, True  # of an image: both vary with it
        for at in counts_of_chunks(axes):
            if axes[0] in (*_BATCHES, "_") and True not in meanings[1:]:
                meanings[at] = True
        is_open = meanings[-1:] == [None] and axes[-1].lower() != "s"
        if is_open and len(axes) == _WITH_HEADS and axes[0] in _BATCHES and _names_heads(axes[1:3]):
            meanings[-1] = False  # the width of a head, whatever its letter
        is_width = meanings[-1:] == [False] or (bool(axes) and axes[-1] == "_")
        if len(axes) > 2 and axes[0] in _BATCHES and is_width and True not in meanings[1:]:
            unknown = [at for at, meaning in enumerate(meanings[:-1]) if meaning is None]
            if (
                len(unknown) == 1
                and self._is_open_length(axes[unknown[0]])
                and not are_twins(axes[unknown[0]], axes[-1])
            ):
                meanings[unknown[0]] = True
        if are_axes_of_sequences(tuple(axes)) and meanings[1] is None and self._is_open_length(axes[1]):
            meanings[1] = True
        is_sequence = len(axes) == _WITH_CHANNELS and axes[0] in _BATCHES and axes[-1].lower() == "l"
        if is_sequence and meanings[1:] == [False, None] and self._is_open_length(axes[-1]):
            meanings[-1] = True  # of channels, as in convolutions
        return tuple(meanings)

    def _is_open_length(self, name: str) -> bool:
        """Return whether `name` may be a length, and the function binds it to nothing known."""
        computed = any(not _is_out_of_sight(value) for value in self._bound(name))
        return not computed and _LENGTH_LETTERS.fullmatch(name) is not None

    def _bound(self, name: str) -> list[Expr]:
        """Return what `name` is bound to in the function."""
        if name in self._renamed:
            return [self._renamed[name]]
        items = (_item(binding.value) for binding in self._function.bindings.get(name, ()))
        return [item for item in items if item not in (Name(name), Call(Name("int"), (Name(name),), ()))]

    def _of_text(self, text: str, steps: int) -> bool | None:
        over, *under = _DIVISION.split(text)
        if any(self._of_name(name, steps) is not False for part in under for name in _IDENTIFIER.findall(part)):
            return None
        names = [name for name in _IDENTIFIER.findall(over) if name not in _QUOTIENTS]
        if not names:
            return False if text.strip().lstrip("-").isdecimal() else None
        return _product(self._of_name(name, steps) if len(names) == 1 or name != "s" else None for name in names)

    def _of_name(self, name: str, steps: int) -> bool | None:
        """Return the meaning of `name`: by its binding in the function, by a legend, or by itself."""
        meaning = self._legend.get(name)
        if meaning is not None or not steps:
            return meaning
        bound = self._bound(name)
        computed = [value for value in bound if not _is_out_of_sight(value)]
        if computed:
            meanings = {self._of_expr(value, steps - 1) for value in computed}
            if len(computed) < len(bound):
                meanings.add(meaning_of_word(name))
            meaning = meanings.pop() if len(meanings) == 1 else None
            return meaning_of_word(name) if meaning is None and has_meaning(name) else meaning
        return meaning_of_word(name)

    def _of_axis(self, tensor: str, position: int, steps: int) -> bool | None:
        axes = self._axes.get(tensor, ())
        if OPEN in axes or not -len(axes) <= position < len(axes):
            if name_words.names_weight(tensor):
                return False
            return True if position == 0 and not axes else None
        return self._of_text(axes[position], steps - 1) if steps else None

    def _of_expr(self, expr: Expr, steps: int) -> bool | None:
        match expr:
            case Const(int()):
                return False
            case Name(name):
                return self._of_name(name, steps)
            case Attr(_, name):
                return meaning_of_word(name)
            case BinaryOp("//" | "/", (over, under)):
                return self._of_expr(over, steps) if self._of_expr(under, steps) is not True else None
            case BinaryOp("*" | "+" | "-", operands):
                return _product(self._of_expr(operand, steps) for operand in operands)
            case Call(Attr(_, "numel"), (), ()):
                return True
            case Subscript(Attr(Name(tensor), "shape"), Const(int(at))) | Call(
                Attr(Name(tensor), "size"), (Const(int(at)),), ()
            ):
                return self._of_axis(tensor, at, steps)
            case Call(func, (over, under), ()) if final_name(func) in _QUOTIENTS:
                return self._of_expr(over, steps) if self._of_expr(under, steps) is not True else None
            case Call(func, (over,), ()) if final_name(func) in _QUOTIENTS:
                return self._of_expr(over, steps)
            case _:
                return None


def _names_heads(axes: Sequence[str]) -> bool:
    return any(name_words.names_heads(axis) for axis in axes)


def _names_time(axes: Sequence[str]) -> bool:
    return any(axis.lower() == "t" for axis in axes)


def _names_length(axes: Sequence[str]) -> bool:
    return any(_LENGTH_LETTERS.fullmatch(axis) and meaning_of_word(axis) is not False for axis in axes)


def _item(expr: Expr) -> Expr:
    """Return the item of a tuple display that an unpacking binds, if the display has no star; else `expr`."""
    match expr:
        case Unpacked(TupleExpr(items), int(position), _, False) if not any(isinstance(part, Star) for part in items):
            return items[position] if position < len(items) else expr
        case _:
            return expr


def _is_out_of_sight(expr: Expr) -> bool:
    """Return whether only the name tells what `expr` is: a part of a shape, or the result of a call."""
    match expr:
        case Unpacked() | Subscript(Attr(_, "shape"), Const(int())):
            return True
        case Call(Attr(_, "numel"), (), ()):
            return False
        case _:
            return isinstance(expr, Call) and final_name(expr.func) not in _QUOTIENTS


def _product(meanings: Iterable[bool | None]) -> bool | None:
    """Return the meaning of a product or sum: it follows the data if one factor does."""
    found = list(meanings)
    return True if True in found else None if None in found else False


def meaning_of_prose(text: str) -> bool | None:
    """Return the meaning of a phrase such as `number of heads` or `sequence length (K, V)`."""
    words = set(re.findall(r"[a-z]+", text.lower().partition("(")[0]))
    if words & _PROSE_PARTS:
        return True if words & {"number", "num", "count"} else False if words & {"size", "length"} else None
    data, model = bool(words & _PROSE_DATA), bool(words & _PROSE_MODEL)
    return data if data is not model else None
