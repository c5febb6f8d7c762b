"""A project of a user's, whose tests run in a pytest of their own, on a real triton and the compile-only target."""

import os
import subprocess
import sys
import textwrap
import tomllib

from tests.runtime.tritons import REPOSITORY, Runner, triton_folder
from tests.tritons import skip_for_output

# A pointer of Triton's own: the import of torch would take most of the time of a test.
KERNELS = """
import triton
import triton.language as tl
from triton.runtime.jit import MockTensor


@triton.jit
def scale(x_ptr, n: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(x_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=inside), mask=inside)


@triton.jit
def shift(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(x_ptr + offsets, 2 + tl.load(x_ptr + offsets, mask=inside), mask=inside)


x = MockTensor("float32")


def run(kernel, *lengths):
    for n in lengths:
        kernel[(4,)](x, n, BLOCK=256)
"""


class Project:
    """Files in a folder, and pytest over them with the plugin installed as a user has it: by its entry point."""

    def __init__(self, folder, version):
        self.folder = folder
        self.runner = Runner(triton_folder(version), folder / "cache")
        installed = folder / "site" / "triton_doctor-0.dist-info"
        installed.mkdir(parents=True)
        # From the files that it lists pytest knows which modules it would rewrite.
        (installed / "RECORD").write_text("triton_doctor/__init__.py,,\ntriton_doctor/pytest_plugin.py,,\n")
        (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: triton-doctor\nVersion: 0\n")
        points = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
        lines = [f"{name} = {target}" for name, target in points.items()]
        (installed / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines, ""]))
        self.write("kernels.py", KERNELS)
        self.write("pytest.ini", "[pytest]\ntriton_doctor_target = cuda:90\n")

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    def pytest(self, *arguments, **variables):
        """What `pytest` did in the folder."""
        return self.python("-m", "pytest", "-p", "no:cacheprovider", *arguments, **variables)

    def python(self, *arguments, **variables):
        """What `python` did in the folder; its output is text."""
        path = os.pathsep.join([str(self.folder / "site"), str(self.folder), self.runner.path])
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=self.runner.environment | {"PYTHONPATH": path} | variables,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            skip_for_output(done.stdout + done.stderr)
        return done
