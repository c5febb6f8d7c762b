"""Steps of a program: one evaluation or assignment each, with the blocks around it."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.python.located import LocatedLowering


class Condition(NamedTuple):
    """`test` has that `outcome`.

    For an `except` or a `case`, `test` is Opaque with the caught expression, or with nothing.

    `is_left` if the other outcome left the block above: `if test: return`.
    """

    test: Expr
    outcome: bool
    is_left: bool = False


class LoopOver(NamedTuple):
    """The body of `for target in source`."""

    target: Expr
    source: Expr


class Managed(NamedTuple):
    """The body of `with manager`."""

    manager: Expr


Surrounding: TypeAlias = Condition | LoopOver | Managed


class ProgramStep:
    """A statement that evaluates a value and may assign it to a target, by `operator`.

    `line` and `last_line` are those of the statement. Its expressions are lowered on first access.
    """

    __slots__ = ("_around", "_lowering", "_target", "_value", "last_line", "line", "operator")

    def __init__(
        self,
        lowering: LocatedLowering,
        value: Expr,
        target: Expr | None,
        operator: str,
        lines: tuple[int, int],
        around: tuple[Surrounding, ...],
    ) -> None:
        """Expressions may be placeholders (`located.pending`)."""
        self._lowering = lowering
        self._value, self._target, self._around = value, target, around
        self.operator = operator
        self.line, self.last_line = lines

    @property
    def value(self) -> Expr:
        """The evaluated expression. For an import it is `Opaque("Import", (Const(module),))`."""
        return self._lowering.resolve(self._value)

    @property
    def target(self) -> Expr | None:
        """The target of the assignment; None if there is none."""
        return self._lowering.resolve(self._target) if self._target is not None else None

    @property
    def around(self) -> tuple[Surrounding, ...]:
        """The surrounding conditions, loops and `with` blocks, outermost first."""
        return tuple([resolve(one, self._lowering) for one in self._around])


def resolve(one: Surrounding, lowering: LocatedLowering) -> Surrounding:
    """Return `one` with its placeholders lowered."""
    match one:
        case Condition(test):
            return one._replace(test=lowering.resolve(test))
        case LoopOver(target, source):
            return LoopOver(lowering.resolve(target), lowering.resolve(source))
        case Managed(manager):
            return Managed(lowering.resolve(manager))


class _Extent(Protocol):
    line: int
    last_line: int


def lines_touch(part: _Extent, lines: Sequence[int]) -> bool:
    """Return whether `part` covers one of `lines`, which are sorted."""
    index = bisect_left(lines, part.line)
    return index < len(lines) and lines[index] <= part.last_line
