"""Markdown to the code in it: fenced and indented blocks, HTML blocks of code, and spans that are more than a name."""

from __future__ import annotations

import re

# What may stand before a fence: a quotation, an item of a list.
_FENCE = re.compile(rb"^[ \t>*+\-\d.)]*(`{3,}|~{3,})([^\n]*)$")
_SPAN = re.compile(rb"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_DOTTED = re.compile(rb"\s*[\w.]+(?:\(\))?\s*")
_INDENTED = re.compile(rb"^(?: {4}|\t| {1,3}\t)")
_HTML = re.compile(rb"<(pre|code|script)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)


def code_of(data: bytes) -> bytes:
    """Return the code in the Markdown `data`. What may be code counts as code."""
    code, prose, fence = list[bytes](), list[bytes](), b""
    for line in data.splitlines():
        mark = _FENCE.match(line)
        if fence:
            code.append(line)
            if mark is not None and mark[1].startswith(fence) and not mark[2].strip():
                fence = b""
        elif mark is not None and (mark[1][:1] == b"~" or b"`" not in mark[2]):
            fence = mark[1]
        elif _INDENTED.match(line) or b">>>" in line:
            code.append(line)
        else:
            prose.append(line)
    text = b"\n".join(prose)
    code += [found[0] for found in _HTML.finditer(text)]
    code += [found[2] for found in _SPAN.finditer(text) if not _DOTTED.fullmatch(found[2])]
    return b"\n".join(code)
