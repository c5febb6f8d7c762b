"""Which tests are skipped where torch or triton is not installed: those that import it, with that reason."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import pytest

from tests import tritons

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ABSENT = "no_such_package_as_this"


@pytest.fixture(autouse=True)
def _absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tritons, "OPTIONAL", (ABSENT, "pytest"))


def test_test_that_imports_what_is_not_installed_is_skipped_with_the_reason() -> None:
    with pytest.raises(ModuleNotFoundError) as caught:
        import no_such_package_as_this  # noqa: F401

    with pytest.raises(pytest.skip.Exception, match=f"needs {ABSENT}, which is not installed"):
        tritons.skip_for_import(caught.value)


def test_import_outside_of_the_tests_is_a_failure(
    write: Callable[..., Path], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("product_of_a_test.py", f"import {ABSENT}\n")
    monkeypatch.syspath_prepend(str(folder))
    with pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module("product_of_a_test")

    tritons.skip_for_import(caught.value)


@pytest.mark.parametrize(
    "words", ["ModuleNotFoundError: No module named '{}'", "triton-doctor: {} is not installed here"]
)
def test_program_that_prints_the_failed_import_is_skipped(words: str) -> None:
    with pytest.raises(pytest.skip.Exception, match=ABSENT):
        tritons.skip_for_output(words.format(ABSENT))


@pytest.mark.parametrize("printed", ["No module named 'pytest'", f"No module named '{ABSENT}.part'", "failed"])
def test_program_that_fails_for_another_reason_is_not_skipped(printed: str) -> None:
    tritons.skip_for_output(printed)
