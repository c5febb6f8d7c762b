"""`python -m tests.benchmarks.editor FOLDER FILE`: how long an editor waits, beside other language servers.

For each server that is installed, of which the edits are the same: seconds from its start to the first diagnostics of
FILE, and from each edit of FILE to its diagnostics (median, and the 95th percentile), and the memory it holds then. An
edit adds a line to a function, or takes it away. Diagnostics are pulled, or waited for where a server only pushes them.
With `--cpu`, only this: the CPU of the folder's first check in this process, and of a check after each edit of FILE.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

SERVERS = {
    "triton-doctor": (sys.executable, "-m", "triton_doctor", "server"),
    "ruff": ("ruff", "server"),
    "basedpyright": ("basedpyright-langserver", "--stdio"),
    "pyright": ("pyright-langserver", "--stdio"),
}
EDITS = 40
# What servers do at their start, behind the first diagnostics, and behind those of an edit.
_SETTLE_SECONDS, _PAUSE_SECONDS = 5, 0.2


class Client:
    """A client that speaks the protocol as plain JSON: what servers answer need not fit anybody's types."""

    def __init__(self) -> None:
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self.published: dict[str, asyncio.Event] = {}
        self._count = 0

    async def start(self, command: Sequence[str]) -> None:
        self.process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=1 << 26,
        )
        self._reading = asyncio.ensure_future(self._read())

    async def ask(self, method: str, params: object) -> Any:
        self._count += 1
        answer = self._answers[self._count] = asyncio.get_running_loop().create_future()
        self._send({"id": self._count, "method": method, "params": params})
        return await answer

    def tell(self, method: str, params: object) -> None:
        self._send({"method": method, "params": params})

    def _send(self, message: dict[str, object]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    async def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while header := await stream.readline():
            if not header.lower().startswith(b"content-length:"):
                continue
            while (await stream.readline()).strip():
                pass
            message = json.loads(await stream.readexactly(int(header.split(b":")[1])))
            if "method" in message and "id" in message:
                items = (message.get("params") or {}).get("items", [])
                asks_settings = message["method"] == "workspace/configuration"
                self._send({"id": message["id"], "result": [None for _ in items] if asks_settings else None})
            elif message.get("method") == "textDocument/publishDiagnostics":
                self.published.setdefault(message["params"]["uri"], asyncio.Event()).set()
            elif "id" in message:
                self._answers.pop(message["id"]).set_result(message.get("result"))


async def measure(command: Sequence[str], folder: Path, file: Path, edits: int) -> None:
    """Print one row."""
    client, uri = Client(), file.as_uri()
    arrived = client.published[uri] = asyncio.Event()
    began = time.perf_counter()
    await client.start(command)
    started = await client.ask(
        "initialize",
        {
            "processId": None,
            "rootUri": folder.as_uri(),
            "workspaceFolders": [{"uri": folder.as_uri(), "name": folder.name}],
            "capabilities": {"textDocument": {"diagnostic": {}, "publishDiagnostics": {}}},
        },
    )
    pulls = started["capabilities"].get("diagnosticProvider") is not None
    client.tell("initialized", {})

    async def diagnostics() -> None:
        if pulls:
            await client.ask("textDocument/diagnostic", {"textDocument": {"uri": uri}})
        else:
            await arrived.wait()

    text = file.read_text()
    item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    client.tell("textDocument/didOpen", {"textDocument": item})
    await diagnostics()
    first = time.perf_counter() - began
    await asyncio.sleep(_SETTLE_SECONDS)
    waits = []
    line = _first_line_of_a_function(text)
    for edit in range(edits):
        lines = text.split("\n")
        if edit % 2 == 0:
            lines.insert(line, f"    edited_{edit} = {edit}")
        arrived.clear()
        start = time.perf_counter()
        changes = [{"text": "\n".join(lines)}]
        document = {"uri": uri, "version": edit + 2}
        client.tell("textDocument/didChange", {"textDocument": document, "contentChanges": changes})
        await diagnostics()
        waits.append(time.perf_counter() - start)
        await asyncio.sleep(_PAUSE_SECONDS)
    memory = _memory_mb(client.process.pid)
    waits.sort()
    print(
        f"{first:8.2f} s {statistics.median(waits) * 1e3:8.0f} ms {waits[int(len(waits) * 0.95)] * 1e3:8.0f} ms "
        f"{memory:8.0f} MB  {'pulled' if pulls else 'pushed'}",
        flush=True,
    )
    await client.ask("shutdown", None)
    client.tell("exit", None)
    await client.process.wait()


def measure_cpu(folder: Path, file: Path, edits: int) -> None:
    """Print the CPU of the first check of `folder`, and of those after edits of `file`, as the server makes them."""
    from triton_doctor.editor.folder import CheckedFolder

    checked = CheckedFolder(folder)

    def seconds(texts: dict[str, bytes]) -> float:
        began = time.process_time()
        checked.check(texts)
        return time.process_time() - began

    text = file.read_text()
    cold = seconds({})
    line = _first_line_of_a_function(text)
    taken = []
    for edit in range(edits):
        lines = text.split("\n")
        if edit % 2 == 0:
            lines.insert(line, f"    edited_{edit} = {edit}")
        taken.append(seconds({file.as_posix(): "\n".join(lines).encode()}))
    median = statistics.median(taken)
    print(f"cold {cold:.2f} s of CPU, an edit {median:.3f} s (median of {edits}): {median / cold:.3f} of it")


def _first_line_of_a_function(text: str) -> int:
    return next(number for number, line in enumerate(text.split("\n")) if line.startswith("    ") and line[4:5] != " ")


def _memory_mb(pid: int) -> float:
    """The proportional set size of the process and its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text().split("\n")
    own = next(int(line.split()[1]) for line in rollup if line.startswith("Pss:"))
    return own / 1024 + sum(_memory_mb(int(child)) for child in children)


def main() -> None:
    """Measure each server in turn."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.editor", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("file", type=Path, help="a file with kernels, relative to the folder")
    parser.add_argument("--edits", type=int, default=EDITS)
    parser.add_argument("--only", choices=[*SERVERS])
    parser.add_argument("--cpu", action="store_true", help="of checks in this process, without servers")
    options = parser.parse_args()
    if options.cpu:
        measure_cpu(options.folder.absolute(), options.folder.absolute() / options.file, options.edits)
        return
    print(f"{'':14} first diag.  edit (median)    (95%)     memory")
    for name, command in SERVERS.items():
        path = shutil.which(command[0], path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
        if path is None or options.only not in (None, name):
            continue
        print(f"{name:14}", end="", flush=True)
        folder = options.folder.absolute()
        asyncio.run(measure((path, *command[1:]), folder, folder / options.file, options.edits))


if __name__ == "__main__":
    main()
