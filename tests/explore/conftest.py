"""Fork servers, one for each way in which this machine can confine their children."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.tritons import skip_without
from triton_doctor.explore.fork_client import ForkServer
from triton_doctor.explore.sandbox import ALL_MEANS, probe_walls

HOSTILE = Path(__file__).parent / "hostile.py"


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(ALL_MEANS, id="all means", marks=pytest.mark.xdist_group("sandbox")),
        pytest.param(("landlock",), id="landlock", marks=pytest.mark.xdist_group("sandbox by landlock")),
    ],
)
def server(request, tmp_path_factory):
    """A server whose children are confined; where a container refuses namespaces, both are confined by Landlock."""
    skip_without("torch", "triton")
    if not probe_walls(str(tmp_path_factory.mktemp("probe")), request.param).are_there:
        pytest.skip("this kernel has neither namespaces nor Landlock")
    with ForkServer(means=request.param) as started:
        yield started


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """The copy of a project with one module, which is hostile."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copy(HOSTILE, folder)
    return str(folder)
