"""Prove on a GPU that nothing compiles after cover: `python tests/gpu/cover_proof.py OUT [--without-gpu]`.

Records the warm-up of `programs/cover_server.py` dry, checks that its cover is wanting, prewarms what was recorded and
what the source adds, tunes on the GPU, and starts the server. It then has requests of every batch 1 to 32 at three
lengths, and of every length 1 to 2,048 at batch 1, 7 and 32. Writes OUT/result.json. With `--without-gpu` the requests
are made dry, and only compared with what was prewarmed.
"""

import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
PROGRAM = Path(__file__).parent / "programs" / "cover_server.py"
OUT = Path(sys.argv[1]).resolve()
WITHOUT_GPU = "--without-gpu" in sys.argv[2:]
COVERED, SERVED, CACHE = OUT / "covered.jsonl", OUT / "served.jsonl", OUT / "cache"
DOCTOR = (sys.executable, "-m", "triton_doctor")
# The folder of the program is its project.
WORK = OUT / "work"


def environment(**more):
    found = {name: value for name, value in os.environ.items() if not name.startswith("TRITON_")}
    path = os.pathsep.join(filter(None, [str(REPOSITORY), found.get("PYTHONPATH")]))
    return found | {"PYTHONPATH": path, "TRITON_CACHE_DIR": str(CACHE)} | more


def doctor(*words, **more):
    done = subprocess.run(
        [*DOCTOR, *map(str, words)], env=environment(**more), cwd=WORK, capture_output=True, text=True, check=False
    )
    return {"status": done.returncode, "said": (done.stdout + done.stderr)[-6000:]}


def events(path):
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def key_of(event):
    key = event["key"]
    return json.dumps(
        [event["kernel"], sorted(map(list, key["signature"])), sorted(key["constants"]), sorted(key["attributes"])]
    )


def requests():
    """Each batch at three lengths, and each length at three batches; with top-k, top-p, both and neither in turn."""
    shapes = [(batch, length) for length in (17, 512, 2048) for batch in range(1, 33)]
    shapes += [(batch, length) for batch in (1, 7, 32) for length in range(1, 2049)]
    for number, (batch, length) in enumerate(shapes):
        yield {"lengths": [length] * batch, "top_k": bool(number & 1), "top_p": bool(number & 2)}


def ask(port, request):
    data = json.dumps(request).encode()
    began = time.perf_counter()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", data=data, timeout=120) as answer:
        json.load(answer)
    return (time.perf_counter() - began) * 1000


def serve():
    """The server's own words, and the milliseconds of each request."""
    command = [*DOCTOR, "run", "--force", "-o", str(SERVED), str(PROGRAM.name), "serve", str(COVERED)]
    errors = (OUT / "served.err").open("w")
    with subprocess.Popen(
        command, env=environment(), cwd=WORK, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
    ) as server:
        line = server.stdout.readline()
        if not line:
            server.wait()
            raise SystemExit(f"the server did not start: {(OUT / 'served.err').read_text()[-3000:]}")
        ready = json.loads(line) | {"at_ns": time.time_ns()}
        took = [ask(ready["port"], request) for request in requests()]
        server.stdin.close()
    return ready, took, server.returncode


def main():
    WORK.mkdir(parents=True)
    (WORK / PROGRAM.name).write_text(PROGRAM.read_text())
    (WORK / "pyproject.toml").touch()
    result = {"recorded": doctor("run", "--dry", "--force", "-o", OUT / "dry.jsonl", PROGRAM.name, "warm")}
    check = ("prewarm", "--check", OUT / "dry.jsonl", "--cache-dir", CACHE)
    result["check_before"] = doctor(*check)
    result["prewarm"] = doctor("prewarm", OUT / "dry.jsonl", "--cache-dir", CACHE, "-o", COVERED)
    result["check_after"] = doctor(*check)
    covered = {key_of(event) for event in events(COVERED) if event["event"] == "compile"}
    if WITHOUT_GPU:
        asked = OUT / "requests.json"
        asked.write_text(json.dumps(list(requests())))
        result["run"] = doctor("run", "--dry", "--force", "-o", SERVED, PROGRAM.name, "answer", asked)
        compiles = [event for event in events(SERVED) if event["event"] == "compile"]
    else:
        tuned = subprocess.run(
            [sys.executable, PROGRAM.name, "tune"],
            env=environment(),
            cwd=WORK,
            capture_output=True,
            text=True,
            check=False,
        )
        result["tune"] = {"status": tuned.returncode, "said": (tuned.stdout + tuned.stderr)[-2000:]}
        ready, took, status = serve()
        served = [event for event in events(SERVED) if event.get("at_ns", 0) > ready["at_ns"]]
        compiles = [event for event in served if event["event"] == "compile"]
        first_ns = ready["at_ns"] + took[0] * 1e6
        first_us = sum(
            sum(us for _, us in event.get("stages_us", ())) + event.get("module_us", 0) + event.get("launcher_us", 0)
            for event in served
            if event["event"] in ("compile", "module") and event["at_ns"] <= first_ns
        )
        result |= {
            "server": ready | {"status": status},
            "requests": len(took),
            "compiled": sum(event["tier"] == "compiled" for event in compiles),
            "loaded_from_disk": sum(event["tier"] != "compiled" for event in compiles),
            "tuning_rounds": sum(event["event"] == "autotune" and not event["cached"] for event in served),
            "first_request_ms": took[0],
            "first_request_in_triton_ms": first_us / 1000,
            "median_ms": sorted(took)[len(took) // 2],
            "over_50_ms": sum(one > 50 for one in took),
        }
    needed = {key_of(event) for event in events(SERVED) if event["event"] == "compile" and not event["warmup"]}
    result |= {
        "variants_covered": len(covered),
        "variants_missed": sorted({event["kernel"] for event in compiles if key_of(event) not in covered}),
        "variants_needed": len(needed) if WITHOUT_GPU else None,
    }
    (OUT / "result.json").write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps({name: value for name, value in result.items() if not isinstance(value, dict)}, indent=2))


if __name__ == "__main__":
    main()
