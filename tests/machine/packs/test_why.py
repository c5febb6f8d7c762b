"""`cache why`: every part of the key that lets a kernel miss is named, and what it says is what Triton does."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.machine.packs.conftest import KEYS, PARTS, make_kernel
from tests.runtime.tritons import NEWEST, Runner, triton_folder
from triton_doctor.machine.packs.compiled_functions import read_functions
from triton_doctor.machine.packs.differences import find_files, find_misses, judge, judge_folder
from triton_doctor.machine.packs.gather import gather
from triton_doctor.machine.packs.key_parts import read_key_parts
from triton_doctor.machine.packs.manifest import PackedEntry, PackedFile, SourceFunction
from triton_doctor.report.cache import render_judgement

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

KERNELS = Path(__file__).with_name("kernels.py")
PROGRAM = str(KERNELS.with_name("three_variants.py"))
OTHER_PTXAS = {"ptxas": "Cuda compilation tools, release 12.8, V12.8.93\n"}
ENTRY = PackedEntry(
    key=KEYS[0],
    kind="kernel",
    kernel="add",
    target="cuda:90",
    triton="3.6.0",
    files=(PackedFile(name="add.json", size=2),),
)
PACKED = msgspec.structs.replace(PARTS, ptxas={"ptxas": "Cuda compilation tools, release 12.4, V12.4.99\n"})


@pytest.mark.parametrize(
    ("changes", "part", "words"),
    [
        pytest.param({}, None, "", id="nothing"),
        pytest.param({"python": "3.12"}, None, "", id="another Python with the same library"),
        pytest.param({"abi": "cpython-312", "platform": "aarch64"}, None, "", id="not in a kernel's key"),
        pytest.param({"triton": "3.7.1"}, "triton", "Triton 3.7.1 here, 3.6.0 in the pack", id="Triton"),
        pytest.param({"triton": "3.6.0+git1"}, None, "", id="another name of a build"),
        pytest.param({"triton": None}, None, "", id="no Triton here"),
        pytest.param({"libtriton": "9", "python": "3.12"}, "python", "Python 3.12 here, 3.11 in the pack", id="Python"),
        pytest.param({"libtriton": "9"}, "libtriton", "another build of Triton 3.6.0", id="libtriton"),
        pytest.param({"libtriton": "9", "platform": "aarch64"}, "platform", "aarch64 here, x86_64", id="platform"),
        pytest.param({"frontend": "9"}, "frontend", "Python files differ", id="patched Triton"),
        pytest.param({"ptxas": OTHER_PTXAS}, "ptxas", "12.8 (V12.8.93) here, 12.4 (V12.4.99) in the pack", id="ptxas"),
        pytest.param({"targets": ("cuda:100",)}, "architecture", "cuda:100 here, compiled for cuda:90", id="GPU"),
        pytest.param({"targets": ("cuda:80", "cuda:90")}, None, "", id="one GPU of two"),
        pytest.param(
            {"variables": {"DISABLE_LLVM_OPT": "false"}}, "variable", "DISABLE_LLVM_OPT is set", id="variable"
        ),
    ],
)
def test_each_part_of_the_key_is_told(changes: dict[str, object], part: str | None, words: str) -> None:
    misses = find_misses([(ENTRY, PACKED)], msgspec.structs.replace(PACKED, **changes))

    assert [miss.difference.part for miss in misses] == ([part] if part else [])
    assert all(words in miss.difference.message for miss in misses)


@pytest.mark.parametrize(
    ("was", "part"),
    [
        pytest.param({"line": 5}, None, id="the same"),
        pytest.param({"line": 4}, "line", id="a line lower"),
        pytest.param({"line": 0, "digest": None}, None, id="changed since, at the same line"),
        pytest.param({"line": 0, "definition": 8, "digest": None}, "line", id="changed since, at another line"),
        pytest.param({"line": 5, "digest": "other"}, "source", id="another text"),
        pytest.param({"line": 5, "name": "gone"}, "source", id="no longer there"),
        pytest.param({"line": 5, "path": "/nowhere/x.py", "module_path": "x/y.py"}, None, id="no such file here"),
    ],
)
def test_source_is_compared_by_text_and_line(tmp_path: Path, was: dict[str, object], part: str | None) -> None:
    path = tmp_path / "rope.py"
    path.write_text("import triton\n\n\n\n@triton.jit\ndef add(x):\n    pass\n")
    functions = read_functions(str(path))
    assert functions is not None
    digest = functions.functions[0].digest
    fields = {"path": str(path), "module_path": "rope.py", "name": "add", "definition": 6, "digest": digest}
    entry = msgspec.structs.replace(ENTRY, functions=(SourceFunction(**fields | was),))

    misses = find_misses([(entry, PACKED)], PACKED)

    assert [miss.difference.part for miss in misses] == ([part] if part else [])


def test_a_moved_folder_and_a_copied_one_are_told_apart(tmp_path: Path) -> None:
    make_kernel(tmp_path / "old", KEYS[0])
    shutil.copytree(tmp_path / "old", tmp_path / "copy")

    copied = judge_folder(tmp_path / "copy", "*", PARTS, {})
    (tmp_path / "old").rename(tmp_path / "new")
    moved = judge_folder(tmp_path / "new", "*", PARTS, {})

    assert copied.misses == ()
    assert copied.notes == (f"reads kernels from {tmp_path}/old, where they were compiled: remove that, and they miss",)
    assert [miss.difference.part for miss in moved.misses] == ["moved"]


@pytest.mark.parametrize(("triton", "part"), [("3.6.0", None), ("3.9.0", "incomplete")])
def test_a_group_must_be_whole_since_3_9(tmp_path: Path, triton: str, part: str | None) -> None:
    path = make_kernel(tmp_path / "c", KEYS[0], triton_version=triton)
    (path / "add.ttir").unlink()

    judgement = judge_folder(tmp_path / "c", "*", msgspec.structs.replace(PARTS, triton=triton), {})

    assert [miss.difference.part for miss in judgement.misses] == ([part] if part else [])


def test_a_setting_that_always_compiles_is_told(tmp_path: Path) -> None:
    make_kernel(tmp_path / "c", KEYS[0])

    judgement = judge_folder(tmp_path / "c", "add", PARTS, {"TRITON_ALWAYS_COMPILE": "1"})

    assert "TRITON_ALWAYS_COMPILE is set here" in judgement.misses[0].difference.message


# One worker of pytest-xdist makes what this fixture makes.
pytestmark = pytest.mark.xdist_group("why")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Runner, Path]:
    """A cache of three variants, and the kernel that they were compiled from."""
    folder = tmp_path_factory.mktemp("why")
    run, kernels = Runner(triton_folder(NEWEST), folder / "cache"), folder / "kernels.py"
    kernels.write_text(KERNELS.read_text())
    os.utime(kernels, (1, 1))
    run(PROGRAM, str(kernels))
    return run, kernels


@pytest.mark.parametrize(
    ("change", "variables", "part"),
    [
        pytest.param(("", ""), {"TRITON_DEBUG": "0"}, None, id="a variable that is in no key"),
        pytest.param(("", ""), {"DISABLE_LLVM_OPT": "0"}, "variable", id="a variable"),
        pytest.param(("\n\n\n@", "\n\n\n# above\n@"), {}, "line", id="a comment above"),
        pytest.param(("x * 2", "x * 3"), {}, "source", id="a function that it calls"),
    ],
)
def test_what_why_says_is_what_triton_does(
    compiled: tuple[Runner, Path], change: tuple[str, str], variables: dict[str, str], part: str | None
) -> None:
    """A kernel misses if and only if a difference is named."""
    run, kernels = compiled
    gathered = gather(kernels.parent / "cache", read_key_parts({}))
    before = kernels.read_text()
    kernels.write_text(before.replace(*change) if change[0] else before)
    read_functions.cache_clear()

    pairs = [(entry, gathered.manifest.parts) for entry in gathered.manifest.entries if entry.triton == NEWEST]
    misses = find_misses(pairs[:3], read_key_parts(variables))
    shutil.copytree(kernels.parent / "cache", kernels.parent / "before")
    found = json.loads(run(PROGRAM, str(kernels), **variables).stdout)
    shutil.rmtree(kernels.parent / "cache")
    (kernels.parent / "before").rename(kernels.parent / "cache")
    kernels.write_text(before)
    os.utime(kernels, (1, 1))
    read_functions.cache_clear()

    assert len(pairs) == 3
    assert found["compiled"] == (3 if part else 0)
    assert {miss.difference.part for miss in misses} == ({part} if part else set())


def test_a_kernel_that_is_not_there_is_one_line(doctor: Callable[..., Outcome], tmp_path: Path) -> None:
    make_kernel(tmp_path / "c", KEYS[0])

    outcome = doctor("cache", "why", "mul", "--cache-dir", "c")

    assert outcome.status == 2
    assert outcome.err.startswith("triton-doctor: no kernel mul in ")


def test_the_copy_that_a_program_here_runs_is_compared_too(
    doctor: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "import triton\n\n\n@triton.jit\ndef add(x):\n    pass\n"
    packed, copy = tmp_path / "built" / "scripts" / "serve.py", tmp_path / "here" / "scripts" / "serve.py"
    for path, content in ((packed, text), (copy, f"# a line more\n{text}")):
        path.parent.mkdir(parents=True)
        path.write_text(content)
    functions = read_functions(str(packed))
    assert functions is not None
    known = {"path": str(packed), "module_path": "serve.py", "name": "add", "definition": 5, "line": 4}
    source = SourceFunction(**known, digest=functions.functions[0].digest)
    entry = msgspec.structs.replace(ENTRY, functions=(source,))

    assert find_misses([(entry, PACKED)], PACKED) == ()
    find_files.cache_clear()
    monkeypatch.chdir(tmp_path / "here")
    (miss,) = find_misses([(entry, PACKED)], PACKED)
    find_files.cache_clear()
    assert (
        miss.difference.message == "scripts/serve.py: `add` starts 1 line lower here, at 5: the line is part of the key"
    )


def test_source_that_is_not_here_is_no_all_clear() -> None:
    known = {"path": "/nowhere/x.py", "module_path": "x/y.py", "name": "add", "definition": 5, "line": 4, "digest": "d"}
    entry = msgspec.structs.replace(ENTRY, functions=(SourceFunction(**known),))

    first, note = render_judgement(judge("k", [(entry, PACKED)], ()), PACKED).splitlines()[:2]

    assert first.startswith("k: nothing that could be compared differs from the key of 1 variant for Triton 3.6.0")
    assert note == "  note: the source of 1 variant was not compared: it has changed since the compile, or is not here"


@pytest.mark.parametrize("words", [("why", "c"), ("pack", "k.tar"), ("unpack", "two.tar.zst")])
def test_without_triton_nothing_is_cleared(
    doctor: Callable[..., Outcome], packed: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    make_kernel(packed.parent / "c", KEYS[0])
    monkeypatch.setitem(sys.modules, "triton", None)
    options = () if words[0] == "why" else ("--cache-dir", "c")

    outcome = doctor("cache", *words, *options)

    assert (outcome.status, outcome.out) == (2, "")
    assert "no triton here: cannot tell" in outcome.err


def test_variants_without_intermediate_code_are_said_to_lack_it(doctor: Callable[..., Outcome], tmp_path: Path) -> None:
    for key in KEYS:
        (make_kernel(tmp_path / "c", key) / "add.ttir").unlink()

    lines = doctor("cache", "show", "add", "--cache-dir", "c").out.splitlines()

    assert lines[1:] == [
        "  constants and arguments are read from a .ttir file, which these lack: `cache pack --with-code` keeps it"
    ]
