"""What a recorded run saw, beside the source: a server for ragged batches that was recorded on a GPU."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from tests.editor.driver import editing

FIXTURES = Path(__file__).parents[2] / "fixtures"
SEED = FIXTURES / "seeds" / "ragged_attention_mask.py"
RECORDING = FIXTURES / "runs" / "seed_ragged_attention_mask.jsonl"


@pytest.mark.parametrize("named", [False, True])
def test_hover_and_lens_tell_what_the_last_run_saw(tmp_path: Path, *, named: bool) -> None:
    root = tmp_path / "project"
    root.mkdir()
    module = Path(shutil.copy(SEED, root))
    folder = root / ("recorded" if named else ".triton_doctor")
    folder.mkdir()
    shutil.copy(RECORDING, folder / "run.jsonl")
    settings = '[tool.triton-doctor]\nrecordings = ["recorded/run.jsonl"]\n' if named else ""
    (root / "pyproject.toml").write_text(settings)
    lines = module.read_text().split("\n")
    launch = next(number for number, line in enumerate(lines) if "bs=bs" in line)

    async def scenario() -> None:
        async with editing(root) as editor:
            editor.open(module)
            told = await editor.hover(module, launch, lines[launch].index("bs=bs") + 3)
            assert told is not None
            assert "**per call**" in told
            assert "recorded in run.jsonl: 24 values (5, 13, 16, 20, 3, 24, ...): 29 compiled" in told
            (lens,) = await editor.lenses(module)
            assert lens.startswith(
                "1 launch, a variant for each value of stride_mask_qo, bs, max_kv_len_per_req; last run: "
            )
            assert "compiled" in lens

    asyncio.run(scenario())


def test_a_recording_that_cannot_be_read_is_no_error(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / ".triton_doctor").mkdir(parents=True)
    module = Path(shutil.copy(SEED, root))
    (root / ".triton_doctor" / "run.jsonl").write_text("no recording\n")

    async def scenario() -> None:
        async with editing(root) as editor:
            editor.open(module)
            (lens,) = await editor.lenses(module)
            assert lens == "1 launch, a variant for each value of stride_mask_qo, bs, max_kv_len_per_req"
            assert editor.messages == []

    asyncio.run(scenario())
