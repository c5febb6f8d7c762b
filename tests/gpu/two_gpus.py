"""Two ranks on two GPUs over NCCL, under triton-doctor: `python tests/gpu/two_gpus.py OUT`.

Writes OUT/summary.json, the outcome and the figures of each check, and OUT/outputs.tar.gz, everything that commands
wrote, recordings cut of the machine's paths. With a second argument `cpu` it runs over gloo on the compile-only target.
"""

import json
import os
import subprocess
import sys
import tarfile
import time
import traceback
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
PROGRAM = str(REPOSITORY / "tests" / "gpu" / "programs" / "nccl_ranks.py")
OUT = Path(sys.argv[1]).resolve()
WORK = OUT / "work"
ON_CPU = sys.argv[2:] == ["cpu"]
TARGET = ("--target", "cuda:90") if ON_CPU else ()
DEVICE = ("--device", "cpu") if ON_CPU else ()
BACKEND = ("--backend", "gloo", *DEVICE) if ON_CPU else ()
DOCTOR = (sys.executable, "-m", "triton_doctor")
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", PROGRAM)
# Waits shorter than this are within the noise of a step.
LEAST_WAIT_S, AGREE, SLOW_S, LONGEST_FIXTURE = 0.05, 0.10, 20, 200_000
SUMMARY = {}


def start(name, *command, limit_s, cache, variables=()):
    """Run `command`; its status, or "timeout". Its output is kept in WORK."""
    environment = os.environ | {"TRITON_CACHE_DIR": str(WORK / "caches" / cache), "PYTHONHASHSEED": "0"}
    began = time.perf_counter()
    with (WORK / f"{name}.out").open("wb") as out, (WORK / f"{name}.err").open("wb") as err:
        process = subprocess.Popen(command, env=environment | dict(variables), stdout=out, stderr=err, cwd=REPOSITORY)
        try:
            status = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
            status = "timeout"
    print(f"{name}: {status}, {time.perf_counter() - began:.1f} s", flush=True)
    return status


def run(name, *arguments, limit_s=75, cache, variables=()):
    command = (*DOCTOR, "run", *TARGET, "-o", str(WORK / name), *arguments)
    return start(f"{name}.run", *command, limit_s=limit_s, cache=cache, variables=variables)


def read_report(name):
    for form, suffix in (("text", "txt"), ("json", "json")):
        command = [*DOCTOR, "report", str(WORK / name), "--output-format", form]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30, cwd=REPOSITORY)
        (WORK / f"{name}.report.{suffix}").write_text(done.stdout + done.stderr * (form == "text"))
    return json.loads(done.stdout)


def read_events(name, rank):
    """The events of `rank` in the recording `name`."""
    paths = sorted((WORK / name).glob("*.jsonl"))
    lines = [
        json.loads(line) for path in paths if f".rank{rank}." in path.name for line in path.read_text().splitlines()
    ]
    return [line for line in lines if line["event"] == "compile"]


def count(name):
    """Of both ranks, compiles by where they were found."""
    tiers = [event["tier"] for rank in (0, 1) for event in read_events(name, rank)]
    return {tier: tiers.count(tier) for tier in sorted(set(tiers))}


def waits_agree(name):
    """Whether each wait of rank 0 that the report has is what the program measured, within AGREE, and none lacks."""
    report = read_report(name)
    reported = {
        step["number"]: wait["waited_ms"] / 1000
        for step in report["ranks"]["steps"]
        for wait in step["waits"]
        if wait["rank"] == 0
    }
    times = json.loads((WORK / f"{name}-times" / "rank0.json").read_text())
    # The first step makes the communicator.
    measured = {one["step"]: one["host_ms"] / 1000 for one in times if one["step"] > 1}
    events = {one["step"]: one["device_ms"] / 1000 for one in times}
    compared = {
        step: {"report_s": reported.get(step), "host_s": measured[step], "events_s": events[step]}
        for step in measured
        if measured[step] >= LEAST_WAIT_S or reported.get(step, 0.0) >= LEAST_WAIT_S
    }
    ok = bool(compared) and all(
        one["report_s"] is not None and abs(one["report_s"] - one["host_s"]) <= AGREE * one["host_s"]
        for one in compared.values()
    )
    return ok, {"steps": compared, "compiling": {s["number"]: s["compiling_rank"] for s in report["ranks"]["steps"]}}


def check_waits():
    (WORK / "train-times").mkdir()
    times = ("--times", str(WORK / "train-times"))
    status = run("train", *TORCHRUN, "train", *BACKEND, *times, cache="train")
    ok, figures = waits_agree("train")
    return ok and status == 0, {"status": status, "variants": count("train")} | figures


def find_unroll():
    """As many statements as compile in SLOW_S, from two smaller compiles and a power law between them."""
    import math

    seconds = {}
    for unroll in (200, 600):
        command = (sys.executable, PROGRAM, "compile", *DEVICE, "--unroll", str(unroll))
        if ON_CPU:
            command = (*DOCTOR, "run", *TARGET, *command[1:])
        start(f"compile-{unroll}", *command, limit_s=60, cache=f"compile-{unroll}")
        said = (WORK / f"compile-{unroll}.out").read_text()
        seconds[unroll] = float(said.rpartition("compiled in ")[2].split()[0])
    power = max(0.8, math.log(seconds[600] / seconds[200]) / math.log(3))
    return min(20_000, round(600 * (SLOW_S / seconds[600]) ** (1 / power))), seconds


def check_top():
    """While rank 1 compiles for long: what `top` says of both, a few times; then the waits of that run."""
    unroll, seconds = find_unroll()
    (WORK / "slow-times").mkdir()
    words = ("slow", *BACKEND, "--steps", "8", "--unroll", str(unroll), "--times", str(WORK / "slow-times"))
    command = (*DOCTOR, "run", *TARGET, "-o", str(WORK / "slow"), *TORCHRUN, *words)
    variables = {"TRITON_CACHE_DIR": str(WORK / "caches" / "slow"), "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "20"}
    shown, texts = [], []
    with (WORK / "slow.run.out").open("wb") as out, (WORK / "slow.run.err").open("wb") as err:
        process = subprocess.Popen(command, env=os.environ | variables, stdout=out, stderr=err, cwd=REPOSITORY)
        deadline = time.monotonic() + 110
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(2)
            for form in ("text", "json"):
                top = (*DOCTOR, "top", "--once", str(WORK / "slow"), "--output-format", form)
                done = subprocess.run(top, capture_output=True, text=True, check=False, timeout=30, cwd=REPOSITORY)
                if form == "text":
                    texts.append(done.stdout + done.stderr)
                elif done.returncode == 0:
                    ranked = [one for one in json.loads(done.stdout)["processes"] if one["rank"] is not None]
                    shown.append({one["rank"]: one["now"] for one in ranked})
                    for one in (
                        ranked if not (WORK / f"attach-{len(shown)}.txt").exists() and len(shown) % 4 == 0 else ()
                    ):
                        look = (*DOCTOR, "attach", str(one["pid"]), "--seconds", "0.2")
                        seen = subprocess.run(look, capture_output=True, text=True, check=False, timeout=30)
                        with (WORK / f"attach-{len(shown)}.txt").open("a") as file:
                            file.write(f"rank {one['rank']}\n{seen.stdout}{seen.stderr}")
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
    (WORK / "top.txt").write_text("\n\n".join(texts))
    both = [one for one in shown if "compiling `slow_kernel`" in one.get(1, "")]
    ok = any("waiting " in one.get(0, "") for one in both)
    agree, figures = waits_agree("slow")
    near = any("near TORCH_NCCL_HEARTBEAT" in one.get(0, "") for one in both)
    figures |= {
        "near_limit": near,
        "unroll": unroll,
        "compile_s": seconds,
        "status": process.returncode,
        "top": both[::3],
    }
    return ok and agree and process.returncode == 0, {"top": ok, "waits": agree} | figures


def check_devices():
    if ON_CPU:
        return None, "needs two GPUs"
    first = run("devices", PROGRAM, "devices", cache="devices", limit_s=45)
    second = run("devices-again", PROGRAM, "devices", cache="devices", limit_s=45)
    texts = {name: json.dumps(read_report(name)) for name in ("devices", "devices-again")}
    out = {name: (WORK / f"{name}.run.out").read_text().splitlines() for name in texts}
    found = {name: text.count("TRD709") for name, text in texts.items()}
    return first == second == 0 and found["devices"] > 0, {"TRD709": found, "launches": out}


def check_prewarm():
    recording = next(path for path in sorted((WORK / "train").glob("*.jsonl")) if ".rank0." in path.name)
    folder = ("--cache-dir", str(WORK / "caches" / "prewarmed"))
    status = start("prewarm", *DOCTOR, "prewarm", str(recording), *folder, limit_s=60, cache="prewarmed")
    # What rank 0 met: both ranks run its lengths.
    run("prewarmed", *TORCHRUN, "train", *BACKEND, "--steps", "5", cache="prewarmed")
    found = count("prewarmed")
    return status == 0 and bool(found) and "compiled" not in found, {"status": status, "tiers": found}


def check_pack():
    pack = WORK / "kernels.sqlite"
    folder = ("--cache-dir", str(WORK / "caches" / "train"))
    status = start("pack", *DOCTOR, "cache", "pack", str(pack), *folder, limit_s=30, cache="train")
    variables = {
        "TRITON_CACHE_MANAGER": "triton_doctor.cache_manager:ReadThrough",
        "TRITON_DOCTOR_PACK": str(pack),
    }
    before = pack.read_bytes()
    run("packed", *TORCHRUN, "train", *BACKEND, cache="packed", variables=variables)
    found, local = count("packed"), WORK / "caches" / "packed"
    locks = sorted(str(path.name) for where in (local, WORK) for path in where.rglob("*lock*"))
    beside = sorted(path.name for path in WORK.glob("kernels.sqlite?*"))
    same = pack.read_bytes() == before
    ok = status == 0 and bool(found) and "compiled" not in found and not locks and not beside and same
    return ok, {"tiers": found, "locks": locks, "beside": beside, "pack_unchanged": same}


def check_dry():
    """A dry rank 1 of two has the variants of the real one: the same kernels and keys."""
    dry = ("--dry", "--world-size", "2", "--rank", "1", "-o", str(WORK / "dry"), PROGRAM, "train")
    status = start("dry", *DOCTOR, "run", *dry, limit_s=60, cache="dry")
    real = {key_of(event) for event in read_events("train", 1)}
    paths = sorted((WORK / "dry").glob("*.jsonl")) if (WORK / "dry").is_dir() else [WORK / "dry"]
    lines = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    found = {key_of(event) for event in lines if event["event"] == "compile"}
    only = {"real": sorted(real - found)[:3], "dry": sorted(found - real)[:3]}
    return status == 0 and bool(real) and found == real, {"real": len(real), "dry": len(found), "only": only}


def key_of(event):
    key = {name: value for name, value in event["key"].items() if name in ("signature", "constants", "attributes")}
    return f"{event['kernel']} {json.dumps(key, sort_keys=True)}"


def cut(text):
    """`text` without this machine's paths."""
    prefixes = {f"{REPOSITORY}/": "", f"{WORK}/": "", f"{OUT}/": "", sys.executable: "python"}
    prefixes |= {f"{entry.rstrip('/')}/": "" for entry in sys.path if len(entry) > 1}
    for prefix in sorted(prefixes, key=len, reverse=True):
        text = text.replace(prefix, prefixes[prefix])
    return text


def keep():
    """Everything but caches and packs into one file; SUMMARY beside it."""
    sizes = {}
    for path in sorted(path for path in WORK.rglob("*") if path.is_file() and "caches" not in path.parts):
        if path.suffix in (".jsonl", ".json", ".txt", ".out", ".err"):
            path.write_text(cut(path.read_text(errors="replace")))
            if path.suffix == ".jsonl":
                sizes[str(path.relative_to(WORK))] = path.stat().st_size
    SUMMARY["recordings"] = {"ok": all(size < LONGEST_FIXTURE for size in sizes.values()), "figures": sizes}
    (OUT / "summary.json").write_text(json.dumps(SUMMARY, indent=1))
    with tarfile.open(OUT / "outputs.tar.gz", "w:gz") as archive:
        for path in sorted(WORK.rglob("*")):
            if path.is_file() and "caches" not in path.parts and path.suffix != ".sqlite":
                archive.add(path, str(path.relative_to(WORK)))


def main():
    (WORK / "caches").mkdir(parents=True)
    for check in (check_waits, check_prewarm, check_pack, check_dry, check_devices, check_top):
        try:
            ok, figures = check()
        except Exception:
            ok, figures = False, traceback.format_exc()
        SUMMARY[check.__name__.removeprefix("check_")] = {"ok": ok, "figures": figures}
        print(f"{check.__name__}: {ok} {json.dumps(figures)[:1500]}", flush=True)
        (OUT / "summary.json").write_text(json.dumps(SUMMARY, indent=1))
    keep()
    # Only what returns stays in OUT.
    subprocess.run(["rm", "-rf", str(WORK)], check=False)


if __name__ == "__main__":
    main()
