"""The language server: what the editor says to the session, and what the session found to the editor."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from triton_doctor.editor.actions import Edits
from triton_doctor.editor.diagnostics import make_diagnostic
from triton_doctor.editor.documents import Positions, decode, open_documents, uri_of
from triton_doctor.editor.explained import ExplainedFile, explain_file
from triton_doctor.editor.recorded import RecordedRuns, find_recordings, read_runs
from triton_doctor.editor.session import EditorSession
from triton_doctor.errors import DoctorError
from triton_doctor.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygls.workspace import PositionCodec

    from triton_doctor.editor.documents import OpenDocument
    from triton_doctor.editor.folder import CheckedFolder, FolderCheck
    from triton_doctor.finding import Finding

_LOG = logging.getLogger(__name__)


class DoctorServer(LanguageServer):
    """One editor's session.

    A document is sent whole with each edit: in documents with form feeds, pygls 2 counts other lines than the protocol.
    """

    def __init__(self) -> None:
        """Create the session; nothing is checked before the editor names its folders."""
        super().__init__("triton-doctor", __version__, types.TextDocumentSyncKind.Full, max_workers=2)
        self.session = EditorSession(
            lambda: {path: document.text for path, document in self.documents.items()}, self.publish, self.fail
        )
        self.is_asked_to_end = False
        self._published: dict[str, list[types.Diagnostic]] = {}
        self._sent_findings: dict[str, tuple[Finding, ...]] = {}
        self._complained: set[str] = set()
        self._explained: dict[str, tuple[FolderCheck, ExplainedFile]] = {}
        self._runs: dict[tuple[tuple[Path, int], ...], RecordedRuns] = {}

    @property
    def documents(self) -> dict[str, OpenDocument]:
        """Return the open documents by path."""
        return open_documents(self.workspace.text_documents)

    def texts(self) -> dict[str, bytes]:
        """Return the texts of the open documents by path."""
        return {path: document.text for path, document in self.documents.items()}

    @property
    def pulls(self) -> bool:
        """Return whether the client requests diagnostics of open documents, so that they must not be pushed too."""
        capabilities = self.client_capabilities.text_document
        return capabilities is not None and capabilities.diagnostic is not None

    def publish(self, folder: CheckedFolder, checked: FolderCheck) -> None:
        """Send the diagnostics that are others than were sent last."""
        documents, pulls = self.documents, self.pulls
        found = {path for path in checked.findings if self.session.owner(path) is folder}
        old = {path for path in self._published if self.session.owner(path) is folder} if checked.is_whole else set()
        for path in sorted(found | old):
            document, findings = documents.get(path), checked.findings.get(path, ())
            if document is not None:
                self._sent_findings.pop(path, None)
                self._send(path, document, [] if pulls else self.diagnostics(checked, path))
            elif self._sent_findings.get(path) != findings:
                # To place hundreds of findings in their files after each edit takes as long as to find them.
                self._sent_findings[path] = findings
                self._send(path, None, self.diagnostics(checked, path))
        self._complained.clear()
        if checked.is_whole:
            self._explained.clear()
            self._refresh(pulls=pulls)

    def withdraw(self, root: Path) -> None:
        """Take back the diagnostics of a folder that is checked no more."""
        for path in [path for path in self._published if Path(path).is_relative_to(root)]:
            if self.session.owner(path) is None:
                self._sent_findings.pop(path, None)
                self._send(path, self.documents.get(path), [])

    def take_back(self, path: str) -> None:
        """Take back the diagnostics that were pushed of the file at `path`: from now on the client pulls them."""
        self._sent_findings.pop(path, None)
        self._send(path, self.documents.get(path), [])

    def _send(self, path: str, document: OpenDocument | None, diagnostics: list[types.Diagnostic]) -> None:
        if self._published.get(path, []) == diagnostics and (document is None or not diagnostics):
            return
        self._published[path] = diagnostics
        if not diagnostics:
            del self._published[path]
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(
                uri=document.uri if document is not None else uri_of(path),
                version=document.version if document is not None else None,
                diagnostics=diagnostics,
            )
        )

    def _refresh(self, *, pulls: bool) -> None:
        """Request that the client asks again for annotations that depend on other files."""
        workspace = self.client_capabilities.workspace
        if workspace is None:
            return
        if pulls and workspace.diagnostics is not None and workspace.diagnostics.refresh_support:
            self.workspace_diagnostic_refresh(None)
        if workspace.inlay_hint is not None and workspace.inlay_hint.refresh_support:
            self.workspace_inlay_hint_refresh(None)
        if workspace.code_lens is not None and workspace.code_lens.refresh_support:
            self.workspace_code_lens_refresh(None)

    def fail(self, error: Exception) -> None:
        """Show `error` to the user, once. Earlier diagnostics are kept."""
        if isinstance(error, DoctorError):
            message = f"{error.message}; {error.hint}" if error.hint else error.message
        else:
            message = f"triton-doctor failed, and its diagnostics may be out of date: {type(error).__name__}: {error}"
        if message not in self._complained:
            self._complained.add(message)
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, message))

    def diagnostics(self, checked: FolderCheck, path: str) -> list[types.Diagnostic]:
        """Return the diagnostics of the file at the absolute `path`."""
        return [diagnostic for _, diagnostic in self.found(checked, path)]

    def found(self, checked: FolderCheck, path: str) -> list[tuple[Finding, types.Diagnostic]]:
        """Return the findings in the file at the absolute `path`, with their diagnostics."""
        positions, uri = self.positions(checked), self.uris(checked)
        return [(finding, make_diagnostic(finding, positions, uri)) for finding in checked.findings.get(path, ())]

    def positions(self, checked: FolderCheck) -> Callable[[str], Positions]:
        """Return a cached function from a path, as findings spell it, to the positions of the text that was checked."""
        kept: dict[str, Positions] = {}
        codec = self.codec

        def positions_of(path: str) -> Positions:
            if path not in kept:
                source = checked.source_of(path) or checked.texts.get(checked.absolute(path), b"")
                kept[path] = Positions(decode(source or _read(checked.absolute(path))), codec)
            return kept[path]

        return positions_of

    def uris(self, checked: FolderCheck) -> Callable[[str], str]:
        """Return a function from a path, as findings spell it, to its URI as the client spells it."""
        documents = self.documents

        def uri(path: str) -> str:
            absolute = checked.absolute(path)
            return documents[absolute].uri if absolute in documents else uri_of(absolute)

        return uri

    def edits(self, checked: FolderCheck) -> Edits:
        """Return a builder of edits for the texts that were checked."""
        workspace, documents = self.client_capabilities.workspace, self.documents

        def version(path: str) -> int | None:
            document = documents.get(checked.absolute(path))
            return document.version if document is not None else None

        supported = workspace is not None and workspace.workspace_edit is not None
        return Edits(
            checked,
            self.positions(checked),
            self.uris(checked),
            version,
            with_versions=bool(supported and workspace.workspace_edit.document_changes),  # type: ignore[union-attr]
        )

    @property
    def codec(self) -> PositionCodec:
        """Return the codec for the units in which the client counts columns."""
        codec: PositionCodec = self.workspace.position_codec
        return codec

    def text_of(self, file: Path) -> str | None:
        """Return the text of `file` as the editor has it; None if the file does not exist."""
        document = self.documents.get(file.as_posix())
        if document is not None:
            return decode(document.text)
        return decode(_read(file.as_posix())) if file.is_file() else None

    async def explained(self, checked: FolderCheck, path: str) -> ExplainedFile:
        """Return what is known of the file at the absolute `path`."""
        known = self._explained.get(path)
        if known is not None and known[0] is checked:
            return known[1]
        folder = self.session.owner(path)
        if folder is None:
            return ExplainedFile()
        memory = folder.memory
        try:
            found = await self.session.work_out(lambda: explain_file(checked.workspace, checked.shown(path), memory))
        except Exception as error:
            _LOG.exception("explaining %s failed", path)
            self.fail(error)
            return ExplainedFile()
        self._explained[path] = (checked, found)
        return found

    async def runs(self, checked: FolderCheck, path: str) -> RecordedRuns:
        """Return what the recordings for the file at the absolute `path` saw."""
        folder = self.session.owner(path)
        root = folder.root if folder is not None and folder.root.is_dir() else checked.workspace.base
        files = find_recordings(checked.workspace.settings, root)
        key = tuple((file, file.stat().st_mtime_ns) for file in files if file.exists())
        if key not in self._runs:
            self._runs = {key: await self.session.work_out(lambda: read_runs(files))}
        return self._runs[key]


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""
