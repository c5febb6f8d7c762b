"""What a fix would change, told by the spans of the facts; nothing is read or written here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from triton_doctor.finding import Span


class Safety(StrEnum):
    """Whether `--fix` applies it: UNSAFE may change what the program, or one that imports it, does or accepts."""

    SAFE = "safe"
    UNSAFE = "unsafe"


@dataclass(frozen=True, slots=True)
class DropAnnotation:
    """The annotation of the parameter at `span` goes."""

    path: str
    span: Span


@dataclass(frozen=True, slots=True)
class DropParameter:
    """The parameter at `span` goes, default and all."""

    path: str
    span: Span


@dataclass(frozen=True, slots=True)
class DropArgument:
    """The argument whose value stands at `span` goes out of `call`."""

    path: str
    call: Span
    span: Span


@dataclass(frozen=True, slots=True)
class NameArgument:
    """The positional argument of `call` at `span` is given as `name=`."""

    path: str
    call: Span
    span: Span
    name: str


@dataclass(frozen=True, slots=True)
class Replace:
    """The argument of `call` whose value stands at `span` becomes `text`, its keyword included."""

    path: str
    call: Span
    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class DropListed:
    """The item `name`, or the number `position`, goes out of the list that `call`, a decorator, is given as `option`.

    The whole option goes where nothing is left, and `keep` does not ask for an empty list.
    """

    path: str
    call: Span
    option: str
    name: str
    position: int | None = None
    keep: bool = False


@dataclass(frozen=True, slots=True)
class AddListed:
    """The item `name` joins the list that the decorator at `span` is given as `option`."""

    path: str
    span: Span
    option: str
    name: str


@dataclass(frozen=True, slots=True)
class DropStatement:
    """The simple statement that sets `variable` at `span` goes, and an import that nothing else used."""

    path: str
    span: Span
    variable: str


@dataclass(frozen=True, slots=True)
class RenameString:
    """Strings within `span` that are `before` become `after`."""

    path: str
    span: Span
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class DropDirective:
    """`code` goes out of the ignore comment at `span`; the comment goes with the last of its codes."""

    path: str
    span: Span
    code: str


Change: TypeAlias = (
    DropAnnotation
    | DropParameter
    | DropArgument
    | NameArgument
    | Replace
    | DropListed
    | AddListed
    | DropStatement
    | RenameString
    | DropDirective
)


class ChangedKernel(NamedTuple):
    """A kernel that a fix changes. `parameter` is dropped or made plain; None where the decorator alone changes."""

    path: str
    qualname: str
    parameter: str | None


class LaunchStart(NamedTuple):
    """Where a launch starts: line and column from 1."""

    path: str
    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How to fix a finding: `title` says it in a few words. `kernel` is None if no kernel is changed.

    `launches` are those of the kernel, edited or as good as before. With any other use of the kernel's name, the fix is
    not safe.
    """

    safety: Safety
    title: str
    changes: tuple[Change, ...]
    kernel: ChangedKernel | None = None
    launches: tuple[LaunchStart, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """Lines and columns as in Span: what stands from `start` to `end` becomes `text`."""

    path: str
    start: tuple[int, int]
    end: tuple[int, int]
    text: str
