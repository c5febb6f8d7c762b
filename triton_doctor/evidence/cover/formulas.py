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

from triton_doctor.evidence.cover.possible_values import END, Point, PossibleValues
from triton_doctor.nesting import with_own_stack
from triton_doctor.static.project.launches.launches import hides_arguments
from triton_doctor.static.project.limits import MOST_NAMES
from triton_doctor.static.python.function_body import DECLARED
from triton_doctor.static.python.ir import (
    Attr,
    BinaryOp,
    Call,
    Compare,
    Conditional,
    Const,
    Expr,
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
from triton_doctor.static.variability.interpreter.attributes import MAKING
from triton_doctor.static.variability.interpreter.known_literals import find_global
from triton_doctor.static.variability.queries.kernel_hints import thorough_interpreter_of
from triton_doctor.static.variability.queries.parameter_uses import bind_arguments, spelled_entries
from triton_doctor.static.variability.queries.parameters import Parameters
from triton_doctor.static.variability.values.lattice import UNKNOWN, AbstractNumber, Variability
from triton_doctor.static.variability.values.values import DictValue, ProgramPoint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from triton_doctor.evidence.cover.set_values import SetValues
    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.function import Binding, BranchArm, Function
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


def read_spaces(
    project: Project,
    kernel: Kernel,
    launches: Sequence[LinkedLaunch],
    is_reached: Callable[[Function], bool],
    set_values: SetValues,
) -> list[LaunchSpace]:
    """Return what each of `launches` can pass to `kernel`. Callers that the program never reaches do not count."""
    hinted: dict[tuple[int, str], AbstractNumber] = {}
    for parameter in Parameters(project, thorough_interpreter_of(project)).of(kernel, lambda kernel, param: True):
        hinted |= {(id(source.launch), parameter.param.name): source.number for source in parameter.sources}
    return [
        with_own_stack(_Reader(project, launch, kernel, hinted, is_reached, set_values).read) for launch in launches
    ]


class _Reader:
    """Resolves the arguments of one launch."""

    def __init__(
        self,
        project: Project,
        launch: LinkedLaunch,
        kernel: Kernel,
        hinted: Mapping[tuple[int, str], AbstractNumber],
        is_reached: Callable[[Function], bool],
        set_values: SetValues,
    ) -> None:
        self._interpreter = thorough_interpreter_of(project)
        self._possible = PossibleValues(self._interpreter, is_reached, set_values)
        self._launch, self._kernel, self._hinted = launch, kernel, hinted
        self._function = launch.function
        self._choices: dict[str, Choice] = {}
        self._names: dict[object, str] = {}
        # Of a heuristic: what its lambda calls the arguments, and their formulas.
        self._table, self._given = "", dict[str, Expr]()

    def read(self) -> LaunchSpace:
        launch, kernel, interpreter = self._launch, self._kernel, self._interpreter
        arguments = bind_arguments(launch, kernel, interpreter)
        point = Point(launch.launch.order, launch.launch.arms)
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
        for passed in launch.launch.arguments:
            if passed.name == "**" and isinstance(passed.value, Name):
                formulas |= self._stored_in(passed.value, point)
        missing = [param for param in kernel.params if not kernel.may_set(param.name) and param.name not in formulas]
        if launch.launch.method == DECLARED:
            # The helper that starts it gives the others, each from what it is passed.
            formulas |= {param.name: self._choice(("helper", param.name), param.name, UNKNOWN) for param in missing}
            missing = []
        self._given = dict(formulas)
        for heuristic in kernel.heuristics:
            if heuristic.param not in formulas:
                texts[heuristic.param] = spell(heuristic.value)
                if isinstance(heuristic.value, Lambda):
                    self._table, body = heuristic.value.params[0], heuristic.value.body
                    texts[heuristic.param], formulas[heuristic.param] = spell(body), self._resolve(body, END)
                else:
                    formulas[heuristic.param] = self._choice(heuristic, spell(heuristic.value), UNKNOWN)
        for name, formula in formulas.items():
            numbers[name] = number = self._hinted.get((id(launch), name), numbers.get(name, UNKNOWN))
            # Of several constants, such as types, each is FIXED.
            if (
                isinstance(formula, Name)
                and (choice := self._choices[formula.id]).kind is ChoiceKind.OPEN
                and number.kind is not Variability.FIXED
            ):
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

    def _resolve(self, expr: Expr, point: Point, steps: int = 2 * MOST_NAMES) -> Expr:
        def resolve_all(exprs: Sequence[Expr]) -> tuple[Expr, ...]:
            return tuple(self._resolve(part, point, steps - 1) for part in exprs)

        match expr if steps else None:
            case Const():
                return expr
            case Subscript(Name(table), Const(str(name))) if table == self._table and name in self._given:
                return self._given[name]
            case Name(name) if self._interpreter.project.declared.get(name, "per_call") == "per_call":
                bound = reaching_definitions(self._function, name, point.order, point.arms)
                if any(_counts_up(binding, self._function) for binding in bound.bindings):
                    number = self._number(expr, point)
                    is_varying = number.kind in (Variability.PER_CALL, Variability.LOGARITHMIC)
                    return self._choice(("loop", name, point), name, number if is_varying else UNKNOWN)
                if len(bound.bindings) == 1 and bound.certain:
                    (binding,) = bound.bindings
                    value = self._resolve(binding.value, Point(binding.order, binding.arms), steps - 1)
                    self._narrow(value, expr, point)
                    return value
                if bound.bindings and (bound.certain or self._function.param(name) is not None):
                    return self._by_tests(bound, expr, point, steps - 1)
            case BinaryOp(op, operands):
                return BinaryOp(op, resolve_all(operands))
            case Compare(op, operands):
                compared = resolve_all(operands)
                self._note_none(op, compared)
                is_none = op in ("is", "is not") and compared[1] == Const(None)
                return Compare(op, compared) if is_none else self._as_test(Compare(op, compared), expr)
            case Conditional(test, options, operator):
                resolved = resolve_all(options)
                return Conditional(None if test is None else self._test(test, point, steps - 1), resolved, operator)
            case Call(func, args, ()) if len(args) >= ARITHMETIC.get(final_name(func), len(args) + 1):
                return Call(Name(final_name(func)), resolve_all(args), ())
            case Call(Attr(number, "bit_length"), ()):
                return Call(Name("bit_length"), resolve_all((number,)), ())
            case Subscript(Name(table), Const(str(name))) if table in self._function.bindings:
                stored = self._stored_in(Name(table), point)
                if name in stored:
                    return stored[name]
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

    def _narrow(self, formula: Expr, expr: Expr, point: Point) -> None:
        """Add to the choice `formula` the bounds that tests of the name `expr` give it: `if n > 64: raise`."""
        if isinstance(formula, Name):
            choice, number = self._choices[formula.id], self._number(expr, point)
            if number.high is not None and (choice.number.high is None or number.high < choice.number.high):
                self._choices[formula.id] = choice._replace(number=choice.number._replace(high=number.high))

    def _number(self, expr: Expr, point: Point) -> AbstractNumber:
        program_point = self._interpreter.at(self._launch)._replace(order=point.order, arms=point.arms)
        with suppress(RecursionError):
            return self._interpreter.number(expr, program_point)
        return UNKNOWN

    def _by_tests(self, bound: ReachingDefinitions, expr: Expr, point: Point, steps: int) -> Expr:
        """Return the value that the name `expr` has, by the tests of the branches around its assignments."""
        values = [self._resolve(binding.value, Point(binding.order, binding.arms), steps) for binding in bound.bindings]
        arms = [[arm for arm in binding.arms if arm not in point.arms] for binding in bound.bindings]
        if bound.certain:
            arms.pop()
        else:
            values.append(self._leaf(expr, Point(0, tuple(arm for arm in point.arms if not arm.loop))))
        tests = self._function.text.contents.tests
        is_straight = all(own and all(arm.branch in tests for arm in own) for own in arms)
        if len(arms) > MOST_ASSIGNMENTS or not is_straight or bound.bindings[0].order > point.order:
            return self._one_of(tuple(values), expr)
        value = values[-1]
        for own, later in zip(reversed(arms), reversed(values[:-1]), strict=True):
            value = self._behind(own, later, value, steps)
        return value

    def _behind(self, arms: Sequence[BranchArm], chosen: Expr, other: Expr, steps: int) -> Expr:
        """Return `chosen` where a call goes through `arms`, outermost first, and `other` elsewhere."""
        for arm in reversed(arms):
            test = self._function.text.contents.tests[arm.branch]
            options = (chosen, other) if arm.side == 0 else (other, chosen)
            chosen = Conditional(self._test(test.test, Point(test.order, test.arms), steps), options)
        return chosen

    def _stored_in(self, table: Name, point: Point) -> dict[str, Expr]:
        """Return the entries of `**table` that are stored in branches: each is as before where the branch is not taken.

        The value before may be that of an option that is not passed.
        """
        written = spelled_entries(table, self._interpreter.at(self._launch))
        found: dict[str, Expr] = {}
        tests = self._function.text.contents.tests
        for stored in self._function.stored:
            if stored.base != table.id or stored.order > point.order:
                continue
            name, own = stored.name, [arm for arm in stored.arms if arm not in point.arms]
            value = self._resolve(stored.value, Point(stored.order, stored.arms))
            if own and name not in found:
                before = written.get(name)
                found[name] = (
                    self._choice(("absent", name), name, UNKNOWN) if before is None else (self._resolve(before, point))
                )
            is_straight = all(arm.branch in tests for arm in own)
            which = self._choice(("which", name, stored), name, UNKNOWN, values=(0, 1))
            found[name] = (
                value
                if not own
                else self._behind(own, value, found[name], 2 * MOST_NAMES)
                if is_straight
                else Subscript(TupleExpr((value, found[name])), which)
            )
        return found

    def _test(self, test: Expr, point: Point, steps: int) -> Expr:
        """Return `test`; where it cannot be evaluated, a choice of two, the same wherever it is tested."""
        return self._as_test(self._resolve(test, point, steps), test)

    def _as_test(self, resolved: Expr, test: Expr) -> Expr:
        is_test = isinstance(resolved, Name) and self._choices[resolved.id].values
        if is_test or self._is_followed(resolved) or self._lasts(resolved):
            return resolved
        name = self._choice(("test", resolved), spell(test), UNKNOWN)
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
            case Conditional(chosen, options) if chosen is not None:
                return all(map(self._is_followed, (chosen, *options)))
            case Subscript(TupleExpr(items), Name()):
                return all(map(self._is_followed, items))
            case _:
                return isinstance(test, Const)

    def _lasts(self, formula: Expr) -> bool:
        """Return whether `formula` has one value as long as the program lasts."""
        return all(lasts(self._choices[name]) for name in choices_in(formula))

    def _one_of(self, values: tuple[Expr, ...], expr: Expr, identity: object = None) -> Expr:
        """Return any of `values`; which one is a choice, that is the same for the same `identity`."""
        which = ("which", spell(expr), values)
        chosen = self._choice(identity or which, spell(expr), UNKNOWN, values=tuple(range(len(values))))
        return Subscript(TupleExpr(values), chosen)

    def _leaf(self, expr: Expr, point: Point) -> Expr:
        """Return the choice that `expr` is."""
        number = self._number(expr, point)
        if final_name(expr) in self._interpreter.project.declared and isinstance(expr, Name | Attr):
            return self._choice(("text", spell(expr), self._versions(expr, point)), spell(expr), number)
        if number.literal is not ... or number.kind in (Variability.PER_MODEL, Variability.UNKNOWN, Variability.FEW):
            found = self._as_set(expr, point)
            if found is not None:
                return found
        values = self._possible.of(expr, self._function, point)
        is_constant = number.kind in (Variability.FIXED, Variability.FEW) and ... in values
        if is_constant and isinstance(expr, Name) and self._possible.is_unsure(expr.id, self._function):
            number = UNKNOWN
        elif number.literal is not ... and (... in values or len(values) == 1):
            return Const(number.literal)  # type: ignore[arg-type]
        # Like the types, the kind of device is that of the recording.
        is_device = isinstance(expr, Attr) and expr.name == "type" and final_name(expr.base) == "device"
        if is_device or (isinstance(expr, Name) and self._is_set_at_import(expr.id)):
            number = number._replace(kind=Variability.FIXED)
        if number.kind is Variability.FIXED and self._is_one_of_several(expr, point):
            number = number._replace(kind=Variability.UNKNOWN)
        identity: object = ("text", spell(expr), self._versions(expr, point))
        if number.size is not None:
            identity = ("size", number.size)
        known = () if ... in values else values
        return self._choice(identity, spell(expr), number, values=known, may_be_none=None in values)

    def _is_one_of_several(self, expr: Expr, point: Point) -> bool:
        """Return whether `expr`, whose values are constants, is another one for another call."""
        match expr:
            case Subscript(_, key):
                return self._number(key, point).kind is not Variability.FIXED
            case Name(name) if self._function.param(name) is not None:
                given = {bound.get(name) for _, bound in self._possible.callers(self._function)}
                return len(given) > 1 or any(not isinstance(passed, Attr | Const | None) for passed in given)
            case Name(name):
                # A name of nothing in sight, such as the parameter of a lambda, or a global that functions set.
                module, function = self._launch.module, self._function
                is_local = name in function.bindings and name not in function.globals
                is_outer = function.parent in (None, "<module>") and not is_local
                return is_outer and name not in module.imports and not self._is_set_at_import(name)
            case _:
                return False

    def _as_set(self, expr: Expr, point: Point) -> Expr | None:
        """Return which of the values that the program sets it to the attribute, entry or result `expr` is.

        None where that is not known, or one value. What an object keeps from its making is one value for `self`.
        """
        places = self._possible.places(expr, self._function, point)
        options: list[Expr] = []
        is_own = isinstance(expr, Attr) and expr.base in (Name("self"), Name("cls"))
        for written, module, function, order, arms in places:
            place = Point(order, arms)
            values = self._possible.of(written, function, place, 1)
            may_be_none, is_known = None in values, ... not in values
            if not (is_known or may_be_none or isinstance(expr, Attr)):
                return None
            frame = self._interpreter.frame(module, function)
            number = self._interpreter.number(written, ProgramPoint(frame, order, arms))
            if not is_known and is_own and function.name in MAKING:
                number = number._replace(kind=Variability.PER_MODEL)
            identity = ("set", function.path, function.qualname, order, written)
            unknown = self._choice(identity, spell(expr), number, may_be_none=may_be_none)
            options += [Const(value) for value in values] if is_known else [unknown]  # type: ignore[arg-type]
        if len(set(options)) < 2 and not any(map(self._may_be, options)):
            return None
        # What one call returns or sets together varies together.
        whole = expr.base if isinstance(expr, Attr) else expr.value if isinstance(expr, Unpacked) else expr
        if len(options) == len(places):
            return self._one_of(tuple(options), expr, (spell(whole), self._versions(whole, point), len(options)))
        return self._one_of(tuple(dict.fromkeys(options)), expr)

    def _may_be(self, option: Expr) -> bool:
        return isinstance(option, Name) and self._choices[option.id].may_be_none

    def _is_set_at_import(self, name: str) -> bool:
        """Return whether `name` is a global that keeps the value that it got when its module was imported."""
        function = self._function
        is_local = function.param(name) is not None or name in function.bindings or name in function.globals
        is_global = not is_local and function.parent in (None, "<module>")
        return is_global and find_global(self._interpreter.project, self._launch.module, name) is not None

    def _versions(self, expr: Expr, point: Point) -> tuple[object, ...]:
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


def _counts_up(binding: Binding, function: Function) -> bool:
    """Return whether each turn of a loop, or each call, computes the name from itself."""
    is_own = any(isinstance(part, Name) and part.id == binding.name for part in every_part(binding.value))
    return is_own and (binding.name in function.globals or any(arm.loop for arm in binding.arms))


def _kind(number: AbstractNumber, values: tuple[object, ...]) -> ChoiceKind:
    """Return how much is known of `number`. Of what others keep, only its name says that it is the model's."""
    if values:
        return ChoiceKind.FINITE
    is_own = all(dim.root.name.startswith(("self.", "cls.")) for dim in number.undecided_dims)
    if number.kind is Variability.FIXED or (number.kind is Variability.PER_MODEL and is_own):
        return ChoiceKind.RECORDED
    kind = number.decide()
    if kind in (Variability.LOGARITHMIC, Variability.PER_CALL) or (kind is Variability.FEW and number.is_integer):
        return ChoiceKind.INTEGER
    return ChoiceKind.OPEN


def lasts(choice: Choice) -> bool:
    """Return whether `choice` has one value as long as the program lasts."""
    return choice.kind is ChoiceKind.RECORDED and not choice.may_be_none


def choices_in(formula: Expr) -> tuple[str, ...]:
    """Return the names of the choices that `formula` is computed from, in order."""
    names = (part.id for part in every_part(formula) if isinstance(part, Name) and part.id.startswith("#"))
    return tuple(dict.fromkeys(names))
