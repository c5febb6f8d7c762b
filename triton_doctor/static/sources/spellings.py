"""Whether a text has a name: as it is, in other characters that Python reads alike, or spelled by escapes."""

from __future__ import annotations

import re
import unicodedata

from triton_doctor.scan_caches import cached_in_scan

# Escapes of letters, digits and the underscore in Python, JSON and shells, and a continued line within a word.
_ESCAPE = re.compile(
    rb"\\(?:x([3-7][0-9A-Fa-f])|u00([3-7][0-9A-Fa-f])|U000000([3-7][0-9A-Fa-f])|(06[0-7]|07[01]|1[0-7]{2})"
    rb"|N\{([A-Z0-9 ]+)\}|(?<=\w\\)\r?\n(?=\w))"
)


def may_hold(data: bytes, name: str) -> bool:
    """Return whether the text `data` has `name`, be it as a part of a longer word."""
    return name.encode() in data or (not data.isascii() and name in _normal(data)) or spells_otherwise(data, name)


def holds_word(data: bytes, name: str) -> bool:
    """Return whether the text `data` has `name` as a word."""
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    return may_hold(data, name) and (word.search(_normal(data)) is not None or spells_otherwise(data, name))


def spells_otherwise(data: bytes, name: str) -> bool:
    """Return whether a word of the text `data` is `name` only once its escapes are resolved."""
    resolved = _without_escapes(data)
    word = re.compile(rb"(?<![\w\x80-\xff])%s(?![\w\x80-\xff])" % re.escape(name.encode()))
    return resolved is not None and name.encode() in resolved and len(word.findall(resolved)) > len(word.findall(data))


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
    if octal is not None:
        return bytes([int(octal, 8)])
    return bytes([int(next((code for code in codes if code is not None), b"0"), 16)]) if any(codes) else b""


@cached_in_scan()
def _normal(data: bytes) -> str:
    text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", "replace")
    return text if text.isascii() else unicodedata.normalize("NFKC", text)
