"""A user's project, for each test."""

import pytest

from tests.plugin.project import Project
from tests.runtime.tritons import NEWEST


@pytest.fixture
def project(tmp_path):
    """A Project with kernels.py: `scale`, whose `n` is a constexpr, `shift`, whose `n` is not, and `run`."""
    return Project(tmp_path, NEWEST)
