"""A toolchain with something missing or too old: each made so for real."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.machine.sick import ask_env, in_own_mounts, make_distribution, make_nvml
from tests.runtime.tritons import triton_folder
from triton_doctor.machine.diagnose import diagnose
from triton_doctor.machine.facts import Gpu, Machine, Ptxas


def with_triton(machine: dict[str, str], folder: Path) -> dict[str, str]:
    return machine | {"PYTHONPATH": os.pathsep.join([machine["PYTHONPATH"], str(folder)])}


@pytest.fixture
def installed(machine: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """A machine with a triton, of which nothing is asked but that it is there."""
    return with_triton(machine, make_distribution(tmp_path / "site", "triton", "3.6.0"))


def test_path_without_a_compiler_is_told(installed: dict[str, str], tmp_path: Path) -> None:
    said = ask_env(installed | {"PATH": str(tmp_path)})

    assert said.finding("TRD621")["evidence"] == "neither gcc nor clang is on PATH"


def test_compiler_that_cc_names_must_be_there(installed: dict[str, str]) -> None:
    said = ask_env(installed | {"CC": "/opt/none/gcc"})

    assert said.finding("TRD621")["evidence"] == "CC is /opt/none/gcc, and that does not run"


def test_python_without_headers_is_told(installed: dict[str, str], tmp_path: Path) -> None:
    # The same Python under another home, that has its library and not its headers.
    home, library = tmp_path / "python", Path(sysconfig.get_paths()["stdlib"])
    (home / library.parent.name).mkdir(parents=True)
    (home / library.parent.name / library.name).symlink_to(library)

    said = ask_env(installed | {"PYTHONHOME": str(home)})

    assert said.document["facts"]["headers_expected"].startswith(str(home))
    assert said.finding("TRD622")["command"].endswith(f"python{sys.version_info.major}.{sys.version_info.minor}-dev")


def test_without_a_gpu_what_is_missing_is_a_warning(installed: dict[str, str], tmp_path: Path) -> None:
    if ask_env(installed).document["facts"]["gpus"]:
        pytest.skip("there is a GPU")

    said = ask_env(installed | {"PATH": str(tmp_path)})

    assert said.finding("TRD621")["severity"] == "warning"


def test_with_a_gpu_what_is_missing_is_an_error(installed: dict[str, str], tmp_path: Path) -> None:
    library = make_nvml(tmp_path / "driver", arch=90)

    said = ask_env(installed | {"PATH": str(tmp_path), "LD_LIBRARY_PATH": str(library)})

    assert said.finding("TRD621")["severity"] == "error"


def test_gpu_is_told_without_a_context(installed: dict[str, str], tmp_path: Path) -> None:
    library = make_nvml(tmp_path / "driver", arch=90)

    said = ask_env(installed | {"LD_LIBRARY_PATH": str(library)})

    assert said.document["facts"]["gpus"] == [
        {
            "name": "NVIDIA Test",
            "backend": "cuda",
            "arch": "90",
            "memory_bytes": 80_000_000_000,
            "free_bytes": 79_000_000_000,
        }
    ]
    assert said.document["facts"]["driver"] == "580.1"


def test_driver_library_is_looked_for_where_triton_does(installed: dict[str, str], tmp_path: Path) -> None:
    library = make_nvml(tmp_path / "driver", arch=90)
    machine = installed | {"LD_LIBRARY_PATH": str(library), "TRITON_LIBCUDA_PATH": str(library)}

    assert "TRD623" in ask_env(machine).codes
    (library / "libcuda.so.1").write_bytes(b"")
    assert "TRD623" not in ask_env(machine).codes


def test_library_path_is_not_read_where_ldconfig_cannot_run(installed: dict[str, str], tmp_path: Path) -> None:
    library = make_nvml(tmp_path / "driver", arch=90)
    (library / "libcuda.so.1").write_bytes(b"")
    machine = installed | {"LD_LIBRARY_PATH": str(library)}
    without_ldconfig = in_own_mounts("mount --bind /dev/null /sbin/ldconfig")

    missing = ask_env(machine, before=without_ldconfig).finding("TRD623")

    assert "TRD623" not in ask_env(machine).codes
    assert "/sbin/ldconfig cannot run" in missing["evidence"]
    assert missing["remedy"].startswith("set TRITON_LIBCUDA_PATH to its folder")
    assert missing["command"] is None
    named = machine | {"TRITON_LIBCUDA_PATH": str(library)}
    assert "TRD623" not in ask_env(named, before=without_ldconfig).codes


def test_folder_that_triton_is_given_is_the_only_place(installed: dict[str, str], tmp_path: Path) -> None:
    library = make_nvml(tmp_path / "driver", arch=90)
    (library / "libcuda.so.1").write_bytes(b"")
    machine = installed | {"LD_LIBRARY_PATH": str(library)}

    # A folder is what nvidia/driver.py takes: not the library itself.
    for named in (tmp_path, library / "libcuda.so.1"):
        missing = ask_env(machine | {"TRITON_LIBCUDA_PATH": str(named)}).finding("TRD623")
        assert "TRITON_LIBCUDA_PATH names a place without it" in missing["evidence"]


def test_gpu_with_little_free_memory_is_told(installed: dict[str, str], tmp_path: Path) -> None:
    library = make_nvml(tmp_path / "driver", arch=90, free_bytes=600_000_000)

    said = ask_env(installed | {"LD_LIBRARY_PATH": str(library)})

    assert said.finding("TRD631")["message"] == "GPU 0 has little free memory: 0.6 of 74.5 GiB"


def test_ptxas_of_a_triton_older_than_the_gpu_is_told(machine: dict[str, str], tmp_path: Path) -> None:
    library = make_nvml(tmp_path / "driver", arch=121)

    said = ask_env(with_triton(machine, triton_folder("3.2.0")) | {"LD_LIBRARY_PATH": str(library)})

    assert "does not know sm_121, the NVIDIA Test" in said.finding("TRD624")["message"]


def test_old_ptxas_in_the_place_of_a_newer_is_told(machine: dict[str, str], tmp_path: Path) -> None:
    library = make_nvml(tmp_path / "driver", arch=121)
    newer = with_triton(machine, triton_folder("3.6.0")) | {"LD_LIBRARY_PATH": str(library)}
    old = str(triton_folder("3.2.0") / "triton" / "backends" / "nvidia" / "bin" / "ptxas")

    assert "TRD624" not in ask_env(newer).codes
    said = ask_env(newer | {"TRITON_PTXAS_BLACKWELL_PATH": old})

    assert said.finding("TRD624")["command"] == "unset TRITON_PTXAS_BLACKWELL_PATH"


@pytest.mark.parametrize(
    ("version", "arch", "does_nothing"),
    [("3.5.1", 121, False), ("3.6.0", 90, False), ("3.6.0", 121, True), ("3.9.0", 80, False), ("3.9.0", 90, True)],
)
def test_ptxas_path_does_nothing_where_triton_takes_the_other(
    machine: dict[str, str], tmp_path: Path, version: str, arch: int, does_nothing: bool
) -> None:
    library = make_nvml(tmp_path / "driver", arch=arch)
    folder = triton_folder(version)
    own = str(folder / "triton" / "backends" / "nvidia" / "bin" / "ptxas")
    sick = with_triton(machine, folder) | {"LD_LIBRARY_PATH": str(library), "TRITON_PTXAS_PATH": own}
    said = ask_env(sick)

    program = "from triton.backends.nvidia.compiler import get_ptxas as get; import sys; print(get({}).path)"
    asked = program.format("" if version < "3.6" else arch)
    taken = subprocess.run([sys.executable, "-c", asked], env=sick, capture_output=True, text=True, check=True)

    assert (taken.stdout.strip() != own) is does_nothing
    assert ("TRD605" in said.codes) is does_nothing
    assert "TRD605" not in ask_env(sick | {"TRITON_PTXAS_BLACKWELL_PATH": own}).codes


def test_path_that_is_no_ptxas_is_ignored_as_triton_does(machine: dict[str, str]) -> None:
    said = ask_env(with_triton(machine, triton_folder("3.6.0")) | {"TRITON_PTXAS_PATH": "/bin/true"})

    assert said.finding("TRD604")["message"] == "`TRITON_PTXAS_PATH=/bin/true` is ignored: it does not run as ptxas"


def test_torch_for_another_gpu_leaves_no_driver(installed: dict[str, str], tmp_path: Path) -> None:
    library = make_nvml(tmp_path / "driver", arch=90)
    (tmp_path / "site" / "torch").mkdir()
    (tmp_path / "site" / "torch" / "__init__.py").write_text("")
    (tmp_path / "site" / "torch" / "version.py").write_text("cuda: str | None = None\nhip: str | None = '6.4'\n")

    said = ask_env(installed | {"LD_LIBRARY_PATH": str(library)})

    assert "was built for hip" in said.finding("TRD627")["evidence"]


def test_missing_headers_do_not_hide_an_old_ptxas() -> None:
    old = Ptxas(path="/p", release="12.8", architectures=("90", "120"))
    machine = Machine(headers=None, gpus=(Gpu(name="NVIDIA GB10", arch="121"),), ptxas=(old,))

    assert {"TRD622", "TRD624"} <= {found.code for found in diagnose(machine)}
