"""Baselines: files with the fingerprints of known findings. Reads, writes and compares them."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triton_doctor.errors import DoctorError, reason_of
from triton_doctor.finding import split_cell
from triton_doctor.regular_files import NotRegularError, read_regular_file
from triton_doctor.static.python.formatting import normalize

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from triton_doctor.finding import Finding, Span

SCHEMA = 1
DEFAULT_NAME = "triton-doctor-baseline.json"
LONGEST_TEXT = 200
_DIGITS = 16  # of a fingerprint


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Entry:
    """A known finding. `path` is relative to the folder of the baseline; `text`, shortened if long, is for readers."""

    path: str
    code: str
    kernel: str
    parameter: str
    text: str
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A comparison: the `new` findings, and the entries that are `gone`, each once."""

    new: tuple[Finding, ...]
    gone: tuple[Entry, ...]

    def known(self, findings: Sequence[Finding]) -> int:
        """Return how many of `findings` the baseline contains."""
        return len(findings) - len(self.new)


class Entries:
    """Converts findings, whose paths are relative to `cwd`, to entries of the baseline at `path`."""

    def __init__(self, path: Path, cwd: Path, lines_of: Callable[[str], Sequence[str]]) -> None:
        self._folder = os.path.dirname(os.path.abspath(path))  # noqa: PTH100, PTH120, `resolve` would follow links
        self._cwd = cwd
        self._lines_of = lines_of

    def of(self, finding: Finding) -> Entry:
        """Return the entry of `finding`, at its place in a report on all files."""
        finding = finding.original
        text = source_text(finding, self._lines_of(finding.path))
        return Entry(
            path=self.path_of(finding.path),
            code=finding.code,
            kernel=finding.facts.kernel or "",
            parameter=finding.facts.parameter or "",
            text=text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}...",
            fingerprint=fingerprint(finding, text),
        )

    def path_of(self, shown: str) -> str:
        """Return the path `shown` in findings as the baseline spells it."""
        return Path(os.path.relpath(self._cwd / split_cell(shown)[0], self._folder)).as_posix()

    def exists(self, entry: Entry) -> bool:
        """Return whether the file of `entry` exists."""
        return Path(self._folder, entry.path).exists()


def compare(
    findings: Iterable[Finding], known: Counter[Entry], entries: Entries, looked: Callable[[Entry], bool]
) -> Compared:
    """Compare `findings` with the `known` entries. An entry is gone only if `looked` says that this run would find it.

    An entry covers as many findings as it counts: first those of its own file, then one that moved.
    """
    left = Counter(known)
    unmatched: list[tuple[Finding, Entry]] = []
    for finding in findings:
        entry = entries.of(finding)
        if left[entry] > 0:
            left[entry] -= 1
        else:
            unmatched.append((finding, entry))
    elsewhere: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in sorted(left.elements()):
        elsewhere[entry.fingerprint].append(entry)
    new = []
    for finding, entry in unmatched:
        moved = next((candidate for candidate in elsewhere[entry.fingerprint] if looked(candidate)), None)
        if moved is None:
            new.append(finding)
        else:
            elsewhere[entry.fingerprint].remove(moved)
            left[moved] -= 1
    return Compared(new=tuple(new), gone=tuple(entry for entry in sorted(+left) if looked(entry)))


def write_baseline(path: Path, entries: Collection[Entry]) -> None:
    """Write one entry a line, sorted, so that diffs are readable. Raises DoctorError if it cannot be written."""
    lines = [
        "    " + json.dumps(_fields(entry, count), ensure_ascii=False)
        for entry, count in sorted(Counter(entries).items())
    ]
    listed = "[\n" + ",\n".join(lines) + "\n  ]" if lines else "[]"
    try:
        text = f'{{\n  "schema": {SCHEMA},\n  "findings": {listed}\n}}\n'
        # JSON escapes for surrogates, which UTF-8 cannot encode: file names may contain them.
        _write_whole(path, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise DoctorError(f"{path} cannot be written: {reason_of(error)}", hint="--baseline names a file") from error


def read_baseline(path: Path) -> Counter[Entry]:
    """Return the entries of `path` with their counts. Raises DoctorError if it is missing or no baseline."""
    write = f"`triton-doctor check --baseline {path} --write-baseline` writes it"
    rewrite = "name another file, or delete this one and write it anew with --write-baseline"
    try:
        data = json.loads(read_regular_file(path).decode("utf-8-sig"))
        if data["schema"] != SCHEMA:
            raise DoctorError(f"{path} has schema {data['schema']}, this triton-doctor reads {SCHEMA}", hint=rewrite)
        known = Counter[Entry]()
        for fields in data["findings"]:
            count = fields.pop("count", 1)
            if type(count) is not int or count < 1 or not all(isinstance(value, str) for value in fields.values()):
                raise ValueError("an entry of other types")
            known[Entry(**fields)] += count
    except FileNotFoundError as error:
        raise DoctorError(f"there is no baseline {path}", hint=write) from error
    except OSError as error:
        reason = reason_of(error)
        raise DoctorError(f"the baseline {path} cannot be read: {reason}", hint=rewrite) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DoctorError(f"{path} is no baseline of triton-doctor", hint=rewrite) from error
    return known


def _fields(entry: Entry, count: int) -> dict[str, Any]:
    fields: dict[str, Any] = {name: getattr(entry, name) for name in Entry.__dataclass_fields__}
    return fields | {"count": count} if count > 1 else fields


def _write_whole(path: Path, data: bytes) -> None:
    """Write `data` to `path`, or to its link target, atomically. Raises OSError, also for a special file."""
    target = os.path.realpath(path)
    try:
        status = os.stat(target)  # noqa: PTH116
    except FileNotFoundError:
        status = None
    if status is not None and not stat.S_ISREG(status.st_mode):
        raise NotRegularError(path)
    if status is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    import tempfile

    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".triton-doctor-")  # noqa: PTH120
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask if status is None else status.st_mode & 0o7777)  # noqa: PTH101
        os.replace(temporary, target)  # noqa: PTH105
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108
        raise


def source_text(finding: Finding, lines: Sequence[str]) -> str:
    """Return the text in the finding's span, normalized for formatting; `lines` are those of its file."""
    text = cut(lines, finding.span)
    return normalize(text) if finding.path.endswith(".py") else " ".join(text.split())


def fingerprint(finding: Finding, text: str) -> str:
    """Return the fingerprint of the rule, the kernel, the parameter and `text`, as returned by `source_text`."""
    parts = (finding.code, finding.facts.kernel or "", finding.facts.parameter or "", text)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def cut(lines: Sequence[str], span: Span) -> str:
    """Return the characters of `span`; empty if the file has no such lines."""
    chosen = list(lines[span.line - 1 : span.end_line])
    if not chosen:
        return ""
    if span.end_line <= len(lines):
        chosen[-1] = chosen[-1][: span.end_column - 1]
    chosen[0] = chosen[0][span.column - 1 :]
    return "\n".join(chosen)
