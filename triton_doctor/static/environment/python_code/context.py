"""The context of a step: the meaning of names, the function, and the conditions it depends on."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from triton_doctor.static.environment.python_code.entries import entries
from triton_doctor.static.environment.python_code.guards import holds, is_switch
from triton_doctor.static.environment.python_code.names import Names
from triton_doctor.static.python.ir import Attr, Call, DictExpr, Expr, Name, Opaque, TupleExpr, every_part
from triton_doctor.static.python.step import Condition, LoopOver, Managed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from triton_doctor.static.python.step import ProgramStep
    from triton_doctor.static.python.trace import Routine, Trace

_LONGEST_LOOP = 64
# Nested loops multiply the rounds: a loop that would exceed this binds nothing.
_MOST_ROUNDS = 256


class StepContext:
    """The context of a step of `routine`. `conditions` grows and shrinks while the parts of the step are read."""

    def __init__(self, routine: Routine, names: Names, conditions: list[Condition], *, is_undone: bool) -> None:
        """`is_undone` says that settings here are reverted at the end of a block or a test."""
        self.names = names
        self.function = routine.name
        self.is_undone = is_undone
        self.conditions = conditions
        self._is_asked_for = any(map(_is_context_manager, _functions_around(routine)))

    @contextmanager
    def under(self, *conditions: Condition) -> Iterator[None]:
        """Add `conditions` inside the `with` block."""
        depth = len(self.conditions)
        self.conditions += conditions
        yield
        del self.conditions[depth:]

    def is_switched(self, variable: str | None) -> bool:
        """Return whether a condition decides over the current part; a test for `variable` alone does not count."""
        return self._is_asked_for or any(
            holds(one.test, self.names, variable) is not one.outcome for one in self.conditions
        )


def contexts(trace: Trace, routine: Routine, step: ProgramStep) -> Iterator[StepContext]:
    """Yield the contexts in which `step` runs: one for each round of the loops over literals around it."""
    # A condition around a function's definition decides whether it exists, not whether its calls run.
    inherited = [one for one in routine.around if not isinstance(one, Condition) or isinstance(one.test, Opaque)]
    around = [*inherited, *step.around[len(routine.around) :]]
    # An early return counts as a condition only if its test is a flag, not a test of arguments or of the rank.
    tests = [one for one in around if isinstance(one, Condition) and (not one.is_left or is_switch(one.test))]
    is_undone = any(isinstance(one, Managed) and _is_scope(one.manager) for one in around) or any(
        map(_is_fixture_that_restores, _functions_around(routine))
    )
    rounds = [Names(routine, trace.imports)]
    for loop in around:
        if isinstance(loop, LoopOver):
            inner = [names.bound(given) for names in rounds for given in _bindings_of_rounds(loop, names)]
            rounds = inner if len(inner) <= _MOST_ROUNDS else rounds
    for names in rounds:
        yield StepContext(routine, names, list(tests), is_undone=is_undone)


def _bindings_of_rounds(loop: LoopOver, names: Names) -> list[Mapping[str, Expr]]:
    """Return the loop's bindings, one mapping for each round; a single empty mapping if they are not known."""
    rounds: list[Mapping[str, Expr]] = []
    match loop.target, names.value(loop.source) or loop.source:
        case Name(name), TupleExpr(items):
            rounds = [{name: item} for item in items]
        case Name(name), DictExpr(pairs):
            rounds = [{name: key} for key, _ in pairs if key is not None]
        case TupleExpr((Name(name), Name(other))), _:
            rounds = [{name: entry.key, other: entry.value} for entry in entries(loop.source, names)]
    return rounds if 0 < len(rounds) <= _LONGEST_LOOP else [{}]


def _functions_around(routine: Routine) -> Iterator[Routine]:
    while routine.outer is not None:
        yield routine
        routine = routine.outer


def _is_scope(manager: Expr) -> bool:
    """Return whether `manager` is `triton.knobs.runtime.scope()`, which restores knobs at its end."""
    return isinstance(manager, Call) and isinstance(manager.func, Attr) and manager.func.name == "scope"


def _is_context_manager(routine: Routine) -> bool:
    """Return whether `routine` is used by `with`, so that its settings last for that block."""
    return routine.name == "__enter__" or _has_decorator(routine, "contextmanager", "asynccontextmanager")


def _is_fixture_that_restores(routine: Routine) -> bool:
    """Return whether `routine` is a fixture with code after its `yield`."""
    if not _has_decorator(routine, "fixture"):
        return False
    yields = [step.line for step in routine.steps if any(map(_is_yield, every_part(step.value)))]
    return bool(yields) and routine.last_line > min(yields)


def _is_yield(part: Expr) -> bool:
    return isinstance(part, Opaque) and part.what == "Yield"


def _has_decorator(routine: Routine, *names: str) -> bool:
    for decorator in routine.decorators:
        match decorator.func if isinstance(decorator, Call) else decorator:
            case Name(name) | Attr(_, name) if name in names:
                return True
    return False
