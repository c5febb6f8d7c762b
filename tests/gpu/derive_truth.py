"""Recordings to a truth: `python -m tests.gpu.derive_truth RECORDINGS NAME VERSION ABOUT`.

It writes corpus/truth/NAME-VERSION.json. RECORDINGS is the folder of a library that record_operators wrote; ABOUT
says in a sentence what was called. A kernel is named by its module, whose file is that of the unpacked package.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from tests.benchmarks.packages import CORPUS
from tests.benchmarks.truths import values_seen, variation
from triton_doctor import Recording

SHOWN = 12


def truth_of(recordings: list[Recording]) -> dict[str, Any]:
    """The kernels of `recordings`, by module and name: how often each compiled, and what its constexprs were."""
    values: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    compiles: Counter[tuple[str, str]] = Counter()
    lines: dict[tuple[str, str], int] = {}
    for recording in recordings:
        for key, seen in values_seen(recording).items():
            values[key] |= seen
        for event in (*recording.compiled, *recording.loaded):
            compiles[event.kernel.module, event.kernel.name] += 1
            lines[event.kernel.module, event.kernel.name] = event.kernel.line
    return {
        f"{module}:{name}": {
            "compiles": compiles[module, name],
            "path": f"{module.replace('.', '/')}.py",
            "line": line,
            "constexpr": {
                parameter: {"distinct": len(seen), "values": sorted(seen)[:SHOWN], "seen": variation(seen)}
                for (of_module, of_name, parameter), seen in values.items()
                if (of_module, of_name) == (module, name)
            },
        }
        for (module, name), line in sorted(lines.items())
    }


def main() -> None:
    folder, name, version, about = sys.argv[1:]
    recordings = [Recording.read(path) for path in sorted(Path(folder).glob("*.jsonl"))]
    versions = dict(recordings[0].headers[0].versions)
    truth = {
        "about": about,
        "torch": versions["torch"],
        "triton": versions["triton"],
        "kernels": truth_of(recordings),
    }
    path = CORPUS / "truth" / f"{name}-{version}.json"
    path.write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")
    seen = Counter(one["seen"] for kernel in truth["kernels"].values() for one in kernel["constexpr"].values())
    print(f"{name} {version}: {len(truth['kernels'])} kernels, {dict(seen)}")


if __name__ == "__main__":
    main()
