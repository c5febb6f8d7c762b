"""`check --triton-version`: settings are read as that Triton reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome


@pytest.mark.parametrize(("version", "status"), [("3.2", 0), ("3.3.1", 0), ("3.4", 1), ("3.9", 1)])
def test_word_counts_as_on_in_versions_that_take_it(
    folder: Path, doctor: Callable[..., Outcome], version: str, status: int
) -> None:
    (folder / "run.sh").write_text("export TRITON_INTERPRET=true\n", encoding="utf-8")

    outcome = doctor("check", "run.sh", "--triton-version", version)

    assert outcome.status == status


def test_what_is_no_version_ends_with_a_hint(folder: Path, doctor: Callable[..., Outcome]) -> None:
    outcome = doctor("check", ".", "--triton-version", "newest")

    assert outcome.status == 2
    assert "`newest` is no version of triton" in outcome.err
