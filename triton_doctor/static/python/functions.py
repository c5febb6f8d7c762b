"""Host functions: their parameters at once, their contents on first access."""

from __future__ import annotations

import ast
import re
import warnings
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from triton_doctor.nesting import with_own_stack
from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.python.function import HostParam
from triton_doctor.static.python.function_body import Body
from triton_doctor.static.python.lower import allows_none, annotation_word, lower_alone
from triton_doctor.static.sources.source_text import SourceText

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from triton_doctor.static.python.function import Contents
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.python.module import BodyUses
    from triton_doctor.static.sources.source_text import TextPattern

Output = TypeVar("Output")
Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Nested: TypeAlias = Definition | ast.ClassDef
_DEFINING = re.compile(rb"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]", re.MULTILINE)

_FILE_DOCSTRING = re.compile(rb"(?:[ \t]*(?:#[^\n]*)?\n)*[rR]?(\"\"\"|''')(.*?)\1", re.DOTALL)


class ModuleTree:
    """The syntax tree of a module. Some functions in it are only a header; `whole` parses the rest."""

    def __init__(
        self, parse: Callable[[], Iterator[Sequence[ast.stmt]]], source: SourceText, ends: Mapping[int, int]
    ) -> None:
        """`parse` yields the top-level statements, one piece of the text after the other.

        `ends` are the last lines of the functions that are only a header, by the line of their `def`.
        """
        self.pieces = parse
        self.source = source
        self._ends = ends
        self._whole: dict[int, Definition] = {}

    def last_line(self, node: Definition) -> int:
        """Return the last line of the function."""
        return self._ends.get(node.lineno) or node.end_lineno or node.lineno

    def has_whole(self, node: Definition) -> bool:
        """Return whether `node` is the whole function and not just a header."""
        return node.lineno not in self._ends

    def whole(self, node: Definition) -> Definition:
        """Return the whole function."""
        if self.has_whole(node):
            return node
        if node.lineno not in self._whole:
            whole = parse_alone(self.source, node.lineno, self.last_line(node))
            whole.decorator_list = node.decorator_list
            self._whole[node.lineno] = whole
        return self._whole[node.lineno]


class FunctionText:
    """The lines of a function in `tree`, without its decorators."""

    def __init__(self, tree: ModuleTree, node: Definition, contents: Contents | None = None) -> None:
        """`contents` is None to parse them from the text on first access, not from `node`."""
        self._source = tree.source
        self._first = node.lineno
        self._last = tree.last_line(node)
        self._start, self._end = tree.source.bounds(self._first, self._last)
        if contents is not None:
            self.contents = contents

    def holds(self, word: bytes) -> bool:
        """Return whether `word` occurs in it, not counting lines that hold only a comment."""
        return self._source.holds(word, self._start, self._end)

    def count(self, pattern: TextPattern) -> int:
        """Count the matches of `pattern`."""
        return self._source.count(pattern, self._start, self._end)

    def count_unreachable(self, pattern: TextPattern) -> int:
        """Count the matches of `pattern` in unreachable statements."""
        unreachable = self.contents.unreachable if self.holds(b"raise") or self.holds(b"return") else ()
        return sum(self._source.count(pattern, *self._source.bounds(*lines)) for lines in unreachable)

    @property
    def text(self) -> str:
        """Return all of it."""
        return self._source.lines(self._first, self._last)

    @property
    def file_docstring(self) -> str:
        """Return the docstring of its file."""
        return file_docstring(self._source)

    def defines_more(self) -> bool:
        """Return whether it may define functions or classes itself."""
        words = self._source.text.count(b"def ", self._start, self._end) > 1 or self.holds(b"class ")
        return words and self._source.matches(_DEFINING, self._first + 1, self._last)

    @cached_property
    def contents(self) -> Contents:
        """The parsed body; empty if it does not parse."""
        contents = self._read(_contents_of)
        return contents if contents is not None else Body(self._source).contents()

    def _read(self, read: Callable[[Definition, SourceText], Output]) -> Output | None:
        """Return the result of `read`; None if the function does not parse."""
        try:
            return with_own_stack(self._parse, read)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self._source.unread.append(error)
            return None

    def _parse(self, read: Callable[[Definition, SourceText], Output]) -> Output:
        return read(parse_alone(self._source, self._first, self._last), self._source)


class KernelText(FunctionText):
    """The lines of a kernel. Its body is read at once if its tree exists, else on first access."""

    def __init__(self, tree: ModuleTree, node: Definition, read: Callable[[Definition, SourceText], BodyUses]) -> None:
        """`read` computes the uses from the body."""
        super().__init__(tree, node)
        self._read_uses = read
        if tree.has_whole(node):
            self.uses = read(node, tree.source)

    @cached_property
    def uses(self) -> BodyUses:
        """The uses of its parameters; empty if it does not parse."""
        uses = self._read(self._read_uses)
        if uses is not None:
            return uses
        return self._read_uses(parse_alone(SourceText(b"def kernel(): ..."), 1, 1), self._source)


class ModuleText:
    """The text of a module's top level. `holds` searches the whole file, since functions may stand anywhere in it."""

    __slots__ = ("_source", "contents")

    def __init__(self, source: SourceText, contents: Contents) -> None:
        """The contents were read together with the file."""
        self._source = source
        self.contents = contents

    def holds(self, word: bytes) -> bool:
        """Return whether `word` occurs in the file, not counting lines that hold only a comment."""
        return self._source.holds(word, 0, len(self._source.text))

    def count(self, pattern: TextPattern) -> int:
        """Count the matches of `pattern` in the file."""
        return self._source.count(pattern, 0, len(self._source.text))

    def count_unreachable(self, pattern: TextPattern) -> int:
        """Return 0: unreachable statements of the top level are not tracked."""
        return 0

    @property
    def text(self) -> str:
        """Return the whole file."""
        return self._source.lines(1, self._source.last_line)

    @property
    def file_docstring(self) -> str:
        """Return the docstring of the file."""
        return file_docstring(self._source)


@cached_in_scan()
def file_docstring(source: SourceText) -> str:
    """Return the docstring at the beginning of a file; empty if there is none."""
    found = _FILE_DOCSTRING.match(source.text)
    return found[2].decode("utf-8", "replace") if found is not None else ""


def parse_alone(source: SourceText, first: int, last: int) -> Definition:
    """Parse the function in the lines `first` to `last` without the rest of the file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        node = ast.parse(source.alone(first, last, indented=source.is_indented(first))).body[0]
    if isinstance(node, ast.If):
        node = node.body[0]
    assert isinstance(node, Definition)
    return node


def _contents_of(node: Definition, source: SourceText) -> Contents:
    body = read_contents(node, source)
    body.release()
    return body.contents()


def read_contents(node: Definition, source: SourceText) -> Body:
    """Read the body of `node`."""
    body = Body(source)
    body.read(node.body)
    body.read_defaults(node.args)
    return body


def definitions(statements: Sequence[ast.stmt]) -> Iterator[tuple[Nested, tuple[Expr, ...]]]:
    """Yield the functions and classes that `statements` define, with their decorators, in order of the text."""
    for statement in statements:
        if isinstance(statement, Nested):
            yield statement, tuple(map(lower_alone, statement.decorator_list))
        else:
            for inner in ("body", "handlers", "cases", "orelse", "finalbody"):
                for part in getattr(statement, inner, ()):
                    yield from definitions(
                        part.body if isinstance(part, ast.ExceptHandler | ast.match_case) else [part]
                    )


def host_params(args: ast.arguments) -> tuple[HostParam, ...]:
    """Return the parameters of a host function."""
    positional = args.posonlyargs + args.args
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
    params = [_param(arg, default) for arg, default in zip(positional, defaults, strict=True)]
    if args.vararg is not None:
        params.append(_param(args.vararg, None, variadic="*"))
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        params.append(_param(arg, default, keyword_only=True))
    if args.kwarg is not None:
        params.append(_param(args.kwarg, None, variadic="**"))
    return tuple(params)


def _param(arg: ast.arg, default: ast.expr | None, *, variadic: str = "", keyword_only: bool = False) -> HostParam:
    return HostParam(
        name=arg.arg,
        default=lower_alone(default) if default is not None else None,
        annotation=annotation_word(arg.annotation),
        variadic=variadic,
        keyword_only=keyword_only,
        items=annotation_word(arg.annotation.slice) if isinstance(arg.annotation, ast.Subscript) else None,
        allows_none=allows_none(arg.annotation),
    )
