"""The files of a dry run: what existed before it stays as it is, and the program finds its own changes in an overlay.

A dry run has no data, so it must not replace data. A path that existed before the run is *diverted* when the program
writes, renames or removes it: from then on the program finds it in the overlay, a temporary folder that all processes
of the run share. A path that did not exist is written for real, and so are what the run itself created and an existing
file that is empty, which may be a lock that other programs share.

The state is symbolic links in the overlay, the marks: a tree for each of AT, MADE, ... that mirrors the paths.
"""

from __future__ import annotations

import _io
import contextlib
import errno
import functools
import glob
import os
import posix
import shutil
import stat
import sys
import tempfile
import time

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.dry.patches import Patches, replace_everywhere

# As `typing` has it, whose import costs a start of a program 10 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

PREFIX, MARK = "triton-doctor-overlay-", ".triton-doctor-mark"
# Where the content of a path is now; what the run created; what was diverted, and why; opened to write; connected to.
AT, MADE, KEPT, OPENED, CONNECTED = "at", "made", "kept", "opened", "connected"
OPENS_TO_WRITE = os.O_WRONLY | os.O_RDWR | os.O_TRUNC
MOST_LINKS, SHOWN = 40, 20
# What reads, or changes no data, by a path; of the second line, without following a link at its end.
FOLLOWING = "stat access chmod chown utime statvfs chdir getxattr setxattr listxattr removexattr".split()
NOT_FOLLOWING = "lstat readlink lchown".split()
REPLACED = "open listdir scandir mkdir symlink rmdir remove unlink rename replace".split()

_current: Overlay | None = None
_is_audited = False


class Spot:
    """A path that the program passed as `given`: the absolute path without links, and where its content is.

    `is_ours` is whether a change at `location` loses nothing that was there before the run.
    """

    def __init__(self, given: Any, logical: str, location: str, *, is_ours: bool, is_moved: bool) -> None:
        self.given, self.logical, self.location, self.is_ours = given, logical, location, is_ours
        self._is_moved = is_moved

    @property
    def mode(self) -> int:
        """Return the stat mode at the location, without following a link; 0 if nothing exists."""
        try:
            return posix.lstat(self.location).st_mode
        except OSError:
            return 0

    @property
    def is_folder(self) -> bool:
        """Return whether the location is a folder."""
        return stat.S_ISDIR(self.mode)

    def call(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Call `function` with the location; an error names the path as the program gave it."""
        if not self._is_moved:
            return function(self.given, *args, **options)
        options.pop("dir_fd", None)
        place = os.fsencode(self.location) if isinstance(self.given, bytes) else self.location
        try:
            return function(place, *args, **options)
        except OSError as error:
            error.filename = self.given
            raise

    def move(self, location: str) -> None:
        """Set the location to `location` in the overlay."""
        self.location, self.is_ours, self._is_moved = location, True, True


class Overlay:
    """The overlay in `folder`. Its methods that begin with `_os_` replace functions of `os`."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.realpath(folder)
        self._patches = Patches()
        self._replaced: list[tuple[Any, Any]] = []

    def begin(self) -> None:
        """Replace the functions in every module that has them."""
        new: dict[Any, Any] = {getattr(posix, name): getattr(self, f"_os_{name}") for name in REPLACED}
        new |= {getattr(posix, name): self._redirect(getattr(posix, name)) for name in FOLLOWING}
        new |= {getattr(posix, name): self._redirect(getattr(posix, name), follow=False) for name in NOT_FOLLOWING}
        new[posix.truncate] = self._redirect(posix.truncate, writes=True)
        self._replaced = [(before, _Redirected(before, after, "os")) for before, after in new.items()]
        self._replaced += [
            (_io.open, _Redirected(_io.open, self._open_file, "io")),
            (_io.FileIO, _make_file_class(self)),
        ]
        replace_everywhere(self._replaced)
        # Where `Path.glob` of Python 3.13 keeps them.
        kept = {"lstat": staticmethod(os.lstat), "scandir": staticmethod(os.scandir)}
        self._patches.set_existing(getattr(glob, "_StringGlobber", glob), kept)
        # By descriptors of folders `rmtree` would lose the paths that the program means.
        self._patches.set(shutil, "_use_fd_functions", False)
        # What `import` reads with.
        self._patches.set(_io, "open_code", self._redirect(_io.open_code))
        self._patches.set(sys.modules["_frozen_importlib_external"], "_path_stat", os.stat)

    def end(self) -> None:
        """Put back what `begin` replaced."""
        self._patches.undo()
        replace_everywhere([(after, before) for before, after in self._replaced])

    def find(self, path: Any, dir_fd: int | None = None, follow: bool = True) -> Spot:
        """Resolve `path` as the program means it; a link at its end is followed if `follow`."""
        text = os.fsdecode(path)
        parts = text.split("/")[::-1]
        if not text.startswith("/"):
            base = posix.getcwd() if dir_fd is None else posix.readlink(f"/proc/self/fd/{dir_fd}")
            parts += base.split("/")[::-1]
        logical, location, is_ours, is_moved, links = "", "", False, False, 0
        while parts:
            part, link = parts.pop(), ""
            if part in ("", "."):
                continue
            diverted = self._read(AT, f"{logical}/{part}")
            place = diverted or f"{location}/{part}"
            is_moved = is_moved or diverted is not None
            if part == "..":
                link = os.path.dirname(logical) or "/"
            # What is linked in /proc are descriptors, not files.
            elif (parts or follow) and links < MOST_LINKS and not logical.startswith("/proc"):
                with contextlib.suppress(OSError):
                    link, links = os.path.join(logical, posix.readlink(place)), links + 1
            if link:
                parts += link.split("/")[::-1]
                logical, location, is_ours = "", "", False
            else:
                is_ours = self._holds(place) if diverted else is_ours or self._read(MADE, place) is not None
                logical, location = f"{logical}/{part}", place
        is_ours = is_ours or self._holds(location) or location.startswith("/proc/")
        return Spot(path, logical or "/", location or "/", is_ours=is_ours, is_moved=is_moved and bool(text))

    def open(self, path: Any, flags: int, mode: int = 0o666, *, dir_fd: int | None = None) -> int:
        """Open `path` as `os.open` does; also the opener of each file that Python opens by its name."""
        spot = self.find(path, dir_fd, not flags & os.O_NOFOLLOW)
        is_new = bool(flags & os.O_CREAT) and not spot.mode
        if is_new or (flags & OPENS_TO_WRITE and not flags & os.O_EXCL):
            self.divert_to_write(spot, keep=not flags & os.O_TRUNC)
        descriptor: int = spot.call(posix.open, flags, mode, dir_fd=dir_fd)
        if is_new:
            self._note_made(spot)
        return descriptor

    def divert_to_write(self, spot: Spot, *, keep: bool) -> None:
        """Divert `spot` to a writable copy; `keep` is False if the file is truncated anyway."""
        if not spot.mode:
            # Nothing is added to a folder that existed, and was renamed.
            if not spot.is_ours and spot.location != spot.logical:
                self._divert(spot)
            return
        status = spot.call(posix.stat)
        if spot.is_ours or not stat.S_ISREG(status.st_mode) or not posix.access(spot.location, os.W_OK):
            return
        if not status.st_size:
            self._note_made(spot)
            return
        fresh = self._fresh()
        with _io.open(spot.location if keep else os.devnull, "rb") as source, _io.open(fresh, "wb") as copy:
            try:
                shutil.copyfileobj(source, copy, 1 << 24)
            except OSError:
                posix.unlink(fresh)
                raise
        posix.chmod(fresh, stat.S_IMODE(status.st_mode))
        self._divert(spot, "wrote", fresh)

    def mark(self, tree: str, path: str, text: str = "-") -> None:
        """Set the mark of `path` in `tree`."""
        folder, fresh = f"{self.folder}/{tree}{path}", self._fresh()
        os.makedirs(folder, exist_ok=True)
        posix.symlink(text, fresh)
        # At once: another process must not see it missing.
        posix.rename(fresh, f"{folder}/{MARK}")

    def _read(self, tree: str, path: str) -> str | None:
        try:
            return posix.readlink(f"{self.folder}/{tree}{path}/{MARK}")
        except OSError:
            return None

    def _fresh(self) -> str:
        return f"{self.folder}/{posix.urandom(8).hex()}"

    def _holds(self, location: str) -> bool:
        return location.startswith(f"{self.folder}/")

    def _divert(self, spot: Spot, why: str = "", place: str = "") -> None:
        """Divert `spot` to `place`, or mark it as removed. `why` is the operation on the existing path."""
        if why:
            self.mark(KEPT, spot.location, why)
        place = place or self._fresh()
        self.mark(AT, spot.logical, place)
        spot.move(place)

    def _note_made(self, spot: Spot) -> None:
        if not spot.is_ours:
            self.mark(MADE, spot.location)

    def _redirect(
        self, function: Callable[..., Any], *, follow: bool = True, writes: bool = False
    ) -> Callable[..., Any]:
        def call(path: Any, *args: Any, **options: Any) -> Any:
            if isinstance(path, int) or not (writes or posix.access(f"{self.folder}/{AT}", os.F_OK)):
                return function(path, *args, **options)
            spot = self.find(path, options.get("dir_fd"), options.get("follow_symlinks", follow))
            if writes:
                self.divert_to_write(spot, keep=True)
            return spot.call(function, *args, **options)

        return call

    def _open_file(self, file: Any, *args: Any, opener: Any = None, **options: Any) -> Any:
        open_file: Any = _io.open
        if len(args) > 6:  # an opener of its own, by position
            return open_file(file, *args)
        return open_file(file, *args, opener=opener or self.open, **options)

    def _os_open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        return self.open(path, flags, mode, dir_fd=dir_fd)

    def _os_listdir(self, path: Any = None) -> Any:
        spot = self.find("." if path is None else f"/proc/self/fd/{path}" if isinstance(path, int) else path)
        names = spot.call(posix.listdir)
        diverted = dict(self._diverted_in(spot))
        if not diverted:
            return names
        texts = [name for name in map(os.fsdecode, names) if name not in diverted]
        texts += [name for name, place in diverted.items() if os.path.lexists(place)]
        return list(map(os.fsencode, texts)) if isinstance(path, bytes) else texts

    def _os_scandir(self, path: Any = None) -> Any:
        if isinstance(path, int):
            return posix.scandir(path)
        folder = "." if path is None else os.fspath(path)
        spot = self.find(folder)
        if spot.location == spot.logical and not any(self._diverted_in(spot)):
            return posix.scandir(folder)
        return _FolderScan(folder, self._os_listdir(folder))

    def _diverted_in(self, folder: Spot) -> Iterator[tuple[str, str]]:
        """Yield the redirected names in `folder`, with their locations."""
        with contextlib.suppress(OSError):
            for name in posix.listdir(f"{self.folder}/{AT}{folder.logical}"):
                if place := self._read(AT, f"{folder.logical}/{name}"):
                    yield name, place

    def _os_mkdir(self, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        self._create(posix.mkdir, path, mode, dir_fd=dir_fd)

    def _os_symlink(self, src: Any, dst: Any, target_is_directory: bool = False, *, dir_fd: int | None = None) -> None:
        self._create(lambda path, **options: posix.symlink(src, path, **options), dst, dir_fd=dir_fd)

    def _create(self, function: Callable[..., Any], path: Any, *args: Any, dir_fd: int | None) -> None:
        spot = self.find(path, dir_fd, follow=False)
        if not spot.mode:
            self.divert_to_write(spot, keep=False)
        spot.call(function, *args, dir_fd=dir_fd)
        self._note_made(spot)

    def _os_remove(self, path: Any, *, dir_fd: int | None = None) -> None:
        self._take_away(posix.unlink, path, dir_fd)

    _os_unlink = _os_remove

    def _os_rmdir(self, path: Any, *, dir_fd: int | None = None) -> None:
        self._take_away(posix.rmdir, path, dir_fd)

    def _take_away(self, function: Callable[..., Any], path: Any, dir_fd: int | None) -> None:
        spot = self.find(path, dir_fd, follow=False)
        fits = spot.mode != 0 and spot.is_folder == (function is posix.rmdir)
        if fits and spot.is_folder and self._os_listdir(spot.logical):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)
        if spot.is_ours or not fits:
            spot.call(function, dir_fd=dir_fd)
        else:
            self._divert(spot, "removed")

    def _os_rename(self, src: Any, dst: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
        source, target = self.find(src, src_dir_fd, follow=False), self.find(dst, dst_dir_fd, follow=False)
        source.call(posix.lstat, dir_fd=src_dir_fd)
        if source.logical == target.logical:
            return
        code = 0
        if not target.mode:
            code = 0 if self.find(os.path.dirname(target.logical)).is_folder else errno.ENOENT
        elif source.is_folder != target.is_folder:
            code = errno.ENOTDIR if source.is_folder else errno.EISDIR
        elif target.is_folder and self._os_listdir(target.logical):
            code = errno.ENOTEMPTY
        if code:
            raise OSError(code, os.strerror(code), src, None, dst)
        place, is_outside = source.location, source.is_ours and not self._holds(source.location)
        is_free = target.is_ours or not target.mode
        if is_outside and is_free and target.location == target.logical:
            posix.rename(place, target.location)
            self._note_made(target)
            self.mark(OPENED, target.logical)
            self._move_marks(source.logical, target.logical)
            return
        if not is_free:
            self.mark(KEPT, target.location, "replaced")
        if is_outside:
            place = shutil.move(place, self._fresh())
        self._move_marks(source.logical, target.logical)
        self.mark(AT, target.logical, place)
        if not is_outside:
            self._divert(source, "" if source.is_ours else "renamed")

    _os_replace = _os_rename

    def _move_marks(self, source: str, target: str) -> None:
        """Move the redirections below `source` to `target`, replacing those there."""
        before, after = f"{self.folder}/{AT}{source}", f"{self.folder}/{AT}{target}"
        shutil.rmtree(after, ignore_errors=True)
        if os.path.lexists(before):
            os.makedirs(os.path.dirname(after), exist_ok=True)
            posix.rename(before, after)


class _Redirected:
    """A replacement of `before`, a C function: not bound as a method. Calls `before` directly after the dry run."""

    def __init__(self, before: Any, after: Any, module: str) -> None:
        functools.update_wrapper(self, before)
        self.__module__, self._before, self._after = module, before, after

    def __call__(self, *args: Any, **options: Any) -> Any:
        return (self._before if _current is None else self._after)(*args, **options)

    def __reduce__(self) -> str:
        return str(self._before.__name__)


def _make_file_class(overlay: Overlay) -> type:
    class Files(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, _io.FileIO)

    class FileIO(_io.FileIO, metaclass=Files):  # type: ignore[metaclass]
        def __init__(self, file: Any, mode: str = "r", closefd: bool = True, opener: Any = None) -> None:
            super().__init__(file, mode, closefd, opener or (None if _current is None else overlay.open))

    return FileIO


class _FolderEntry:
    """Like an `os.DirEntry`, which only `os.scandir` can create."""

    def __init__(self, folder: Any, name: Any) -> None:
        self.name, self.path = name, os.path.join(folder, name)

    def __fspath__(self) -> Any:
        return self.path

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        return os.stat(self.path, follow_symlinks=follow_symlinks)

    def inode(self) -> int:
        return os.lstat(self.path).st_ino

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return os.path.isdir(self.path) and (follow_symlinks or not self.is_symlink())

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return os.path.isfile(self.path) and (follow_symlinks or not self.is_symlink())

    def is_symlink(self) -> bool:
        return os.path.islink(self.path)

    def is_junction(self) -> bool:
        return False


class _FolderScan(contextlib.ExitStack):
    """Like the iterator that `os.scandir` returns."""

    def __init__(self, folder: Any, names: list[Any]) -> None:
        super().__init__()
        self._entries = iter([_FolderEntry(folder, name) for name in names])

    def __iter__(self) -> Iterator[_FolderEntry]:
        return self._entries

    def __next__(self) -> _FolderEntry:
        return next(self._entries)


def locate(path: Any, *, to_write: bool = False) -> Any:
    """Return the real location of `path` for compiled code; a value that is no path is returned unchanged."""
    if _current is None or not isinstance(path, str | bytes | os.PathLike):
        return path
    spot = _current.find(path)
    if to_write:
        is_new = not spot.mode
        _current.divert_to_write(spot, keep=False)
        _note("open", (os.fspath(path), "w", OPENS_TO_WRITE))
        if is_new:
            _current._note_made(spot)
    return spot.call(os.fspath)


def begin_overlay(folder: str) -> Overlay:
    """Divert this process's changes of existing files into `folder`."""
    global _current, _is_audited
    _current = Overlay(folder)
    _current.begin()
    if not _is_audited:
        # It cannot be removed, and does nothing outside of dry runs.
        _is_audited = True
        sys.addaudithook(_note)
    return _current


@contextlib.contextmanager
def divert_writes(writes: str) -> Iterator[None]:
    """Keep existing files unmodified inside this context, unless `writes` is "allow"; nested runs share one overlay."""
    global _current
    if writes not in ("overlay", "allow"):
        raise DoctorError(f"writes is {writes!r}", hint='give "overlay" or "allow"')
    if writes == "allow" or _current is not None:
        yield
        return
    process, overlay = os.getpid(), begin_overlay(tempfile.mkdtemp(prefix=PREFIX))
    try:
        yield
    finally:
        _current = None
        overlay.end()
        if os.getpid() == process:
            from triton_doctor.runtime import hooks
            from triton_doctor.runtime.event import WarningEvent

            for line in describe_files(overlay.folder):
                hooks.emit(WarningEvent(kind="files", message=line, at_ns=time.time_ns()))
            shutil.rmtree(overlay.folder, ignore_errors=True)


def describe_files(folder: str, ours: tuple[str, ...] = ()) -> Iterator[str]:
    """Describe the redirected changes in `folder`, a line each, except changes in the folders `ours`."""
    kept, written = dict(_marked(folder, KEPT)), [path for path, _ in _marked(folder, OPENED)]
    written = [path for path in written if os.path.isfile(path) or os.path.isdir(path)]
    without = (folder, *ours, *(f"{path}/" for path in kept))
    written = [path for path in written if path not in kept and not path.startswith(without)]
    yield from _shorten([f"{path} is as it was before: the program {why} it" for path, why in kept.items()])
    yield from _shorten([f"{path} was written" for path in written])
    yield from _shorten([f"connected to {address[1:]}" for address, _ in _marked(folder, CONNECTED)])


def _marked(folder: str, tree: str) -> Iterator[tuple[str, str]]:
    """Yield the topmost paths that have a mark in `tree`, with the text of the mark."""
    start = f"{folder}/{tree}"
    for place, inside, _ in os.walk(start):
        inside.sort()
        with contextlib.suppress(OSError):
            yield place[len(start) :], posix.readlink(f"{place}/{MARK}")
            inside.clear()


def _shorten(lines: list[str]) -> list[str]:
    return lines if len(lines) <= SHOWN else [*lines[:SHOWN], f"and {len(lines) - SHOWN:,} more such lines"]


def _note(event: str, args: tuple[Any, ...]) -> None:
    """Record network connections, and files opened for writing, by audit events."""
    if _current is None:
        return
    with contextlib.suppress(Exception):
        if event == "socket.connect" and isinstance(args[1], tuple):
            _current.mark(CONNECTED, f"/{args[1][0]}:{args[1][1]}")
        elif event == "sqlite3.connect" or (event == "open" and args[2] & OPENS_TO_WRITE):
            path = _current.find(args[0]).logical
            # Python keeps compiled modules by itself.
            if "/__pycache__/" not in path:
                _current.mark(OPENED, path)
