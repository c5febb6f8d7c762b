"""Record GPU programs into a folder: `python tests/gpu/record_all.py OUT [NAME...]`. Needs a GPU, torch, triton, Liger.

Each runs in a process of its own with an empty cache of kernels, except where the second process is the point. Paths
of the machine are cut to what is the same everywhere.
"""

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
PROGRAMS = REPOSITORY / "tests" / "runtime" / "programs"
LIGER = ("layer_norm", "fused_add_rms_norm", "poly_norm", "rope", "group_norm")


def record(out: Path, name: str, *command: str, cache: str) -> str:
    environment = os.environ | {"TRITON_CACHE_DIR": cache, "PYTHONHASHSEED": "0"}
    environment["PYTHONPATH"] = os.pathsep.join([str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])])
    recording = out / f"{name}.jsonl"
    program = [sys.executable, str(PROGRAMS / command[0]), str(recording), "gpu", *command[1:]]
    started = time.monotonic()
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    if recording.exists():
        cut_paths(recording, cache)
    tail = "" if done.returncode == 0 else "\n" + done.stderr[-2000:]
    return f"{name}: exit {done.returncode}, {time.monotonic() - started:.1f} s{tail}"


def cut_paths(recording: Path, cache: str) -> None:
    text = recording.read_text()
    prefixes = {str(REPOSITORY) + "/": "", cache: "CACHE", sys.executable: "python", str(recording.parent) + "/": ""}
    prefixes |= {entry.rstrip("/") + "/": "" for entry in sys.path if len(entry) > 1}
    for prefix in sorted(prefixes, key=len, reverse=True):
        text = text.replace(prefix, prefixes[prefix])
    recording.write_text(text)


def main() -> None:
    out = Path(sys.argv[1]).resolve()
    out.mkdir(parents=True, exist_ok=True)
    programs = {"vector_add": ("vector_add.py",)}
    programs |= {f"ragged_mask_{how}": ("ragged_mask.py", how) for how in ("constexpr", "plain", "unspecialized")}
    programs |= {f"liger_{op}": ("liger.py", op) for op in LIGER}
    chosen = sys.argv[2:] or list(programs)
    with tempfile.TemporaryDirectory() as caches, ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(record, out, name, *programs[name], cache=f"{caches}/{name}") for name in chosen]
        for job in jobs:
            print(job.result(), flush=True)
        if "ragged_mask_constexpr" in chosen:
            second = ("ragged_mask_constexpr_second_process", *programs["ragged_mask_constexpr"])
            print(record(out, *second, cache=f"{caches}/ragged_mask_constexpr"), flush=True)
    from triton_doctor import Recording

    for path in sorted(out.glob("*.jsonl")):
        seen = Recording.read(path)
        print(f"{path.name}: {len(seen.compiled)} compiled, {len(seen.loaded)} from disk, {seen.in_memory} in memory")
        for warning in seen.warnings:
            print(f"  {warning.kind}: {warning.message}")


if __name__ == "__main__":
    main()
