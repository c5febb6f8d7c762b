"""Run programs with `triton-doctor run` on a GPU, and without: `python tests/gpu/run_all.py OUT`.

Keeps each report and recording in OUT, cut of the machine's paths, and prints what they add up to. Needs a GPU, torch,
triton and Liger.
"""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
SEEDS = sorted((REPOSITORY / "fixtures" / "seeds").glob("*.py"))
PROGRAMS = Path(__file__).parent / "programs"
OUT = Path(sys.argv[1]).resolve()
LIMIT_S = 110
DOCTOR = (sys.executable, "-m", "triton_doctor", "run")


def start(name, *command, cache, cwd=REPOSITORY):
    """Run `command`; its seconds and status. What it says is kept in OUT."""
    environment = os.environ | {"TRITON_CACHE_DIR": str(OUT / "caches" / cache), "PYTHONHASHSEED": "0"}
    environment["TORCHINDUCTOR_CACHE_DIR"] = str(OUT / "caches" / f"{cache}-inductor")
    began = time.perf_counter()
    try:
        done = subprocess.run(
            command, env=environment, cwd=cwd, capture_output=True, text=True, check=False, timeout=LIMIT_S
        )
        status, said = done.returncode, (done.stdout, done.stderr)
    except subprocess.TimeoutExpired as error:
        status, said = "timeout", ((error.stdout or b"").decode(), (error.stderr or b"").decode())
    took = time.perf_counter() - began
    (OUT / f"{name}.out").write_text(cut(said[0]))
    (OUT / f"{name}.err").write_text(cut(said[1]))
    return took, status


def watched(name, *command, cache, cwd=REPOSITORY):
    return start(name, *DOCTOR, "-o", str(OUT / f"{name}.jsonl"), *command, cache=cache, cwd=cwd)


def cut(text):
    prefixes = {f"{REPOSITORY}/": "", f"{OUT}/": "", sys.executable: "python"}
    prefixes |= {f"{entry.rstrip('/')}/": "" for entry in sys.path if len(entry) > 1}
    for prefix in sorted(prefixes, key=len, reverse=True):
        text = text.replace(prefix, prefixes[prefix])
    return text


def report(name):
    """The report as JSON, kept beside the recording."""
    recording = OUT / f"{name}.jsonl"
    command = [sys.executable, "-m", "triton_doctor", "report", str(recording), "--output-format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPOSITORY)
    (OUT / f"{name}.json").write_text(cut(done.stdout))
    recording.write_text(cut(recording.read_text()))
    return json.loads(done.stdout)


def sums(name, took):
    """How the parts of the report compare with the wall time measured outside."""
    seen = report(name)
    for process in seen["processes"]:
        parts = sum(value for part, value in process.items() if part.endswith("_ms") and part != "wall_ms")
        print(
            f"  process {process['pid']}: parts {parts / 1000:.2f} s of {process['wall_ms'] / 1000:.2f} s", flush=True
        )
    print(f"  wall {seen['totals']['wall_ms'] / 1000:.2f} s in the report, {took:.2f} s outside; {seen['totals']}")


def seeds():
    def one(seed):
        took, status = watched(f"seed_{seed.stem}", str(seed.relative_to(REPOSITORY)), cache=seed.stem)
        return f"{seed.stem}: exit {status}, {took:.1f} s"

    with ThreadPoolExecutor(4) as pool:
        for line in pool.map(one, SEEDS):
            print(line, flush=True)
    for seed in SEEDS:
        sums(f"seed_{seed.stem}", 0.0)


def workloads():
    for name in ("liger_training", "compiled_model", "storm_server"):
        path = str(PROGRAMS / f"{name}.py")
        plain = start(f"{name}_plain", sys.executable, path, cache=f"{name}-plain")
        took = watched(name, path, cache=name)
        print(f"{name}: {plain} without, {took} with", flush=True)
        sums(name, took[0])
    ranks = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", str(PROGRAMS / "two_ranks.py"))
    took = watched("two_ranks", *ranks, cache="two_ranks")
    print(f"two_ranks: {took}")
    sums("two_ranks", took[0])


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    seeds()
    workloads()
