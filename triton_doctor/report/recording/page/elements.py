"""HTML as elements: whatever a name holds stays text, and no string is ever taken for markup."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

from triton_doctor.terminal import escape_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Child = Element | str | None


def element(tag: str, *children: Child, **attributes: str) -> Element:
    """`<tag>` with `children`, of which None is left out. `class_` and `aria_label` are spelled as HTML has them."""
    made = Element(tag, {name.rstrip("_").replace("_", "-"): escape_line(text) for name, text in attributes.items()})
    append(made, children)
    return made


def append(parent: Element, children: Iterable[Child]) -> None:
    """Add `children` at the end of `parent`; text goes where ElementTree keeps it."""
    for child in children:
        if isinstance(child, str):
            text = escape_line(child)
            if len(parent):
                parent[-1].tail = (parent[-1].tail or "") + text
            else:
                parent.text = (parent.text or "") + text
        elif child is not None:
            parent.append(child)


def prose(text: str) -> list[Child]:
    """`text` with what stands between backticks as code; a backtick without a second one is shown."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        parts[-2:] = [f"{parts[-2]}`{parts[-1]}"]
    return [element("code", part) if index % 2 else part for index, part in enumerate(parts) if part]


def section(title: str, *children: Child, **attributes: str) -> Element:
    """A part of the page, which its heading names."""
    name = "-".join(title.split())
    return element(
        "section", element("h2", title, id=name), *children, class_="part", aria_labelledby=name, **attributes
    )


def bullets(lines: Iterable[str]) -> Element:
    """A list; lines that are indented stand below the line before."""
    made = element("ul")
    for line in lines:
        made.append(element("li", *prose(line.strip()), **({"class_": "below"} if line.startswith(" ") else {})))
    return made


def table(head: Sequence[str], rows: Iterable[Sequence[Child]], *, text_columns: int = 1, **attributes: str) -> Element:
    """A table of which the first `text_columns` columns go to the left, and the others, numbers, to the right."""

    def cell(tag: str, index: int, content: Child, **more: str) -> Element:
        kind = "name" if index < text_columns else "number"
        return element(tag, *(prose(content) if isinstance(content, str) else [content]), class_=kind, **more)

    headings = [cell("th", index, title, scope="col") for index, title in enumerate(head)]
    body = [element("tr", *(cell("td", index, content) for index, content in enumerate(row))) for row in rows]
    made = element(
        "table", element("thead", element("tr", *headings)), element("tbody", *body), class_="figures", **attributes
    )
    return element("div", made, class_="scroll", tabindex="0")
