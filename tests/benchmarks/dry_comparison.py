"""What a dry run saw against a truth of a GPU, as counts and as lines that name each difference."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.benchmarks.truths import variation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tests.gpu.observe_operators import Observed


@dataclass(slots=True)
class Share:
    """So many of so many."""

    part: int = 0
    whole: int = 0

    def add(self, *, holds: bool) -> bool:
        """Count one more, and hand on whether it holds."""
        self.part += holds
        self.whole += 1
        return holds

    def __add__(self, other: Share) -> Share:
        return Share(self.part + other.part, self.whole + other.whole)

    def __str__(self) -> str:
        return f"{self.part:,} of {self.whole:,}"


@dataclass(slots=True)
class Comparison:
    """How far one library's dry run agrees with the GPU.

    `operators` are those that run at all shapes that they ran at on the GPU. `per_call` are constexprs that vary on
    both, `fixed` those that vary dry and not on the GPU, `values` those with the same set of values. `kernels` are
    those with as many variants, `keys` tuned kernels with as many keys. `cpu_ms` are of a call.
    """

    library: str
    operators: Share = field(default_factory=Share)
    per_call: Share = field(default_factory=Share)
    fixed: Share = field(default_factory=Share)
    values: Share = field(default_factory=Share)
    kernels: Share = field(default_factory=Share)
    keys: Share = field(default_factory=Share)
    cpu_ms: list[float] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)

    def shares(self) -> tuple[Share, ...]:
        return self.operators, self.per_call, self.fixed, self.values, self.kernels, self.keys

    def judge_constexpr(self, where: str, true: set[str], dry: set[str], *, whole: bool = True) -> None:
        """Count one constexpr; `true` is not all that the GPU saw where `whole` is false."""
        how = variation(true)
        if how == "per_call" and not self.per_call.add(holds=variation(dry or {""}) == "per_call"):
            self.differences.append(f"{where}: per call on the GPU, dry {sorted(dry)}")
        if how == "fixed":
            self.fixed.add(holds=len(dry) > 1)
        if not self.values.add(holds=dry == true if whole else dry >= true):
            self.differences.append(f"{where}: on the GPU alone {sorted(true - dry)}, dry alone {sorted(dry - true)}")

    def judge_operator(self, name: str, dry: Observed) -> None:
        """Count one operator: it runs at all the shapes that it ran at on the GPU."""
        self.cpu_ms += [dry["cpu_ms"]] if "cpu_ms" in dry else []
        failures = dry.get("failures", {"": dry.get("ended", "")})
        if not self.operators.add(holds=not failures):
            self.differences.append(f"{self.library} {name}: {next(iter(failures.items()))}")


def compare_operators(library: str, truth: Mapping[str, Observed], dry: Mapping[str, Observed]) -> Comparison:
    """Compare operator by operator, those that ran on the GPU."""
    comparison = Comparison(library)
    for operator, true in truth.items():
        comparison.judge_operator(operator, dry[operator])
        seen = dry[operator].get("kernels", {})
        for kernel, expected in true["kernels"].items():
            where = f"{library} {operator} {kernel}"
            found = seen.get(kernel, {"variants": 0, "constexpr": {}})
            if not comparison.kernels.add(holds=found["variants"] == expected["variants"]):
                comparison.differences.append(f"{where}: {expected['variants']} variants, dry {found['variants']}")
            for parameter, values in expected["constexpr"].items():
                comparison.judge_constexpr(
                    f"{where} {parameter}", set(values), set(found["constexpr"].get(parameter, ()))
                )
        for kernel, keys in true["tunings"].items():
            found_keys = dry[operator].get("tunings", {}).get(kernel, 0)
            if not comparison.keys.add(holds=found_keys == keys):
                comparison.differences.append(f"{library} {operator} {kernel}: {keys} keys, dry {found_keys}")
        extra = seen.keys() - true["kernels"].keys()
        comparison.differences += [f"{library} {operator} {kernel}: dry alone" for kernel in sorted(extra)]
    return comparison


def compare_package(
    library: str, truth: Mapping[str, Any], dry: Mapping[str, Observed], *, one_process: bool
) -> Comparison:
    """Compare kernel by kernel to a truth that has a whole package's, and only the first of many values.

    The truth counts the variants of each operator's process, or of all operators where they ran in `one_process`.
    Kernels that the library or torch.compile writes while it runs are left out: their names are of one process.
    """
    comparison = Comparison(library)
    keys: dict[str, Counter[str]] = defaultdict(Counter)
    values: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for operator, observed in dry.items():
        comparison.judge_operator(operator, observed)
        for kernel, found in observed.get("kernels", {}).items():
            keys[kernel] |= Counter(key if one_process else f"{operator} {key}" for key in found["keys"])
            for parameter, seen in found["constexpr"].items():
                values[kernel][parameter] |= set(seen)
    for kernel, expected in truth.items():
        if expected.get("generated") or "path" not in expected or kernel.startswith("torch._inductor."):
            continue
        if not comparison.kernels.add(holds=keys[kernel].total() == expected["compiles"]):
            comparison.differences.append(f"{kernel}: {expected['compiles']} variants, dry {keys[kernel].total()}")
        for parameter, watched in expected["constexpr"].items():
            whole = len(watched["values"]) == watched["distinct"]
            comparison.judge_constexpr(
                f"{kernel} {parameter}", set(watched["values"]), values[kernel][parameter], whole=whole
            )
    return comparison


COLUMNS = (
    "operators",
    "per call seen",
    "fixed that vary",
    "value sets equal",
    "kernels' variants",
    "tuning keys",
    "ms",
)


def describe_table(comparisons: Iterable[Comparison]) -> str:
    """A table in Markdown: a row for each library, for all, and for all without that of the most operators."""
    rows = list(comparisons)
    lines = [f"| library | {' | '.join(COLUMNS)} |", f"|{'---|' * (len(COLUMNS) + 1)}"]
    lines += [_row(one.library, [one]) for one in rows]
    if len(rows) > 1:
        largest = max(rows, key=lambda one: one.values.whole)
        lines += [_row("all", rows), _row(f"without {largest.library}", [one for one in rows if one is not largest])]
    return "\n".join(lines)


def _row(title: str, comparisons: list[Comparison]) -> str:
    columns = [sum(shares, Share()) for shares in zip(*(one.shares() for one in comparisons), strict=True)]
    times = sorted(ms for one in comparisons for ms in one.cpu_ms)
    median = f"{times[len(times) // 2]:.1f}" if times else "-"
    return f"| {title} | {' | '.join(map(str, columns))} | {median} |"
