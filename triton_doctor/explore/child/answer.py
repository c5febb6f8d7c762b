"""The answer of a child: a file in its scratch folder, which it may write as often as it likes; the last one counts.

A file and no descriptor: the code that runs may close every descriptor. It is written by `posix`, as the functions of
`os` may be replaced by then, and it rests on the files of the project that were opened.
"""

from __future__ import annotations

import posix
import sys
from typing import Any, ClassVar

import msgspec

NAME = "answer.json"
LONGEST_ERROR = 600


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a child found: `value` as JSON, and the `files` below the project's copy that it opened, relative to it.

    `error` is what ended the child before it was final, `value` then what it had kept until then, or null.
    """

    value: msgspec.Raw
    files: tuple[str, ...]
    is_final: bool = False
    error: str = ""


class _Answering:
    """Where the process answers that is the child of a sweep."""

    folder = ""
    process = 0
    root = ""
    value = msgspec.Raw(b"null")
    files: ClassVar[dict[str, None]] = {}


def open_answers(folder: str, root: str) -> None:
    """Answer in `folder` from now on, and note which files below `root` are opened."""
    _Answering.folder, _Answering.process, _Answering.root = folder, posix.getpid(), f"{root}/"
    sys.addaudithook(_note)


def keep(value: object, *, is_final: bool = False) -> None:
    """Keep `value` as the answer, unless another comes. Does nothing in a process that is no child of a sweep."""
    _Answering.value = msgspec.Raw(msgspec.json.encode(value))
    _write(is_final, "")


def keep_error(error: BaseException) -> None:
    """Keep what was kept until now, and `error` beside it."""
    _write(is_final=False, error=f"{type(error).__name__}: {' '.join(str(error).split())}"[:LONGEST_ERROR])


def _write(is_final: bool, error: str) -> None:
    # What the code forked may come back to here.
    if _Answering.process != posix.getpid():
        return
    data = msgspec.json.encode(
        Answer(value=_Answering.value, files=tuple(_Answering.files), is_final=is_final, error=error)
    )
    fresh = f"{_Answering.folder}/{NAME}.new"
    descriptor = posix.open(fresh, posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC | posix.O_CLOEXEC, 0o600)
    while data:
        data = data[posix.write(descriptor, data) :]
    posix.close(descriptor)
    posix.rename(fresh, f"{_Answering.folder}/{NAME}")


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    path = arguments[0] if event == "open" else None
    if isinstance(path, str) and not path.startswith("/"):
        path = f"{_Answering.root}{path}"  # the working folder has links to the files there
    if isinstance(path, str) and path.startswith(_Answering.root) and not path.endswith(".pyc"):
        _Answering.files[path[len(_Answering.root) :]] = None
