"""What `report` takes for a job of many ranks: `python -m tests.benchmarks.ranks [RANKS] [FOLDER]`.

Writes a recording for each of RANKS (1,024) into FOLDER: the lines of a recording from a GPU, with another rank, time
and, for a few ranks, values of their own; 100 compiles and 9,900 counted launches each. Prints the CPU seconds and the
memory of `report` in each form. The issue asks for less than 60 s and 1 GB on two cores.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "fixtures" / "runs" / "liger_training.jsonl"
COMPILES, LAUNCHES, ROUND_NS, APART_NS = 100, 9_900, 3_000_000_000, 997_000
# Rank 3 has 12 lengths that no other has, and every hundredth rank one.
OWN = {3: 12}


def write_ranks(folder: Path, ranks: int) -> None:
    lines = [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]
    header = next(line for line in lines if line["event"] == "header" and "triton" in dict(line["versions"]))
    compiles = [line for line in lines if line["event"] == "compile"]
    (launches,) = (line for line in lines[-4:] if line["event"] == "launches" and line["launches"])
    (end,) = (line for line in lines[-4:] if line["event"] == "end")
    launches["launches"][0]["count"] = LAUNCHES - sum(one["count"] for one in launches["launches"][1:])
    for rank in range(ranks):
        events = [header | {"rank": rank, "world_size": ranks, "pid": 1000 + rank}]
        for number in range(COMPILES):
            event = compiles[number % len(compiles)]
            at_ns = event["at_ns"] + rank * APART_NS + number // len(compiles) * ROUND_NS
            event = event | {"rank": rank, "at_ns": at_ns}
            if number >= COMPILES - OWN.get(rank, int(rank % 100 == 99)):
                event |= {"key": own_key(event["key"], 10_000 + 100 * rank + number)}
            events.append(event)
        text = "".join(f"{json.dumps(event, separators=(',', ':'))}\n" for event in (*events, launches, end))
        (folder / f"rank{rank:04}.jsonl").write_text(text, encoding="utf-8")


def own_key(key: dict[str, Any], value: int) -> dict[str, Any]:
    """`key` with another value of its first constexpr."""
    (name, _), *others = key["constants"]
    return key | {"constants": [[name, value], *others]}


def measure(folder: Path, form: str) -> str:
    """CPU seconds and peak memory of one report, and the size of what it prints."""
    out = folder / f"report.{form}"
    command = [sys.executable, "-m", "triton_doctor", "report", str(folder), "--output-format", form]
    process = subprocess.Popen([*command, "-o", str(out)], cwd=ROOT)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    seconds = usage.ru_utime + usage.ru_stime
    return f"{form}: {seconds:.1f} s of CPU, {usage.ru_maxrss / 1024:.0f} MB, {out.stat().st_size / 1e6:.2f} MB written"


def main() -> None:
    ranks = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        write_ranks(folder, ranks)
        for form in ("text", "json", "html"):
            print(measure(folder, form), flush=True)


if __name__ == "__main__":
    main()
