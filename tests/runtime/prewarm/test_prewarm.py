"""What is prewarmed is found: on each Triton, by the program itself and by `--check`."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.runtime.prewarm.conftest import SERVE, Workshop, tiers
from tests.tritons import triton_folder


@pytest.mark.long
@pytest.mark.parametrize("version", ["3.2.0", "3.6.0", None])
def test_program_finds_all_that_was_prewarmed_from_its_recording(workshop: Workshop, version: str | None) -> None:
    workshop = replace(workshop, triton=None if version is None else triton_folder(version))
    # Triton 3.2 takes no tuples.
    words = ("go",) if version == "3.2.0" else ("go", "tuples")
    first = workshop.record("first.jsonl", SERVE, *words, cache="first")
    printed = workshop.doctor("prewarm", first, "--cache-dir", "warm", "--jobs", 2)
    second = workshop.record("second.jsonl", SERVE, *words, cache="warm")

    assert "working" not in printed
    assert set(tiers(first)) == {"compiled"}
    assert tiers(second) == ["loaded from disk"] * len(tiers(first))
    assert "0 missed, 0 unused" in workshop.doctor("prewarm", "--check", second, "--cache-dir", "warm")
    launchers = list((workshop.folder / "warm").rglob("__triton_launcher*"))
    assert bool(launchers) == (version is not None and shutil.which("gcc") is not None)


@pytest.mark.long
def test_check_names_what_the_cache_misses_and_what_nothing_uses(workshop: Workshop) -> None:
    recording = workshop.record("made.jsonl", SERVE, "go", "made", cache="filled")

    printed = workshop.doctor("prewarm", recording, "--cache-dir", "warm", status=1)
    assert "could not be prewarmed: `made`, 1 variant: no kernel of this name in serve.py" in printed
    assert "4 compiled" in printed
    again = workshop.doctor("prewarm", recording, "--cache-dir", "warm", status=1)
    assert "0 compiled, 4 found in the cache" in again

    checked = workshop.doctor("prewarm", "--check", recording, "--cache-dir", "filled", status=1)
    assert "1 missed, 1 unused" in checked
    assert "unused: `made`, 1 entry" in checked
    shutil.rmtree(workshop.folder / "warm")
    assert "5 missed, 0 unused" in workshop.doctor("prewarm", "--check", recording, "--cache-dir", "warm", status=1)


def test_a_missing_recording_is_one_line_with_a_hint(tmp_path: Path) -> None:
    printed = Workshop(folder=tmp_path).doctor("prewarm", status=2)

    assert printed.splitlines() == [
        "triton-doctor: there is no recording to prewarm from",
        "hint: name one that `run -o` wrote, or --from-tests",
    ]
