"""A cache manager for Triton: kernels from one read-only pack first, from the local folder second, written locally.

    TRITON_CACHE_MANAGER=triton_doctor.cache_manager:ReadThrough TRITON_DOCTOR_PACK=/mnt/kernels.sqlite python serve.py

Triton imports this in every process that compiles a kernel, so it imports only what Python brings. It never raises of
its own accord: what cannot be read is looked for in the local folder, and what cannot be written there is written to a
folder of the process, which is removed when it ends.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import tempfile
import threading
from contextlib import closing
from pathlib import Path
from shutil import rmtree
from typing import Any

from triton.runtime.cache import FileCacheManager

from triton_doctor.cache_placement import PRESENT, WRITTEN, place_entry
from triton_doctor.machine.cache_lookups import LOCAL, MISSED, PACKED, note_lookup
from triton_doctor.machine.packs.pack_file import connect, find_files, find_group

VARIABLE = "TRITON_DOCTOR_PACK"
log = logging.getLogger("triton_doctor")


class OpenedPack:
    """The pack of this process, and the folder that replaces one it cannot write."""

    def __init__(self) -> None:
        """Open nothing yet."""
        self._lock = threading.Lock()
        self._unreadable: set[str] = set()
        self._own_folder: Path | None = None
        self._warned: set[str] = set()

    def find(self, key: str) -> tuple[str | None, dict[str, bytes]]:
        """Return the kernel name and the files of the entry `key`.

        The name is None if the entry is not a kernel; without such an entry there are no files. The pack is opened for
        each entry: the program could close a descriptor that is kept open, and reuse its number for another file, which
        SQLite would then read.
        """
        path = os.environ.get(VARIABLE)
        with self._lock:
            if not path or path in self._unreadable:
                return None, {}
            try:
                with closing(connect(path)) as connection:
                    return find_group(connection, key), find_files(connection, key)
            except (sqlite3.Error, OSError, ValueError) as error:
                self._unreadable.add(path)
                self.warn_once(f"{VARIABLE}={path} cannot be read, kernels come from the local cache: {error}")
                return None, {}

    def own_folder(self) -> Path:
        """Return a temporary folder of this process, for use if the cache is not writable. Raises OSError."""
        if self._own_folder is None:
            from multiprocessing.util import Finalize

            self._own_folder = Path(tempfile.mkdtemp(prefix="triton-doctor-"))
            # Runs at the end of this process, also of one that multiprocessing forked, and not of its children.
            Finalize(None, rmtree, args=(self._own_folder, True), exitpriority=0)
            self.warn_once(f"the cache folder cannot be written, this process compiles into {self._own_folder}")
        return self._own_folder

    def warn_once(self, message: str) -> None:
        """Log `message`, once."""
        if message not in self._warned:
            self._warned.add(message)
            log.warning(message)


def open_again() -> None:
    """Give a forked process a state of its own: a lock that another thread held would never be released."""
    global opened
    opened = OpenedPack()


opened = OpenedPack()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=open_again)


class ReadThrough(FileCacheManager):  # type: ignore[misc]
    """Triton's own cache in files, with a pack before it. What is for people, dumps and overrides, is as Triton's."""

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        """Initialize Triton's manager; if its folder cannot be created, use one of this process."""
        self._is_cache = not override and not dump
        self._has_looked = False
        self._is_packed = False
        try:
            super().__init__(key, override=override, dump=dump)
        except OSError:
            if not self._is_cache:
                raise
            self._write_elsewhere()

    def get_file(self, filename: str) -> str | None:
        """Return the path of `filename` in the local folder, after copying the pack's entry there."""
        self._look()
        return super().get_file(filename)  # type: ignore[no-any-return]

    def get_group(self, filename: str) -> dict[str, str] | None:
        """Return the paths of a kernel's files; None if neither the pack nor the local folder has it."""
        self._look()
        try:
            group: dict[str, str] | None = super().get_group(filename)
        except (OSError, ValueError):  # triton 3.2 reads a damaged group without a guard
            group = None
        if self._is_cache:
            state = (PACKED if self._is_packed else LOCAL) if group else MISSED
            note_lookup(Path(self.cache_dir).parent, state, filename.removesuffix(".json"))
        return group

    def put(self, data: Any, filename: str, binary: bool = True) -> str:
        """Write to the local folder, or to one of this process where that cannot be written."""
        try:
            return super().put(data, filename, binary=binary)  # type: ignore[no-any-return]
        except OSError:
            if not self._is_cache:
                raise
            self._write_elsewhere()
            return super().put(data, filename, binary=binary)  # type: ignore[no-any-return]

    def _look(self) -> None:
        """Write the pack's entry to the local folder, once, where it is not there yet."""
        if self._has_looked or not self._is_cache:
            return
        self._has_looked = True
        try:
            group, files = opened.find(self.key)
            if files:
                self._is_packed = self._place(group, files)
        except Exception as error:
            opened.warn_once(f"reading the pack failed, kernels come from the local cache: {error!r}")

    def _place(self, group: str | None, files: dict[str, bytes]) -> bool:
        for _ in range(2):
            folder = Path(self.cache_dir).parent
            try:
                pieces = {name: [data] for name, data in files.items()}
                return place_entry(self.key, group, pieces, folder, folder) in {WRITTEN, PRESENT}
            except OSError:
                self._write_elsewhere()
        return False

    def _write_elsewhere(self) -> None:
        """Use a folder of this process from now on."""
        self.cache_dir = str(opened.own_folder() / self.key)
        self.lock_path = str(opened.own_folder() / self.key / "lock")
        Path(self.cache_dir).mkdir(parents=True, exist_ok=True)
