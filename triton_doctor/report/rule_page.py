"""Rule pages to text: one rendered, all in a table, or as JSON."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.rulebook import RulePage

SCHEMA = 1


def render_page(page: RulePage, *, color: bool, width: int) -> str:
    """One page as a terminal shows Markdown."""
    from rich.console import Console
    from rich.markdown import Markdown
    from rich.text import Text

    console = Console(file=io.StringIO(), width=width, force_terminal=color, no_color=not color, legacy_windows=False)
    facts = f"{page.severity.label}, found by {page.evidence} evidence, since {page.since}"
    console.print(Text(f"{page.code} {page.name}", "bold"), Text(facts, "dim"), Text(), sep="\n")
    console.print(Markdown(page.markdown))
    assert isinstance(console.file, io.StringIO)
    # Markdown is drawn in lines as wide as the console, most of them blanks.
    return "".join(f"{line.rstrip()}\n" for line in console.file.getvalue().splitlines())


def render_table(pages: Sequence[RulePage]) -> str:
    """Code, severity, name and summary, a line each."""
    names = max((len(page.name) for page in pages), default=0)
    return "".join(f"{page.code}  {page.severity.label:<7}  {page.name:<{names}}  {page.summary}\n" for page in pages)


def render_page_json(page: RulePage) -> str:
    """One page as a JSON object."""
    return json.dumps({"schema": SCHEMA, **page_object(page)}, indent=2, ensure_ascii=False) + "\n"


def render_pages_json(pages: Sequence[RulePage]) -> str:
    """All pages as one JSON object."""
    return (
        json.dumps({"schema": SCHEMA, "rules": [page_object(page) for page in pages]}, indent=2, ensure_ascii=False)
        + "\n"
    )


def page_object(page: RulePage) -> dict[str, Any]:
    """`page` as plain values."""
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
