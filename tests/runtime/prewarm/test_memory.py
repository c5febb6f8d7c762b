"""`triton_doctor.prewarm` in a server's start: no request compiles or loads, also of a class that was not recorded."""

import json
from pathlib import Path

from tests.runtime.prewarm.conftest import Workshop

START = Path(__file__).parent / "programs" / "start.py"
TUNED = START.with_name("tuned_start.py")


def test_prewarmed_server_neither_compiles_nor_loads_and_says_where_kernels_came_from(workshop: Workshop) -> None:
    workshop.run(START, "record", "run.jsonl", TRITON_CACHE_DIR=workshop.folder / "cache")
    printed = workshop.run(START, "serve", "run.jsonl", TRITON_CACHE_DIR=workshop.folder / "cache")

    # 1000 and 1008 with each of two spellings were recorded; 1 is the class of integers that is likely beside them.
    assert printed.splitlines()[-2:] == [
        "Prewarmed: 6 variants: 4 found, 2 compiled",
        "Prewarmed: 6 variants: 6 in memory",
    ]


def test_other_targets_get_options_of_their_own(workshop: Workshop) -> None:
    workshop.run(START, "record", "run.jsonl", TRITON_CACHE_DIR=workshop.folder / "cache")
    targets = ("--target", "cuda:80", "--target", "hip:gfx942")
    printed = workshop.doctor("prewarm", "run.jsonl", "--recorded-only", *targets, "--cache-dir", "others")

    assert "8 likely variants: 8 recorded, 0 added" in printed
    assert "cuda:80: 4 compiled, 0 found" in printed
    assert "hip:gfx942: 4 compiled, 0 found" in printed
    made = [json.loads(path.read_text()) for path in (workshop.folder / "others").glob("*/scale.json")]
    assert {(each["target"]["arch"], each["warp_size"]) for each in made} == {(80, 32), ("gfx942", 64)}


def test_tuning_that_is_kept_on_disk_is_read_ahead(workshop: Workshop) -> None:
    kept = {"TRITON_CACHE_DIR": workshop.folder / "cache"}
    workshop.run(TUNED, "record", "run.jsonl", **kept)
    printed = workshop.run(TUNED, "serve", "run.jsonl", **kept)

    assert printed.splitlines()[-2:] == [
        "Prewarmed: 2 variants: 2 found; results of tuning read: 2",
        "0 rounds, 0 compiles",
    ]
