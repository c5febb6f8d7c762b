"""Examples of calls from what the project has: its tests, examples and benchmarks run dry, with a recorder.

Each file runs in a confined child of its own, the most promising first, until every entry has an example or the time
for it is spent. A file that fails, or is cut, gives what it called until then.
"""

from __future__ import annotations

import contextlib
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from triton_doctor.explore.model import Limits, SeedPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from triton_doctor.explore.fork_client import ChildResult
    from triton_doctor.explore.model import SweepEntry

# Seconds of CPU: for all files, and for one.
TOTAL_S, FILE_S = 60.0, 15.0
WALL_S = 90.0
# Forms of a call that are handed on, best first.
MOST_EXAMPLES = 6


@dataclass(slots=True)
class Examples:
    """Recorded calls by the key of the entry, as `Plan.examples` holds them, and what became of the files."""

    calls: dict[str, list[msgspec.Raw]] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)
    spent_s: float = 0.0

    def of(self, entry: SweepEntry) -> str:
        """Return the examples of `entry` as JSON; empty if there are none."""
        calls = self.calls.get(entry.key)
        return msgspec.json.encode(calls[:MOST_EXAMPLES]).decode() if calls else ""


class _Record(msgspec.Struct, frozen=True, kw_only=True):
    """What a child recorded; a state stays text here."""

    calls: dict[str, list[msgspec.Raw]]
    error: str = ""


def record_examples(
    call: Callable[[SeedPlan, Limits], ChildResult],
    plan: SeedPlan,
    files: Sequence[str],
    *,
    jobs: int,
    named: frozenset[str] = frozenset(),
) -> Examples:
    """Run `files` of the project, in this order, and return the calls that they make of the entries of `plan`.

    `call` has a child record what a plan names; `plan` holds what all have in common. Files in `named` run in any case.
    """
    examples = Examples()
    waiting = list(files)
    pending: dict[Future[ChildResult], str] = {}
    missing = {entry.key for entry in plan.entries if not entry.is_private}
    executor = ThreadPoolExecutor(jobs)
    try:
        while True:
            while waiting and len(pending) < jobs:
                # What runs now may take all of its time.
                left_s = TOTAL_S - examples.spent_s - FILE_S * len(pending)
                if waiting[0] not in named and (left_s < 1 or not missing):
                    waiting.clear()
                    break
                path = waiting.pop(0)
                seconds = FILE_S if path in named else min(FILE_S, left_s)
                own = replace(plan, path=path, is_test=_is_test(path), seconds=seconds)
                pending[executor.submit(call, own, Limits(wall_s=WALL_S))] = path
            if not pending:
                return examples
            for done in wait(pending, return_when=FIRST_COMPLETED).done:
                path, result = pending.pop(done), done.result()
                examples.ran.append(path)
                examples.spent_s += result.reply.cpu_s
                missing -= _add(examples, path, result)
    finally:
        # What is under way ends with the server.
        executor.shutdown(wait=False, cancel_futures=True)


def _add(examples: Examples, path: str, result: ChildResult) -> set[str]:
    """Add what `result` holds, and return the entries that it has calls of."""
    record = _Record(calls={})
    if result.answer is not None:
        with contextlib.suppress(msgspec.DecodeError, RecursionError):
            record = msgspec.json.decode(result.answer.value, type=_Record)
    problem = result.problem or record.error
    if problem:
        examples.problems[path] = problem
    for key, calls in record.calls.items():
        examples.calls.setdefault(key, []).extend(calls)
    return set(record.calls)


def _is_test(path: str) -> bool:
    name = PurePosixPath(path).stem
    return name.startswith("test_") or name.endswith("_test")
