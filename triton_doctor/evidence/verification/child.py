"""Runs the process that compiles kernels: sends it jobs, reads its results line by line, and reports how it ended."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType

# A compile takes seconds at the most; what was made up may be larger than what anybody launches.
_LONGEST_SECONDS = 60
_NOT_FOR_CHILDREN = ("TRITON_INTERPRET", "TRITON_KERNEL_DUMP", "TRITON_KERNEL_OVERRIDE", "TRITON_ALWAYS_COMPILE")


class Child:
    """A process `python -m triton_doctor.runtime.trial` with one job, in `folder`; killed after a minute of silence."""

    def __init__(self, job: Mapping[str, Any], folder: Path) -> None:
        """Start it."""
        home = str(Path(__file__).parents[3])
        environment = {name: value for name, value in os.environ.items() if name not in _NOT_FOR_CHILDREN}
        environment |= {
            "PYTHONPATH": os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")])),
            "PYTHONDONTWRITEBYTECODE": "1",  # the folder holds links to the user's own
            "TRITON_CACHE_DIR": str(folder / "cache"),
            "TRITON_DISABLE_LINE_INFO": "1",
        }
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._too_long = False
        self._stderr = tempfile.TemporaryFile("w+")  # noqa: SIM115, closed with the process
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "triton_doctor.runtime.trial"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=environment,
            cwd=folder,
            text=True,
        )
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job))
        self._process.stdin.close()
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()

    def results(self) -> Iterator[dict[str, Any]]:
        """Yield the results of the process until it ends or is silent for too long."""
        while True:
            try:
                line = self._lines.get(timeout=_LONGEST_SECONDS)
            except queue.Empty:
                self._too_long = True
                return
            if line is None:
                return
            yield json.loads(line)

    def why_it_ended(self) -> str:
        """Return the last line of its stderr, or that it took too long."""
        if self._too_long:
            return f"it took more than {_LONGEST_SECONDS} s"
        self._stderr.seek(0)
        lines = [line for line in self._stderr.read().splitlines() if line.strip()]
        return lines[-1].strip()[:200] if lines else f"the process ended with {self._process.returncode}"

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)
