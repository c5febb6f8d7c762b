"""A program under the compile-only target, and the verb that prewarms for it, each in a process of its own."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.runtime.tritons import NEWEST
from tests.tritons import skip_for_output, triton_folder

REPOSITORY = Path(__file__).parents[3]
SERVE = Path(__file__).parent / "programs" / "serve.py"
OTHERS = ("TRITON_", "PYTEST_XDIST_")


@dataclass(frozen=True, kw_only=True)
class Workshop:
    """A folder to work in, with the Triton of that folder."""

    folder: Path
    triton: Path

    @property
    def path(self) -> str:
        """What Python looks for modules in."""
        return os.pathsep.join([str(REPOSITORY), str(self.triton)])

    def run(self, *words: object, status: int | None = 0, **variables: object) -> str:
        """`python *words` here; its output, after checking its exit status."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(OTHERS)}
        environment |= {
            "PYTHONPATH": self.path,
            "PYTHONWARNINGS": "ignore",
            "TRITON_CACHE_DIR": str(self.folder / "other"),
        }
        environment |= {name: str(value) for name, value in variables.items()}
        done = subprocess.run(
            [sys.executable, *map(str, words)],
            env=environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        printed = done.stdout + done.stderr
        if done.returncode:
            skip_for_output(printed)
        assert status in (None, done.returncode), printed[-3000:]
        return printed

    def doctor(self, *words: object, status: int | None = 0, **variables: object) -> str:
        """`triton-doctor *words`."""
        return self.run("-m", "triton_doctor", *words, status=status, **variables)

    def record(self, name: str, *words: object, cache: str) -> Path:
        """The recording of the program `words` under the compile-only target, with the cache folder `cache`."""
        output = self.folder / name
        command = ("run", "--target", "cuda:90", "--force", "-o", output, *words)
        self.doctor(*command, TRITON_CACHE_DIR=self.folder / cache)
        return output


def tiers(recording: Path) -> list[str]:
    """Of each compile in `recording`, whether it was compiled or loaded."""
    events = map(json.loads, recording.read_text().splitlines())
    return [event["tier"] for event in events if event["event"] == "compile"]


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(folder=tmp_path, triton=triton_folder(NEWEST))
