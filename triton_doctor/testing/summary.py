"""What a session compiled, by test and kernel, as lines for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from triton_doctor.testing.tally import Row


def summarize(tests: Mapping[str, list[Row]], setups: Mapping[str, list[Row]]) -> Iterator[str]:
    """`tests` are what the tests did, `setups` what their fixtures did, and "imports" for what neither did."""
    for name in dict.fromkeys([*tests, *setups]):
        yield name
        for row in tests.get(name, []):
            yield f"  {_tell(row)}"
        for row in setups.get(name, []):
            yield f"  setup: {_tell(row)}"
    yield f"in tests: {_sum(tests)}"
    yield f"in setup, counted against no test: {_sum(setups)}"


def _tell(row: Row) -> str:
    causes = ", ".join(f"{code} {count}" for code, count in sorted(row["causes"].items()))
    return f"`{row['kernel']}` {_tiers([row])}, {row['milliseconds']:.1f} ms ({causes})"


def _sum(rows: Mapping[str, list[Row]]) -> str:
    every = [row for of_name in rows.values() for row in of_name]
    return f"{_tiers(every)}, {sum(row['milliseconds'] for row in every):.1f} ms"


def _tiers(rows: Iterable[Row]) -> str:
    every = list(rows)
    return f"{sum(row['compiled'] for row in every)} compiled, {sum(row['loaded'] for row in every)} loaded from disk"
