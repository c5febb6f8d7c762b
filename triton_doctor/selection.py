"""Which rules are on: `--select` and `--ignore`, or their settings, as codes and prefixes of codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.rulebook import page_paths, unknown_rule

if TYPE_CHECKING:
    from collections.abc import Sequence


def is_selected(code: str, *, select: Sequence[str], ignore: Sequence[str]) -> bool:
    """Whether `code` is on. The longer prefix decides, `ignore` where they are equal; no `select` selects all."""
    return longest_prefix(code, select or ("TRD",)) > longest_prefix(code, ignore)


def longest_prefix(code: str, prefixes: Sequence[str]) -> int:
    """The length of the longest of `prefixes` that `code` begins with; 0 for none."""
    return max((len(prefix) for prefix in prefixes if code.startswith(prefix)), default=0)


def require_known(prefixes: Sequence[str], *, place: str) -> None:
    """Raise DoctorError for the first of `prefixes` that no rule begins with; `place` says where they stood."""
    for prefix in prefixes:
        if not prefix or not any(code.startswith(prefix) for code in page_paths()):
            raise unknown_rule(prefix or "``", place=f" in {place}")
