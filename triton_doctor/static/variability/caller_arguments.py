"""Parameters of host functions to what their callers pass for them."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from triton_doctor.static.project.launches.argument_positions import bind
from triton_doctor.static.project.limits import MOST_CALLERS, MOST_DEPTH
from triton_doctor.static.python.ir import Attr, Name
from triton_doctor.static.sources.notebooks import SUFFIX
from triton_doctor.static.variability import tensors, views
from triton_doctor.static.variability.arguments import argument_value, default_point, number_of
from triton_doctor.static.variability.autograd import differentiated
from triton_doctor.static.variability.axes import checked_size
from triton_doctor.static.variability.axis_context import AxisContext
from triton_doctor.static.variability.caller_queries import LENGTH, VALUE, Query, item_at, part_of
from triton_doctor.static.variability.guards import limited_axis
from triton_doctor.static.variability.hint_weights import agreed
from triton_doctor.static.variability.hints import apply_hints
from triton_doctor.static.variability.lattice import (
    UNKNOWN,
    AbstractNumber,
    Variability,
    choice,
    join,
    lean,
)
from triton_doctor.static.variability.program_point import CallFrame, ProgramPoint, end_of
from triton_doctor.static.variability.trace import Note, Passed
from triton_doctor.static.variability.values import (
    SymbolicValue,
    Tensor,
    Union,
    Value,
    least_certain,
)

if TYPE_CHECKING:
    import collections.abc
    from collections.abc import Iterator, Mapping

    from triton_doctor.static.project.calls.called_names import Caller
    from triton_doctor.static.python.function import Function, HostParam
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.variability.interpreter import Interpreter


class CallerArguments:
    """What the callers of a function pass for its parameters: each is asked once, or again from less deep."""

    def __init__(self, interpreter: Interpreter) -> None:
        """Nobody is asked yet."""
        self._interpreter = interpreter
        self._answers: dict[tuple[int, str, Query, frozenset[int]], tuple[AbstractNumber | None, int]] = {}
        self._integers: set[tuple[int, str]] = set()
        self._calls: dict[int, collections.abc.Sequence[tuple[Caller, Mapping[str, Expr]]]] = {}
        self._arguments: dict[tuple[int, str], SymbolicValue] = {}

    def argument(self, param: HostParam, frame: CallFrame) -> SymbolicValue:
        """The parameter of the function of `frame` where no call is at hand: one value for all depths of calls."""
        key = (id(frame.function), param.name)
        if key not in self._arguments:
            self._arguments[key] = argument_value(self._interpreter, param, frame)
        return self._arguments[key]

    def number(self, thing: SymbolicValue, frame: CallFrame) -> AbstractNumber:
        """What is passed for the parameter `thing`; where the callers do not tell, what its name suggests."""
        number = self._answer(thing, frame, VALUE)
        if number is None:
            number = checked_size(self._interpreter, number_of(thing), thing, frame)
        is_integer = thing.number.is_integer or (id(thing.origin), thing.root.name) in self._integers
        is_integer = is_integer and not thing.nullable
        if (number.is_integer, number.literals) == (is_integer, thing.number.literals):
            return number
        return number._replace(is_integer=is_integer, literals=thing.number.literals)

    def axis(self, thing: SymbolicValue, position: int, frame: CallFrame) -> AbstractNumber | None:
        """An axis of what is passed."""
        return self._answer(thing, frame, Query("axis", position, rank=thing.root.known_rank))

    def rest(self, thing: SymbolicValue, front: int, back: int, frame: CallFrame) -> AbstractNumber | None:
        """The product of the axes of what is passed, without the first `front` and the last `back`."""
        return self._answer(thing, frame, Query("rest", front, back, rank=thing.root.known_rank))

    def stride(self, thing: SymbolicValue, position: int, frame: CallFrame) -> AbstractNumber | None:
        """A stride of what is passed."""
        return self._answer(thing, frame, Query("stride", position, rank=thing.root.known_rank))

    def part(
        self, thing: SymbolicValue, position: int, size: int, frame: CallFrame, *, is_open: bool
    ) -> AbstractNumber | None:
        """What unpacking a shape or a tuple that is passed into `size` targets gives the one at `position`."""
        return self._answer(thing, frame, Query("part", position, size, is_open))

    def length(self, thing: SymbolicValue, frame: CallFrame) -> AbstractNumber | None:
        """The length of what is passed."""
        return self._answer(thing, frame, LENGTH)

    def attribute(self, thing: SymbolicValue, name: str, frame: CallFrame) -> AbstractNumber | None:
        """An attribute of the object that is passed, where that is a number and decided."""
        found = self._answer(thing, frame, Query("attribute", name=name)) if thing.held is None else None
        return None if found is None or found.decide() is Variability.UNKNOWN else found

    def _answer(self, thing: SymbolicValue, frame: CallFrame, query: Query) -> AbstractNumber | None:
        function = thing.origin
        if function is None or frame.depth >= MOST_DEPTH or thing.number.kind is not Variability.UNKNOWN:
            return None
        if not self._interpreter.asks:
            return None
        key = (id(function), thing.root.name, query, thing.kept_out)
        answer, depth = self._answers.get(key, (None, MOST_DEPTH))
        if answer is None and frame.depth < depth:
            # What was out of reach from so deep need not be from here.
            self._answers[key] = (None, 0)
            answer = self._ask(function, thing, frame, query)
            self._answers[key] = (answer, frame.depth)
        return answer

    def _ask(self, function: Function, thing: SymbolicValue, frame: CallFrame, query: Query) -> AbstractNumber | None:
        callers = self.called(function)
        if not callers:
            return self._as_differentiated(function, thing, frame, query)
        name = thing.held.parameter if thing.held is not None else thing.root.name
        found: list[AbstractNumber] = []
        varying: list[AbstractNumber] = []
        shown: list[AbstractNumber] = []  # varies where nobody minds a compile
        serves = False
        for position, (caller, bound) in enumerate(callers[:MOST_CALLERS]):
            if name in bound and position not in thing.kept_out:
                only_shows = self.only_shows(caller, function)
                serves = serves or not only_shows
                for number in self._passed(caller, bound[name], thing, query, frame.depth + 1):
                    varies = number.decide() in (Variability.PER_CALL, Variability.LOGARITHMIC)
                    (found if not varies else shown if only_shows else varying).append(number)
        if (
            query == VALUE
            and thing.held is None
            and self._are_integers(callers, name, function, frame, (*found, *varying, *shown))
        ):
            self._integers.add((id(function), name))
        if len(varying) == 1:
            return varying[0]
        if varying:
            # What is certain of one caller is not told by what another's author wrote.
            return choice(varying)._replace(trail=min(varying, key=lambda one: one.rests_on_words).trail)
        if shown and not serves:
            # It may vary in a program too, or not: that the data of a benchmark decide it is no error of the program.
            return choice(shown)._replace(trail=shown[0].trail, from_data=False, only_shown=True)
        if found and not any(number.decide() is Variability.UNKNOWN for number in found):
            # The sizes that a benchmark or a notebook writes out say nothing of those that a program has.
            return choice(found) if serves or not _is_written(found) else None
        if query.what not in ("value", "attribute") and any(
            number.literal == 1 or number.one_for_some_caller for number in found
        ):
            # One batch of all that there is: what the others pass is not known, and need not be more.
            return _hint_one(UNKNOWN._replace(trail=found[0].trail), function)
        if found and ".<locals>." in function.qualname:
            # A function inside another is its author's shorthand, and knows what the outer knows where it is called.
            return min(found, key=lean)
        if (
            found
            and query.what in ("axis", "part", "rest")
            and all(one.decide() is Variability.UNKNOWN and one.atoms for one in found)
        ):
            # What none of them knows, they may suspect alike.
            return UNKNOWN.add_hints(agreed(one.hints for one in found))._replace(
                atoms=join(found).atoms, trail=found[0].trail
            )
        return None

    def _as_differentiated(
        self, function: Function, thing: SymbolicValue, frame: CallFrame, query: Query
    ) -> AbstractNumber | None:
        """A gradient has the shape of what it is the gradient of; its strides may be others."""
        if query.what not in ("axis", "rest", "part") or thing.held is not None:
            return None
        name, interpreter = thing.root.name, self._interpreter
        result = differentiated(interpreter, function, name, frame.depth)
        if result is None or isinstance(result, Union):
            return None
        home = interpreter.project.names.home(function)
        known = part_of(interpreter, result, query, interpreter.frame(home, function, frame.depth + 1))
        if known is None:
            return None
        return known.stepping(
            Note(function.path, function.line, f"`{name}` has the shape of what it is the gradient of")
        )

    def passed(self, parameter: Passed, depth: int) -> Iterator[Value]:
        """Its default, and what each caller passes for it; `depth` calls lead here."""
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
        """Whether all `callers` are in sight, and each passes an integer for `name`, or leaves it to such a default."""
        if not 0 < len(callers) <= MOST_CALLERS or not all(number.is_integer for number in passed):
            return False
        default = next(param.default for param in function.params if param.name == name)
        if default is None:
            return all(name in bound for _, bound in callers)
        return self._interpreter.number(default, default_point(function, frame)).is_integer

    def only_shows(self, caller: Caller, function: Function) -> bool:
        """Whether `caller` measures or teaches what a program calls too; what a notebook calls of a module is shown."""
        demonstrations, path = self._interpreter.project.demonstrations, caller.module.path
        is_notebook = path.endswith(SUFFIX) and path != function.path
        return (is_notebook or path in demonstrations) and function.path not in demonstrations

    def called(self, function: Function) -> collections.abc.Sequence[tuple[Caller, Mapping[str, Expr]]]:
        """The calls that tell of `function`, with what they pass."""
        found = self._calls.get(id(function))
        if found is None:
            callers = self._interpreter.callers.of(self._interpreter.project.names.home(function), function)
            found = [
                (caller, bind(function, caller.site.call))
                for caller in islice(callers, MOST_CALLERS + 1)
                if self._may_come(caller)
            ]
            self._calls[id(function)] = found
        return found

    def _may_come(self, caller: Caller) -> bool:
        """Whether no test in its own function keeps `caller` from its call for good."""
        interpreter, site = self._interpreter, caller.site
        frame = interpreter.frame(caller.module, caller.function)
        return interpreter.own_tests.closing(site.order, site.arms, frame) is None

    def _passed(
        self, caller: Caller, arg: Expr, thing: SymbolicValue, query: Query, depth: int
    ) -> Iterator[AbstractNumber]:
        interpreter = self._interpreter
        frame = interpreter.frame(caller.module, caller.function, depth)
        point = ProgramPoint(frame, caller.site.order, caller.site.arms)
        function, name = thing.origin, thing.root.name
        assert function is not None
        if query.what == "attribute":
            note = Note(caller.module.path, caller.site.line, f"passed to `{function.name}` as `{name}`")
            yield interpreter.number(Attr(arg, query.name), point).stepping(note)
            return
        value = interpreter.value(arg, point)
        if thing.held is not None:
            name = thing.held.parameter
            value = item_at(interpreter, value, thing.held.position, frame)
        note = Note(caller.module.path, caller.site.line, f"passed to `{function.name}` as `{name}`")
        if query.what == "length":
            yield interpreter.length(value, frame).stepping(note)
            return
        options = value.options if isinstance(value, Union) else (value,)
        is_each = thing.held is not None and thing.held.position is None
        if query.what == "value":
            passed = options if is_each else (value,)
            yield from (interpreter.as_number(one, frame).stepping(note) for one in passed)
            return
        asked = [(option, one) for option in options if (one := part_of(interpreter, option, query, frame)) is not None]
        if query.what == "axis":
            tensor = arg.id if isinstance(arg, Name) and thing.held is None else ""
            asked = [(option, limited_axis(interpreter, one, tensor, query.position, point)) for option, one in asked]
        if len(asked) == 1 or is_each:
            yield from (one.stepping(note) for _, one in asked)
        elif asked:
            numbers = [one for _, one in asked]
            ranks = {tensors.rank(option) for option, _ in asked if isinstance(option, Tensor | SymbolicValue)}
            if len(ranks) > 1 or views.differ_in_order([option for option, _ in asked]):
                numbers = [least_certain(numbers)]
            chosen = choice(numbers)
            if query.what != "value" and not all(one.literal == 1 for one in numbers):
                # `if x.dim() == 3: x = x.unsqueeze(0)`: the caller has one item, whatever it takes besides.
                chosen = _hint_one(chosen, function) if any(one.literal == 1 for one in numbers) else chosen
            yield chosen.stepping(note)


def _is_written(found: list[AbstractNumber]) -> bool:
    """Whether the callers write out all that they pass."""
    return all(number.kind is Variability.FIXED for number in found)


def _hint_one(number: AbstractNumber, function: Function) -> AbstractNumber:
    """`number`, an axis of an argument of `function` along which some caller has one item."""
    hints = apply_hints(AxisContext(is_one_for_some_caller=True), function.path, function.line)
    return number.add_hints(hints)._replace(one_for_some_caller=True)
