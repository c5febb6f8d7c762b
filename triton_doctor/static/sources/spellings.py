"""Whether a text has a name: as it is, in other characters that Python reads alike, spelled by escapes, or computed.

For texts that are no Python: which part of them is code.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import Counter

from triton_doctor.scan_caches import cached_in_scan

# Escapes in Python, JSON and shells, and a continued line within a word.
_ESCAPE = re.compile(
    rb"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([01][0-7]{2})"
    rb"|N\{([A-Z0-9 ]+)\}|(?<=\w\\)\r?\n(?=\w))"
)

# A member of a module is looked up by a name that is not written out, or by one that is the name of its module too.
_LOOKS_UP = re.compile(
    rb"\b(?:getattr|attrgetter|resolve_name|locate)\s*\((?!\s*(?:self|cls)\b)(?!\s*[\w.]+\s*,\s*([\"'])\w+\1\s*[,)])"
    rb"|\b(?:globals|locals|vars|getmembers|import_module|__import__|eval|exec)\s*\(|__dict__|\bsys\.modules\b"
)
# What may stand between two literals of one text, and what a text has in place of a part that is computed.
_BETWEEN, _IN_LIST = (
    re.compile(rf"""(['"])(?:[\s+\\{more}]*[\s+\\{more}][rRuUbBfF]{{0,2}}|[rRuUbBfF]{{0,2}})['"]""")
    for more in ("()", "(),")
)
_NESTED = re.compile(r"""\{\s*(['"])(\w*)\1\s*\}""")
_FIELD, _CONVERSION = re.compile(r"\{[^{}\n]*\}"), re.compile(r"%(?:\(\w+\))?[-0-9]*[sdr]")
_BEFORE = re.compile(r"""(?<=[\w)\]])\s*\+\s*[rRfF]?(['"])""")
_ADDED = re.compile(r"""\+\s*[rRfF]?['"]""")  # what _BEFORE needs, found faster
_AFTER = re.compile(r"""(['"])\s*\+\s*(?=[\w(])""")
_LITERAL, _WORD = re.compile(r"""(['"])((?:(?!\1)[^\\\n]|\\.)*)\1"""), re.compile(r"[\w\0]+")

# A fence of Markdown, after a quotation or an item of a list.
_FENCE = re.compile(rb"^[ \t>*+\-\d.)]*(`{3,}|~{3,})([^\n]*)$")
_SPAN = re.compile(rb"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_DOTTED = re.compile(rb"\s*[\w.]+(?:\(\))?\s*")
_INDENTED = re.compile(rb"^(?: {4}|\t| {1,3}\t)")
_HTML = re.compile(rb"<(pre|code|script)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)


def word_pattern(name: str) -> re.Pattern[str]:
    """Return a pattern that matches `name` as a whole word."""
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")


def looks_up(data: bytes) -> bool:
    """Return whether the text `data` may look up members by names that it does not spell."""
    return _LOOKS_UP.search(data) is not None


@cached_in_scan()
def computed_words(data: bytes) -> frozenset[str]:
    """Return the words in literals of the text `data` that are joined of several, with NUL for parts not known."""
    text = _normal(_without_escapes(data) or data)
    found = set[str]()
    if (nested := _NESTED.sub(r"\2", text)) != text:
        found.update(_words_in_literals(nested) - _words_in_literals(text))
    converted = _CONVERSION.sub("\0", text)
    fielded = _FIELD.sub("\0", converted)  # a field in a literal looks like a display of a dict
    for form in dict.fromkeys((text, converted, fielded)):
        forms = {_with_unknown_parts(between.sub("", form)) for between in (_BETWEEN, _IN_LIST)}
        if forms != {form} or "\0" in form:
            written = _words_in_literals(form.replace("\0", " "))
            found.update(*(_words_in_literals(joined) - written for joined in forms))
    return frozenset(found)


def _with_unknown_parts(text: str) -> str:
    """Return `text` with NUL in its literals for what is added to them."""
    if _ADDED.search(text) is not None:
        text = _BEFORE.sub(" \\1\0", text)
    return _AFTER.sub("\0\\1 ", text)


def without_quoting(data: bytes) -> bytes:
    """Return a text in JSON or a shell without the marks that quote quotes there."""
    return data.replace(b"'\"'\"'", b"'").replace(b'\\"', b'"').replace(b"\\\\", b"\\")


def code_of_markdown(data: bytes) -> bytes:
    """Return what may be code in Markdown: blocks, fenced, indented or in HTML, and spans that are more than a name."""
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


def _words_in_literals(text: str) -> Counter[str]:
    # Together, as most literals are short and most texts have thousands.
    return Counter(_WORD.findall("\n".join(literal for _, literal in _LITERAL.findall(text))))


def may_compute(words: frozenset[str], name: str) -> bool:
    """Return whether one of `computed_words` may be `name`. A part that is not known is any text."""
    for word in words:
        is_open = "\0" in word and any(map(str.isalnum, word))
        if word == name or (is_open and re.fullmatch(".*".join(map(re.escape, word.split("\0"))), name)):
            return True
    return False


def may_hold(data: bytes, name: str) -> bool:
    """Return whether the text `data` has `name`, be it as a part of a longer word."""
    return name.encode() in data or (not data.isascii() and name in _normal(data)) or spells_otherwise(data, name)


def is_plain(data: bytes) -> bool:
    """Return whether the text `data` has the words that it has as they are: it is ASCII without escapes."""
    return data.isascii() and _without_escapes(data) is None


def holds_word(data: bytes, name: str) -> bool:
    """Return whether the text `data` has `name` as a word."""
    return may_hold(data, name) and (
        word_pattern(name).search(_normal(data)) is not None or spells_otherwise(data, name)
    )


def spells_otherwise(data: bytes, name: str) -> bool:
    """Return whether a word of the text `data` is `name` only once its escapes are resolved."""
    resolved = _without_escapes(data)
    if resolved is None or name.encode() not in resolved:
        return False
    word = re.compile(rb"(?<![\w\x80-\xff])%s(?![\w\x80-\xff])" % re.escape(name.encode()))
    return len(word.findall(resolved)) > len(word.findall(data))


@cached_in_scan()
def _without_escapes(data: bytes) -> bytes | None:
    """Return `data` with its escapes resolved; None if it has none."""
    return _ESCAPE.sub(_resolved, data) if b"\\" in data and _ESCAPE.search(data) is not None else None


def _resolved(escape: re.Match[bytes]) -> bytes:
    *codes, octal, named = escape.groups()
    if named is not None:
        try:
            return unicodedata.lookup(named.decode()).encode()
        except KeyError:
            return escape[0]
    code = int(octal, 8) if octal is not None else int(next(filter(None, codes), b"-1"), 16)
    return chr(code).encode("utf-8", "replace") if 0 <= code <= sys.maxunicode else b""


@cached_in_scan()
def _normal(data: bytes) -> str:
    text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", "replace")
    return text if text.isascii() else unicodedata.normalize("NFKC", text)
