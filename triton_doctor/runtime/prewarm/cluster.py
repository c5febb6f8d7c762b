"""The dask cluster that `--cluster` names. Its workers need triton-doctor, torch and Triton."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from triton_doctor.errors import DoctorError

if TYPE_CHECKING:
    from concurrent.futures import Executor

SCHEME = "dask:"
WAIT_SECONDS = 20
HINT = "write it as dask:tcp://HOST:PORT, the address of a dask scheduler"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A dask cluster, and how many `threads` its workers have together."""

    client: Any
    threads: int

    def open(self, _processes: int) -> Executor:
        """Return an executor on all of its workers."""
        # A task that was done once is not the same task when it is asked for again.
        executor: Executor = self.client.get_executor(pure=False)
        return executor


def connect(text: str) -> Cluster:
    """Return the cluster at `dask:ADDRESS`. Raises DoctorError where it does not answer, or has no workers."""
    if not text.startswith(SCHEME):
        raise DoctorError(f"no such cluster: {text!r}", hint=HINT)
    try:
        import distributed
    except ImportError as error:
        raise DoctorError("dask.distributed is not installed here", hint="pip install distributed") from error
    address = text.removeprefix(SCHEME)
    make_client: Any = distributed.Client
    try:
        client = make_client(address, timeout=WAIT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise DoctorError(f"no dask scheduler answers at {address}: {error}", hint=HINT) from error
    threads = sum(client.nthreads().values())
    if not threads:
        client.close()
        raise DoctorError(f"the dask scheduler at {address} has no workers", hint=f"dask worker {address} --nthreads 1")
    return Cluster(client=client, threads=threads)
