"""The representation of host functions: plain values that hold no syntax tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from triton_doctor.finding import Span
    from triton_doctor.static.python.ir import Call, Expr
    from triton_doctor.static.python.module import BodyUses
    from triton_doctor.static.sources.source_text import TextPattern

LAUNCHING_METHODS = ("run", "warmup")
_METHOD_CALLS = tuple(f".{name}(".encode() for name in LAUNCHING_METHODS)


def calls_subscript(holds: Callable[[bytes], bool]) -> bool:
    """Return whether a text, searched by `holds`, may call a subscript, as each launch does that is not by a method."""
    return holds(b"](") or holds(b"] (")


def may_launch(holds: Callable[[bytes], bool]) -> bool:
    """Return whether a text, searched by `holds`, may contain something that is read as a launch."""
    return calls_subscript(holds) or (holds(b"grid") and any(map(holds, _METHOD_CALLS)))


class BranchArm(NamedTuple):
    """One arm of a branching statement: number `side` of `sides`. The body of a loop, which may not run, is 0 of 2.

    `is_main` marks the main guard. `flag` is a name with a known truth in this arm (or "name is None"), and `is_true`
    is that truth. `given` is a name for which the arm is exactly the test "is not None". `expects_error` marks a block
    that a test expects to fail; it is the only arm of its branch and always runs.
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
    """`name = value`, event number `order` of its function, inside `arms`, outermost first.

    `annotation` is the last name of the annotation in `name: annotation = value`.
    """

    name: str
    value: Expr
    order: int
    line: int
    arms: tuple[BranchArm, ...]
    annotation: str | None = None


class Stored(NamedTuple):
    """`base.name = value` or `base["name"] = value`, inside `arms`."""

    base: str
    name: str
    value: Expr
    order: int
    line: int
    arms: tuple[BranchArm, ...]


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
    """A bound on a name, or on its `axis`, that a test implies: at most `high`, or one of `choices`.

    It is exactly `high` if `is_equal`: `assert length == frames * size`. `assert n <= 32` and `if n > 32: raise` hold
    from there on, `if n <= 32:` inside its own arm; all inside `arms`.

    A test that must hold for the function to go on also bounds the value before it. Then `left` is the last event
    before the test at which control may leave by `return`, `break` or `continue`; 0 if there is none. Otherwise `left`
    is None.
    """

    axis: int | None
    high: Expr | None
    choices: tuple[int, ...]
    order: int
    arms: tuple[BranchArm, ...]
    left: int | None = None
    is_equal: bool = False


class NoneTest(NamedTuple):
    """An assertion, or `if x is None: raise`: from there on the name `is_none`, or is not."""

    is_none: bool
    order: int
    arms: tuple[BranchArm, ...]


class CallSite(NamedTuple):
    """A call that may reach a function of the project.

    `span` is only set for calls without arguments, and where another call returns what is called: that of the other.
    """

    call: Call
    order: int
    line: int
    arms: tuple[BranchArm, ...]
    span: Span | None = None


class Argument(NamedTuple):
    """One argument of a launch. `name` is None for a positional one and `**` for `**table`; `*items` holds a Star."""

    name: str | None
    value: Expr
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Launch:
    """`kernel[grid](arguments)`, a call of `.run` or `.warmup`, or `return grid, dict(arguments)`.

    `method` is None for the first form. For the second it is the method's name, and the grid is a keyword. For the
    third it is `return`, and `kernel` are the items returned beside the arguments.
    """

    kernel: Expr
    grid: Expr | None
    arguments: tuple[Argument, ...]
    method: str | None
    span: Span
    order: int
    arms: tuple[BranchArm, ...]


class HostParam(NamedTuple):
    """A parameter of a host function.

    `variadic` is `*`, `**` or empty. `annotation` is the last name of the annotation, `items` that of its item type:
    `int` for `list[int]`. `allows_none` is true without an annotation, or with one such as `Tensor | None`.
    """

    name: str
    default: Expr | None
    annotation: str | None
    variadic: str = ""
    keyword_only: bool = False
    items: str | None = None
    allows_none: bool = True


class Contents(NamedTuple):
    """The body of a host function, in the order of its text.

    `tests` are those of each `if`, by the number of its branch.
    `unreachable` are the first and last lines of statements after a `raise` or `return`; these are not read.
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
    """The text of a function. Most functions are only searched as text and never parsed."""

    def holds(self, word: bytes) -> bool:
        """Return whether `word` occurs in it, not counting lines that hold only a comment."""
        ...

    def count(self, pattern: TextPattern) -> int:
        """Count the matches of `pattern`."""
        ...

    def count_unreachable(self, pattern: TextPattern) -> int:
        """Count the matches of `pattern` in unreachable statements."""
        ...

    @property
    def text(self) -> str:
        """Return all of it, with comments and docstring."""
        ...

    @property
    def file_docstring(self) -> str:
        """Return the docstring of its file; empty if there is none."""
        ...

    @property
    def contents(self) -> Contents:
        """The parsed body; parsed on first access."""
        ...


class KernelDefinition(FunctionSource, Protocol):
    """The text of a kernel."""

    @property
    def uses(self) -> BodyUses:
        """The uses of its parameters; parsed on first access."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Function:
    """A function that runs on the host. The module's top level is one too, named `<module>`.

    `is_for_main` if it is defined under the main guard of its module.
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
        """Return its parameter called `name`; None if it has none."""
        return next((param for param in self.params if param.name == name), None)

    def binds(self, name: str) -> bool:
        """Return whether `name` is one of its parameters or assigned in it."""
        return name in self.bindings or self.param(name) is not None

    def holds(self, word: bytes) -> bool:
        """Return whether `word` occurs in its text, not counting lines that hold only a comment."""
        return self.text.holds(word)

    def matches(self, pattern: TextPattern) -> bool:
        """Return whether `pattern` matches in its text."""
        return self.text.count(pattern) > 0

    @property
    def bindings(self) -> Mapping[str, tuple[Binding, ...]]:
        """Its assignments, by the name that they bind."""
        return self.text.contents.bindings

    @property
    def stored(self) -> tuple[Stored, ...]:
        """Its assignments to attributes and entries."""
        return self.text.contents.stored

    @property
    def returns(self) -> tuple[Returned, ...]:
        """Its `return` statements."""
        return self.text.contents.returns

    @property
    def calls(self) -> tuple[CallSite, ...]:
        """Every call in it, including launches."""
        return self.text.contents.calls

    @property
    def launches(self) -> tuple[Launch, ...]:
        """Every subscripted call, and every other call that may launch a kernel."""
        return self.text.contents.launches

    @property
    def limits(self) -> Mapping[str, tuple[AssertedBound, ...]]:
        """The bounds that its tests imply, by the name that they bound."""
        return self.text.contents.limits

    @property
    def none_tests(self) -> Mapping[str, tuple[NoneTest, ...]]:
        """Its tests of names for None, by name."""
        return self.text.contents.none_tests

    @property
    def globals(self) -> frozenset[str]:
        """The names that it declares global or nonlocal."""
        return self.text.contents.globals

    @property
    def may_launch(self) -> bool:
        """Return whether its text may contain a launch."""
        return may_launch(self.holds) or self.may_declare_launch

    @property
    def may_declare_launch(self) -> bool:
        """Return whether its text may return a grid and arguments, which its class or a decorator launches."""
        is_wrapped = self.class_name is not None or bool(self.decorators)
        return is_wrapped and self.holds(b"return") and (self.holds(b"dict(") or self.holds(b"{"))
