"""Tests whether dry runs work with this torch: a child process runs backward on a fake CUDA tensor.

What goes wrong there goes wrong in C++, and ends the process. The child is a fork, which takes some 20 ms. Where this
process has asked for a GPU that is there, CUDA does not work in a fork: then it is a Python of its own.
"""

from __future__ import annotations

import faulthandler
import os
import select
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from triton_doctor.errors import DoctorError

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Callable

# A second suffices; a child of a program with many threads may wait for a lock that none of them will release.
LONGEST_S = 20.0
PASSED = b"ok"

_passed = False


def require_working(enter: Callable[[], contextlib.AbstractContextManager[object]]) -> None:
    """Raise DoctorError if the backward pass fails in the dry run that `enter` begins; tested once."""
    global _passed
    if _passed:
        return
    # What FakeTensorMode imports, 1.6 s of the CPU: before the fork, or the child would import it as well.
    import torch._dynamo.config

    reason = _try_in_child(enter)
    if reason and torch.version.cuda is not None:
        reason = _try_afresh()
    if reason:
        raise _does_not_work(reason)
    _passed = True


def require_working_elsewhere() -> None:
    """Run the test of `require_working` in a new interpreter.

    This process then never touches the CUDA driver, so it may still fork.
    """
    global _passed

    reason = _try_afresh()
    if reason:
        raise _does_not_work(reason)
    _passed = True


def _does_not_work(reason: str) -> DoctorError:
    return DoctorError(
        f"dry runs do not work with torch {torch.__version__}: {reason}",
        hint="dry runs are tested with CPU builds of torch 2.13: pip install torch==2.13.0 --index-url"
        " https://download.pytorch.org/whl/cpu",
    )


def _try_in_child(enter: Callable[[], contextlib.AbstractContextManager[object]]) -> str:
    """Run the test in a forked child. Returns the reason of the failure; empty on success."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        # Of forking beside other threads: the child only computes, and is given up after a while.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if not pid:
        _answer(enter, writer)
    os.close(writer)
    answer = b""
    with os.fdopen(reader, "rb", buffering=0) as pipe:
        while select.select([pipe], [], [], LONGEST_S)[0]:
            part = pipe.read(1000)
            if not part:
                break
            answer += part
        else:
            os.kill(pid, signal.SIGKILL)
            answer = b"differentiating a tensor did not end"
    _, status = os.waitpid(pid, 0)
    if answer == PASSED:
        return ""
    if os.WIFSIGNALED(status) and not answer:
        return f"differentiating a tensor ended the process (signal {os.WTERMSIG(status)})"
    return answer.decode(errors="replace")


def _try_afresh() -> str:
    """Run the test in a new interpreter, for the default GPU. Returns the reason of the failure; empty on success."""
    root = Path(__file__).parents[3]
    code = f"import sys; sys.path.append({str(root)!r}); import triton_doctor.runtime.dry.selftest as test; test.main()"
    ours = ("_TRITON_DOCTOR_", "PYTEST_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    last = (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]
    return last[:300]


def main() -> None:
    """Run the test inside the new interpreter. Raises where dry runs do not work."""
    from triton_doctor.runtime.dry.gpu import read_gpu
    from triton_doctor.runtime.dry.simulation import pretend

    with pretend(read_gpu(None), "guess"):
        if not _differentiates():
            raise RuntimeError("a gradient is not on CUDA")


def _differentiates() -> bool:
    tensor = torch.ones(4, 4, device="cuda", requires_grad=True)
    (tensor @ tensor).relu().sum().backward()
    gradient = tensor.grad
    return gradient is not None and gradient.device.type == "cuda" and tuple(gradient.shape) == (4, 4)


def _answer(enter: Callable[[], contextlib.AbstractContextManager[object]], writer: int) -> None:
    """Run the test in the forked child, write the result to `writer` and exit; never returns."""
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        faulthandler.disable()
        with enter():
            fine = _differentiates()
        os.write(writer, PASSED if fine else b"a gradient is not on CUDA")
    except BaseException as error:
        os.write(writer, " ".join(f"{type(error).__name__}: {error}".split())[:300].encode())
    finally:
        os._exit(0)
