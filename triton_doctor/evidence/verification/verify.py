"""Verifies fixes: compiles each kernel that they change as it was and as it will be, and returns verdicts.

What is compiled is a folder of links to the source tree with the fixed files replaced, in a process of its own.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from triton_doctor.evidence.kernel_matching import find_owners
from triton_doctor.evidence.verification.launch_arguments import VALUES, Cases, made_up, recorded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

    from triton_doctor.finding import Finding
    from triton_doctor.runtime.event import CompileEvent
    from triton_doctor.runtime.recording import Recording
    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.module import Kernel


class Importable(NamedTuple):
    """A file as imports know it: `module` below the folder `root`."""

    root: Path
    module: str


def importable(path: Path) -> Importable:
    """Return the folder above the outermost package around `path`, and the module's dotted name from there."""
    folder, parts = path.parent, [path.stem]
    while (folder / "__init__.py").exists():
        parts.append(folder.name)
        folder = folder.parent
    if parts[0] == "__init__":
        parts = parts[1:]
    return Importable(folder, ".".join(reversed(parts)))


def overlay(root: Path, files: Mapping[Path, bytes], into: Path) -> None:
    """Fill `into` with links to all that `root` holds, and write `files`, which replace those of the same path."""
    changed = {path.relative_to(root).parts: data for path, data in files.items() if path.is_relative_to(root)}
    _mirror(root, into, changed)


def _mirror(source: Path, target: Path, changed: Mapping[tuple[str, ...], bytes]) -> None:
    target.mkdir(parents=True, exist_ok=True)
    inner: dict[str, dict[tuple[str, ...], bytes]] = {}
    for parts, data in changed.items():
        inner.setdefault(parts[0], {})[parts[1:]] = data
    with os.scandir(source) as entries:
        for entry in entries:
            if entry.name == "__pycache__":
                continue
            below = inner.get(entry.name)
            if below is None:
                (target / entry.name).symlink_to(source / entry.name)
            elif () in below:
                (target / entry.name).write_bytes(below[()])
            else:
                _mirror(source / entry.name, target / entry.name, below)


# The rule whose fix takes a parameter out of the autotune key.
TUNED_AGAIN = "TRD301"
# A compile takes seconds at the most; what was made up may be larger than what anybody launches.
_LONGEST_SECONDS = 60
_NOT_FOR_CHILDREN = ("TRITON_INTERPRET", "TRITON_KERNEL_DUMP", "TRITON_KERNEL_OVERRIDE", "TRITON_ALWAYS_COMPILE")


class Child:
    """A process `python -m triton_doctor.runtime.trial` with one job, in `folder`; killed after a minute of silence."""

    def __init__(self, job: Mapping[str, Any], folder: Path) -> None:
        """Start it."""
        home = str(Path(__file__).parents[3])
        environment = {name: value for name, value in os.environ.items() if name not in _NOT_FOR_CHILDREN}
        environment |= {
            "PYTHONPATH": os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")])),
            "PYTHONDONTWRITEBYTECODE": "1",  # the folder holds links to the user's own
            "TRITON_CACHE_DIR": str(folder / "cache"),
            "TRITON_DISABLE_LINE_INFO": "1",
        }
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._too_long = False
        self._stderr = tempfile.TemporaryFile("w+")  # noqa: SIM115, closed with the process
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "triton_doctor.runtime.trial"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=environment,
            cwd=folder,
            text=True,
        )
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job))
        self._process.stdin.close()
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()

    def results(self) -> Iterator[dict[str, Any]]:
        """Yield the results of the process until it ends or is silent for too long."""
        while True:
            try:
                line = self._lines.get(timeout=_LONGEST_SECONDS)
            except queue.Empty:
                self._too_long = True
                return
            if line is None:
                return
            yield json.loads(line)

    def why_it_ended(self) -> str:
        """Return the last line of its stderr, or that it took too long."""
        if self._too_long:
            return f"it took more than {_LONGEST_SECONDS} s"
        self._stderr.seek(0)
        lines = [line for line in self._stderr.read().splitlines() if line.strip()]
        return lines[-1].strip()[:200] if lines else f"the process ended with {self._process.returncode}"

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)


class TrialOutcome(StrEnum):
    """VERIFIED: compiles before and after. WITHDRAWN: before alone. UNVERIFIED: could not be tried."""

    VERIFIED = "verified"
    WITHDRAWN = "withdrawn"
    UNVERIFIED = "not verified"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialVerdict:
    """The outcome for one kernel. `fixes` are those that change it; `why` is the failure.

    `before` and `after` count the variants of the cases, which `cases` describes. `before` is None for a kernel that
    compiles only since it is fixed. `same_code` compares the code for equal arguments. `types` describes the source of
    the arguments' types.
    """

    kernel: str
    path: str
    fixes: tuple[Finding, ...]
    outcome: TrialOutcome
    cases: str = ""
    types: str = ""
    before: int | None = None
    after: int | None = None
    same_code: bool | None = None
    why: str | None = None

    def line(self) -> str:
        """Format the verdict as one line."""
        if self.outcome is not TrialOutcome.VERIFIED:
            left = ", so not edited" if self.outcome is TrialOutcome.UNVERIFIED else ""
            return f"{self.outcome}{left}: `{self.kernel}` of {self.path}: {self.why}"
        if self.before is None:
            return f"{self.outcome}: `{self.kernel}` of {self.path} compiles, and did not as it was; {self.types}"
        variants = f"{self.before} {'variant' if self.before == 1 else 'variants'} before, {self.after} after"
        keys = sorted({f"`{fix.facts.parameter}`" for fix in self.fixes if fix.code == TUNED_AGAIN})
        variants += f", and no round of tuning for each value of {' and '.join(keys)}" if keys else ""
        code = "the same" if self.same_code else "other"
        result = f"{variants}{self.cases}; {code} code for equal arguments; {self.types}"
        return f"{self.outcome}: `{self.kernel}` of {self.path} compiles; {result}"


class _Trial(NamedTuple):
    """A kernel to compile, and the `number` that identifies its results."""

    number: int
    kernel: Kernel
    where: Importable
    cases: Cases
    fixes: tuple[Finding, ...]
    names: tuple[str, ...]


def verify(
    project: Project,
    fixes: Iterable[Finding],
    files: Mapping[str, bytes],
    *,
    cwd: Path,
    target: str,
    recordings: Sequence[Recording] = (),
) -> tuple[TrialVerdict, ...]:
    """Compile each kernel of `project` that `fixes` change, before and after.

    `files` are the contents of the edited files, by path as findings spell it.
    """
    trials: list[_Trial] = []
    verdicts: list[TrialVerdict] = []
    seen = _seen(project, recordings, cwd)
    for kernel, of_kernel in _by_kernel(project, fixes):
        names = tuple(
            dict.fromkeys(
                finding.fix.kernel.parameter for finding in of_kernel if finding.fix is not None and finding.fix.kernel
            )
        )
        varying = [name for name in names if name]
        where = importable((cwd / kernel.path).resolve())
        if "#" in kernel.qualname or "<locals>" in kernel.qualname:
            why = "it is made by a function, or defined twice"
            verdicts.append(_unverified(kernel, of_kernel, why))
            continue
        cases = recorded(seen.get(kernel.key, ())) or made_up(project, kernel, varying)
        trials.append(_Trial(len(trials), kernel, where, cases, of_kernel, tuple(varying)))
    edited = {(cwd / path).resolve(): data for path, data in files.items()}
    for root in dict.fromkeys(trial.where.root for trial in trials):
        here = [trial for trial in trials if trial.where.root == root]
        verdicts += _judged(root, here, edited, target)
    return tuple(sorted(verdicts, key=lambda verdict: (verdict.path, verdict.kernel)))


def _by_kernel(project: Project, fixes: Iterable[Finding]) -> list[tuple[Kernel, tuple[Finding, ...]]]:
    kernels = {(kernel.path, kernel.qualname): kernel for kernel in project.kernels()}
    found: defaultdict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in fixes:
        if finding.fix is not None and finding.fix.kernel is not None:
            found[finding.fix.kernel.path, finding.fix.kernel.qualname].append(finding)
    return [(kernels[key], tuple(of_kernel)) for key, of_kernel in found.items() if key in kernels]


def _seen(
    project: Project, recordings: Sequence[Recording], cwd: Path
) -> Mapping[tuple[str, str, int], Sequence[CompileEvent]]:
    """Return the recorded compiles of each kernel of the project; skips names that fit several kernels."""
    events = [event for recording in recordings for event in recording.compiles]
    parameters = {event.kernel: frozenset(dict(event.key.signature)) for event in events}
    owners = find_owners(project, parameters, cwd) if events else {}
    found: defaultdict[tuple[str, str, int], list[CompileEvent]] = defaultdict(list)
    for event in events:
        if len(owners[event.kernel]) == 1:
            found[owners[event.kernel][0].key].append(event)
    return found


def _judged(root: Path, trials: Sequence[_Trial], edited: Mapping[Path, bytes], target: str) -> list[TrialVerdict]:
    with tempfile.TemporaryDirectory(prefix="triton-doctor-") as folder:
        before = _run(root, [_job(trial, trial.cases.arguments) for trial in trials], target, Path(folder))
        fixed = Path(folder) / "fixed"
        overlay(root, edited, fixed)
        jobs = [_job(trial, before[trial.number].get("arguments", trial.cases.arguments)) for trial in trials]
        after = _run(fixed, jobs, target, Path(folder))
    verdicts = []
    for trial in trials:
        was, now = before[trial.number], after[trial.number]
        if "arguments" not in was and "arguments" not in now:
            source = "what was recorded" if trial.cases.recorded else "made-up arguments"
            verdicts.append(
                _unverified(trial.kernel, trial.fixes, f"as it was, it did not compile with {source}: {was['why']}")
            )
            continue
        compiles = "arguments" in now
        verdicts.append(
            TrialVerdict(
                kernel=trial.kernel.name,
                path=trial.kernel.path,
                fixes=trial.fixes,
                outcome=TrialOutcome.VERIFIED if compiles else TrialOutcome.WITHDRAWN,
                cases=_describe_cases(trial),
                types=_types(trial, now.get("arguments", {})),
                before=was.get("variants"),
                after=now.get("variants"),
                same_code=was.get("code") == now["code"] if compiles else None,
                why=None if compiles else f"fixed, it does not compile: {now.get('why')}",
            )
        )
    return verdicts


def _describe_cases(trial: _Trial) -> str:
    if trial.cases.recorded:
        return " for what was recorded"
    named = " and ".join(f"`{name}`" for name in trial.names)
    alike = " that change alike" if len(trial.names) > 1 else ""
    return f" for {named}{alike} from {VALUES[0]} to {VALUES[-1]}" if named else ""


def _types(trial: _Trial, arguments: Mapping[str, Any]) -> str:
    """Return where the types of the `arguments` that compiled are from. Those of pointers are not in the source."""
    if trial.cases.recorded:
        return "types from the recording"
    pointers = [
        f"`{name}` *{described['dtype']}" for name, described in arguments.items() if described["kind"] == "tensor"
    ]
    return f"types made up: {', '.join(pointers)}" if pointers else "no pointers"


def _unverified(kernel: Kernel, fixes: tuple[Finding, ...], why: str) -> TrialVerdict:
    return TrialVerdict(kernel=kernel.name, path=kernel.path, fixes=fixes, outcome=TrialOutcome.UNVERIFIED, why=why)


def _job(trial: _Trial, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": trial.number,
        "module": trial.where.module,
        "kernel": trial.kernel.qualname,
        "arguments": arguments,
        "cases": trial.cases.cases or [{}],
        "options": {},
    }


def _run(root: Path, jobs: Sequence[dict[str, Any]], target: str, folder: Path) -> dict[int, dict[str, Any]]:
    """Run the jobs in processes that import from `root`, and return the results by job id.

    A job that ends its process counts as failed, and the next process continues with the rest.
    """
    results: dict[int, dict[str, Any]] = {}
    while left := [job for job in jobs if job["id"] not in results]:
        begun = left[0]["id"]
        with Child({"root": str(root), "target": target, "trials": left}, folder) as child:
            for result in child.results():
                begun = result["id"]
                if "begun" not in result:
                    results[begun] = result
        if begun not in results:
            results[begun] = {"why": child.why_it_ended()}
        elif len(results) < len(jobs) and left[-1]["id"] not in results:
            # It ended between two.
            results[next(job["id"] for job in left if job["id"] not in results)] = {"why": child.why_it_ended()}
    return results
