"""Which Triton a project's requirements pin, and what TRD204 and TRD210 say of a kernel that this Triton compiles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from triton_doctor.finding import Severity
from triton_doctor.settings import Settings
from triton_doctor.static.scan import scan
from triton_doctor.static.sources.pinned_triton import find_pinned_triton, find_required
from triton_doctor.static.sources.workspace import find_workspace
from triton_doctor.variables import Version

if TYPE_CHECKING:
    from triton_doctor.finding import Finding

KERNEL = """
import triton
import triton.language as tl

EPS: tl.constexpr = 1
{name} = 2


@triton.jit
def k(x_ptr):
    tl.store(x_ptr, {name})
"""
LISTED = """
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n"])
def k(x_ptr, n: tl.constexpr):
    tl.store(x_ptr, n)


def launch(x, requests):
    k[(1,)](x, {given})
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
        pytest.param("requirements/npu.txt", "triton-ascend==3.2.1\n", Version(3, 2), id="a build for other chips"),
        pytest.param("requirements.txt", "torch-ascend==3.2.1\n", None, id="no build of torch"),
        pytest.param("python/triton/__init__.py", "__version__ = '3.0.0'\n", Version(3, 0), id="Triton's own tree"),
        pytest.param("requirements.txt", "triton>=2.1\n", None, id="a range"),
        pytest.param("requirements.txt", "# triton==2.1.0\n", None, id="a comment"),
        pytest.param("requirements.txt", "pytorch-triton==2.1.0\ntorch-scatter==2.1.2\n", None, id="another package"),
        pytest.param("vendored/requirements.txt", "triton==2.1.0\n", None, id="somebody else's requirements"),
    ],
)
def test_pin_is_read_from_the_requirements_at_the_root(
    tmp_path: Path, path: str, text: str, pinned: Version | None
) -> None:
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text(text, encoding="utf-8")

    assert find_pinned_triton(tmp_path) == pinned


@pytest.mark.parametrize(
    ("path", "text", "required"),
    [
        pytest.param("requirements.txt", "fastapi\ntriton>=3.2,<3.6\n", ("triton", Version(3, 2)), id="a range"),
        pytest.param("requirements.txt", "vllm\ntorch>=2.6.0\n", ("vllm", Version(3, 2)), id="torch brings its own"),
        pytest.param("requirements.txt", "torch\n", ("torch", None), id="any version"),
        pytest.param("requirements.txt", "-i https://x/whl/cpu\ntorch==2.6.0\n", ("", Version(3, 2)), id="cpu"),
        pytest.param("requirements.txt", "triton-model-analyzer\ntorch_geometric>=2.5\n", ("", None), id="others"),
        pytest.param(
            "pyproject.toml", '[project]\ndependencies = ["triton~=3.3"]\n', ("triton", Version(3, 3)), id="pyproject"
        ),
        pytest.param(
            "pyproject.toml",
            '[tool.poetry.dependencies]\ntorch = "^2.9.1"\n',
            ("torch", Version(3, 5)),
            id="a table of Poetry",
        ),
        pytest.param(
            "setup.cfg", "[options]\ninstall_requires =\n    sglang>=0.4\n", ("sglang", None), id="a list of setup.cfg"
        ),
    ],
)
def test_package_that_brings_triton_and_the_lowest_triton_are_those_of_the_requirements(
    tmp_path: Path, path: str, text: str, required: tuple[str, Version | None]
) -> None:
    (tmp_path / path).write_text(text, encoding="utf-8")

    found = find_required(tmp_path)

    assert found.packages == (((tmp_path / path).as_posix(), required[0]),) * bool(required[0])
    assert found.lowest == required[1]


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
    finding = find(tmp_path, "TRD210", KERNEL.replace("{name} = 2", "PLAIN = 2").format(name=name), pin)

    assert finding.severity is severity
    assert ("; the project pins Triton" in finding.message) is (severity is Severity.INFO)


@pytest.mark.parametrize(
    ("pin", "given", "severity", "message"),
    [
        pytest.param(
            "triton>=3.2",
            "64",
            Severity.ERROR,
            "Triton 3.6 and newer do not compile the kernel, 3.4 and older still compile it for each value",
            id="no pin",
        ),
        pytest.param(
            "triton-ascend==3.2.1",
            "len(requests)",
            Severity.WARNING,
            "Triton 3.2, which the project pins, still compiles the kernel for each value, 3.6 and newer do not",
            id="one that compiles it",
        ),
        pytest.param(
            "triton-ascend==3.2.1",
            "64",
            Severity.INFO,
            "Triton 3.2, which the project pins, still compiles the kernel for each value, 3.6 and newer do not; "
            "no launch is known to change the value",
            id="one that compiles it, once",
        ),
        pytest.param(
            "triton==3.6.0",
            "64",
            Severity.ERROR,
            "Triton 3.6 and newer do not compile the kernel, 3.4 and older still compile it for each value",
            id="one that refuses it",
        ),
    ],
)
def test_listed_constexpr_that_the_pinned_triton_compiles_is_as_grave_as_what_launches_give(
    tmp_path: Path, pin: str, given: str, severity: Severity, message: str
) -> None:
    finding = find(tmp_path, "TRD204", LISTED.format(given=given), pin)

    assert finding.severity is severity
    assert finding.message == f"`do_not_specialize` of `k` names the constexpr `n`: {message}"


def find(root: Path, code: str, source: str, pin: str) -> Finding:
    """The one finding of `code` in a project of `source` whose requirements are `pin`."""
    (root / "pyproject.toml").touch()
    (root / "requirements.txt").write_text(pin, encoding="utf-8")
    (root / "kernels.py").write_text(source, encoding="utf-8")
    workspace = find_workspace([Path()], Settings(root=root), cwd=root)
    found = scan(list(workspace.files), workspace.settings, cwd=root, projects=workspace.projects).findings
    (finding,) = [one for one in found if one.code == code]
    return finding
