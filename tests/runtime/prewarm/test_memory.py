"""`triton_doctor.prewarm` in a server's start: no request compiles or loads, also of a class that was not recorded."""

from pathlib import Path

from tests.runtime.prewarm.conftest import Workshop

START = Path(__file__).parent / "programs" / "start.py"


def test_prewarmed_server_neither_compiles_nor_loads_and_says_where_kernels_came_from(workshop: Workshop) -> None:
    workshop.run(START, "record", "run.jsonl", TRITON_CACHE_DIR=workshop.folder / "cache")
    printed = workshop.run(START, "serve", "run.jsonl", TRITON_CACHE_DIR=workshop.folder / "cache")

    # 1000 and 1008 with each of two spellings were recorded; 1 is the class of integers that is likely beside them.
    assert printed.splitlines()[-2:] == [
        "Prewarmed: 6 variants: 4 found, 2 compiled",
        "Prewarmed: 6 variants: 6 in memory",
    ]
