"""Ignore comments to the edits that take codes out of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.static.fix.cannot import CannotEditError
from triton_doctor.static.fix.text import Edit
from triton_doctor.static.sources.directives import COMMENT

if TYPE_CHECKING:
    from triton_doctor.finding import Span
    from triton_doctor.static.fix.text import Text

# A reason ends with the line, or where the next comment begins.
_REASON = re.compile(r"[^\r\n#]*")


def drop_codes(text: Text, span: Span, codes: frozenset[str]) -> Edit:
    """Take `codes` out of the directive at `span`; with its last code it goes itself, reason and all."""
    start, end = text.bounds(span)
    found = COMMENT.fullmatch(text.text, start, end)
    if found is None or found["inner"] is None:
        raise CannotEditError("the comment is not what it was")
    kept = [code for part in found["inner"].split(",") if (code := part.strip()) and code not in codes]
    if kept:
        return Edit(found.start("inner"), found.end("inner"), ", ".join(kept))
    reason = _REASON.match(text.text, end)
    assert reason is not None
    end = reason.end()
    line = text.line_start(start)
    alone = not text.text[line:start].strip()
    if end < len(text.text) and text.text[end] == "#":
        return Edit(start, end, "")
    if alone:
        return Edit(line, text.line_end(start), "")
    return Edit(line + len(text.text[line:start].rstrip()), end, "")
