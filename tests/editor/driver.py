"""An editor without a screen: pygls' own client, which starts the server and speaks to it over stdio."""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

PATIENCE_SECONDS = 30


class Editor:
    """One client and its server. Paths are absolute; positions as in the protocol."""

    def __init__(self, *, pulls: bool = False, encodings: Sequence[str] | None = None) -> None:
        self.client = LanguageClient("headless", "1")
        self.diagnostics: dict[str, list[types.Diagnostic]] = defaultdict(list)
        self.versions: dict[str, int | None] = {}
        self.messages: list[str] = []
        self.texts: dict[Path, str] = {}
        self._versions: dict[Path, int] = {}
        self._changed = asyncio.Condition()
        self._pulls, self._encodings = pulls, encodings

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        async def published(params: types.PublishDiagnosticsParams) -> None:
            async with self._changed:
                self.diagnostics[params.uri] = list(params.diagnostics)
                self.versions[params.uri] = params.version
                self._changed.notify_all()

        @self.client.feature(types.WINDOW_SHOW_MESSAGE)
        async def shown(params: types.ShowMessageParams) -> None:
            async with self._changed:
                self.messages.append(params.message)
                self._changed.notify_all()

        @self.client.feature(types.CLIENT_REGISTER_CAPABILITY)
        def register(params: types.RegistrationParams) -> None:
            return None

        for refresh in (
            types.WORKSPACE_DIAGNOSTIC_REFRESH,
            types.WORKSPACE_INLAY_HINT_REFRESH,
            types.WORKSPACE_CODE_LENS_REFRESH,
        ):
            self.client.feature(refresh)(lambda *_: None)

    async def start(self, *folders: Path) -> types.InitializeResult:
        await self.client.start_io(sys.executable, "-m", "triton_doctor", "server")
        capabilities = types.ClientCapabilities(
            general=types.GeneralClientCapabilities(position_encodings=self._encodings),
            text_document=types.TextDocumentClientCapabilities(
                diagnostic=types.DiagnosticClientCapabilities() if self._pulls else None,
                publish_diagnostics=types.PublishDiagnosticsClientCapabilities(related_information=True),
            ),
            workspace=types.WorkspaceClientCapabilities(
                workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True),
                did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True),
                workspace_folders=True,
            ),
        )
        result = await self.client.initialize_async(
            types.InitializeParams(
                capabilities=capabilities,
                process_id=None,
                workspace_folders=[types.WorkspaceFolder(folder.as_uri(), folder.name) for folder in folders],
            )
        )
        self.client.initialized(types.InitializedParams())
        return result

    async def stop(self) -> int | None:
        await self.client.shutdown_async(None)
        self.client.exit(None)
        server = self.client._server
        assert server is not None
        status = await asyncio.wait_for(server.wait(), PATIENCE_SECONDS)
        await self.client.stop()
        return status

    def open(self, path: Path, text: str | None = None) -> None:
        self.texts[path] = path.read_text() if text is None else text
        self._versions[path] = 1
        item = types.TextDocumentItem(path.as_uri(), "python", 1, self.texts[path])
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def change(self, path: Path, text: str) -> None:
        self.texts[path] = text
        self._versions[path] += 1
        document = types.VersionedTextDocumentIdentifier(self._versions[path], path.as_uri())
        whole = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))

    def save(self, path: Path) -> None:
        path.write_text(self.texts[path])
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(_document(path)))

    def close(self, path: Path) -> None:
        del self.texts[path]
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(_document(path)))

    def tell_changed(self, path: Path) -> None:
        """Say that another program wrote the file at `path`."""
        changed = types.FileEvent(path.as_uri(), types.FileChangeType.Changed)
        self.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([changed]))

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for diagnostics or messages of which it holds."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            async with self._changed:
                await self._changed.wait_for(holds)

    async def codes(self, path: Path, *expected: str) -> list[types.Diagnostic]:
        """Wait until the diagnostics pushed for `path`, of its latest text, have just the codes `expected`."""
        uri = path.as_uri()

        def are_there() -> bool:
            is_latest = not expected or path not in self.texts or self.versions.get(uri) == self._versions[path]
            return is_latest and sorted(str(one.code) for one in self.diagnostics[uri]) == sorted(expected)

        try:
            await self.until(are_there)
        except TimeoutError:
            raise AssertionError(f"{path}: {[one.code for one in self.diagnostics[uri]]}, {self.messages}") from None
        return self.diagnostics[uri]

    async def pull(self, path: Path, previous: str | None = None) -> Any:
        return await self.client.text_document_diagnostic_async(
            types.DocumentDiagnosticParams(_document(path), previous_result_id=previous)
        )

    async def hover(self, path: Path, line: int, character: int) -> str | None:
        found = await self.client.text_document_hover_async(
            types.HoverParams(_document(path), types.Position(line, character))
        )
        return found.contents.value if found is not None else None

    async def actions(self, path: Path, at: types.Range, only: list[str] | None = None) -> list[types.CodeAction]:
        context = types.CodeActionContext([], only=only)
        found = await self.client.text_document_code_action_async(types.CodeActionParams(_document(path), at, context))
        return list(found or [])

    async def lenses(self, path: Path) -> list[str]:
        found = await self.client.text_document_code_lens_async(types.CodeLensParams(_document(path)))
        return [one.command.title for one in found or [] if one.command is not None]

    async def inlay_hints(self, path: Path) -> list[tuple[int, int, str]]:
        everything = types.Range(types.Position(0, 0), types.Position(10_000, 0))
        found = await self.client.text_document_inlay_hint_async(types.InlayHintParams(_document(path), everything))
        return [(one.position.line, one.position.character, str(one.label)) for one in found or []]

    def apply(self, edit: types.WorkspaceEdit | None) -> None:
        """Make `edit` in the open documents, and in the files that are not open."""
        assert edit is not None
        assert edit.document_changes is not None
        for change in edit.document_changes:
            if isinstance(change, types.CreateFile):
                Path(change.uri.removeprefix("file://")).touch()
                continue
            assert isinstance(change, types.TextDocumentEdit)
            path = Path(change.text_document.uri.removeprefix("file://"))
            assert change.text_document.version == self._versions.get(path)
            text = self.texts[path] if path in self.texts else path.read_text() if path.exists() else ""
            for one in sorted(change.edits, key=lambda one: (-one.range.start.line, -one.range.start.character)):
                start, end = _offset(text, one.range.start), _offset(text, one.range.end)
                text = text[:start] + one.new_text + text[end:]
            if path in self.texts:
                self.change(path, text)
            else:
                path.write_text(text)


def _document(path: Path) -> types.TextDocumentIdentifier:
    return types.TextDocumentIdentifier(path.as_uri())


def _offset(text: str, position: types.Position) -> int:
    """Where `position` is, of a client that counts in UTF-16."""
    lines = text.splitlines(keepends=True)
    before = sum(len(line) for line in lines[: position.line])
    if position.line >= len(lines):
        return len(text)
    return before + len(lines[position.line].encode("utf-16-le")[: 2 * position.character].decode("utf-16-le"))


@asynccontextmanager
async def editing(*folders: Path, pulls: bool = False, encodings: Sequence[str] | None = None) -> AsyncIterator[Editor]:
    """An editor with `folders` open; the server is asked to end, and ends."""
    editor = Editor(pulls=pulls, encodings=encodings)
    await editor.start(*folders)
    yield editor
    assert await editor.stop() == 0
