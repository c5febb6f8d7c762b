"""Which comment silences which finding, and which comments are called unused."""

from __future__ import annotations

import pytest

from triton_doctor.finding import Facts, Finding, Location, Severity, Span
from triton_doctor.static.sources.directives import (
    Directive,
    DirectiveKind,
    read_hash_directives,
    read_python_directives,
)
from triton_doctor.static.suppression.suppress import suppress

KNOWN = frozenset({"TRD101", "TRD201", "TRD202", "TRD701", "TRD900", "TRD901"})
RAN = KNOWN - {"TRD701"}


def finding(
    line: int,
    *,
    end_line: int | None = None,
    code: str = "TRD201",
    launch: Span | None = None,
    parameter: Location | None = None,
) -> Finding:
    return Finding(
        path="a.py",
        span=Span(line, 1, end_line or line, 2),
        code=code,
        severity=Severity.WARNING,
        message="found",
        facts=Facts(launch=launch, parameter_location=parameter),
    )


def kept(source: str, *findings: Finding, ran: frozenset[str] = RAN, **others: str) -> list[tuple[int, str]]:
    texts = {"a.py": source, **{name.replace("_", "."): text for name, text in others.items()}}
    directives = {path: read_python_directives(text.encode()) for path, text in texts.items()}
    return [(stays.span.line, stays.message) for stays in suppress(findings, directives, ran=ran, known=KNOWN)]


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("x  # triton-doctor: ignore[TRD201] three lengths in all", id="with a reason"),
        pytest.param("x  #triton-doctor:ignore[TRD201]", id="without blanks"),
        pytest.param("x  # noqa: E501  # triton-doctor: ignore[TRD201]", id="after another comment"),
        pytest.param("x  # triton-doctor: ignore[ TRD201 ]", id="blanks in brackets"),
        pytest.param("x  # triton-doctor: ignore[TRD2]", id="a prefix"),
        pytest.param("x\n# triton-doctor: ignore-file[TRD201]", id="the file"),
        pytest.param("x  # triton-doctor: disable[TRD201]", id="from here on"),
    ],
)
def test_comment_silences(source: str) -> None:
    assert kept(source, finding(1)) == []


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        pytest.param("x  # triton-doctor: ignore[TRD202]", "`ignore[TRD202]` silences nothing", id="another rule"),
        pytest.param("x\ny  # triton-doctor: ignore[TRD201]", "`ignore[TRD201]` silences nothing", id="another line"),
        pytest.param("x  # triton-doctor: ignore", "`ignore` names no rule, so it silences nothing", id="no rule"),
        pytest.param("x  # triton-doctor: ignore[]", "`ignore` names no rule, so it silences nothing", id="no code"),
        pytest.param(
            "x  # triton-doctor: ignore[TRD999]", "`ignore[TRD999]` names a rule that does not exist", id="no such rule"
        ),
        pytest.param(
            "x  # triton-doctor: skip[TRD201]", "`# triton-doctor: skip[TRD201]` is not understood", id="word"
        ),
        pytest.param(
            "x\n# triton-doctor: enable[TRD201]", "`enable[TRD201]` ends no `disable[TRD201]`", id="an end of nothing"
        ),
        pytest.param(
            "x\n# triton-doctor: disable[TRD201]\n# triton-doctor: enable[TRD201]",
            "`disable[TRD201]` silences nothing",
            id="a range beside it",
        ),
    ],
)
def test_comment_that_silences_nothing_is_reported(source: str, complaint: str) -> None:
    assert [message for _, message in kept(source, finding(1))] == ["found", complaint]


def test_string_that_looks_like_a_comment_is_none() -> None:
    assert kept('x = "# triton-doctor: ignore[TRD201]"', finding(1)) == [(1, "found")]


def test_comment_counts_on_any_line_of_the_span() -> None:
    assert kept("f(\n    x,  # triton-doctor: ignore[TRD201]\n)", finding(1, end_line=3)) == []


@pytest.mark.parametrize("line", [1, 2, 3])
def test_comment_counts_on_any_line_of_the_launch(line: int) -> None:
    lines = ["f[grid](", "    x,", ")"]
    lines[line - 1] += "  # triton-doctor: ignore[TRD201]"

    assert kept("\n".join(lines), finding(2, launch=Span(1, 1, 3, 2))) == []


def test_comment_counts_at_the_parameter_in_another_file() -> None:
    parameter = Location("kernels.py", 2)

    assert kept("x", finding(1, parameter=parameter), kernels_py="a\nb  # triton-doctor: ignore[TRD201]") == []


def test_range_ends_for_the_code_that_is_enabled_again() -> None:
    source = "# triton-doctor: disable[TRD201, TRD202]\nx\n# triton-doctor: enable[TRD201]\ny"
    findings = [finding(line, code=code) for line in (2, 4) for code in ("TRD201", "TRD202")]

    assert kept(source, *findings) == [(4, "found")]


def test_each_code_of_a_comment_is_judged_alone() -> None:
    assert kept("x  # triton-doctor: ignore[TRD201,TRD101]", finding(1)) == [(1, "`ignore[TRD101]` silences nothing")]


@pytest.mark.parametrize(
    ("code", "ran"),
    [
        pytest.param("TRD201", RAN - {"TRD201"}, id="a rule that is off"),
        pytest.param("TRD2", RAN - {"TRD202"}, id="a prefix of which some rule is off"),
        pytest.param("TRD701", RAN, id="a rule of another side"),
        pytest.param("TRD999", RAN - {"TRD901"}, id="anything, where TRD901 is off"),
    ],
)
def test_comment_for_what_was_not_looked_for_is_left_alone(code: str, ran: frozenset[str]) -> None:
    assert kept(f"x  # triton-doctor: ignore[{code}]", ran=ran) == []


def test_unused_comment_can_itself_be_silenced() -> None:
    assert kept("x  # triton-doctor: ignore[TRD201, TRD901] comes back with the next release") == []


def test_columns_of_a_comment_are_in_characters() -> None:
    (directive,) = read_python_directives('"é"  # triton-doctor: ignore[TRD201] why'.encode())

    assert directive.span == Span(1, 6, 1, 37)


def test_comments_of_other_files_need_no_python() -> None:
    source = (
        b"ENV A=b#c # triton-doctor: ignore[TRD102]\n# triton-doctor: ignore-file[TRD105]\r\nRUN x#triton-doctor: no\n"
    )

    directives = read_hash_directives(source)

    assert [(found.span.line, found.span.column, found.word) for found in directives] == [
        (1, 11, DirectiveKind.IGNORE),
        (2, 1, DirectiveKind.IGNORE_FILE),
    ]


def test_code_that_is_given_twice_is_reported_once() -> None:
    assert kept("x  # triton-doctor: ignore[TRD201, TRD201]") == [(1, "`ignore[TRD201]` silences nothing")]


class Code(str):
    """A code that counts how often one is compared or hashed."""

    __slots__ = ()
    handled = 0

    def __eq__(self, other: object) -> bool:
        Code.handled += 1
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        Code.handled += 1
        return str.__hash__(self)


@pytest.mark.parametrize(
    "words",
    [
        pytest.param([DirectiveKind.IGNORE], id="ignore"),
        pytest.param([DirectiveKind.IGNORE_FILE], id="ignore-file"),
        pytest.param([DirectiveKind.DISABLE, DirectiveKind.ENABLE], id="disable and enable"),
    ],
)
@pytest.mark.parametrize("in_one", [True, False], ids=["in one comment", "in a comment each"])
def test_work_grows_with_the_number_of_codes(words: list[DirectiveKind], in_one: bool) -> None:
    def handled(count: int) -> int:
        codes = [Code(f"TRD2{number:04}") for number in range(count)]
        parts = [tuple(codes)] if in_one else [(code,) for code in codes]
        directives = [
            Directive(Span(line, 1, line, 9), word.value, word, part)
            for line, (word, part) in enumerate(((word, part) for word in words for part in parts), start=1)
        ]
        known = frozenset({str(code) for code in codes})
        findings = [finding(line, code=f"TRD2{line:04}") for line in range(count)]
        Code.handled = 0
        list(suppress(findings, {"a.py": directives}, ran=known | {"TRD901"}, known=known | {"TRD901"}))
        return Code.handled

    small, medium, large = handled(50), handled(100), handled(200)

    assert large - medium < 2.3 * (medium - small)
