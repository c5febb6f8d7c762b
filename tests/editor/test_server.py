"""What an editor sees while somebody writes kernels."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from lsprotocol import types

from tests.editor.driver import Editor, editing
from triton_doctor.editor.actions import declare

if TYPE_CHECKING:
    from pathlib import Path

KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def _copy(x, n: tl.constexpr, unused: tl.constexpr):
    tl.store(x + n, n)
"""
CALLER = """\
from kernels import _copy


def run(x, rows):
    _copy[(1,)](x, n=len(rows), unused=1)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "pyproject.toml").write_text('[project]\nname = "p"\n')
    (root / "kernels.py").write_text(KERNEL)
    (root / "caller.py").write_text(CALLER)
    return root


def test_diagnostics_are_of_the_whole_folder_and_follow_unsaved_text(project: Path) -> None:
    caller, kernels = project / "caller.py", project / "kernels.py"

    async def scenario() -> None:
        async with editing(project) as editor:
            (finding,) = await editor.codes(caller, "TRD201")
            assert finding.range == types.Range(types.Position(4, 21), types.Position(4, 30))
            assert finding.severity is types.DiagnosticSeverity.Warning
            assert finding.code_description is not None
            assert "TRD201" in finding.code_description.href
            (unused,) = await editor.codes(kernels, "TRD202")
            assert unused.tags is not None
            assert list(unused.tags) == [types.DiagnosticTag.Unnecessary]

            editor.open(kernels)
            editor.change(kernels, KERNEL.replace("n: tl.constexpr, unused: tl.constexpr", "n"))
            await editor.codes(caller, "TRD208")
            assert kernels.read_text() == KERNEL
            editor.change(kernels, KERNEL)
            await editor.codes(caller, "TRD201")
            editor.close(kernels)
            await editor.codes(kernels, "TRD202")

    asyncio.run(scenario())


def test_related_information_is_the_trail(project: Path) -> None:
    async def scenario() -> None:
        async with editing(project) as editor:
            (finding,) = await editor.codes(project / "caller.py", "TRD201")
            assert finding.related_information
            assert finding.related_information[0].location.uri == (project / "caller.py").as_uri()
            assert "rows" in finding.related_information[0].message

    asyncio.run(scenario())


def test_a_quick_fix_is_that_of_check_and_can_be_undone(project: Path) -> None:
    caller, kernels = project / "caller.py", project / "kernels.py"

    async def scenario() -> None:
        async with editing(project) as editor:
            editor.open(caller)
            (finding,) = await editor.codes(caller, "TRD201")
            fix, *_ = await editor.actions(caller, finding.range)
            assert fix.title.endswith("(unsafe)")
            assert not fix.is_preferred
            assert fix.diagnostics
            assert fix.diagnostics[0].code == "TRD201"
            editor.apply(fix.edit)
            editor.tell_changed(kernels)
            await editor.codes(caller, "TRD208")
            assert "n," in kernels.read_text()
            assert "n: tl.constexpr" not in kernels.read_text()
            kernels.write_text(KERNEL)
            editor.tell_changed(kernels)
            await editor.codes(caller, "TRD201")

    asyncio.run(scenario())


def test_fix_all_leaves_what_check_fix_leaves(project: Path, tmp_path: Path) -> None:
    """Of the safe fixes, those that `--fail-on` asks for: the comment goes, the parameter of an info stays."""
    caller = project / "caller.py"
    caller.write_text(CALLER.replace("unused=1)", "unused=1)  # triton-doctor: ignore[TRD210] it was so"))
    copied = shutil.copytree(project, tmp_path / "copied")
    command = [sys.executable, "-m", "triton_doctor", "check", "--fix", "--exit-zero", str(copied / "caller.py")]
    subprocess.run(command, check=True, capture_output=True)

    async def scenario() -> str:
        async with editing(project) as editor:
            editor.open(caller)
            await editor.codes(caller, "TRD201", "TRD901")
            everything = types.Range(types.Position(0, 0), types.Position(0, 0))
            (fix,) = await editor.actions(caller, everything, only=["source.fixAll"])
            assert fix.kind == "source.fixAll.triton-doctor"
            editor.apply(fix.edit)
            await editor.codes(caller, "TRD201")
            return editor.texts[caller]

    fixed = asyncio.run(scenario())
    assert fixed == CALLER == (copied / "caller.py").read_text()


def test_ignoring_adds_the_comment_and_ends_the_diagnostic(project: Path) -> None:
    caller = project / "caller.py"

    async def scenario() -> None:
        async with editing(project) as editor:
            editor.open(caller)
            (finding,) = await editor.codes(caller, "TRD201")
            (ignore,) = [one for one in await editor.actions(caller, finding.range) if one.title.startswith("Ignore")]
            editor.apply(ignore.edit)
            await editor.codes(caller)
            assert "# triton-doctor: ignore[TRD201] " in editor.texts[caller]

    asyncio.run(scenario())


def test_edits_keep_the_letters_of_a_file_in_another_encoding(project: Path) -> None:
    caller = project / "caller.py"
    text = f"# -*- coding: latin-1 -*-\n# é\n{CALLER}"
    caller.write_bytes(text.encode("latin-1"))

    async def scenario() -> None:
        async with editing(project) as editor:
            editor.open(caller, text)
            (finding,) = await editor.codes(caller, "TRD201")
            (ignore,) = [one for one in await editor.actions(caller, finding.range) if one.title.startswith("Ignore")]
            editor.apply(ignore.edit)
            await editor.codes(caller)
            assert editor.texts[caller].startswith("# -*- coding: latin-1 -*-\n# é\n")
            assert "\ufffd" not in editor.texts[caller]

    asyncio.run(scenario())


def test_settings_of_another_shape_are_left_alone() -> None:
    assert declare('[tool]\ntriton-doctor = "no table"\n', "fixed", "n") is None
    assert declare("tool = 3\n", "fixed", "n") is None
    assert declare('[tool.triton-doctor]\nper-call = ["n"]  # kept\n', "fixed", "n") is not None


def test_declaring_a_value_fixed_writes_the_settings(project: Path) -> None:
    caller, settings = project / "caller.py", project / "pyproject.toml"

    async def scenario() -> None:
        async with editing(project) as editor:
            editor.open(caller)
            (finding,) = await editor.codes(caller, "TRD201")
            declare, _ = [one for one in await editor.actions(caller, finding.range) if one.title.startswith("Declare")]
            editor.apply(declare.edit)
            editor.tell_changed(settings)
            await editor.codes(caller)

    asyncio.run(scenario())
    assert settings.read_text() == '[project]\nname = "p"\n\n[tool.triton-doctor]\nfixed = ["n"]\n'


def test_a_hover_and_an_inlay_hint_say_how_often_an_argument_changes(project: Path) -> None:
    caller, kernels = project / "caller.py", project / "kernels.py"

    async def scenario() -> None:
        async with editing(project) as editor:
            editor.open(caller)
            editor.open(kernels)
            told = await editor.hover(caller, 4, 22)
            assert told is not None
            assert told.startswith("**`n`** of `_copy`, a constexpr: **per call**")
            assert "rows" in told
            assert await editor.hover(caller, 4, 19) == told  # on the `n=` before it
            assert (4, 30, ": per call") in await editor.inlay_hints(caller)
            told = await editor.hover(kernels, 5, 15)
            assert told is not None
            assert told.startswith("**`n`**, constexpr: **per call**")
            assert await editor.lenses(kernels) == ["1 launch, a variant for each value of n"]
            told = await editor.hover(caller, 4, 6)
            assert told is not None
            assert told.startswith("**`_copy`**: 1 launch, a variant for each value of n")
            assert await editor.hover(caller, 0, 0) is None

    asyncio.run(scenario())


def test_pulled_diagnostics_are_not_pushed_too(project: Path) -> None:
    caller, kernels = project / "caller.py", project / "kernels.py"

    async def scenario() -> None:
        async with editing(project, pulls=True) as editor:
            editor.open(caller)
            report = await editor.pull(caller)
            assert [one.code for one in report.items] == ["TRD201"]
            await editor.codes(kernels, "TRD202")
            assert not editor.diagnostics[caller.as_uri()]
            again = await editor.pull(caller, report.result_id)
            assert again.kind == "unchanged"
            editor.change(caller, CALLER.replace("len(rows)", "8"))
            report = await editor.pull(caller, report.result_id)
            assert not report.items

    asyncio.run(scenario())


def test_two_folders_have_their_own_settings_and_one_can_go(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "pyproject.toml").write_text('[tool.triton-doctor]\nignore = ["TRD202"]\n')
    (other / "kernels.py").write_text(KERNEL)
    (other / "caller.py").write_text(CALLER)

    async def scenario() -> None:
        async with editing(project, other) as editor:
            await editor.codes(project / "kernels.py", "TRD202")
            await editor.codes(other / "caller.py", "TRD201")
            assert not editor.diagnostics[(other / "kernels.py").as_uri()]
            gone = types.WorkspaceFolder(other.as_uri(), "other")
            event = types.WorkspaceFoldersChangeEvent([], [gone])
            editor.client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))
            await editor.codes(other / "caller.py")
            assert editor.diagnostics[(project / "caller.py").as_uri()]

    asyncio.run(scenario())


def test_a_renamed_file_takes_its_diagnostics_along(project: Path) -> None:
    before, after = project / "caller.py", project / "calling.py"

    async def scenario() -> None:
        async with editing(project) as editor:
            await editor.codes(before, "TRD201")
            before.rename(after)
            renamed = types.FileRename(before.as_uri(), after.as_uri())
            editor.client.workspace_did_rename_files(types.RenameFilesParams([renamed]))
            await editor.codes(after, "TRD201")
            await editor.codes(before)

    asyncio.run(scenario())


def test_columns_are_counted_as_the_client_counts(project: Path) -> None:
    caller = project / "caller.py"

    async def columns(encodings: list[str] | None) -> int:
        async with editing(project, encodings=encodings) as editor:
            editor.open(caller, CALLER.replace("    _copy", '    "\N{GRINNING FACE}"; _copy'))
            (finding,) = await editor.codes(caller, "TRD201")
            return finding.range.start.character

    assert asyncio.run(columns(None)) == 21 + 6
    assert asyncio.run(columns([types.PositionEncodingKind.Utf32])) == 21 + 5


def test_lines_are_those_of_the_protocol_where_a_form_feed_stands(project: Path) -> None:
    caller = project / "caller.py"

    async def scenario() -> None:
        async with editing(project) as editor:
            editor.open(caller)
            editor.change(caller, CALLER.replace("\n\n\n", "\n\n\f\n"))
            (finding,) = await editor.codes(caller, "TRD201")
            assert finding.range.start.line == 4

    asyncio.run(scenario())


def test_a_file_outside_of_all_folders_is_checked_with_its_project(project: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    caller = project / "caller.py"

    async def scenario() -> None:
        async with editing(empty) as editor:
            editor.open(caller)
            await editor.codes(caller, "TRD201")
            editor.close(caller)
            await editor.codes(caller)

    asyncio.run(scenario())


def test_wrong_settings_are_said_and_end_nothing(project: Path) -> None:
    caller, settings = project / "caller.py", project / "pyproject.toml"

    async def scenario() -> None:
        async with editing(project) as editor:
            editor.open(caller)
            await editor.codes(caller, "TRD201")
            editor.open(settings)
            editor.texts[settings] = "[tool.triton-doctor]\nselct = []\n"
            editor.save(settings)
            await editor.until(lambda: bool(editor.messages))
            assert "has no setting `selct`" in editor.messages[0]
            assert "did you mean `select`?" in editor.messages[0]
            editor.texts[settings] = '[tool.triton-doctor]\nignore = ["TRD2"]\n'
            editor.save(settings)
            await editor.codes(caller)

    asyncio.run(scenario())


def test_text_that_does_not_parse_keeps_the_session(project: Path) -> None:
    caller = project / "caller.py"

    async def scenario() -> None:
        async with editing(project) as editor:
            editor.open(caller)
            await editor.codes(caller, "TRD201")
            editor.change(caller, CALLER + "def (\x00\n")
            await editor.codes(caller, "TRD900")
            editor.change(caller, CALLER)
            await editor.codes(caller, "TRD201")

    asyncio.run(scenario())


def test_a_request_can_be_cancelled(project: Path) -> None:
    caller = project / "caller.py"

    async def scenario() -> None:
        async with editing(project) as editor:
            editor.open(caller)
            asked = asyncio.ensure_future(editor.hover(caller, 4, 22))
            await asyncio.sleep(0)  # it is sent, and the first check has not ended
            (request,) = (one for one in editor.client.protocol._request_futures if one is not None)
            editor.client.protocol.notify(types.CANCEL_REQUEST, types.CancelParams(request))
            with pytest.raises(Exception, match="is canceled"):
                await asked
            await editor.codes(caller, "TRD201")

    asyncio.run(scenario())


def test_a_fault_of_ours_is_said_and_the_session_goes_on(project: Path) -> None:
    """A rule that fails, as a plugin of the interpreter makes it fail, is what a bug of ours would look like."""
    caller = project / "caller.py"
    breaking = (
        "import triton_doctor.static.scan as scanning\n"
        "from pathlib import Path\n"
        "kept = scanning.combine_results\n"
        "def combine(results, asked):\n"
        f"    if Path({str(project / 'broken')!r}).exists():\n"
        "        raise ZeroDivisionError('a bug')\n"
        "    return kept(results, asked)\n"
        "scanning.combine_results = combine\n"
        "from triton_doctor.editor.features import make_server\n"
        "make_server().start_io()\n"
    )

    async def scenario() -> None:
        editor = Editor()
        start = editor.client.start_io
        editor.client.start_io = lambda *_: start(sys.executable, "-c", breaking)  # type: ignore[method-assign]
        await editor.start(project)
        editor.open(caller)
        await editor.codes(caller, "TRD201")
        (project / "broken").touch()
        editor.save(caller)
        await editor.until(lambda: bool(editor.messages))
        assert "may be out of date: ZeroDivisionError: a bug" in editor.messages[0]
        assert editor.diagnostics[caller.as_uri()]
        (project / "broken").unlink()
        editor.change(caller, CALLER.replace("len(rows)", "8"))
        await editor.codes(caller)
        assert await editor.stop() == 0

    asyncio.run(scenario())


def test_the_server_says_what_it_can(project: Path) -> None:
    async def scenario() -> types.InitializeResult:
        editor = Editor()
        result = await editor.start(project)
        await editor.stop()
        return result

    capabilities = asyncio.run(scenario()).capabilities
    assert capabilities.hover_provider
    assert capabilities.code_lens_provider
    assert capabilities.inlay_hint_provider
    assert json.dumps(str(capabilities.code_action_provider)).count("source.fixAll.triton-doctor") == 1
