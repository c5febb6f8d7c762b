"""A home of its own for each machine that is made sick."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.machine.sick import clean_environment, make_site

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages that are installed here, without triton and torch."""
    return make_site(tmp_path_factory.mktemp("site"))


@pytest.fixture
def machine(tmp_path: Path, site: Path) -> dict[str, str]:
    """The variables of a process with an empty home and nothing of Triton's."""
    home = tmp_path / "home"
    home.mkdir()
    return clean_environment(home, site)
