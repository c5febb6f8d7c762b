"""What the editor holds: open documents by their absolute path, as the bytes that a file of them would have."""

from __future__ import annotations

import io
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pygls.uris import from_fs_path, to_fs_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pygls.workspace import TextDocument


class OpenDocument(NamedTuple):
    """A document that the editor holds. `uri` is spelled as the client spells it."""

    uri: str
    version: int | None
    text: bytes


def path_of(uri: str) -> str | None:
    """Return the absolute, posix path of the file `uri`; None if it is not a file, such as an unnamed buffer."""
    if not uri.startswith("file:"):
        return None
    path = to_fs_path(uri)
    return Path(path).as_posix() if path else None


def uri_of(path: str) -> str:
    """Return the URI of the file at the absolute `path`."""
    uri: str | None = from_fs_path(path)
    assert uri is not None
    return uri


def open_documents(documents: Mapping[str, TextDocument]) -> dict[str, OpenDocument]:
    """Return those of `documents`, which are by URI, that are files, by path."""
    found = {}
    for uri, document in documents.items():
        path = path_of(uri)
        if path is not None:
            found[path] = OpenDocument(uri, document.version, encode(document.source))
    return found


def encode(text: str) -> bytes:
    """Encode `text` as a file, in the encoding that its first lines declare."""
    data = text.encode("utf-8", "replace")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data if encoding in ("utf-8", "utf-8-sig") else text.encode(encoding)
    except (SyntaxError, UnicodeError, LookupError):
        return data


def decode(data: bytes) -> str:
    """Decode a file, in the encoding that its first lines declare. Undecodable bytes are replaced."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding, "replace")
    except (SyntaxError, LookupError):
        return data.decode("utf-8", "replace")
