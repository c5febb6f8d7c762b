"""What reading yields of host functions: plain values that hold no syntax tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from triton_doctor.finding import Span
    from triton_doctor.static.python.ir import Call, Expr
    from triton_doctor.static.python.module import BodyUses
    from triton_doctor.static.sources.source_text import TextPattern


class BranchArm(NamedTuple):
    """One arm of a branching statement: `side` of `sides`; a loop's body, which may not run, is 0 of 2.

    `is_main` marks what runs where `__name__ == "__main__"`. `flag` is a name that has one truth in this arm, or
    `name is None`, and `is_true` which. `given` is a name of which this arm asks no more than that it is not None.
    `expects_error` marks what a test expects to fail; such an arm is the only one of its branch, and always runs.
    """

    branch: int
    side: int
    sides: int
    loop: bool
    is_main: bool = False
    flag: str | None = None
    is_true: bool = True
    given: str | None = None
    expects_error: bool = False


class Binding(NamedTuple):
    """`name = value`, the `order`th event of its function, inside `arms`, outermost first.

    `annotation` is the last name of `name: annotation = value`.
    """

    name: str
    value: Expr
    order: int
    line: int
    arms: tuple[BranchArm, ...]
    annotation: str | None = None


class Stored(NamedTuple):
    """`base.name = value` or `base["name"] = value`."""

    base: str
    name: str
    value: Expr
    order: int
    line: int


class Returned(NamedTuple):
    """`return value`, inside `arms`."""

    value: Expr
    order: int
    line: int
    arms: tuple[BranchArm, ...]


class BranchTest(NamedTuple):
    """The test of an `if`, the `order`th event, inside `arms`; it `leaves` if its body ends in `return` or `raise`."""

    test: Expr
    order: int
    arms: tuple[BranchArm, ...]
    leaves: bool


class AssertedBound(NamedTuple):
    """What a test says of a name, or of its `axis`: it is at most `high`, or one of `choices`.

    It is `high` itself where it `is_equal`: `assert length == frames * size`.
    `assert n <= 32` and `if n > 32: raise` hold from there on, `if n <= 32:` inside its own arm; all inside `arms`.
    Where the function fails unless it holds, no program goes on that had another value before, either: `left` is the
    last event before the test that may leave the way to it, by `return`, `break` or `continue`, 0 where none does; else
    it is None.
    """

    axis: int | None
    high: Expr | None
    choices: tuple[int, ...]
    order: int
    arms: tuple[BranchArm, ...]
    left: int | None = None
    is_equal: bool = False


class NoneTest(NamedTuple):
    """What an assertion, or `if x is None: raise`, says of a name from there on: whether it `is_none`."""

    is_none: bool
    order: int
    arms: tuple[BranchArm, ...]


class CallSite(NamedTuple):
    """A call that may reach a function of the project. `span` is known of calls without arguments alone."""

    call: Call
    order: int
    line: int
    arms: tuple[BranchArm, ...]
    span: Span | None = None


class Argument(NamedTuple):
    """One argument of a launch: `name` is None for a positional one, and `**` for `**table`; `*items` holds a Star."""

    name: str | None
    value: Expr
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Launch:
    """`kernel[grid](arguments)`; also `.run` and `.warmup`, whose `method` is that name and whose grid is a keyword."""

    kernel: Expr
    grid: Expr | None
    arguments: tuple[Argument, ...]
    method: str | None
    span: Span
    order: int
    arms: tuple[BranchArm, ...]


class HostParam(NamedTuple):
    """A parameter of a host function. `variadic` is `*`, `**` or nothing; `annotation` its source's last name.

    `items` is the last name of what its brackets hold: `int` of `list[int]`. `allows_none` where it has no annotation,
    or one that says so: `Tensor | None`.
    """

    name: str
    default: Expr | None
    annotation: str | None
    variadic: str = ""
    keyword_only: bool = False
    items: str | None = None
    allows_none: bool = True


class Contents(NamedTuple):
    """What a host function does, in the order of its text.

    `tests` are those of each `if`, by the number of its branch.
    `unreachable` are the lines, first and last, of statements behind a `raise` or a `return`, of which nothing is read.
    """

    bindings: Mapping[str, tuple[Binding, ...]]
    stored: tuple[Stored, ...]
    returns: tuple[Returned, ...]
    calls: tuple[CallSite, ...]
    launches: tuple[Launch, ...]
    limits: Mapping[str, tuple[AssertedBound, ...]]
    none_tests: Mapping[str, tuple[NoneTest, ...]]
    globals: frozenset[str]
    tests: Mapping[int, BranchTest]
    unreachable: tuple[tuple[int, int], ...] = ()


class FunctionSource(Protocol):
    """The text of a function. Few are asked for more than that."""

    def holds(self, word: bytes) -> bool:
        """Whether `word` stands anywhere in it, but on lines of comments alone."""
        ...

    def times(self, sign: TextPattern) -> int:
        """How often `sign` stands in it."""
        ...

    def times_unreachable(self, sign: TextPattern) -> int:
        """How often `sign` stands where the function never comes."""
        ...

    @property
    def text(self) -> str:
        """All of it, comments and docstring included."""
        ...

    @property
    def file_docstring(self) -> str:
        """The docstring of the file that it stands in; empty where there is none."""
        ...

    @property
    def contents(self) -> Contents:
        """What it says; read when it is first asked for."""
        ...


class KernelDefinition(FunctionSource, Protocol):
    """The text of a kernel."""

    @property
    def uses(self) -> BodyUses:
        """What its body does; read when it is first asked for."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Function:
    """A function that runs on the host. The module's own top level is one, named `<module>`.

    `is_for_main` where it is defined under the main guard of its module.
    """

    name: str
    qualname: str
    path: str
    line: int
    params: tuple[HostParam, ...]
    decorators: tuple[Expr, ...]
    class_name: str | None
    parent: str | None
    text: FunctionSource
    is_for_main: bool = False

    def param(self, name: str) -> HostParam | None:
        """Its parameter of that name; None where it has none."""
        return next((param for param in self.params if param.name == name), None)

    def binds(self, name: str) -> bool:
        """Whether it has a parameter of that name, or assigns it."""
        return name in self.bindings or self.param(name) is not None

    def holds(self, word: bytes) -> bool:
        """Whether `word` stands anywhere in the text of the function, but on lines of comments alone."""
        return self.text.holds(word)

    def shows(self, sign: TextPattern) -> bool:
        """Whether `sign` stands in the text of the function."""
        return self.text.times(sign) > 0

    @property
    def bindings(self) -> Mapping[str, tuple[Binding, ...]]:
        """Assignments by the name that they bind."""
        return self.text.contents.bindings

    @property
    def stored(self) -> tuple[Stored, ...]:
        """Assignments to attributes and to entries."""
        return self.text.contents.stored

    @property
    def returns(self) -> tuple[Returned, ...]:
        """What it may return."""
        return self.text.contents.returns

    @property
    def calls(self) -> tuple[CallSite, ...]:
        """Every call in it, launches among them."""
        return self.text.contents.calls

    @property
    def launches(self) -> tuple[Launch, ...]:
        """Every subscripted call, and what else may launch a kernel."""
        return self.text.contents.launches

    @property
    def limits(self) -> Mapping[str, tuple[AssertedBound, ...]]:
        """What its tests say of names, and of the axes of what they name."""
        return self.text.contents.limits

    @property
    def none_tests(self) -> Mapping[str, tuple[NoneTest, ...]]:
        """What its tests say of names that may be None."""
        return self.text.contents.none_tests

    @property
    def globals(self) -> frozenset[str]:
        """The names that it declares global or nonlocal."""
        return self.text.contents.globals

    @property
    def may_launch(self) -> bool:
        """Whether its text has a sign of a launch."""
        return self.holds(b"](") or (self.holds(b"grid") and (self.holds(b".run(") or self.holds(b".warmup(")))
