"""What the editor asks and says, each with what the server does about it: the features of the protocol."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from triton_doctor.editor.actions import FIX_ALL, declare_actions, fix_action, fix_all_action, ignore_action
from triton_doctor.editor.annotations import code_lenses, hover_at, inlay_hints
from triton_doctor.editor.documents import encode, overlap, path_of
from triton_doctor.editor.recorded import FOLDER
from triton_doctor.editor.server import DoctorServer
from triton_doctor.editor.session import is_checked_alone

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from triton_doctor.editor.documents import Positions
    from triton_doctor.editor.explained import ExplainedFile
    from triton_doctor.editor.recorded import RecordedRuns
    from triton_doctor.evidence.recorded_kernels import RecordedKernel
    from triton_doctor.static.python.module import Kernel

_WATCHED = (
    "**/*.{py,ipynb,toml,cfg,ini,yml,yaml,sh,env,conf,service,json}",
    "**/{Dockerfile,Containerfile,Makefile,Procfile,Jenkinsfile}*",
    f"**/{FOLDER}/*.jsonl",
)
_FILES = types.FileOperationRegistrationOptions([types.FileOperationFilter(types.FileOperationPattern("**/*"), "file")])


def make_server() -> DoctorServer:
    """Create a server with all its features; it is not started."""
    server = DoctorServer()
    _serve_folders(server)
    _serve_documents(server)
    _serve_diagnostics(server)
    _serve_annotations(server)
    return server


def _serve_folders(server: DoctorServer) -> None:
    @server.feature(types.INITIALIZED)
    def initialized(ls: DoctorServer, params: types.InitializedParams) -> None:
        folders = [*ls.workspace.folders] or ([ls.workspace.root_uri] if ls.workspace.root_uri else [])
        for uri in folders:
            path = path_of(uri)
            if path is not None and Path(path).is_dir():
                ls.session.open(Path(path))
        watched = ls.client_capabilities.workspace and ls.client_capabilities.workspace.did_change_watched_files
        if watched and watched.dynamic_registration:
            watchers = [types.FileSystemWatcher(glob) for glob in _WATCHED]
            ls.client_register_capability(
                types.RegistrationParams(
                    [
                        types.Registration(
                            "watch",
                            types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
                            types.DidChangeWatchedFilesRegistrationOptions(watchers),
                        )
                    ]
                )
            )

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders_changed(ls: DoctorServer, params: types.DidChangeWorkspaceFoldersParams) -> None:
        for removed in params.event.removed:
            path = path_of(removed.uri)
            if path is not None:
                ls.session.close(Path(path))
                ls.withdraw(Path(path))
        for added in params.event.added:
            path = path_of(added.uri)
            if path is not None:
                ls.session.open(Path(path))

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def watched_files_changed(ls: DoctorServer, params: types.DidChangeWatchedFilesParams) -> None:
        for change in params.changes:
            path = path_of(change.uri)
            if path is None or path.endswith(".jsonl"):
                continue
            if change.type is types.FileChangeType.Changed and not path.endswith("pyproject.toml"):
                ls.session.edited(path)
            else:
                ls.session.forget_files(path)

    @server.feature(types.WORKSPACE_DID_RENAME_FILES, _FILES)
    @server.feature(types.WORKSPACE_DID_CREATE_FILES, _FILES)
    @server.feature(types.WORKSPACE_DID_DELETE_FILES, _FILES)
    def files_came_or_went(ls: DoctorServer, params: Any) -> None:
        ls.session.forget_files()

    @server.feature(types.SHUTDOWN)
    def shutdown(ls: DoctorServer, params: None) -> None:
        ls.is_asked_to_end = True
        ls.session.end()


def _serve_documents(server: DoctorServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(ls: DoctorServer, params: types.DidOpenTextDocumentParams) -> None:
        path = path_of(params.text_document.uri)
        if path is None:
            return
        if ls.session.owner(path) is None and is_checked_alone(path, encode(params.text_document.text)):
            ls.session.open(Path(path))
        elif ls.pulls:
            ls.take_back(path)
        _edited(ls, path)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(ls: DoctorServer, params: types.DidChangeTextDocumentParams) -> None:
        path = path_of(params.text_document.uri)
        if path is not None:
            ls.session.edited(path)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE, types.SaveOptions(include_text=False))
    def saved(ls: DoctorServer, params: types.DidSaveTextDocumentParams) -> None:
        path = path_of(params.text_document.uri)
        if path is not None:
            _edited(ls, path)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(ls: DoctorServer, params: types.DidCloseTextDocumentParams) -> None:
        path = path_of(params.text_document.uri)
        if path is None:
            return
        folder = ls.session.owner(path)
        if folder is not None and folder.root == Path(path):
            ls.session.close(folder.root)
            ls.withdraw(folder.root)
        ls.session.forget_files(path)  # a buffer that was never saved is gone

    def _edited(ls: DoctorServer, path: str) -> None:
        """Check again; read the settings and the list of files again if the edit may have changed them."""
        checked = ls.session.checked(path)
        is_known = checked is not None and any(file.name == path for file in checked.workspace.files)
        if is_known and not path.endswith("pyproject.toml"):
            ls.session.edited(path)
        else:
            ls.session.forget_files(path)


def _serve_diagnostics(server: DoctorServer) -> None:
    options = types.DiagnosticOptions(
        inter_file_dependencies=True, workspace_diagnostics=False, identifier="triton-doctor"
    )

    @server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, options)
    async def diagnose(ls: DoctorServer, params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
        path = path_of(params.text_document.uri)
        checked = await ls.session.current(path) if path is not None else None
        items = ls.diagnostics(checked, path) if checked is not None and path is not None else []
        result_id = str(hash(repr(items)))
        if params.previous_result_id == result_id:
            return types.RelatedUnchangedDocumentDiagnosticReport(result_id=result_id)
        return types.RelatedFullDocumentDiagnosticReport(items=items, result_id=result_id)

    actions = types.CodeActionOptions([types.CodeActionKind.QuickFix, FIX_ALL])

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, actions)
    async def act(ls: DoctorServer, params: types.CodeActionParams) -> Sequence[types.CodeAction]:
        path = path_of(params.text_document.uri)
        checked = await ls.session.current(path) if path is not None else None
        folder = ls.session.owner(path) if path is not None else None
        if checked is None or folder is None or path is None:
            return []
        edits, shown, only = ls.edits(checked), checked.shown(path), params.context.only
        found: list[types.CodeAction] = []
        if only is None or any(_covers(kind, types.CodeActionKind.QuickFix) for kind in only):
            positions = edits.positions_of(shown)
            first, last = positions.place_of(params.range.start), positions.place_of(params.range.end)
            for finding, diagnostic in ls.found(checked, path):
                if overlap(positions.with_keyword(finding.span, finding.facts.parameter or ""), first, last):
                    found += filter(None, (fix_action(finding, edits, diagnostic),))
                    found += filter(None, (ignore_action(finding, edits, diagnostic),))
                    if finding.facts.parameter is not None and finding.facts.variability is not None:
                        found += declare_actions(finding.facts.parameter, edits, ls.text_of, diagnostic)
        if only is None or any(_covers(kind, FIX_ALL) for kind in only):
            whole = await ls.session.work_out(lambda: fix_all_action(folder, shown, edits))
            found += [whole] if whole is not None else []
        return found


def _covers(wanted: str, kind: str) -> bool:
    """Return whether a client that requests `wanted` accepts `kind`: `source` accepts `source.fixAll.triton-doctor`."""
    return kind == wanted or kind.startswith(f"{wanted}.") or wanted == ""


def _serve_annotations(server: DoctorServer) -> None:
    async def look(ls: DoctorServer, uri: str) -> tuple[ExplainedFile, Positions, Any, RecordedRuns] | None:
        path = path_of(uri)
        checked = await ls.session.current(path) if path is not None else None
        if checked is None or path is None:
            return None
        file = await ls.explained(checked, path)
        runs = await ls.runs(checked, path)
        return file, ls.positions(checked)(checked.shown(path)), _seen(runs, file, checked.workspace.base), runs

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(ls: DoctorServer, params: types.HoverParams) -> types.Hover | None:
        known = await look(ls, params.text_document.uri)
        if known is None:
            return None
        file, positions, seen, runs = known
        return hover_at(file, positions, *positions.place_of(params.position), seen, runs)

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def hint(ls: DoctorServer, params: types.InlayHintParams) -> Sequence[types.InlayHint]:
        known = await look(ls, params.text_document.uri)
        if known is None:
            return []
        file, positions, _, _ = known
        return inlay_hints(file, positions, params.range.start.line + 1, params.range.end.line + 1)

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def lens(ls: DoctorServer, params: types.CodeLensParams) -> Sequence[types.CodeLens]:
        known = await look(ls, params.text_document.uri)
        if known is None:
            return []
        file, positions, seen, runs = known
        return code_lenses(file, positions, seen, runs)


def _seen(runs: RecordedRuns, file: ExplainedFile, cwd: Path) -> Callable[[Kernel], RecordedKernel | None]:
    kernels = {
        kernel.key: kernel
        for kernel in (*(named.kernel for named in file.kernels), *(argument.kernel for argument in file.arguments))
    }

    def seen(kernel: Kernel) -> RecordedKernel | None:
        return runs.of(kernel, [other for other in kernels.values() if other.name == kernel.name], cwd)

    return seen
