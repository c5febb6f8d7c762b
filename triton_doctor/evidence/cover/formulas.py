"""A launch to formulas: each parameter and option as an expression over the choices that its caller makes.

Equal choices are one, so that what varies together does: in `k[(1,)](x, n, BLOCK=next_power_of_2(n), HAS_X=x is not
None)`, the classes of `n` follow from the same `n` as `BLOCK`, and `HAS_X` is whether `x` is passed. A name that is
assigned in a branch follows from the test of the branch, and a test that is not followed is one choice wherever it is
made. Choices that share nothing are taken to be independent: their values are combined, as a request may need any of
the combinations.
"""

from __future__ import annotations

from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.nesting import with_own_stack
from triton_doctor.static.project.launches.launches import hides_arguments
from triton_doctor.static.project.limits import MOST_CALLERS, MOST_DEPTH, MOST_NAMES
from triton_doctor.static.python.conditions import none_flag
from triton_doctor.static.python.function_body import DECLARED
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
    Subscript,
    TupleExpr,
    Unpacked,
    every_part,
    final_name,
)
from triton_doctor.static.python.printing import spell
from triton_doctor.static.python.reaching_definitions import reaching_definitions
from triton_doctor.static.variability.interpreter.known_literals import find_global, passes_more
from triton_doctor.static.variability.queries.kernel_hints import thorough_interpreter_of
from triton_doctor.static.variability.queries.parameter_uses import bind_arguments
from triton_doctor.static.variability.queries.parameters import Parameters
from triton_doctor.static.variability.values.lattice import UNKNOWN, AbstractNumber, Variability
from triton_doctor.static.variability.values.values import DictValue, ProgramPoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from triton_doctor.static.project.calls.called_names import Caller
    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.function import BranchArm, Function, HostParam
    from triton_doctor.static.python.module import Kernel
    from triton_doctor.static.python.reaching_definitions import ReachingDefinitions

# With the least number of arguments that are numbers: `max(lengths)` is of a list.
ARITHMETIC = {"cdiv": 2, "next_power_of_2": 1, "min": 2, "max": 2, "int": 1, "abs": 1, "bool": 1}
# More assignments of one name are not followed by their tests: each doubles the formula.
MOST_ASSIGNMENTS = 4


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
    """A value that a launch is computed from, spelled `text`. `values` are those of FINITE, and of an OPEN test.

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
    that is not followed. `unseen` are parameters that have one value, which no recording of this launch shows.
    """

    path: str
    line: int
    kernel: Kernel
    formulas: Mapping[str, Expr]
    numbers: Mapping[str, AbstractNumber]
    texts: Mapping[str, str]
    choices: Mapping[str, Choice]
    hides: bool
    unseen: frozenset[str] = frozenset()

    def lasting(self) -> frozenset[str]:
        """Return the parameters and options that have one value, no literal, as long as the program lasts."""
        choices = {name: [self.choices[part] for part in choices_in(part)] for name, part in self.formulas.items()}
        return frozenset(name for name, every in choices.items() if every and all(map(lasts, every)))


class _Point(NamedTuple):
    """A point in the function that launches."""

    order: int
    arms: tuple[BranchArm, ...]


END = _Point(1 << 30, ())


def read_spaces(
    project: Project, kernel: Kernel, launches: Sequence[LinkedLaunch], is_reached: Callable[[Function], bool]
) -> list[LaunchSpace]:
    """Return what each of `launches` can pass to `kernel`. Callers that the program never reaches do not count."""
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
        missing = [param for param in kernel.params if not kernel.may_set(param.name) and param.name not in formulas]
        if launch.launch.method == DECLARED:
            # The helper that starts it gives the others, each from what it is passed.
            formulas |= {param.name: self._choice(("helper", param.name), param.name, UNKNOWN) for param in missing}
            missing = []
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
            hides=not are_known or any(hides_arguments(launch) or param.default is None for param in missing),
        )

    def _resolve(self, expr: Expr, point: _Point, steps: int = 2 * MOST_NAMES) -> Expr:
        def resolve_all(exprs: Sequence[Expr]) -> tuple[Expr, ...]:
            return tuple(self._resolve(part, point, steps - 1) for part in exprs)

        match expr if steps else None:
            case Const():
                return expr
            case Subscript(Name(table), Const(str(name))) if table == self._table and name in self._given:
                return self._given[name]
            case Name(name):
                bound = reaching_definitions(self._function, name, point.order, point.arms)
                if len(bound.bindings) == 1 and bound.certain:
                    (binding,) = bound.bindings
                    value = self._resolve(binding.value, _Point(binding.order, binding.arms), steps - 1)
                    self._narrow(value, expr, point)
                    return value
                if bound.bindings and (bound.certain or self._function.param(name) is not None):
                    return self._by_tests(bound, expr, point, steps - 1)
            case BinaryOp(op, operands):
                return BinaryOp(op, resolve_all(operands))
            case Compare(op, operands):
                compared = resolve_all(operands)
                self._note_none(op, compared)
                return Compare(op, compared)
            case Conditional(test, options, operator):
                resolved = resolve_all(options)
                return Conditional(None if test is None else self._test(test, point, steps - 1), resolved, operator)
            case Call(func, args, ()) if len(args) >= ARITHMETIC.get(final_name(func), len(args) + 1):
                return Call(Name(final_name(func)), resolve_all(args), ())
            case Unpacked(TupleExpr(items), int(position), size, False) if len(items) == size:
                return self._resolve(items[position], point, steps - 1)
            case _:
                pass
        return self._leaf(expr, point)

    def _note_none(self, op: str, operands: tuple[Expr, ...]) -> None:
        """Note that what is tested for None may be None, unless it lasts or its values are known."""
        match op, operands:
            case "is" | "is not", (Name(name), Const(None)):
                choice = self._choices[name]
                is_lasting = choice.number.kind in (Variability.FIXED, Variability.PER_MODEL)
                if not is_lasting and choice.kind is not ChoiceKind.FINITE:
                    self._choices[name] = choice._replace(may_be_none=True)

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

    def _by_tests(self, bound: ReachingDefinitions, expr: Expr, point: _Point, steps: int) -> Expr:
        """Return the value that the name `expr` has, by the tests of the branches around its assignments."""
        values = [
            self._resolve(binding.value, _Point(binding.order, binding.arms), steps) for binding in bound.bindings
        ]
        arms = [[arm for arm in binding.arms if arm not in point.arms] for binding in bound.bindings]
        if bound.certain:
            arms.pop()
        else:
            values.append(self._leaf(expr, _Point(0, tuple(arm for arm in point.arms if not arm.loop))))
        tests = self._function.text.contents.tests
        is_straight = all(own and all(arm.branch in tests for arm in own) for own in arms)
        if len(arms) > MOST_ASSIGNMENTS or not is_straight or bound.bindings[0].order > point.order:
            return self._one_of(tuple(values), expr)
        value = values[-1]
        for own, later in zip(reversed(arms), reversed(values[:-1]), strict=True):
            chosen = later
            for arm in reversed(own):
                test = tests[arm.branch]
                options = (chosen, value) if arm.side == 0 else (value, chosen)
                chosen = Conditional(self._test(test.test, _Point(test.order, test.arms), steps), options)
            value = chosen
        return value

    def _test(self, test: Expr, point: _Point, steps: int) -> Expr:
        """Return `test`; where it cannot be evaluated, a choice of two, the same wherever it is tested."""
        resolved = self._resolve(test, point, steps)
        if self._is_followed(resolved) or self._lasts(resolved):
            return resolved
        name = self._choice(("test", spell(test), self._versions(test, point)), spell(test), UNKNOWN)
        # Its kind stays open: an option behind the test is not proved.
        self._choices[name.id] = self._choices[name.id]._replace(values=(True, False))
        return name

    def _is_followed(self, test: Expr) -> bool:
        """Return whether `test` can be evaluated for each value of its choices."""
        match test:
            case Compare("is" | "is not", (_, Const(None))):
                return True
            case Name(name):
                return self._choices[name].kind in (ChoiceKind.FINITE, ChoiceKind.INTEGER)
            case BinaryOp(_, operands) | Compare(_, operands) | Conditional(None, operands) | Call(_, operands):
                return all(map(self._is_followed, operands))
            case _:
                return isinstance(test, Const)

    def _lasts(self, formula: Expr) -> bool:
        """Return whether `formula` has one value as long as the program lasts."""
        return all(lasts(self._choices[name]) for name in choices_in(formula))

    def _one_of(self, values: tuple[Expr, ...], expr: Expr) -> Expr:
        which = ("which", spell(expr), values)
        chosen = self._choice(which, spell(expr), UNKNOWN, values=tuple(range(len(values))))
        return Subscript(TupleExpr(values), chosen)

    def _leaf(self, expr: Expr, point: _Point) -> Expr:
        """Return the choice that `expr` is."""
        number = self._number(expr, point)
        if number.literal is not ... and isinstance(number.literal, int | float | str | bool | None):
            return Const(number.literal)
        values = self._values(expr, self._function, point)
        # Like the types, the kind of device is that of the recording.
        is_device = isinstance(expr, Attr) and expr.name == "type" and final_name(expr.base) == "device"
        if is_device or (isinstance(expr, Name) and self._is_set_at_import(expr.id)):
            number = number._replace(kind=Variability.FIXED)
        identity: object = ("text", spell(expr), self._versions(expr, point))
        if number.size is not None:
            identity = ("size", number.size)
        known = () if ... in values else values
        return self._choice(identity, spell(expr), number, values=known, may_be_none=None in values)

    def _is_set_at_import(self, name: str) -> bool:
        """Return whether `name` is a global that keeps the value that it got when its module was imported."""
        function = self._function
        is_local = function.param(name) is not None or name in function.bindings or name in function.globals
        is_global = not is_local and function.parent in (None, "<module>")
        return is_global and find_global(self._interpreter.project, self._launch.module, name) is not None

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

    def _values(self, expr: Expr | None, function: Function, point: _Point, depth: int = 0) -> tuple[object, ...]:
        """Return the literals that `expr` may be at `point`, by all callers of `function`; `...` for other values."""

        def every(exprs: Iterable[Expr | None]) -> tuple[object, ...]:
            return _union(self._values(expr, function, point, depth + 1) for expr in exprs)

        match expr:
            case Const(value):
                return (value,)
            case Compare():
                return (True, False)
            case Conditional(_, options, operator):
                return every((*options, None) if operator else options)
            case IterItem(TupleExpr(items)):
                return every(items)
            case Unpacked(IterItem(TupleExpr(rows)), int(at), size, False):
                whole = [row.items[at] for row in rows if isinstance(row, TupleExpr) and len(row.items) == size]
                return every(whole) if len(whole) == len(rows) else (...,)
            case Name(name) if depth <= MOST_DEPTH and (name in function.bindings or function.param(name) is not None):
                return self._named(name, function, point, depth)
            case Name() | Attr():
                frame = self._interpreter.frame(self._interpreter.project.names.home(function), function)
                return (self._interpreter.number(expr, ProgramPoint(frame, point.order, point.arms)).literal,)
            case _:
                return (...,)

    def _named(self, name: str, function: Function, point: _Point, depth: int) -> tuple[object, ...]:
        """Return what the local or parameter `name` may be, by its assignments and what callers pass."""
        param, flag = function.param(name), none_flag(name)
        bound = reaching_definitions(function, name, point.order, point.arms)
        found = [
            self._values(binding.value, function, _Point(binding.order, binding.arms), depth + 1)
            for binding in bound.bindings
        ]
        if param is not None and not bound.certain:
            is_given = any(arm.given == name or (arm.flag == flag and not arm.is_true) for arm in point.arms)
            is_replaced = any(
                arm.flag == flag and arm.is_true and set(binding.arms) - {arm} <= set(point.arms)
                for binding in bound.bindings
                for arm in binding.arms
            )
            passed = self._passed(function, param, depth)
            found.append(tuple(value for value in passed if value is not None or not (is_given or is_replaced)))
        return _union(found if bound.certain or param is not None else [*found, (...,)])

    def _passed(self, function: Function, param: HostParam, depth: int) -> tuple[object, ...]:
        """Return what callers pass for `param`, or leave as its default; flags have two values.

        A helper that other functions of its module call is called by nobody else: a warm-up calls what requests call,
        and may pass what they leave.
        """
        callers, home = self._callers(function), self._interpreter.project.names.home(function)
        is_cut = len(self._interpreter.caller_arguments.called(function)) > MOST_CALLERS
        is_helper = callers and not self._interpreter.reachability.exports(home, function)
        found: list[tuple[object, ...]] = [(...,)] if is_cut or not callers else []
        for caller, bound in callers:
            site, inner, given = caller.site, caller.function, bound.get(param.name)
            if given is None or inner.path != function.path or inner.name == "<module>":
                is_helper = False
            if given is not None:
                found.append(self._values(given, inner, _Point(site.order, site.arms), depth + 1))
            elif passes_more(site.call):
                found.append((...,))
            else:
                found.append(self._values(param.default, home.top, END, depth + 1))
        if param.default == Const(None) and not is_helper:
            found.append((None,))
        values = _union(found)
        is_flag = param.annotation == "bool" or (isinstance(param.default, Const) and type(param.default.value) is bool)
        return (True, False) if is_flag and ... in values else values

    def _callers(self, function: Function) -> list[tuple[Caller, Mapping[str, Expr]]]:
        """Return the calls of `function` that the program comes to, with their arguments."""
        every = self._interpreter.caller_arguments.called(function)
        return [pair for pair in every if self._is_reached(pair[0].function)]


def _kind(number: AbstractNumber, values: tuple[object, ...]) -> ChoiceKind:
    if values:
        return ChoiceKind.FINITE
    if number.kind in (Variability.FIXED, Variability.PER_MODEL):
        return ChoiceKind.RECORDED
    kind = number.decide()
    if kind in (Variability.LOGARITHMIC, Variability.PER_CALL) or (kind is Variability.FEW and number.is_integer):
        return ChoiceKind.INTEGER
    return ChoiceKind.OPEN


def _union(parts: Iterable[tuple[object, ...]]) -> tuple[object, ...]:
    return tuple({(type(value), value): value for part in parts for value in part}.values())


def lasts(choice: Choice) -> bool:
    """Return whether `choice` has one value as long as the program lasts."""
    return choice.kind is ChoiceKind.RECORDED and not choice.may_be_none


def choices_in(formula: Expr) -> tuple[str, ...]:
    """Return the names of the choices that `formula` is computed from, in order."""
    names = (part.id for part in every_part(formula) if isinstance(part, Name) and part.id.startswith("#"))
    return tuple(dict.fromkeys(names))
