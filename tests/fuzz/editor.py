"""Edits in an editor: after each, the server's diagnostics are what `check` finds in files with the same texts."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from tests.editor.driver import Editor, editing
from tests.fuzz.driver import Trial
from tests.fuzz.mutations import mutate
from tests.fuzz.python import MUTATIONS
from triton_doctor.cli import main
from triton_doctor.editor.documents import decode, encode

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from tests.fuzz.sources import Sources

STEPS = 6
_MOST_FILES = 8
_OPEN = 3


def make_trial(random: Random, sources: Sources) -> Trial:
    """Files of a folder of a library, some of them open, of which one is edited, saved, closed or opened at a time."""
    files = sources.neighbors(random, _MOST_FILES)

    def run(folder: Path) -> str | None:
        folder = folder.resolve()
        return asyncio.run(_edit(folder, [folder / name for name in files], random))

    return Trial(files=files, run=run)


async def _edit(folder: Path, paths: list[Path], random: Random) -> str | None:
    async with editing(folder, pulls=True, encodings=["utf-32"]) as editor:
        for path in paths[:_OPEN]:
            editor.open(path, decode(path.read_bytes()))
        for step in range(STEPS):
            path = random.choice(paths)
            match random.randrange(6):
                case 0 if path in editor.texts:
                    editor.save(path)
                case 1 if path in editor.texts and len(editor.texts) > 1:
                    editor.close(path)
                case _:
                    before = encode(editor.texts[path]) if path in editor.texts else path.read_bytes()
                    text = decode(mutate(before, MUTATIONS, random))
                    if path not in editor.texts:
                        editor.open(path, decode(path.read_bytes()))
                    editor.change(path, text)
            checked = _check(folder, editor)
            for opened in editor.texts:
                shown, found = await _shown(editor, opened), checked.get(opened, [])
                if shown != found:
                    only = [one for one in shown if one not in found], [one for one in found if one not in shown]
                    return f"step {step}, {opened.name}: the editor shows {only[0][:2]}, check finds {only[1][:2]}"
    return None


async def _shown(editor: Editor, path: Path) -> list[tuple[object, ...]]:
    report = await editor.pull(path)
    return sorted(
        (one.code, one.range.start.line + 1, one.range.start.character + 1, one.message.partition("\n")[0])
        for one in report.items
    )


def _check(folder: Path, editor: Editor) -> dict[Path, list[tuple[object, ...]]]:
    """What `check` finds by file, in a folder with the texts of the editor."""
    kept = {opened: opened.read_bytes() for opened in editor.texts}
    report = folder.parent / f"{folder.name}.json"
    try:
        for opened, text in editor.texts.items():
            opened.write_bytes(encode(text))
        main(["check", "--no-cache", "--output-format", "json", "--output-file", str(report), "."])
        findings = json.loads(report.read_text())["findings"]
    finally:
        report.unlink(missing_ok=True)
        for opened, data in kept.items():
            opened.write_bytes(data)
    found: dict[Path, list[tuple[object, ...]]] = {}
    for one in findings:
        place = (one["code"], one["line"], one["column"], one["message"])
        found.setdefault((folder / one["path"]).resolve(), []).append(place)
    return {path: sorted(places) for path, places in found.items()}
