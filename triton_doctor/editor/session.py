"""The folders of one editor: which of them a file belongs to, and their checks, one at a time.

Folders are checked on one thread, because a scan empties caches of the process when it ends. While a check runs,
further edits are gathered; then one more check covers all of them.
"""

from __future__ import annotations

import asyncio
import gc
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from triton_doctor.editor.folder import CheckedFolder
from triton_doctor.errors import DoctorError
from triton_doctor.static.project.database.roles import Role, role_of
from triton_doctor.static.sources.files import FileKind, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from triton_doctor.editor.folder import FolderCheck

Result = TypeVar("Result")

_LOG = logging.getLogger(__name__)
# An editor opens documents right after its folders: what is open is checked first.
_OPENING_SECONDS = 0.05
# So long after the last check, memory that only cycles hold is freed, and the cache is written.
_IDLE_SECONDS = 3.0


@dataclass(slots=True, eq=False)
class _Progress:
    """The checks of one folder: how many were requested, how many of these the last check covered, and its result.

    `glance` is the result of a first check of the files in `glanced` alone, while nothing else is known.
    """

    folder: CheckedFolder
    requested: int = 0
    covered: int = 0
    checked: FolderCheck | None = None
    glance: FolderCheck | None = None
    glanced: frozenset[str] = frozenset()
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)


class EditorSession:
    """Checks the open folders. `publish` is called with each result, `fail` with what went wrong instead."""

    def __init__(
        self,
        texts: Callable[[], Mapping[str, bytes]],
        publish: Callable[[CheckedFolder, FolderCheck], None],
        fail: Callable[[Exception], None],
    ) -> None:
        """Create a session without folders. `texts` returns the current texts of the editor by absolute path."""
        self._texts, self._publish, self._fail = texts, publish, fail
        self._folders: dict[Path, _Progress] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="triton-doctor")
        self._running: asyncio.Task[None] | None = None
        self._idle: asyncio.TimerHandle | None = None

    @property
    def folders(self) -> tuple[CheckedFolder, ...]:
        """Return the open folders, and the open files outside of them."""
        return tuple(folder.folder for folder in self._folders.values())

    def open(self, root: Path) -> None:
        """Check the folder or file at `root` from now on."""
        if root not in self._folders:
            self._folders[root] = _Progress(CheckedFolder(root))
            self._request_check(self._folders[root])

    def close(self, root: Path) -> FolderCheck | None:
        """Stop checking `root`; return what its last check found."""
        closed = self._folders.pop(root, None)
        return closed.checked if closed is not None else None

    def owner(self, path: str) -> CheckedFolder | None:
        """Return the innermost open folder that contains the file at the absolute `path`; None if there is none."""
        progress = self._owner(path)
        return progress.folder if progress is not None else None

    def edited(self, path: str) -> None:
        """Check again what the text at `path` may change: the folder of it, and those that read it."""
        for folder in self._folders.values():
            if folder.checked is None or folder is self._owner(path) or _reads(folder.checked, path):
                self._request_check(folder)

    def forget_files(self, path: str | None = None) -> None:
        """Look for the files of the folders again, and check them: some came or went, or settings changed."""
        for folder in self._folders.values():
            if path is None or folder is self._owner(path) or folder.checked is None or _reads(folder.checked, path):
                folder.folder.forget_files()
                self._request_check(folder)

    def checked(self, path: str) -> FolderCheck | None:
        """Return what the last check of the folder of `path` found."""
        progress = self._owner(path)
        return progress.checked if progress is not None else None

    async def current(self, path: str) -> FolderCheck | None:
        """Return the result of a check that covers all edits so far; None if no open folder contains `path`."""
        progress = self._owner(path)
        if progress is None:
            return None
        wanted, text = progress.requested, self._texts().get(path)

        def is_glanced_at() -> bool:
            return progress.glance is not None and path in progress.glanced and progress.glance.texts.get(path) == text

        async with progress.changed:
            await progress.changed.wait_for(lambda: progress.covered >= wanted or is_glanced_at())
        return progress.glance if progress.covered < wanted else progress.checked

    async def work_out(self, work: Callable[[], Result]) -> Result:
        """Run `work` on the thread of the checks, and return its result."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def end(self) -> None:
        """Leave what was worked out for the next session, and free the thread."""
        if self._idle is not None:
            self._idle.cancel()
        for folder in self._folders.values():
            self._thread.submit(folder.folder.save)
        self._thread.shutdown(wait=True, cancel_futures=False)

    def _owner(self, path: str) -> _Progress | None:
        """Return the innermost folder that contains `path`."""
        at = Path(path)
        return next((self._folders[parent] for parent in (at, *at.parents) if parent in self._folders), None)

    def _request_check(self, progress: _Progress) -> None:
        progress.requested += 1
        if self._idle is not None:
            self._idle.cancel()
        if self._running is None or self._running.done():
            self._running = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        """Check until no folder has edits that no check covered."""
        if any(folder.checked is None for folder in self._folders.values()):
            await asyncio.sleep(_OPENING_SECONDS)
        while True:
            waiting = [folder for folder in self._folders.values() if folder.covered < folder.requested]
            if not waiting:
                break
            await self._check(waiting[0])
        self._idle = asyncio.get_running_loop().call_later(_IDLE_SECONDS, self._tidy)

    async def _check(self, progress: _Progress) -> None:
        covered, folder, texts = progress.requested, progress.folder, dict(self._texts())
        try:
            opened = {path for path in texts if self._owner(path) is progress}
            is_cold = await self.work_out(partial(getattr, folder, "is_cold"))
            if opened and is_cold:
                # Nothing is known yet: what the user looks at comes first.
                glance = await self.work_out(partial(_collecting_no_garbage, folder, texts, opened))
                async with progress.changed:
                    progress.glance, progress.glanced = glance, frozenset(opened)
                    progress.changed.notify_all()
                self._publish(folder, glance)
            checked = await self.work_out(partial(_collecting_no_garbage, folder, texts, None))
            if folder in self.folders:
                progress.checked = checked
                self._publish(folder, checked)
        except DoctorError as error:
            self._fail(error)
        except Exception as error:
            _LOG.exception("a check of %s failed", folder.root)
            self._fail(error)
        finally:
            async with progress.changed:
                progress.covered, progress.glance = max(progress.covered, covered), None
                progress.changed.notify_all()

    def _tidy(self) -> None:
        for folder in self._folders.values():
            if not any(self._owner(path) is folder for path in self._texts()):
                self._thread.submit(folder.folder.save)
        self._thread.submit(gc.collect)


def _collecting_no_garbage(folder: CheckedFolder, texts: Mapping[str, bytes], only: set[str] | None) -> FolderCheck:
    """Check with the collector of cycles off: going over syntax trees again and again takes a third of the time."""
    gc.disable()
    try:
        return folder.check(texts, only)
    finally:
        gc.enable()


def _reads(checked: FolderCheck, path: str) -> bool:
    """Return whether the check read the file at `path`, or would have read it if it existed."""
    return any(Path(path).is_relative_to(root) for root in (checked.workspace.base, *checked.workspace.projects))


def is_checked_alone(path: str, text: bytes) -> bool:
    """Return whether a file outside of all folders concerns Triton, so that its project is worth reading."""
    kind = kind_of(Path(path).name)
    if kind is not FileKind.PYTHON:
        return False
    return role_of(text) is not Role.BYSTANDER
