"""A dask cluster in place of the fork server here: each worker process has one, with a copy of the project's files.

The files travel once, as an archive that the cluster spreads; a worker unpacks them when its first call comes. Children
are confined there as they are here.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import io
import os
import shutil
import tempfile
import threading
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec
from msgspec.structs import replace

from triton_doctor.explore.fork_client import PREFIX, ChildResult, ForkServer, remove_folder
from triton_doctor.explore.project_copy import make_read_only
from triton_doctor.explore.sandbox import Means, Walls
from triton_doctor.runtime.prewarm.cluster import connect

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from triton_doctor.explore.model import EntryPlan, Limits, SeedPlan


class ClusterServer:
    """As a `ForkServer`, with the children on the workers of the cluster at `dask:ADDRESS`. `jobs` go on at a time."""

    def __init__(self, address: str, *, means: tuple[Means, ...], preload: tuple[str, ...], root: str) -> None:
        """Connect to a cluster for `root`, the copy of the project. Raises DoctorError where no cluster answers."""
        cluster = connect(address)
        self.jobs = cluster.threads
        self.walls = Walls()
        self._means, self._preload = means, preload
        self._client = cluster.client
        self._executor: Executor = cluster.open(0)
        archive = _pack(root)
        self._archive: Any = self._client.scatter(archive, hash=False)
        self._name = hashlib.sha256(archive).hexdigest()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of the cluster; what is under way there is given up."""
        with contextlib.suppress(Exception):
            self._client.close()

    def call(
        self,
        function: str,
        argument: EntryPlan | SeedPlan,
        *,
        root: str,
        import_roots: tuple[str, ...] = ("",),
        limits: Limits | None = None,
    ) -> ChildResult:
        """Call as `ForkServer.call` does; in `argument` the worker names its own copy instead of `root`."""
        del root
        opening = (self._means, self._preload, self.jobs)
        task = (self._name, opening, function, argument, import_roots, limits)
        walls, result = self._executor.submit(call_on_worker, self._archive, *task).result()
        self.walls = msgspec.json.decode(walls, type=Walls)
        return msgspec.json.decode(result, type=ChildResult)


class _Worker:
    """The fork server of this worker process, and the project it is for."""

    lock = threading.Lock()
    name = ""
    root = ""
    server: ForkServer | None = None


def call_on_worker(
    archive: bytes,
    name: str,
    opening: tuple[tuple[Means, ...], tuple[str, ...], int],
    function: str,
    argument: EntryPlan | SeedPlan,
    import_roots: tuple[str, ...],
    limits: Limits | None,
) -> tuple[bytes, bytes]:
    """Make a call in a child of this worker; return how children are confined here and the result, as JSON."""
    with _Worker.lock:
        if _Worker.name != name:
            _close_worker()
            _Worker.root = _unpack(archive)
            means, preload, jobs = opening
            _Worker.server = ForkServer(means=means, preload=preload, jobs=jobs).__enter__()
            _Worker.name = name
            atexit.register(_close_worker)
        server, root = _Worker.server, _Worker.root
    assert server is not None
    own = replace(argument, root=root)
    result = server.call(function, own, root=root, import_roots=import_roots, limits=limits)
    return msgspec.json.encode(server.walls), msgspec.json.encode(result)


def _close_worker() -> None:
    server, root = _Worker.server, _Worker.root
    _Worker.name, _Worker.root, _Worker.server = "", "", None
    if server is not None:
        server.__exit__()
        remove_folder(str(Path(root).parent))


def _pack(root: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder:
        return Path(shutil.make_archive(f"{folder}/project", "zip", root)).read_bytes()


def _unpack(archive: bytes) -> str:
    folder = Path(os.path.realpath(tempfile.mkdtemp(prefix=PREFIX)), "project")
    with zipfile.ZipFile(io.BytesIO(archive)) as packed:
        packed.extractall(folder)
    make_read_only(folder)
    return str(folder)
