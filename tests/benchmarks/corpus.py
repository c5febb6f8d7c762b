"""What `check` finds in four real packages: `python -m tests.benchmarks.corpus`."""

from __future__ import annotations

from collections import Counter

from tests.benchmarks.packages import PACKAGES, check

COLUMNS = ("files_seen", "files_read", "kernels", "launches", "launches_resolved")


def main() -> None:
    """Print a row for each package, then its findings by code and severity."""
    print(f"{'package':22}" + "".join(f"{column:>18}" for column in COLUMNS) + f"{'CPU s':>8}")
    by_package: dict[str, Counter[str]] = {}
    for package in PACKAGES:
        report, measured = check(package)
        title = f"{package.name} {package.version}"
        counts = "".join(f"{report['summary'][column]:18,}" for column in COLUMNS)
        print(f"{title:22}{counts}{measured.cpu_s:8.2f}", flush=True)
        by_package[title] = Counter(f"{finding['code']} {finding['severity']}" for finding in report["findings"])
    kinds = sorted(set().union(*by_package.values()))
    print("\n" + f"{'findings':22}" + "".join(f"{kind:>18}" for kind in kinds))
    for title, counted in by_package.items():
        print(f"{title:22}" + "".join(f"{counted[kind]:18,}" for kind in kinds))


if __name__ == "__main__":
    main()
