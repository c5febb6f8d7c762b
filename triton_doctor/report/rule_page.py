"""Rule pages to text: one rendered, all in a table, or as JSON."""

from __future__ import annotations

import io
import json
import re
import textwrap
from typing import TYPE_CHECKING, Any

from triton_doctor.rulebook import PAGE_NAME
from triton_doctor.terminal import environment_of_console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

    from triton_doctor.rulebook import RulePage

SCHEMA = 1
INDENT = "    "
NARROWEST_SUMMARY = 30
# An address is wider than a column: in a table a link is its text. So is one to a page, which `rule` shows: Markdown
# has no links to files (markdown-it-py 4.3 common/normalize_url.py:79).
LINK, ROW = re.compile(r"\[([^]]+)\]\([^)]+\)"), re.compile(r"^\|.*$", re.MULTILINE)
PAGE_LINK = re.compile(rf"\[([^]]+)\]\({PAGE_NAME.pattern}\)")


def render_page(page: RulePage, *, color: bool, width: int) -> str:
    """Render a rule page as Markdown is shown in a terminal."""
    from rich.console import Console
    from rich.text import Text

    console = Console(
        file=io.StringIO(),
        _environ=environment_of_console(),
        width=width,
        force_terminal=color,
        no_color=not color,
        legacy_windows=False,
    )
    facts = f"{page.severity.label}, found by {page.evidence} evidence, since {page.since}"
    console.print(Text(f"{page.code} {page.name}", "bold"), Text(facts, "dim"), Text(page.summary), Text(), sep="\n")
    console.print(fold_tables(ROW.sub(lambda row: LINK.sub(r"\1", row[0]), PAGE_LINK.sub(r"\1", page.markdown))))
    assert isinstance(console.file, io.StringIO)
    # Markdown is drawn in lines as wide as the console, most of them blanks.
    return "".join(f"{line.rstrip()}\n" for line in console.file.getvalue().splitlines())


def fold_tables(text: str) -> RenderableType:
    """Return Markdown whose tables fold a word that is wider than its column, where Rich would cut it."""
    from rich.markdown import Markdown, TableElement

    class FoldingTable(TableElement):
        """A table whose columns fold."""

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            for table in super().__rich_console__(console, options):
                for column in getattr(table, "columns", ()):
                    column.overflow = "fold"
                yield table

    class FoldingMarkdown(Markdown):
        """Markdown with such tables."""

        elements = Markdown.elements | {"table_open": FoldingTable}

    return FoldingMarkdown(text)


def render_table(pages: Sequence[RulePage], width: int | None = None) -> str:
    """Render a line for each rule with code, severity, name and summary, wrapped to `width` if it is given."""
    names = max((len(page.name) for page in pages), default=0)
    lines: list[str] = []
    for page in pages:
        lead = f"{page.code}  {page.severity.label:<7}  {page.name:<{names}}  "
        if width is None or len(lead) + len(page.summary) <= width:
            lines.append(f"{lead}{page.summary}")
        elif width - len(lead) >= NARROWEST_SUMMARY:
            lines += textwrap.wrap(f"{lead}{page.summary}", width, subsequent_indent=" " * len(lead))
        else:
            head = f"{page.code}  {page.name}"
            room = max(width, NARROWEST_SUMMARY)
            lines += textwrap.wrap(head, room, subsequent_indent=INDENT)
            lines += textwrap.wrap(page.summary, room, initial_indent=INDENT, subsequent_indent=INDENT)
    return "".join(f"{line}\n" for line in lines)


def render_page_json(page: RulePage) -> str:
    """Render one page as a JSON object."""
    return json.dumps({"schema": SCHEMA, **page_object(page)}, indent=2, ensure_ascii=False) + "\n"


def render_pages_json(pages: Sequence[RulePage]) -> str:
    """Render all pages as one JSON object."""
    return (
        json.dumps({"schema": SCHEMA, "rules": [page_object(page) for page in pages]}, indent=2, ensure_ascii=False)
        + "\n"
    )


def page_object(page: RulePage) -> dict[str, Any]:
    """Convert `page` to values for JSON."""
    return {
        "code": page.code,
        "name": page.name,
        "summary": page.summary,
        "severity": page.severity.label,
        "since": page.since,
        "evidence": page.evidence,
        "sections": dict(page.sections),
        "markdown": page.markdown,
    }
