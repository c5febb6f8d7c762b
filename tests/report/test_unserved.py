"""Compiles that a pack should have saved: `report` says why each was not found."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.machine.packs.conftest import KEYS, PARTS, make_kernel
from triton_doctor.machine.packs.gather import gather
from triton_doctor.machine.packs.install import keep_manifest
from triton_doctor.machine.packs.manifest import SourceFunction
from triton_doctor.machine.packs.pack import write_pack
from triton_doctor.report.recording.unserved import explain_unserved
from triton_doctor.runtime.event import COMPILED, LOADED, CompileEvent, CompileKey, Header, KernelName
from triton_doctor.runtime.lines import write_line
from triton_doctor.runtime.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

HASH = base64.b32decode(KEYS[0] + "====").hex()
RUN = {"versions": (("python", "3.11.7"), ("triton", "3.6.0")), "variables": ()}


def record(*, tier: str = COMPILED, name: str = "add", line: int = 7, entry: str = "", **header: object) -> Recording:
    event = CompileEvent(
        kernel=KernelName(name=name, module="ops.rope", path="/site/ops/rope.py", line=line),
        key=CompileKey(signature=(), target="cuda:90"),
        tier=tier,
        stages_us=(("ptx", 250_000),),
        launch_site=None,
        device=0,
        thread=1,
        rank=None,
        at_ns=2,
        entry=entry,
    )
    fields = {"tool_version": "0", "target": None, "compile_only": False, "command": (), "rank": None}
    known = fields | {"world_size": None, "pid": 1, "started_at_ns": 1} | RUN
    return Recording(headers=[Header(**known | header)], events=[event])


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A pack of one variant of `add`, whose `def` was at line 7."""
    make_kernel(tmp_path / "cache", KEYS[0])
    gathered = gather(tmp_path / "cache", PARTS)
    function = SourceFunction(path="/site/ops/rope.py", module_path="ops/rope.py", name="add", definition=7)
    entry = msgspec.structs.replace(gathered.manifest.entries[0], functions=(function,))
    gathered.manifest = msgspec.structs.replace(gathered.manifest, entries=(entry,))
    write_pack(gathered, tmp_path / "p.tar.zst")
    keep_manifest(gathered.manifest, tmp_path / "cache")
    return tmp_path / "p.tar.zst"


@pytest.mark.parametrize(
    ("recorded", "reason"),
    [
        pytest.param({"entry": HASH}, "the pack has this variant: it was not where the process looked", id="not there"),
        pytest.param({"entry": "11" * 32}, "a variant that the pack lacks: it has 1 other of the kernel", id="variant"),
        pytest.param({}, "a variant that the pack lacks", id="a recording of an older version"),
        pytest.param({"line": 8}, "`add` starts 1 line lower in the run, at 8", id="line"),
        pytest.param(
            {"versions": (("python", "3.11.7"), ("triton", "3.7.1"))}, "Triton 3.7.1 in the run, 3.6.0", id="Triton"
        ),
        pytest.param(
            {"versions": (("python", "3.12.1"), ("triton", "3.6.0"))}, "Python 3.12 in the run, 3.11", id="Python"
        ),
        pytest.param({"variables": (("DISABLE_LLVM_OPT", "0"),)}, "DISABLE_LLVM_OPT is set in the run", id="variable"),
        pytest.param({"name": "mul"}, None, id="a kernel that was not packed"),
        pytest.param({"tier": LOADED}, None, id="found on disk"),
        pytest.param({"dry": True}, None, id="a dry run"),
    ],
)
def test_each_compile_says_why_the_pack_did_not_save_it(
    pack: Path, recorded: dict[str, object], reason: str | None
) -> None:
    found = explain_unserved([record(**recorded)], [pack])

    assert [reason in one.reason for one in found if reason] == ([True] if reason else [])
    assert len(found) == (1 if reason else 0)


def test_report_knows_the_packs_that_the_run_used(
    doctor: Callable[..., Outcome], write: Callable[[str, str], Path], pack: Path, tmp_path: Path
) -> None:
    recording = record(entry=HASH, variables=(("TRITON_CACHE_DIR", str(tmp_path / "cache")),))
    write("run.jsonl", "".join(f"{write_line(value)}\n" for value in (*recording.headers, *recording.events)))

    by_run = json.loads(doctor("report", "run.jsonl", "--output-format", "json").out)["unserved"]
    by_name = doctor("report", "run.jsonl", "--pack", str(pack)).out

    assert [(one["kernel"], one["compiles"], one["compile_ms"]) for one in by_run] == [("add", 1, 250.0)]
    assert "compiled, although packed" in by_name
    assert "add: 1 compile, 0.250 s: the pack has this variant" in " ".join(by_name.split())
