"""Parameters of host functions to what their callers pass, and the callers that a branch excludes."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.static.project.launches.argument_positions import bind
from triton_doctor.static.project.limits import MOST_CALLERS, MOST_DEPTH
from triton_doctor.static.python.ir import Attr, Name
from triton_doctor.static.sources.notebooks import SUFFIX
from triton_doctor.static.variability.hints.hints import common_hints
from triton_doctor.static.variability.interpreter import axes
from triton_doctor.static.variability.interpreter.arguments import (
    argument_value,
    default_point,
    differentiated,
    left_default,
    number_of,
)
from triton_doctor.static.variability.interpreter.axes import checked_size
from triton_doctor.static.variability.interpreter.branch_tests import readable_tests
from triton_doctor.static.variability.interpreter.guards import apply_axis_bounds, hint_one
from triton_doctor.static.variability.models.indexing import element, item_of_argument
from triton_doctor.static.variability.values import tensors, views
from triton_doctor.static.variability.values.lattice import (
    UNKNOWN,
    AbstractNumber,
    CallerValues,
    Note,
    Variability,
    choice,
    data_margin,
    join,
)
from triton_doctor.static.variability.values.values import (
    CallFrame,
    ProgramPoint,
    Shape,
    Strides,
    SymbolicValue,
    Tensor,
    TupleValue,
    Union,
    Value,
    end_of,
    least_certain,
)

if TYPE_CHECKING:
    import collections.abc
    from collections.abc import Iterator, Mapping

    from triton_doctor.static.project.calls.called_names import Caller
    from triton_doctor.static.python.function import BranchArm, Function, HostParam
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter


class CallerArguments:
    """The arguments that callers pass for parameters. Cached, and recomputed for queries from a lower call depth."""

    def __init__(self, interpreter: Interpreter) -> None:
        """Start with an empty cache."""
        self._interpreter = interpreter
        self._answers: dict[tuple[int, str, Query, frozenset[int]], tuple[AbstractNumber | None, int]] = {}
        self._integers: set[tuple[int, str]] = set()
        self._calls: dict[int, collections.abc.Sequence[tuple[Caller, Mapping[str, Expr]]]] = {}
        self._arguments: dict[tuple[int, str], SymbolicValue] = {}

    def argument(self, param: HostParam, frame: CallFrame) -> SymbolicValue:
        """Return the parameter of the frame's function without a current call: one value for all call depths."""
        key = (id(frame.function), param.name)
        if key not in self._arguments:
            self._arguments[key] = argument_value(self._interpreter, param, frame)
        return self._arguments[key]

    def number(self, symbol: SymbolicValue, frame: CallFrame) -> AbstractNumber:
        """Return the number passed for the parameter `symbol`; if callers do not decide it, what its name suggests."""
        number = self._cached_query(symbol, frame, VALUE)
        if number is None:
            number = left_default(self._interpreter, symbol, frame)
        if number is None:
            number = checked_size(self._interpreter, number_of(self._interpreter, symbol), symbol, frame)
        is_passed = (id(symbol.origin), symbol.root.name) in self._integers
        is_integer = (symbol.number.is_integer or is_passed) and not symbol.nullable
        if (number.is_integer, number.literals) == (is_integer, symbol.number.literals):
            return number
        return number._replace(is_integer=is_integer, literals=symbol.number.literals)

    def axis(self, symbol: SymbolicValue, position: int, frame: CallFrame) -> AbstractNumber | None:
        """Return an axis of the argument."""
        return self._cached_query(symbol, frame, Query("axis", position, rank=symbol.root.known_rank))

    def rest(self, symbol: SymbolicValue, front: int, back: int, frame: CallFrame) -> AbstractNumber | None:
        """Return the product of the axes of the argument, without the first `front` and the last `back`."""
        return self._cached_query(symbol, frame, Query("rest", front, back, rank=symbol.root.known_rank))

    def stride(self, symbol: SymbolicValue, position: int, frame: CallFrame) -> AbstractNumber | None:
        """Return a stride of the argument."""
        return self._cached_query(symbol, frame, Query("stride", position, rank=symbol.root.known_rank))

    def part(
        self, symbol: SymbolicValue, position: int, size: int, frame: CallFrame, *, is_open: bool
    ) -> AbstractNumber | None:
        """Return item `position` of the argument, a shape or tuple, unpacked into `size` targets."""
        return self._cached_query(symbol, frame, Query("part", position, size, is_open))

    def length(self, symbol: SymbolicValue, frame: CallFrame) -> AbstractNumber | None:
        """Return the length of the argument."""
        return self._cached_query(symbol, frame, LENGTH)

    def attribute(self, symbol: SymbolicValue, name: str, frame: CallFrame) -> AbstractNumber | None:
        """Return an attribute of the argument, if it is a decided number."""
        found = self._cached_query(symbol, frame, Query("attribute", name=name)) if symbol.held is None else None
        return None if found is None or found.decide() is Variability.UNKNOWN else found

    def _cached_query(self, symbol: SymbolicValue, frame: CallFrame, query: Query) -> AbstractNumber | None:
        function = symbol.origin
        if function is None or frame.depth >= MOST_DEPTH or symbol.number.kind is not Variability.UNKNOWN:
            return None
        key = (id(function), symbol.root.name, query, symbol.excluded_callers)
        answer, depth = self._answers.get(key, (None, MOST_DEPTH))
        if answer is None and frame.depth < depth:
            # A result from deeper in the call stack was cut off earlier: recompute it.
            self._answers[key] = (None, 0)
            answer = self._query_callers(function, symbol, frame, query)
            self._answers[key] = (answer, frame.depth)
        return answer

    def _query_callers(
        self, function: Function, symbol: SymbolicValue, frame: CallFrame, query: Query
    ) -> AbstractNumber | None:
        callers = self.called(function)
        if not callers:
            return self._as_differentiated(function, symbol, frame, query)
        name = symbol.held.parameter if symbol.held is not None else symbol.root.name
        found: list[AbstractNumber] = []
        varying: list[AbstractNumber] = []
        shown: list[AbstractNumber] = []  # it varies only in code whose recompiles do not matter
        serves = False
        for position, (caller, bound) in enumerate(callers[:MOST_CALLERS]):
            if name in bound and position not in symbol.excluded_callers:
                only_shows = self.only_shows(caller, function)
                serves = serves or not only_shows
                for number in self._passed(caller, bound[name], symbol, query, frame.depth + 1):
                    varies = number.decide() in (Variability.PER_CALL, Variability.LOGARITHMIC)
                    (found if not varies else shown if only_shows else varying).append(number)
        if (
            query == VALUE
            and symbol.held is None
            and self._are_integers(callers, name, function, frame, (*found, *varying, *shown))
        ):
            self._integers.add((id(function), name))
        if len(varying) == 1:
            return varying[0]
        if varying:
            # One caller's certain value outranks a note of another caller's author.
            return choice(varying)._replace(trail=min(varying, key=lambda number: number.depends_on_notes).trail)
        if shown and not serves:
            # The program may or may not vary it: a value that only a benchmark varies is no error of the program.
            return choice(shown)._replace(trail=shown[0].trail, from_data=False, only_shown=True)
        if found and not any(number.decide() is Variability.UNKNOWN for number in found):
            # Literal sizes in a benchmark or notebook say nothing about those of a program.
            return choice(found) if serves or not _is_written(found) else None
        if query.kind not in ("value", "attribute") and any(
            number.literal == 1 or number.one_for_some_caller for number in found
        ):
            # One caller has a single item; the others are unknown, and may have more.
            return hint_one(UNKNOWN._replace(trail=found[0].trail), function)
        if found and ".<locals>." in function.qualname:
            # A nested function is called by its outer function, which knows its own arguments there.
            return min(found, key=data_margin)
        if (
            found
            and query.kind in ("axis", "part", "rest")
            and all(number.decide() is Variability.UNKNOWN and number.undecided_dims for number in found)
        ):
            # No caller decides it, but their hints may agree.
            return UNKNOWN.add_hints(common_hints(number.hints for number in found))._replace(
                undecided_dims=join(found).undecided_dims, trail=found[0].trail
            )
        return None

    def _as_differentiated(
        self, function: Function, symbol: SymbolicValue, frame: CallFrame, query: Query
    ) -> AbstractNumber | None:
        """Return the result for the output whose gradient `symbol` is: same shape, but perhaps other strides."""
        if query.kind not in ("axis", "rest", "part") or symbol.held is not None:
            return None
        name, interpreter = symbol.root.name, self._interpreter
        result = differentiated(interpreter, function, name, frame.depth)
        if result is None or isinstance(result, Union):
            return None
        home = interpreter.project.names.home(function)
        known = part_of(interpreter, result, query, interpreter.frame(home, function, frame.depth + 1))
        if known is None:
            return None
        return known.with_step(
            Note(function.path, function.line, f"`{name}` has the shape of what it is the gradient of")
        )

    def passed(self, parameter: CallerValues, depth: int) -> Iterator[Value]:
        """Yield the parameter's default and the argument of each caller. `depth` is the depth of calls."""
        interpreter, (function, name) = self._interpreter, parameter
        home = interpreter.project.names.home(function)
        default = next(param.default for param in function.params if param.name == name)
        if default is not None:
            outer = home.functions.get(function.parent or "<module>") or function
            yield interpreter.value(default, end_of(interpreter.frame(home, outer, depth), function.line))
        for caller, bound in self.called(function)[:MOST_CALLERS] if depth < MOST_DEPTH else ():
            if name in bound:
                frame = interpreter.frame(caller.module, caller.function, depth + 1)
                site = caller.site
                yield interpreter.value(bound[name], ProgramPoint(frame, site.order, site.arms, line=site.line))

    def _are_integers(
        self,
        callers: collections.abc.Sequence[tuple[Caller, Mapping[str, Expr]]],
        name: str,
        function: Function,
        frame: CallFrame,
        passed: collections.abc.Sequence[AbstractNumber],
    ) -> bool:
        """Return whether all `callers` are known, and each passes an integer for `name` or uses an integer default."""
        if not 0 < len(callers) <= MOST_CALLERS or not all(number.is_integer for number in passed):
            return False
        default = next(param.default for param in function.params if param.name == name)
        if default is None:
            return all(name in bound for _, bound in callers)
        return self._interpreter.number(default, default_point(function, frame)).is_integer

    def only_shows(self, caller: Caller, function: Function) -> bool:
        """Return whether `caller` measures or teaches, as notebooks do for modules, while a program calls it too."""
        demonstrations, path = self._interpreter.project.demonstrations, caller.module.path
        is_notebook = path.endswith(SUFFIX) and path != function.path
        return (is_notebook or path in demonstrations) and function.path not in demonstrations

    def called(self, function: Function) -> collections.abc.Sequence[tuple[Caller, Mapping[str, Expr]]]:
        """Return the calls of `function` that count, with their arguments by parameter."""
        found = self._calls.get(id(function))
        if found is None:
            callers = self._interpreter.call_graph.callers_of(self._interpreter.project.names.home(function), function)
            reaching = filter(self._may_come, islice(callers, MOST_CALLERS + 1))
            found = [(caller, bind(function, caller.site.call)) for caller in reaching]
            self._calls[id(function)] = found
        return found

    def _may_come(self, caller: Caller) -> bool:
        """Return whether the caller's own function may reach the call."""
        interpreter, site = self._interpreter, caller.site
        frame = interpreter.frame(caller.module, caller.function)
        return interpreter.own_tests.closing(site.order, site.arms, frame) is None

    def _passed(
        self, caller: Caller, arg: Expr, symbol: SymbolicValue, query: Query, depth: int
    ) -> Iterator[AbstractNumber]:
        interpreter = self._interpreter
        frame = interpreter.frame(caller.module, caller.function, depth)
        point = ProgramPoint(frame, caller.site.order, caller.site.arms)
        function, name = symbol.origin, symbol.root.name
        assert function is not None
        if query.kind == "attribute":
            note = Note(caller.module.path, caller.site.line, f"passed to `{function.name}` as `{name}`")
            yield interpreter.number(Attr(arg, query.name), point).with_step(note)
            return
        value = interpreter.value(arg, point)
        if symbol.held is not None:
            name = symbol.held.parameter
            value = item_at(interpreter, value, symbol.held.position, frame)
        note = Note(caller.module.path, caller.site.line, f"passed to `{function.name}` as `{name}`")
        if query.kind == "length":
            yield interpreter.length(value, frame).with_step(note)
            return
        options = value.options if isinstance(value, Union) else (value,)
        is_each = symbol.held is not None and symbol.held.position is None
        if query.kind == "value":
            passed = options if is_each else (value,)
            yield from (interpreter.as_number(value, frame).with_step(note) for value in passed)
            return
        asked = [
            (option, part) for option in options if (part := part_of(interpreter, option, query, frame)) is not None
        ]
        if query.kind == "axis":
            tensor = arg.id if isinstance(arg, Name) and symbol.held is None else ""
            asked = [
                (option, apply_axis_bounds(interpreter, part, tensor, query.position, point)) for option, part in asked
            ]
        if len(asked) == 1 or is_each:
            yield from (part.with_step(note) for _, part in asked)
        elif asked:
            numbers = [part for _, part in asked]
            ranks = {tensors.rank(option) for option, _ in asked if isinstance(option, Tensor | SymbolicValue)}
            if len(ranks) > 1 or views.differ_in_order([option for option, _ in asked]):
                numbers = [least_certain(numbers)]
            chosen = choice(numbers)
            if query.kind != "value" and not all(number.literal == 1 for number in numbers):
                # `if x.dim() == 3: x = x.unsqueeze(0)`: this caller has one item, whatever others have.
                chosen = hint_one(chosen, function) if any(number.literal == 1 for number in numbers) else chosen
            yield chosen.with_step(note)


def _is_written(found: list[AbstractNumber]) -> bool:
    """Return whether all callers pass literals, or items of a list of them."""
    return all(number.kind in (Variability.FIXED, Variability.FEW) for number in found)


class Query(NamedTuple):
    """A query about a value: the value itself, its `length`, an `axis` or `stride` at `position`, or one of three more.

    These are a `part` at `position` of an unpacking into `size`, the `attribute` called `name`, and the `rest` of the
    axes without the first `position` and the last `size`. `rank` is the number of axes known to the querying function.
    """

    kind: str
    position: int = 0
    size: int = 0
    is_open: bool = False
    rank: int | None = None
    name: str = ""


VALUE = Query("value")
LENGTH = Query("length")


def part_of(interpreter: Interpreter, value: Value, query: Query, frame: CallFrame) -> AbstractNumber | None:
    """Return the queried axis, stride or part of `value`; None if it has none."""
    if query.rank is not None and isinstance(value, SymbolicValue):
        value = value._replace(root=value.root.with_rank(query.rank))
    elif query.rank is not None and isinstance(value, Tensor):
        value = views.of_rank(value, query.rank)
        if query.position >= 0 and tensors.rank(value) not in (query.rank, None):
            return UNKNOWN
    match query.kind, value:
        case "rest", Tensor() | SymbolicValue():
            return axes.rest(interpreter, value, query.position, query.size, frame)
        case "axis", Tensor() | SymbolicValue():
            return interpreter.axis(value, query.position, frame)
        case "stride", Tensor() | SymbolicValue():
            return interpreter.stride(value, query.position, frame)
        case "part", Shape() | Strides() | TupleValue() | SymbolicValue():
            found = interpreter.part(value, query.position, query.size, query.is_open, frame)
            return interpreter.as_number(found, frame) if found is not None else None
        case _:
            return None


def item_at(interpreter: Interpreter, value: Value, position: int | None, frame: CallFrame) -> Value:
    """Return the item of a list at `position`; any item if None."""
    match value:
        case TupleValue(open=False) if position is not None and -value.count <= position < value.count:
            return value.at(position)
        case SymbolicValue() if position is not None:
            return item_of_argument(value, position)
        case _:
            return element(interpreter, value, frame)


NO_CALLERS: frozenset[int] = frozenset()


def find_excluded_callers(interpreter: Interpreter, frame: CallFrame, arms: tuple[BranchArm, ...]) -> frozenset[int]:
    """Return the positions of the callers of the frame's function that never enter `arms`.

    Empty if all are excluded.
    """
    function = frame.function
    readable = readable_tests(function)
    decided = tuple([arm for arm in arms if arm.branch in readable]) if readable else ()
    if not decided or frame.depth >= MOST_DEPTH:
        return NO_CALLERS
    key = ("kept out", id(function), decided)
    evaluation = partial(_find_excluded_callers, interpreter, frame, decided)
    return interpreter.evaluations.evaluate(key, evaluation, on_cycle=NO_CALLERS, beyond_limit=NO_CALLERS)


def _find_excluded_callers(interpreter: Interpreter, frame: CallFrame, arms: tuple[BranchArm, ...]) -> frozenset[int]:
    called = interpreter.caller_arguments.called(frame.function)
    if not 1 < len(called) <= MOST_CALLERS:
        return NO_CALLERS
    found = [
        position
        for position, (caller, bound) in enumerate(called)
        if interpreter.tests.left_open(_entered(interpreter, frame, caller, bound), arms) is None
    ]
    return frozenset(found) if len(found) < len(called) else NO_CALLERS


def _entered(interpreter: Interpreter, frame: CallFrame, caller: Caller, bound: Mapping[str, Expr]) -> CallFrame:
    """Return a frame of the function of `frame`, entered from `caller` with the arguments `bound`."""
    site = caller.site
    point = ProgramPoint(interpreter.frame(caller.module, caller.function, frame.depth + 1), site.order, site.arms)
    arguments = {name: partial(interpreter.value, arg, point) for name, arg in bound.items()}
    return CallFrame(frame.module, frame.function, arguments, frame.depth + 1, site.call)
