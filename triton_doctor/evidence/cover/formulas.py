"""A launch to formulas: each parameter and option as an expression over the choices that its caller makes.

Equal choices are one, so that what varies together does: in `k[(1,)](x, n, BLOCK=next_power_of_2(n), HAS_X=x is not
None)`, the classes of `n` follow from the same `n` as `BLOCK`, and `HAS_X` is whether `x` is passed.
"""

from __future__ import annotations

from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.nesting import with_own_stack
from triton_doctor.static.project.launches.launches import hides_arguments
from triton_doctor.static.project.limits import MOST_CALLERS, MOST_DEPTH, MOST_NAMES
from triton_doctor.static.python.ir import (
    Attr,
    BinaryOp,
    Call,
    Compare,
    Conditional,
    Const,
    Expr,
    IterItem,
    Lambda,
    Name,
    Star,
    Subscript,
    TupleExpr,
    Unpacked,
    every_part,
    final_name,
)
from triton_doctor.static.python.printing import spell
from triton_doctor.static.python.reaching_definitions import reaching_definitions
from triton_doctor.static.variability.queries.kernel_hints import thorough_interpreter_of
from triton_doctor.static.variability.queries.parameter_uses import bind_arguments
from triton_doctor.static.variability.queries.parameters import Parameters
from triton_doctor.static.variability.values.lattice import UNKNOWN, AbstractNumber, Variability
from triton_doctor.static.variability.values.values import DictValue, ProgramPoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from triton_doctor.static.project.calls.called_names import Caller
    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.function import BranchArm, Function, HostParam
    from triton_doctor.static.python.module import Kernel, Module

# With the least number of arguments that are numbers: `max(lengths)` is of a list.
ARITHMETIC = {"cdiv": 2, "next_power_of_2": 1, "min": 2, "max": 2, "int": 1, "abs": 1, "bool": 1}


class ChoiceKind(Enum):
    """How much is known of the values of a choice."""

    RECORDED = "recorded"
    """One value as long as the program or the model lasts: the one that a run recorded."""
    FINITE = "finite"
    """One of known values."""
    INTEGER = "integer"
    """An integer that varies, within its bounds."""
    OPEN = "open"
    """Not followed, or judged by its name alone."""


class Choice(NamedTuple):
    """A value that a launch is computed from, spelled `text`. `values` are those of FINITE.

    `may_be_none` if it may be None besides.
    """

    kind: ChoiceKind
    text: str
    number: AbstractNumber = UNKNOWN
    values: tuple[object, ...] = ()
    may_be_none: bool = False


class LaunchSpace(NamedTuple):
    """A launch of `kernel` at `path` and `line`: a formula for each parameter and option, whose Names are `choices`.

    `numbers` are the formulas' abstract values, `texts` their spelling. `hides` if arguments are in a table or list
    that is not followed.
    """

    path: str
    line: int
    kernel: Kernel
    formulas: Mapping[str, Expr]
    numbers: Mapping[str, AbstractNumber]
    texts: Mapping[str, str]
    choices: Mapping[str, Choice]
    hides: bool


class _Point(NamedTuple):
    """A point in the function that launches."""

    order: int
    arms: tuple[BranchArm, ...]


END = _Point(1 << 30, ())


def read_spaces(
    project: Project, kernel: Kernel, launches: Sequence[LinkedLaunch], is_reached: Callable[[Function], bool]
) -> list[LaunchSpace]:
    """Return the formulas of `launches` for `kernel`. Callers that are not reached pass nothing."""
    hinted: dict[tuple[int, str], AbstractNumber] = {}
    for parameter in Parameters(project, thorough_interpreter_of(project)).of(kernel, lambda kernel, param: True):
        hinted |= {(id(source.launch), parameter.param.name): source.number for source in parameter.sources}
    return [with_own_stack(_Reader(project, launch, kernel, hinted, is_reached).read) for launch in launches]


class _Reader:
    """Resolves the arguments of one launch."""

    def __init__(
        self,
        project: Project,
        launch: LinkedLaunch,
        kernel: Kernel,
        hinted: Mapping[tuple[int, str], AbstractNumber],
        is_reached: Callable[[Function], bool],
    ) -> None:
        self._is_reached = is_reached
        self._interpreter = thorough_interpreter_of(project)
        self._launch, self._kernel, self._hinted = launch, kernel, hinted
        self._function = launch.function
        self._choices: dict[str, Choice] = {}
        self._names: dict[object, str] = {}
        # Of a heuristic: what its lambda calls the arguments, and their formulas.
        self._table, self._given = "", dict[str, Expr]()

    def read(self) -> LaunchSpace:
        launch, kernel, interpreter = self._launch, self._kernel, self._interpreter
        arguments = bind_arguments(launch, kernel, interpreter)
        point = _Point(launch.launch.order, launch.launch.arms)
        frame = interpreter.at(launch).frame
        formulas: dict[str, Expr] = {}
        numbers: dict[str, AbstractNumber] = {}
        texts: dict[str, str] = {}
        for name, argument in arguments.items():
            numbers[name] = interpreter.as_number(argument.value, frame)
            if argument.expr is not None:
                texts[name] = spell(argument.expr)
                formulas[name] = self._resolve(argument.expr, point)
            else:
                formulas[name] = self._choice(("table", name), name, numbers[name])
        self._given = dict(formulas)
        for heuristic in kernel.heuristics:
            if heuristic.param not in formulas:
                body = heuristic.value.body if isinstance(heuristic.value, Lambda) else heuristic.value
                texts[heuristic.param] = spell(body)
                self._table = heuristic.value.params[0] if isinstance(heuristic.value, Lambda) else ""
                formulas[heuristic.param] = self._resolve(body, END)
        for name, formula in formulas.items():
            numbers[name] = number = self._hinted.get((id(launch), name), numbers.get(name, UNKNOWN))
            if isinstance(formula, Name) and self._choices[formula.id].kind is ChoiceKind.OPEN:
                choice = self._choices[formula.id]
                self._choices[formula.id] = choice._replace(number=number, kind=_kind(number, choice.values))
        missing = {
            parameter.name for parameter in kernel.params if not kernel.may_set(parameter.name)
        } - formulas.keys()
        optional = {parameter.name for parameter in kernel.params if parameter.default is not None}
        tables = [
            interpreter.value(argument.value, interpreter.at(launch))
            for argument in launch.launch.arguments
            if argument.name == "**"
        ]
        are_known = all(isinstance(table, DictValue) and not table.open for table in tables)
        return LaunchSpace(
            path=launch.module.path,
            line=launch.launch.span.line,
            kernel=kernel,
            formulas=formulas,
            numbers=numbers,
            texts=texts,
            choices=self._choices,
            hides=not are_known or bool(missing if hides_arguments(launch) else missing - optional),
        )

    def _resolve(self, expr: Expr, point: _Point, steps: int = 2 * MOST_NAMES) -> Expr:
        if steps == 0:
            return self._leaf(expr, point)
        match expr:
            case Const():
                return expr
            case Subscript(Name(table), Const(str(name))) if table == self._table and name in self._given:
                return self._given[name]
            case Name(name):
                bound = reaching_definitions(self._function, name, point.order, point.arms)
                if bound.certain and self._function.param(name) is None:
                    values = [
                        self._resolve(binding.value, _Point(binding.order, binding.arms), steps - 1)
                        for binding in bound.bindings
                    ]
                    if len(values) > 1:
                        return self._one_of(tuple(values), expr)
                    self._narrow(values[0], expr, point)
                    return values[0]
            case BinaryOp(op, operands):
                return BinaryOp(op, tuple(self._resolve(operand, point, steps - 1) for operand in operands))
            case Compare(op, operands):
                return self._compare(
                    Compare(op, tuple(self._resolve(operand, point, steps - 1) for operand in operands)), expr
                )
            case Conditional(test, options, operator):
                resolved = tuple(self._resolve(option, point, steps - 1) for option in options)
                if test is None:
                    return Conditional(None, resolved, operator)
                return Conditional(self._resolve(test, point, steps - 1), resolved, operator)
            case Call(func, args, ()) if _is_arithmetic(func, args):
                return Call(
                    Name(final_name(func)), tuple(self._resolve(argument, point, steps - 1) for argument in args), ()
                )
            case Unpacked(TupleExpr(items), int(position), size, False) if len(items) == size:
                return self._resolve(items[position], point, steps - 1)
            case _:
                pass
        return self._leaf(expr, point)

    def _compare(self, compare: Compare, expr: Expr) -> Expr:
        """Return `compare`; of something that is tested for None, note that it may be."""
        match compare:
            case Compare("is" | "is not", (Name(name), Const(None))):
                choice = self._choices[name]
                is_lasting = choice.number.kind in (Variability.FIXED, Variability.PER_MODEL)
                if not is_lasting and choice.kind is not ChoiceKind.FINITE:
                    self._choices[name] = choice._replace(may_be_none=True)
        return compare

    def _narrow(self, formula: Expr, expr: Expr, point: _Point) -> None:
        """Add to the choice `formula` the bounds that tests of the name `expr` give it: `if n > 64: raise`."""
        if isinstance(formula, Name):
            choice, number = self._choices[formula.id], self._number(expr, point)
            if number.high is not None and (choice.number.high is None or number.high < choice.number.high):
                self._choices[formula.id] = choice._replace(number=choice.number._replace(high=number.high))

    def _number(self, expr: Expr, point: _Point) -> AbstractNumber:
        program_point = self._interpreter.at(self._launch)._replace(order=point.order, arms=point.arms)
        with suppress(RecursionError):
            return self._interpreter.number(expr, program_point)
        return UNKNOWN

    def _one_of(self, values: tuple[Expr, ...], expr: Expr) -> Expr:
        which = ("which", spell(expr), values)
        chosen = self._choice(which, spell(expr), UNKNOWN, values=tuple(range(len(values))))
        return Subscript(TupleExpr(values), chosen)

    def _leaf(self, expr: Expr, point: _Point) -> Expr:
        """Return the choice that `expr` is."""
        number = self._number(expr, point)
        if number.literal is not ... and isinstance(number.literal, int | float | str | bool | None):
            return Const(number.literal)
        values = self._finite(expr, self._launch.module, self._function, point, 0)
        identity: object = ("text", spell(expr), self._versions(expr, point))
        if number.size is not None:
            identity = ("size", number.size)
        return self._choice(
            identity, spell(expr), number, values=tuple(values or ()), may_be_none=self._may_be_none(expr, point)
        )

    def _versions(self, expr: Expr, point: _Point) -> tuple[object, ...]:
        """Return which assignments of the names in `expr` are in force: a name that is assigned again is another."""
        names = dict.fromkeys(part.id for part in every_part(expr) if isinstance(part, Name))
        found = (reaching_definitions(self._function, name, point.order, point.arms).bindings for name in names)
        return tuple(tuple(binding.order for binding in bindings) for bindings in found)

    def _choice(
        self,
        identity: object,
        text: str,
        number: AbstractNumber,
        *,
        values: tuple[object, ...] = (),
        may_be_none: bool = False,
    ) -> Name:
        name = self._names.setdefault(identity, f"#{len(self._names)}")
        if name not in self._choices:
            self._choices[name] = Choice(_kind(number, values), text, number, values, may_be_none)
        return Name(name)

    def _may_be_none(self, expr: Expr, point: _Point) -> bool:
        """Return whether `expr` is a parameter that is None unless the caller passes something."""
        if not isinstance(expr, Name) or (param := self._function.param(expr.id)) is None:
            return False
        if any(
            arm.given == param.name or (arm.flag == f"{param.name} is None" and not arm.is_true) for arm in point.arms
        ):
            return False
        callers = self._callers(self._function)
        given = [(caller.function, bound.get(param.name)) for caller, bound in callers]
        return param.default == Const(None) or any(_may_give_none(function, value) for function, value in given)

    def _finite(
        self, expr: Expr, module: Module, function: Function, point: _Point, depth: int
    ) -> tuple[object, ...] | None:
        """Return all values that `expr` may have, if each of them is a literal; flags have two."""

        def every(exprs: Iterable[Expr]) -> tuple[object, ...] | None:
            return _union(self._finite(expr, module, function, point, depth + 1) for expr in exprs)

        if depth > MOST_DEPTH:
            return None
        match expr:
            case Const(value):
                return (value,)
            case Compare():
                return (True, False)
            case Conditional(_, options, None):
                return every(options)
            case IterItem(TupleExpr(items)):
                return every(items)
            case Unpacked(IterItem(TupleExpr(rows)), int(at), size, False):
                whole = [row.items[at] for row in rows if isinstance(row, TupleExpr) and len(row.items) == size]
                return every(whole) if len(whole) == len(rows) else None
            case Name(name) if (param := function.param(name)) is not None:
                return self._passed(function, param, point, depth) if name not in function.bindings else None
            case Name(name) if name in function.bindings:
                bound = reaching_definitions(function, name, point.order, point.arms)
                values = (
                    self._finite(binding.value, module, function, _Point(binding.order, binding.arms), depth + 1)
                    for binding in bound.bindings
                )
                return _union(values) if bound.certain else None
            case Name() | Attr():
                frame = self._interpreter.frame(module, function)
                literal = self._interpreter.number(expr, ProgramPoint(frame, point.order, point.arms)).literal
                return (literal,) if literal is not ... else None
            case _:
                return None

    def _passed(self, function: Function, param: HostParam, point: _Point, depth: int) -> tuple[object, ...] | None:
        """Return all values that callers pass for `param`, if each is a literal; flags have two."""
        is_flag = param.annotation == "bool" or (isinstance(param.default, Const) and type(param.default.value) is bool)
        unknown = (True, False) if is_flag else None
        callers = self._callers(function)
        if not callers or len(self._interpreter.caller_arguments.called(function)) > MOST_CALLERS:
            return unknown
        if any(param.name not in bound and _hides(caller.site.call) for caller, bound in callers):
            return unknown
        given = [
            self._finite(
                bound[param.name],
                caller.module,
                caller.function,
                _Point(caller.site.order, caller.site.arms),
                depth + 1,
            )
            for caller, bound in callers
            if param.name in bound
        ]
        if len(given) < len(callers):
            home = self._interpreter.project.names.home(function)
            given.append(self._finite(param.default, home, home.top, END, depth + 1) if param.default else None)
        return _union(iter(given)) or unknown

    def _callers(self, function: Function) -> list[tuple[Caller, Mapping[str, Expr]]]:
        """Return the calls of `function` that the program comes to, with their arguments."""
        every = self._interpreter.caller_arguments.called(function)
        return [pair for pair in every if self._is_reached(pair[0].function)]


def _may_give_none(caller: Function, given: Expr | None) -> bool:
    """Return whether `caller` passes None, or a parameter of its own that is None by default."""
    options = given.options if isinstance(given, Conditional) else (given,)
    params = [caller.param(option.id) for option in options if isinstance(option, Name)]
    return Const(None) in options or any(
        parameter is not None and parameter.default == Const(None) for parameter in params
    )


def _hides(call: Call) -> bool:
    """Return whether a starred list or table of `call` may give any parameter."""
    return any(isinstance(argument, Star) for argument in call.args) or any(name is None for name, _ in call.keywords)


def _is_arithmetic(func: Expr, args: Sequence[Expr]) -> bool:
    name = final_name(func)
    return name in ARITHMETIC and len(args) >= ARITHMETIC[name]


def _kind(number: AbstractNumber, values: tuple[object, ...]) -> ChoiceKind:
    if values:
        return ChoiceKind.FINITE
    if number.kind in (Variability.FIXED, Variability.PER_MODEL):
        return ChoiceKind.RECORDED
    kind = number.decide()
    if kind in (Variability.LOGARITHMIC, Variability.PER_CALL) or (kind is Variability.FEW and number.is_integer):
        return ChoiceKind.INTEGER
    return ChoiceKind.OPEN


def _union(parts: Iterator[tuple[object, ...] | None]) -> tuple[object, ...] | None:
    found: dict[tuple[type, object], object] = {}
    for part in parts:
        if part is None:
            return None
        found |= {(type(value), value): value for value in part}
    return tuple(found.values())
