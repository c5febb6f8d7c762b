"""Which Triton a project's requirements pin, and what TRD210 says of a kernel that this Triton compiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from triton_doctor.finding import Severity
from triton_doctor.settings import Settings
from triton_doctor.static.scan import scan
from triton_doctor.static.sources.pinned_triton import find_pinned_triton
from triton_doctor.static.sources.workspace import find_workspace
from triton_doctor.variables import Version

KERNEL = """
import triton
import triton.language as tl

EPS: tl.constexpr = 1
{name} = 2


@triton.jit
def k(x_ptr):
    tl.store(x_ptr, {name})
"""


@pytest.mark.parametrize(
    ("path", "text", "pinned"),
    [
        pytest.param("requirements.txt", "triton==2.1.0\n", Version(2, 1), id="triton"),
        pytest.param("requirements-cuda.txt", "torch == 2.3.0\n", Version(2, 3), id="torch brings its own"),
        pytest.param("requirements/gpu.txt", "torch==2.7.1+cu128\n", Version(3, 3), id="a folder of requirements"),
        pytest.param("setup.py", 'setup(install_requires=["triton==2.1.0"])\n', Version(2, 1), id="setup.py"),
        pytest.param("pyproject.toml", '[project]\ndependencies = ["torch==2.1.2"]\n', Version(2, 1), id="pyproject"),
        pytest.param("requirements.txt", "torch==2.3.0\ntriton==3.1.0\n", Version(3, 1), id="triton's own pin counts"),
        pytest.param("requirements.txt", "triton==2.1.0\ntriton==3.2.0\n", Version(3, 2), id="the newest of several"),
        pytest.param("requirements.txt", "triton>=2.1\n", None, id="a range"),
        pytest.param("requirements.txt", "# triton==2.1.0\n", None, id="a comment"),
        pytest.param("requirements.txt", "pytorch-triton==2.1.0\ntorch-scatter==2.1.2\n", None, id="another package"),
        pytest.param("vendored/requirements.txt", "triton==2.1.0\n", None, id="somebody else's requirements"),
    ],
)
def test_pin_is_read_from_the_requirements_at_the_root(
    tmp_path: Path, path: str, text: str, pinned: Version | None
) -> None:
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / path).write_text(text, encoding="utf-8")

    assert find_pinned_triton(tmp_path) == pinned


@pytest.mark.parametrize(
    ("name", "pin", "severity"),
    [
        pytest.param("PLAIN", "", Severity.ERROR, id="no pin"),
        pytest.param("PLAIN", "triton==2.1.0", Severity.INFO, id="a global, before 3.0"),
        pytest.param("PLAIN", "triton==3.0.0", Severity.ERROR, id="a global, since 3.0"),
        pytest.param("EPS", "triton==3.2.0", Severity.INFO, id="an annotated one, before 3.3"),
        pytest.param("EPS", "triton==3.3.0", Severity.ERROR, id="an annotated one, since 3.3"),
    ],
)
def test_global_that_the_pinned_triton_lets_a_kernel_read_is_info(
    tmp_path: Path, name: str, pin: str, severity: Severity
) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "requirements.txt").write_text(pin, encoding="utf-8")
    source = KERNEL.replace("{name} = 2", "PLAIN = 2").format(name=name)
    (tmp_path / "kernels.py").write_text(source, encoding="utf-8")
    workspace = find_workspace([Path()], Settings(root=tmp_path), cwd=tmp_path)

    found = scan(list(workspace.files), workspace.settings, cwd=tmp_path, projects=workspace.projects).findings

    (finding,) = [one for one in found if one.code == "TRD210"]
    assert finding.severity is severity
    assert ("; the project pins Triton" in finding.message) is (severity is Severity.INFO)
