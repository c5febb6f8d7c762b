"""Abstract values: tensors, tuples, tables, objects, symbolic values; and the program point where one is computed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from triton_doctor.static.variability.values.lattice import (
    UNKNOWN,
    AbstractNumber,
    Variability,
    choice,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from triton_doctor.static.python.function import BranchArm, Function
    from triton_doctor.static.python.ir import Call, Expr
    from triton_doctor.static.python.module import Class, Module
    from triton_doctor.static.variability.values.dims import Origin
    from triton_doctor.static.variability.values.lattice import Note


class SymbolicValue(NamedTuple):
    """Something that may be a number or a tensor: an argument, an attribute, the result of an unknown call.

    - `root`: it as a tensor. `number`: it as a number.
    - `origin`: the function of which it is the parameter called `root.name`; callers may tell more.
    - `contiguous`: it was made so. `nullable`: it may be None all the same.
    - `held`: the parameter of which it is an item, if it is not the parameter itself.
    - `excluded_callers`: positions of the callers that do not reach the place where it was read.
    - `contents`: the abstract number of each item, if that is not data.
    - `made`: the call that returned it, if that is not followed.
    """

    root: Origin
    number: AbstractNumber
    origin: Function | None = None
    contiguous: bool = False
    nullable: bool = False
    held: ArgumentItem | None = None
    excluded_callers: frozenset[int] = frozenset()
    contents: AbstractNumber | None = None
    made: UnfollowedCall | None = None


@dataclass(frozen=True, slots=True, eq=False)
class UnfollowedCall:
    """A call that is not followed, and its program point."""

    call: Call
    point: ProgramPoint


class ArgumentItem(NamedTuple):
    """An item of a list passed as `parameter`: the one at `position`, or any."""

    parameter: str
    position: int | None


class AxisOrder(NamedTuple):
    """Where the axes of a view come from.

    `order` pairs a position in the view with one in `of`, None for a new axis. Other positions are unchanged if
    `rest_stays`. `is_like` if it is no view, but allocated in the same stride order: `empty_like`.
    """

    of: Tensor | SymbolicValue
    order: tuple[tuple[int, int | None], ...]
    rest_stays: bool = False
    is_like: bool = False

    @property
    def turns(self) -> bool:
        """Return whether axes change their relative order."""
        sources = [source for _, source in sorted(self.order) if source is not None]
        return len(sources) > 1 and (self.rest_stays or sources != sorted(sources))

    def source(self, position: int) -> int | None:
        """Return the position in `of` of the axis at `position`; None if unknown."""
        count = len(self.order)
        if not self.rest_stays:
            return dict(self.order).get(position % count) if -count <= position < count else None
        if any((position < 0) != (moved < 0) for moved, _ in self.order):
            return None
        return dict(self.order).get(position, position)


class Tensor(NamedTuple):
    """A tensor by its axes: known ones in front and at the back, and between them the product `open`.

    `open` None means that `front` holds all axes. `contiguous` None is unknown. `shuffled` if the order of the axes is
    unknown. `moved` if the axes are those of another tensor in another order. `contents` is the abstract number of each
    item if the host filled all of them: `torch.tensor([2, 4])`.
    """

    front: tuple[AbstractNumber, ...] = ()
    back: tuple[AbstractNumber, ...] = ()
    open: AbstractNumber | None = None
    contiguous: bool | None = None
    shuffled: bool = False
    trail: tuple[Note, ...] = ()
    moved: AxisOrder | None = None
    contents: AbstractNumber | None = None


class Shape(NamedTuple):
    """The shape of a tensor or symbolic value."""

    of: Tensor | SymbolicValue


class Strides(NamedTuple):
    """All strides of a tensor or symbolic value."""

    of: Tensor | SymbolicValue


class TupleValue:
    """A tuple, list or set of known items; `open` if a starred item hides how many.

    An item may be a promise, evaluated on first access. `starred` is the position of a shape of unknown length that
    stands for all of its axes.
    """

    __slots__ = ("_items", "open", "starred")
    __match_args__ = ("items", "open")

    def __init__(self, items: Iterable[Value | Lazy], *, is_open: bool = False) -> None:
        """Keep promises unevaluated."""
        self._items = list(items)
        self.open = is_open
        self.starred = next((at for at, item in enumerate(self._items) if isinstance(item, Shape)), None)

    @property
    def count(self) -> int:
        """The number of items."""
        return len(self._items)

    @property
    def items(self) -> tuple[Value, ...]:
        """All items."""
        return tuple(self.at(position) for position in range(len(self._items)))

    def at(self, position: int) -> Value:
        """Return the item at `position`; UNKNOWN if it depends on itself."""
        item = self._items[position]
        if not isinstance(item, partial):
            return item
        self._items[position] = UNKNOWN
        try:
            kept = item()
        except RecursionError:
            self._items[position] = item
            raise
        self._items[position] = kept
        return kept


class ListValue(NamedTuple):
    """A sequence of unknown length whose items are like `item`; `length` is its abstract length."""

    item: Value
    length: AbstractNumber


class DictValue(NamedTuple):
    """A mapping with known string keys; `open` where further keys may exist."""

    items: dict[str, Value]
    open: bool = False


class Instance(NamedTuple):
    """`self`, or an object of a class of the project; `made` are its constructor arguments, if known."""

    of: Class
    made: Mapping[str, Value | Lazy] | None = None


class Context(NamedTuple):
    """The `ctx` of an autograd function's backward: what its forward stored."""

    forward: Function


class Union(NamedTuple):
    """One of several values, chosen by a condition."""

    options: tuple[Value, ...]


Value: TypeAlias = (
    AbstractNumber
    | SymbolicValue
    | Tensor
    | Shape
    | Strides
    | TupleValue
    | ListValue
    | DictValue
    | Instance
    | Context
    | Union
)
Lazy: TypeAlias = "partial[Value] | partial[AbstractNumber]"


def either(values: Iterable[Value]) -> Value:
    """Return the union of `values`. Numbers are joined; None is dropped if there is another value."""
    values = tuple(values)
    if len(values) == 1:
        return values[0]
    options = list({id(value): value for value in values}.values())
    if {type(value) for value in options} != {AbstractNumber}:
        options = _flat(options)
    if len(options) > 1:
        given = [value for value in options if not (isinstance(value, AbstractNumber) and value.literal is None)]
        if given and len(given) < len(options):
            options = [uncertain(value) for value in given]
    if not options:
        return UNKNOWN
    if len(options) == 1:
        return options[0]
    numbers = [option for option in options if isinstance(option, AbstractNumber)]
    if len(numbers) == len(options):
        return choice(numbers)
    return Union(options=tuple(options[:8]))


def _flat(values: Iterable[Value]) -> list[Value]:
    """Return each of `values` once, with unions flattened, and one of each pair that differs only in layout."""
    options: list[Value] = []
    seen: set[int] = set()
    for value in values:
        for option in value.options if isinstance(value, Union) else (value,):
            if id(option) in seen:
                continue
            seen.add(id(option))
            if isinstance(option, SymbolicValue) and any(option == other for other in options):
                continue
            same = _in_another_layout(option, options) if isinstance(option, SymbolicValue) else None
            if same is None:
                options.append(option)
            elif isinstance(option, SymbolicValue) and isinstance(other := options[same], SymbolicValue):
                kept = other if option.contiguous else option
                options[same] = kept._replace(nullable=option.nullable or other.nullable)
    return options


def least_certain(numbers: Iterable[AbstractNumber]) -> AbstractNumber:
    """Return the join of strides of which any may apply."""
    options = list(numbers)
    chosen = next((option for option in options if option.decide() is not Variability.PER_CALL), options[0])
    return chosen.with_integrality(is_integer=all(option.is_integer for option in options))


def uncertain(value: Value) -> Value:
    """Return `value` with the possibility of something else: None, or another store."""
    match value:
        case AbstractNumber():
            return value.with_integrality(is_integer=False)
        case SymbolicValue(nullable=False) if value.origin is not None or value.number.is_integer:
            return value._replace(nullable=True)
        case Union(options):
            return Union(tuple(uncertain(option) for option in options))
        case _:
            return value


def compute(value: Value) -> Value:
    """Return `value` with all literals removed from its numbers, since it was computed."""
    match value:
        case AbstractNumber():
            return value.without_literals()
        case Union(options) if any(isinstance(option, AbstractNumber) for option in options):
            return Union(tuple(compute(option) for option in options))
        case _:
            return value


def forget_items(value: Value) -> Value:
    """Return `value` without certainty about integers and literals, since others may store something else."""
    return compute(uncertain(value))


def _in_another_layout(symbol: SymbolicValue, options: list[Value]) -> int | None:
    """Return the index among `options` of the same symbolic value with the other contiguity."""
    for at, other in enumerate(options):
        if not isinstance(other, SymbolicValue) or symbol.contiguous == other.contiguous:
            continue
        if (
            symbol.origin is other.origin
            and symbol.root == other.root
            and symbol.excluded_callers == other.excluded_callers
        ):
            return at
    return None


# After every event of a function.
END = 1 << 30


# Not frozen: every followed call creates some, and construction of a frozen one takes three times as long.
@dataclass(slots=True, eq=False)
class CallFrame:
    """A function, entered from a call with `arguments`, or from unknown callers (None).

    An argument is a value, or a promise of one; `call` passes them, if it is known. `depth` counts the calls followed
    so far, inwards and outwards. `values` caches the values of names and calls, `parts` those of other expressions,
    together with the expression, and `truths` those of tests, by branch.
    """

    module: Module
    function: Function
    arguments: Mapping[str, Value | Lazy] | None = None
    depth: int = 0
    call: Call | None = None
    truths: dict[int, bool | None] | None = None
    values: dict[tuple[object, ...], Value] = field(default_factory=dict)
    parts: dict[tuple[object, ...], tuple[Expr, Value]] = field(default_factory=dict)


class ProgramPoint(NamedTuple):
    """A point in a frame: after the event `order`, inside `arms`.

    `local` are the names of a lambda or comprehension. `line` is that of the statement.
    """

    frame: CallFrame
    order: int
    arms: tuple[BranchArm, ...] = ()
    local: Mapping[str, Value] | None = None
    line: int = 0

    def binding(self, local: Mapping[str, Value]) -> ProgramPoint:
        """Return the same point with further local names."""
        return self._replace(local={**(self.local or {}), **local})


def end_of(frame: CallFrame, line: int = 0) -> ProgramPoint:
    """Return the point after all statements of a function, for an expression on `line`."""
    return ProgramPoint(frame, END, line=line)
