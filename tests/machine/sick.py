"""Machines made sick for real: a process with its own variables, packages, drivers and mounts, and what `env` says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REPOSITORY = Path(__file__).parents[2]
# The packages of this Python that a made machine does not have, unless it is given its own.
LEFT_OUT = ("triton", "pytorch_triton", "torch")
PRIVATE = ("TRITON_", "CUDA_", "HIP_", "ROCR_", "TORCH", "PYTORCH_", "LD_LIBRARY_PATH")
# Without the packages of this Python, whose places are not on PYTHONPATH.
DOCTOR = (sys.executable, "-S", "-m", "triton_doctor")

# The few functions of nvml.h that are asked, for one GPU of the capability and memory that the compiler is told.
NVML_SOURCE = """
#include <string.h>
typedef struct { unsigned long long total, free, used; } memory_t;
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) { *device = (void *)1; return index; }
int nvmlSystemGetDriverVersion(char *text, unsigned size) { strncpy(text, "580.1", size); return 0; }
int nvmlDeviceGetName(void *device, char *text, unsigned size) { strncpy(text, "NVIDIA Test", size); return 0; }
int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor) {
  *major = ARCH / 10; *minor = ARCH % 10; return 0;
}
int nvmlDeviceGetMemoryInfo(void *device, memory_t *memory) {
  memory->total = 80000000000ULL; memory->free = FREE; memory->used = memory->total - memory->free; return 0;
}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What `env --output-format json` said, by code."""

    status: int
    document: dict[str, Any]

    @property
    def codes(self) -> set[str]:
        return {finding["code"] for finding in self.document["findings"]}

    def finding(self, code: str) -> dict[str, Any]:
        return next(finding for finding in self.document["findings"] if finding["code"] == code)


def make_site(folder: Path) -> Path:
    """The packages that are installed here, without triton and torch, as links in `folder`, which is returned."""
    for item in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if not item.name.lower().startswith(LEFT_OUT):
            (folder / item.name).symlink_to(item)
    return folder


def clean_environment(home: Path, site: Path) -> dict[str, str]:
    """This process's variables without those that matter, with `home` as HOME and the packages of `site`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(PRIVATE)}
    return kept | {"HOME": str(home), "PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(site)])}


def ask_env(environment: Mapping[str, str], *arguments: str, before: Sequence[str] = ()) -> Said:
    """Run `env` in a process of its own, behind the words `before`: `unshare -m ...`."""
    done = subprocess.run(
        [*before, *DOCTOR, "env", "--output-format", "json", *arguments],
        env=environment,
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in {0, 1}, done.stderr
    return Said(status=done.returncode, document=json.loads(done.stdout))


def make_nvml(folder: Path, *, arch: int, free_bytes: int = 79_000_000_000) -> Path:
    """A driver library for one GPU in `folder`, which is returned for LD_LIBRARY_PATH."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler to make a driver library with")
    folder.mkdir(parents=True, exist_ok=True)
    defines = [f"-DARCH={arch}", f"-DFREE={free_bytes}ULL"]
    command = [compiler, "-shared", "-fPIC", *defines, "-x", "c", "-", "-o", str(folder / "libnvidia-ml.so.1")]
    subprocess.run(command, input=NVML_SOURCE, text=True, check=True)
    return folder


def make_distribution(folder: Path, name: str, version: str) -> Path:
    """An installed distribution `name` that brings a package triton into `folder`, which is returned."""
    package, metadata = folder / "triton", folder / f"{name.replace('-', '_')}-{version}.dist-info"
    for path in (package, metadata):
        path.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text(f"__version__ = '{version}'\n")
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (metadata / "RECORD").write_text("triton/__init__.py,,\n")
    return folder


def in_own_mounts(script: str) -> list[str]:
    """Words that run what follows them after a shell `script`, in a mount namespace; skips where there may be none."""
    words = ["unshare", "--mount", "--map-root-user"]
    shell = [*words, "sh", "-ec", f'{script}; exec "$@"', "sh"]
    if shutil.which("unshare") is None or subprocess.run([*shell, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user may not make a mount namespace")
    return shell


def as_its_owner() -> list[str]:
    """Words that run what follows them without root's right to write everywhere; none where this user has none."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root may write everywhere here")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search"]
