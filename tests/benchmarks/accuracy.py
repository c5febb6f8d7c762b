"""What `check` predicts against the values that real runs showed: `python -m tests.benchmarks.accuracy [PACKAGE...]`.

fixtures/truth/ holds, for each compile-time parameter of the kernels that ran, how it was seen to vary on a GPU while
batch and length varied. PACKAGE is the name of one of them; without any, those that were there while the value flow was
written. HELD_OUT were read by nobody before they were judged: fixtures/recordings/README.md has what came of it. A
package without wheels must lie unpacked in the cache folder.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from tests.benchmarks.packages import FLAG_GEMS, LIGER, ROOT, Package, check

if TYPE_CHECKING:
    from collections.abc import Iterable

# path, kernel, parameter
Key: TypeAlias = tuple[str, str, str]

MOST_FALSE_ALARMS = 4
HELD_OUT = (
    Package("adasplash", "0.2.2"),
    Package("conch-triton-kernels", "1.3"),
    Package("lightning-attn", "0.0.5"),
    Package("lmdeploy", "0.18.0"),
    Package("mamba-ssm", "2.3.2.post1"),
    Package("mlstm-kernels", "2.0.6"),
    Package("torchao", "0.18.0"),
    Package("trinix", "0.1.4"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A parameter that was watched; `values` are some of those it took, and `generated` kernels are in no file."""

    key: Key
    how: str
    values: tuple[str, ...]
    generated: bool


def read_truth(package: Package) -> list[Seen]:
    """The parameters of `package` that were watched on a GPU."""
    return [
        Seen(
            key=(kernel.get("path", ""), qualified.rpartition(":")[2], parameter),
            how=watched["seen"],
            values=tuple(watched["values"]),
            generated=kernel.get("generated", False),
        )
        for qualified, kernel in _watched(package)["kernels"].items()
        for parameter, watched in kernel["constexpr"].items()
    ]


def read_tuning(package: Package) -> dict[tuple[str, str], bool]:
    """The kernels of `package` that were tuned on a GPU, by path and name, and whether their key varied per call."""
    return {
        (f"{module.replace('.', '/')}.py", kernel): any(one["seen"] == "per_call" for one in tuned["key"].values())
        for qualified, tuned in _watched(package).get("autotune", {}).items()
        for module, _, kernel in [qualified.partition(":")]
    }


def _watched(package: Package) -> dict[str, Any]:
    path = ROOT / "fixtures" / "truth" / f"{package.name}-{package.version}.json"
    truth: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return truth


def alarms(findings: Iterable[dict[str, Any]]) -> dict[Key, dict[str, Any]]:
    """The findings about recompiles at warning or above, by what they are about."""
    return {
        (finding["kernel_path"], finding["kernel"], finding["parameter"]): finding
        for finding in findings
        if finding["code"].startswith("TRD2") and finding["severity"] != "info" and finding["parameter"]
    }


def judge(package: Package) -> None:
    """Print recall on what was seen to vary, and the alarms on what was not, by name."""
    report, _ = check(package)
    alarmed = alarms(report["findings"])
    by_how: dict[str, list[Seen]] = defaultdict(list)
    for seen in read_truth(package):
        by_how[seen.how].append(seen)
    print(f"{package.name} {package.version}")
    found = [seen for seen in by_how["per_call"] if seen.key in alarmed]
    print(f"  per_call: {len(found)} of {len(by_how['per_call'])} found")
    for seen in by_how["per_call"]:
        if seen.key not in alarmed:
            print(f"    missed {describe(seen)}")
    for how, limit in (("fixed", f" (at most {MOST_FALSE_ALARMS})"), ("few", "")):
        false = [seen for seen in by_how[how] if seen.key in alarmed]
        print(f"  {how}: {len(false)} of {len(by_how[how])} at warning or above{limit}")
        for seen in false:
            finding = alarmed[seen.key]
            print(f"    {finding['path']}:{finding['line']}: {finding['code']} {describe(seen)}")
    judge_tuning(package, report["findings"])


def judge_tuning(package: Package, findings: Iterable[dict[str, Any]]) -> None:
    """Print how many kernels whose autotune key varied TRD301 found, and how many of those whose key stayed."""
    told = {(one["kernel_path"], one["kernel"]) for one in findings if one["autotune_keys"]}
    tuned = read_tuning(package)
    for title, varied in (("key per_call", True), ("key fixed", False)):
        kernels = [kernel for kernel, varies in tuned.items() if varies is varied]
        if kernels:
            print(f"  {title}: TRD301 on {sum(kernel in told for kernel in kernels)} of {len(kernels)}")


def describe(seen: Seen) -> str:
    """`path kernel parameter (values)`."""
    return f"{' '.join(seen.key)} ({', '.join(seen.values[:6])})"


def main() -> None:
    """Judge the packages that are asked for."""
    wanted = sys.argv[1:] or [LIGER.name, FLAG_GEMS.name]
    for package in (LIGER, FLAG_GEMS, *HELD_OUT):
        if package.name in wanted:
            judge(package)


if __name__ == "__main__":
    main()
