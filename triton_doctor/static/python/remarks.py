"""The text that an author wrote beside the code of a function: annotations, comments, docstring."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# Tokens that delimit parameters in a header. A comment or a string is one token.
_HEADER_TOKEN = re.compile(
    r"""#[^\n]*|'''.*?'''|\"\"\".*?\"\"\"|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[()\[\]{},:=]""", re.DOTALL
)
# A parameter name after a parenthesis or a comma.
_PARAMETER = re.compile(r"(?:[\s\\*]|#[^\n]*\n)*([^\W\d]\w*)")
_DEF = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+\w+", re.MULTILINE)
_DOCSTRING = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)*[ \t]*[rRuU]?(\"\"\"|''')(.*?)\1", re.DOTALL)
# A comment that may name axes: it holds an opening bracket.
COMMENT = re.compile(r"#([^\n]*[(\[][^\n]*)")
_ASSIGNED = re.compile(r"[ \t]*(?:return\b|[\w.]+(?:[ \t]*:[^=\n]+)?[ \t]*=(?!=))")


class Remark(NamedTuple):
    """A comment, without its `#`, and its line."""

    text: str
    line: int


class ParameterRemark(NamedTuple):
    """The annotation of a parameter as written, and the comment on its line; empty if there is none."""

    annotation: str
    comment: str
    line: int


class Remarks(NamedTuple):
    """Everything written beside the code of a function.

    `trailing` are comments after assignments and returns, by the line of the statement; `standing` are comments on
    lines of their own. Only comments with a bracket are kept.
    """

    parameters: Mapping[str, ParameterRemark]
    trailing: Mapping[int, str]
    standing: Sequence[Remark]
    docstring: str
    docstring_line: int


NO_REMARKS = Remarks({}, {}, (), "", 1)


def read_remarks(text: str, first: int) -> Remarks:
    """Read the text of a function whose `def` is on line `first` of its file."""
    found = _DEF.search(text)
    if found is None:
        return Remarks({}, {}, (), "", first)
    starts = [0, *[match.end() for match in re.finditer("\n", text)]]
    parameters, end = _read_header(text, found.end(), starts, first)
    docstring = _DOCSTRING.match(text, end)
    body = docstring.end() if docstring is not None else end
    trailing, standing = _read_body(text, body, starts, first)
    return Remarks(
        parameters=parameters,
        trailing=trailing,
        standing=standing,
        docstring=docstring[2] if docstring is not None else "",
        docstring_line=first + bisect_right(starts, docstring.start(2)) - 1 if docstring is not None else first,
    )


class _ParameterList:
    """The parameters of a header, token by token."""

    def __init__(self) -> None:
        self.names: list[tuple[str, int]] = []
        self.annotations: dict[str, str] = {}
        self.comments: dict[int, str] = {}
        self.is_over = False
        self._annotation_start: int | None = None

    def take(self, token: str, start: int, text: str, starts: Sequence[int]) -> None:
        """Process a token directly inside the parentheses of the header, or the opening parenthesis."""
        if token in "(,":
            self.close(start, text)
            found = _PARAMETER.match(text, start + 1)
            if found is not None:
                self.names.append((found[1], bisect_right(starts, found.start(1)) - 1))
        elif token == ":" and self._annotation_start is None:
            self._annotation_start = start + 1
        elif token == "=":
            self.close(start, text)

    def close(self, end: int, text: str) -> None:
        """End the annotation of the latest parameter, if it has one."""
        if self._annotation_start is not None and self.names:
            self.annotations[self.names[-1][0]] = text[self._annotation_start : end].strip()
        self._annotation_start = None


def _read_header(text: str, at: int, starts: Sequence[int], first: int) -> tuple[dict[str, ParameterRemark], int]:
    """Return the parameters after the function's name, and the end offset of the header's last line."""
    header, depth = _ParameterList(), 0
    end = len(text)
    for found in _HEADER_TOKEN.finditer(text, at):
        token, start = found[0], found.start()
        if token[0] == "#":
            if depth and not header.is_over:
                header.comments.setdefault(bisect_right(starts, start) - 1, token[1:])
        elif token in "([{":
            depth += 1
        elif token in ")]}":
            depth -= 1
            if depth == 0:
                header.close(start, text)
                header.is_over = True
        elif depth == 0 and token == ":":
            end = found.end()
            break
        if depth == 1 and not header.is_over:
            header.take(token, start, text, starts)
    rows = sorted({row for _, row in header.names})
    comments: dict[int, str] = {}
    for row, comment in header.comments.items():
        # A comment after the last line of a long annotation or default belongs to the parameter that ends there.
        line = text[starts[row] : starts[row + 1] if row + 1 < len(starts) else len(text)]
        if not line.lstrip().startswith("#") and (at_row := bisect_right(rows, row)):
            comments.setdefault(rows[at_row - 1], comment)
    parameters = {
        name: ParameterRemark(header.annotations.get(name, ""), comments.get(row, ""), first + row)
        for name, row in header.names
    }
    return parameters, end


def _read_body(text: str, at: int, starts: Sequence[int], first: int) -> tuple[dict[int, str], list[Remark]]:
    trailing: dict[int, str] = {}
    standing: list[Remark] = []
    for found in _comments(text, at):
        row = bisect_right(starts, found.start()) - 1
        before = text[starts[row] : found.start()]
        if not before.strip():
            standing.append(Remark(found[1], first + row))
        elif before.count('"') % 2 == 0 and before.count("'") % 2 == 0:
            statement = _statement_row(text, row, starts)
            if _ASSIGNED.match(text, starts[statement]):
                trailing.setdefault(first + statement, found[1])
    return trailing, standing


def _comments(text: str, at: int) -> Iterator[re.Match[str]]:
    return COMMENT.finditer(text, at) if text.find("#", at) != -1 else iter(())


def _statement_row(text: str, row: int, starts: Sequence[int]) -> int:
    """Return the first row of the statement whose last row is `row`; a closing bracket belongs to a row above."""
    line = text[starts[row] :].lstrip()
    if line[:1] not in (")", "]", "}"):
        return row
    indent = len(text) - starts[row] - len(line)
    for above in range(row - 1, -1, -1):
        start = starts[above]
        if text[start : start + indent].isspace() == (indent > 0) and text[start + indent : start + indent + 1].strip():
            return above
    return row
