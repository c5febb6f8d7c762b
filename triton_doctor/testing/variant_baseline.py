"""The variants of kernels that a project knows and accepts, in a file that reads well when it changes."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from triton_doctor.errors import DoctorError
from triton_doctor.regular_files import read_regular_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from triton_doctor.testing.variants import Variant

SCHEMA = 1
REWRITE = "--triton-doctor-update-baseline writes it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What is known: (kernel, variant). `again` are those that one test compiled more than once.

    `made_with` says on which triton and target; it is compared with nothing.
    """

    variants: frozenset[tuple[str, Variant]]
    again: frozenset[tuple[str, Variant]] = frozenset()
    made_with: tuple[tuple[str, str], ...] = ()

    def unknown(self, counts: Mapping[tuple[str, Variant], int]) -> list[tuple[str, Variant]]:
        """Return the (kernel, variant) of one test's `counts` that are new, or newly compiled more than once."""
        return [
            known
            for known, count in counts.items()
            if known not in self.variants or (count > 1 and known not in self.again)
        ]

    def of(self, kernel: str) -> list[Variant]:
        """Return the known variants of `kernel`, sorted."""
        return sorted(variant for name, variant in self.variants if name == kernel)


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Write one variant a line, sorted, so that the file has readable diffs.

    Raises DoctorError if it cannot be written.
    """
    tables = {"variants": _by_kernel(baseline.variants), "again": _by_kernel(baseline.again)}
    lines = [f'  "schema": {SCHEMA}', f'  "made_with": {json.dumps(dict(baseline.made_with))}']
    lines += [f'  "{name}": {{{_table(table)}}}' for name, table in tables.items()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    except OSError as error:
        raise DoctorError(f"cannot write {path}: {error.strerror}", hint="name a file in a folder of yours") from error


def read_baseline(path: Path) -> Baseline:
    """Read the baseline at `path`. Raises DoctorError if it does not exist or is not a baseline."""
    try:
        data = json.loads(read_regular_file(path))
        if data["schema"] != SCHEMA:
            raise DoctorError(f"{path} has schema {data['schema']}, this triton-doctor reads {SCHEMA}", hint=REWRITE)
        return Baseline(
            variants=frozenset(_pairs(data["variants"])),
            again=frozenset(_pairs(data["again"])),
            made_with=tuple(data["made_with"].items()),
        )
    except OSError as error:
        raise DoctorError(f"cannot read the baseline {path}: {error.strerror}", hint=REWRITE) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DoctorError(f"{path} is no baseline", hint=REWRITE) from error


def _by_kernel(variants: Iterable[tuple[str, Variant]]) -> dict[str, list[str]]:
    lines: defaultdict[str, list[str]] = defaultdict(list)
    for kernel, variant in sorted(variants):
        lines[kernel].append(json.dumps(dict(variant), ensure_ascii=False))
    return lines


def _table(lines: Mapping[str, Iterable[str]]) -> str:
    kernels = [
        f"    {json.dumps(kernel)}: [\n" + ",\n".join(f"      {line}" for line in of_kernel) + "\n    ]"
        for kernel, of_kernel in lines.items()
    ]
    return "\n" + ",\n".join(kernels) + "\n  " if kernels else ""


def _pairs(table: Mapping[str, Iterable[Mapping[str, str]]]) -> Iterable[tuple[str, Variant]]:
    for kernel, variants in table.items():
        for variant in variants:
            yield kernel, tuple(variant.items())
