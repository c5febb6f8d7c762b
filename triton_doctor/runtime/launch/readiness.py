"""When a program is ready: a port listens, an address answers 200, a line is printed, or it calls `warmed_up()`.

Looked at by a thread, in `run` or beside a guard: the program is neither asked to wait nor stopped. Whether a port
listens is read from the kernel's tables, without a connection. A line is seen by the `write` of `sys.stdout` and
`sys.stderr` in the processes of the program, through which `print` and `logging` go; both stay the objects that they
are, and are as before once the line was seen.
"""

from __future__ import annotations

import os
import sys
import threading
import time

from triton_doctor.errors import DoctorError

# As `typing` has it, whose import costs a start of a program 10 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

CALL, PORT, LINE = "call", "port:", "line:"
ADDRESSES = ("http://", "https://")
HINT = "port:8000, http://127.0.0.1:8000/health, line:REGEX, or call, for a call of warmed_up()"
POLL_S, ANSWER_S = 0.2, 2.0
# /proc/net/tcp: the state of a socket that listens (linux include/net/tcp_states.h, TCP_LISTEN).
LISTENING = "0A"


def require_condition(text: str, place: str) -> str:
    """Return `text` if it is a valid condition. Raises DoctorError that names `place` otherwise."""
    if text == CALL or (text.startswith(ADDRESSES) and text.partition("://")[2].strip("/")):
        return text
    kind, colon, value = text.partition(":")
    if kind + colon == PORT and value.isascii() and value.isdecimal() and 0 < int(value) < 65_536:
        return text
    if kind + colon == LINE and value:
        import re

        try:
            re.compile(value)
        except re.error as error:
            raise DoctorError(f"{place}: {value!r} is no regular expression: {error}", hint=HINT) from None
        return text
    raise DoctorError(f"{place} does not take {text!r}", hint=HINT)


def wait_until(condition: str, then: Callable[[int], None]) -> None:
    """Call `then` on a thread with the Unix time (ns) at which `condition`, a port or address, was met.

    For a line condition, `then` is called on the thread that printed it.
    """
    if condition.startswith(LINE):
        watch_lines(condition.removeprefix(LINE), then)
    elif condition != CALL:
        threading.Thread(target=_poll, args=(condition, then), name="triton-doctor readiness", daemon=True).start()


def _poll(condition: str, then: Callable[[int], None]) -> None:
    while not is_met(condition):
        time.sleep(POLL_S)
    then(time.time_ns())


def is_met(condition: str) -> bool:
    """Return whether the port listens, or the address answers 200; never raises."""
    try:
        if condition.startswith(PORT):
            return _listens(int(condition.removeprefix(PORT)))
        from urllib.request import urlopen

        with urlopen(condition, timeout=ANSWER_S) as answer:
            return bool(answer.status == 200)
    except Exception:  # refused, not found, no answer in time: not yet
        return False


def _listens(port: int) -> bool:
    tables = [path for path in ("/proc/net/tcp", "/proc/net/tcp6") if os.access(path, os.R_OK)]
    for path in tables:
        with open(path, encoding="ascii") as table:
            for row in table.readlines()[1:]:
                _, address, _, state, *_ = row.split()
                if state == LISTENING and int(address.rpartition(":")[2], 16) == port:
                    return True
    if not tables:
        import socket

        with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S):
            return True
    return False


def watch_lines(pattern: str, then: Callable[[int], None]) -> None:
    """Call `then` once, when text that matches `pattern` is written to stdout or stderr by Python code."""
    import re

    search = re.compile(pattern, re.MULTILINE).search
    watched: list[Any] = []

    def watch(stream: Any) -> None:
        write, tail = stream.write, ""

        def write_and_look(text: Any) -> Any:
            nonlocal tail
            written = write(text)
            try:
                # A line may come in pieces.
                tail = (tail + text)[-4096:] if watched else ""
                if watched and search(tail) is not None:
                    for stream in watched:
                        del stream.write
                    watched.clear()
                    then(time.time_ns())
                tail = tail.rpartition("\n")[2]
            except Exception:  # the program has written its text, and goes on
                watched.clear()
            return written

        stream.write = write_and_look
        watched.append(stream)

    for stream in dict.fromkeys((sys.stdout, sys.stderr)):
        try:
            watch(stream)
        except AttributeError:  # no stream, or stream that takes no attribute
            continue
