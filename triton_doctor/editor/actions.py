"""Findings to code actions: the fixes of `check --fix`, comments that ignore, and declarations in the settings."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import MutableMapping
from dataclasses import replace
from typing import TYPE_CHECKING

from lsprotocol.types import (
    CodeAction,
    CodeActionKind,
    CreateFile,
    CreateFileOptions,
    OptionalVersionedTextDocumentIdentifier,
    TextDocumentEdit,
    TextEdit,
    WorkspaceEdit,
)

from triton_doctor.editor.documents import decode
from triton_doctor.finding import split_cell
from triton_doctor.plan import Safety
from triton_doctor.static.suppression.add_ignore import add_ignores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from lsprotocol.types import Diagnostic

    from triton_doctor.editor.documents import Positions
    from triton_doctor.editor.folder import CheckedFolder, FolderCheck
    from triton_doctor.finding import Finding
    from triton_doctor.static.scan import Scan

FIX_ALL = "source.fixAll.triton-doctor"
REASON = "say why it is fine here"


class Edits:
    """Makes edits of the workspace. `version_of` is that of an open document, None for a file that is not open."""

    def __init__(
        self,
        checked: FolderCheck,
        positions_of: Callable[[str], Positions],
        uri_of: Callable[[str], str],
        version_of: Callable[[str], int | None],
        *,
        with_versions: bool,
    ) -> None:
        """Set up edits for `checked`. The functions take a path as findings spell it.

        `with_versions` is whether the client supports `documentChanges`.
        """
        self.checked = checked
        self.positions_of = positions_of
        self._uri_of, self._version_of, self._with_versions = uri_of, version_of, with_versions

    def of(self, by_path: Mapping[str, Sequence[TextEdit]], new_file: str | None = None) -> WorkspaceEdit:
        """Build one workspace edit from the edits of each path. `new_file` is created first."""
        if not self._with_versions:
            return WorkspaceEdit(changes={self._uri_of(path): list(edits) for path, edits in by_path.items()})
        made = (
            [CreateFile(uri=self._uri_of(new_file), options=CreateFileOptions(ignore_if_exists=True))]
            if new_file
            else []
        )
        return WorkspaceEdit(
            document_changes=[
                *made,
                *(
                    TextDocumentEdit(
                        OptionalVersionedTextDocumentIdentifier(self._uri_of(path), self._version_of(path)), list(edits)
                    )
                    for path, edits in by_path.items()
                ),
            ]
        )


def fix_action(finding: Finding, edits: Edits, diagnostic: Diagnostic) -> CodeAction | None:
    """Return the action that applies the fix of `finding` alone; None if it has no applicable fix."""
    if finding.fix is None or split_cell(finding.path)[1] is not None:
        return None
    from triton_doctor.static.fix.apply import Workbench  # and libcst with it

    by_path: defaultdict[str, list[TextEdit]] = defaultdict(list)
    for replacement in Workbench(edits.checked.scan.source_of).replacements(finding):
        by_path[replacement.path] += edits.positions_of(replacement.path).edits_of([replacement])
    if not by_path:
        return None
    is_safe = finding.fix.safety is Safety.SAFE
    return CodeAction(
        title=finding.fix.title if is_safe else f"{finding.fix.title} (unsafe)",
        kind=CodeActionKind.QuickFix,
        diagnostics=[diagnostic],
        edit=edits.of(by_path),
        is_preferred=is_safe,
    )


def fix_all_action(folder: CheckedFolder, path: str, edits: Edits) -> CodeAction | None:
    """Return the action that applies all safe fixes in the file at `path`; None if there are none."""
    checked = edits.checked
    if not any(
        finding.fixable == "safe" and finding.severity >= checked.scan.fail_on for finding in _in(checked.scan, path)
    ):
        return None
    from triton_doctor.static.fix.rounds import fix

    fixed = fix(
        checked.workspace,
        unsafe=False,
        narrow=lambda found: replace(found, findings=tuple(_in(found, path))),
        cache=folder.memory,
    )
    by_path = {shown: edits.positions_of(shown).edits_to(decode(file.after)) for shown, file in fixed.files.items()}
    if not by_path:
        return None
    return CodeAction(title="Apply all safe fixes of triton-doctor", kind=FIX_ALL, edit=edits.of(by_path))


def ignore_action(finding: Finding, edits: Edits, diagnostic: Diagnostic) -> CodeAction | None:
    """Return the action that adds an ignore comment for `finding`, with a reason to fill in; None if impossible."""
    if not finding.path.endswith(".py") or finding.code.startswith("TRD9"):
        return None
    source = edits.checked.source_of(finding.path)
    silenced, left = add_ignores(source, [finding], REASON)
    if left or silenced == source:
        return None
    after = decode(silenced)
    return CodeAction(
        title=f"Ignore {finding.code} here, with a reason",
        kind=CodeActionKind.QuickFix,
        diagnostics=[diagnostic],
        edit=edits.of({finding.path: edits.positions_of(finding.path).edits_to(after)}),
    )


def declare_actions(
    name: str, edits: Edits, text_of: Callable[[Path], str | None], diagnostic: Diagnostic | None = None
) -> Iterable[CodeAction]:
    """Yield two actions that declare in the settings how often values called `name` change: never, or per call.

    `text_of` returns the text of a file as the editor has it, None if the file does not exist.
    """
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        return
    file = edits.checked.workspace.settings.root / "pyproject.toml"
    text = text_of(file)
    shown = edits.checked.shown(file.as_posix())
    for key, change in (("fixed", "never changes"), ("per-call", "changes with each call")):
        after = declare(text or "", key, name)
        if after is not None and after != text:
            yield CodeAction(
                title=f"Declare in pyproject.toml that `{name}` {change}",
                kind=CodeActionKind.QuickFix,
                diagnostics=[diagnostic] if diagnostic is not None else None,
                edit=edits.of(
                    {shown: edits.positions_of(shown).edits_to(after)}, new_file=shown if text is None else None
                ),
            )


def declare(text: str, key: str, name: str) -> str | None:
    """Add `name` to the setting `key` in the pyproject.toml `text`, not in the opposite; None if impossible."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError
    from tomlkit.items import Array

    try:
        document = tomlkit.parse(text)
    except TOMLKitError:
        return None
    tool = document.setdefault("tool", tomlkit.table(is_super_table=True))
    table = tool.setdefault("triton-doctor", tomlkit.table()) if isinstance(tool, MutableMapping) else None
    if not isinstance(table, MutableMapping):
        return None
    other = table.get("per-call" if key == "fixed" else "fixed")
    if isinstance(other, Array) and name in other:
        other.remove(name)
    listed = table.setdefault(key, tomlkit.array())
    if not isinstance(listed, Array):
        return None
    if name not in listed:
        listed.append(name)
    return tomlkit.dumps(document)


def _in(found: Scan, path: str) -> Iterable[Finding]:
    return (finding for finding in found.findings if finding.path == path)
