"""What `check` predicts against a recording of the same package: `python -m tests.benchmarks.truths RECORDING PACKAGE`.

PACKAGE is the folder that holds the unpacked wheel. A parameter is named by the module that it was seen in and by its
kernel, since the paths of a recording are those of another machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from triton_doctor import Recording

if TYPE_CHECKING:
    from collections.abc import Iterable

# module, kernel, parameter
Key: TypeAlias = tuple[str, str, str]

FEWEST_PER_CALL = 5


def variation(values: Iterable[str]) -> str:
    """fixed, few or per_call, as corpus/truth defines them: five or more that are not all powers of two vary."""
    distinct = set(values)
    if len(distinct) == 1:
        return "fixed"
    if len(distinct) < FEWEST_PER_CALL or all(map(is_power_of_two, distinct)):
        return "few"
    return "per_call"


def is_power_of_two(text: str) -> bool:
    """Whether `text` is the text of a power of two."""
    return text.isdecimal() and int(text).bit_count() == 1


def values_seen(recording: Recording) -> dict[Key, set[str]]:
    """The values of each declared constexpr over all compiles and loads."""
    seen: dict[Key, set[str]] = defaultdict(set)
    for event in (*recording.compiled, *recording.loaded):
        declared = {name for name, kind in event.key.signature if kind == "constexpr"}
        for name, value in event.key.constants:
            if name in declared:
                seen[event.kernel.module, event.kernel.name, name].add(str(value))
    return dict(seen)


def alarms(package: Path) -> dict[Key, dict[str, Any]]:
    """The findings about recompiles for each value, at any severity, by what they are about."""
    command = (sys.executable, "-m", "triton_doctor", "check", str(package), "--output-format", "json")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return {
        (module_of(finding["kernel_path"], package), finding["kernel"], finding["parameter"]): finding
        for finding in json.loads(done.stdout)["findings"]
        if finding["code"].startswith("TRD2") and finding["variability"] == "per_call" and finding["parameter"]
    }


def module_of(path: str, package: Path) -> str:
    """The name under which the file at `path` is imported where `package` stands on the path."""
    parts = Path(path).resolve().relative_to(package.resolve()).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def main() -> None:
    """Print recall on what was seen to vary, and the alarms on what was not, by name."""
    recording, package = Path(sys.argv[1]), Path(sys.argv[2])
    alarmed = alarms(package)
    by_how: dict[str, dict[Key, set[str]]] = defaultdict(dict)
    for key, values in values_seen(Recording.read(recording)).items():
        by_how[variation(values)][key] = values
    for how in ("per_call", "few", "fixed"):
        named = {key: values for key, values in by_how[how].items() if (key in alarmed) != (how == "per_call")}
        print(f"{how}: {sum(key in alarmed for key in by_how[how])} of {len(by_how[how])} at warning or above")
        for key, values in sorted(named.items()):
            print(f"  {'missed' if how == 'per_call' else 'alarm'} {' '.join(key)} ({', '.join(sorted(values)[:6])})")


if __name__ == "__main__":
    main()
