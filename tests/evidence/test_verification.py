"""Fixes that are tried on real Tritons, without a GPU: verified, withdrawn, or told to be untried."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.runtime.tritons import NEWEST, REPOSITORY, VERSIONS, Runner, triton_folder
from tests.tritons import skip_without
from triton_doctor.evidence.verification.verify import importable, overlay
from triton_doctor.runtime.trial.argument_guesses import Roles, read_roles

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COUNTED, CODE = "40 variants before, 1 after", "code for equal arguments"
BOTH = "`rows` and `bias` that change alike"
MADE_UP = "types made up: `x_ptr` *fp32"
HEAD = "import triton\nimport triton.language as tl\n\n"
STEERING = """
@triton.jit
def fill(x_ptr, rows: tl.constexpr, bias: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0) * rows
    for row in range(first, first + rows):
        tl.store(x_ptr + row * BLOCK + tl.arange(0, BLOCK), 0)


def launch(x):
    n = x.numel()
    fill[(4,)](x, triton.cdiv(n, 4), n, BLOCK=64)
"""
UNREAD = """
@triton.jit
def fill(x_ptr, n: tl.constexpr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 0)


def launch(x):
    n = x.numel()
    fill[(4,)](x, n, BLOCK=64)
"""
# Nothing tells that `tl.sum` needs its second argument while it compiles.
NEEDED = """
@triton.jit
def total(x_ptr, axis: tl.constexpr, BLOCK: tl.constexpr):
    tl.store(x_ptr, tl.sum(tl.load(x_ptr + tl.arange(0, BLOCK)), axis))


def launch(x, lengths: list[int]):
    total[(4,)](x, len(lengths), BLOCK=64)
"""
# Compiles for int8 alone.
NARROW = """
@triton.jit
def add(x_ptr, n: tl.constexpr, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.int8)
    for i in range(4):
        total += tl.load(x_ptr + tl.arange(0, BLOCK)) * n
    tl.store(x_ptr + tl.arange(0, BLOCK), total)


def launch(x, lengths: list[int]):
    add[(4,)](x, len(lengths), BLOCK=64)
"""
TUNED = """
@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit(do_not_specialize=["BLOCK", "gone"])
def scale(x_ptr, at_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    place = tl.load(at_ptr + tl.program_id(0)) + tl.arange(0, BLOCK)
    tl.store(x_ptr + place, 0, mask=place < n if not EVEN else place >= 0)


def launch(x, at):
    scale[(4,)](x, at, x.numel())
"""


@pytest.fixture
def doctor_on(request: pytest.FixtureRequest, tmp_path: Path, folder: Path) -> Callable[..., tuple[int, str, str]]:
    """`triton-doctor` in a process that has that Triton, the newest where none is named."""
    skip_without("torch")
    run = Runner(triton_folder(getattr(request, "param", NEWEST)), tmp_path.parent / "kernels")

    def doctor(*arguments: str) -> tuple[int, str, str]:
        done = run("-m", "triton_doctor", *arguments, check=False)
        return done.returncode, done.stdout, done.stderr

    return doctor


@pytest.mark.parametrize("doctor_on", VERSIONS, indirect=True)
def test_kernel_that_compiles_before_and_after_is_told_with_its_variants(
    doctor_on: Callable[..., tuple[int, str, str]], write: Callable[..., Path]
) -> None:
    write("a.py", HEAD + STEERING)
    write("b.py", HEAD + UNREAD)

    status, _, said = doctor_on("check", "--fix", "--verify")

    assert status == 0
    assert [line for line in said.splitlines() if not line.startswith(("a.py:", "b.py:"))] == [
        f"verified: `fill` of a.py compiles; {COUNTED} for {BOTH} from 17 to 56; other {CODE}; {MADE_UP}",
        f"verified: `fill` of b.py compiles; {COUNTED} for `n` from 17 to 56; the same {CODE}; {MADE_UP}",
        "triton-doctor: fixed 3 problems (1 TRD201, 2 TRD202) in 2 files",
    ]


def test_fix_after_which_a_kernel_does_not_compile_is_withdrawn(
    doctor_on: Callable[..., tuple[int, str, str]], write: Callable[..., Path]
) -> None:
    path = write("a.py", HEAD + NEEDED.replace("BLOCK: tl.constexpr", "n: tl.constexpr, BLOCK: tl.constexpr = 64"))
    path.write_text(path.read_text().replace("len(lengths), BLOCK=64", "0 if lengths else len(lengths), 4"))
    before = path.read_text()

    status, _, said = doctor_on(
        "check", "--fix", "--unsafe-fixes", "--select", "TRD201", "--verify", "--fail-on", "warning"
    )

    assert "withdrawn: `total` of a.py: fixed, it does not compile: CompilationError" in said
    assert "fixed 1 problem" not in said
    assert path.read_text() == before
    assert status == 1


def test_tuned_kernel_is_tried_with_its_first_config(
    doctor_on: Callable[..., tuple[int, str, str]], write: Callable[..., Path]
) -> None:
    path = write("a.py", HEAD + TUNED)

    _, _, said = doctor_on("check", "--fix", "--verify")

    assert "@triton.jit\n" in path.read_text()
    assert "verified: `scale` of a.py compiles, and did not as it was; types made up: `x_ptr` *fp32" in said


def test_module_that_cannot_be_imported_is_told(
    doctor_on: Callable[..., tuple[int, str, str]], write: Callable[..., Path]
) -> None:
    path = write("a.py", f"import no_such_package\n{HEAD}{UNREAD}")

    _, _, said = doctor_on("check", "--fix", "--verify")

    assert re.search(r"not verified, so not edited: `fill` of a.py: .*No module named 'no_such_package'", said)
    assert "n: tl.constexpr" in path.read_text()


def test_kernel_that_does_not_compile_with_made_up_types_is_not_edited(
    doctor_on: Callable[..., tuple[int, str, str]], write: Callable[..., Path]
) -> None:
    path = write("a.py", HEAD + NARROW)
    before = path.read_text()

    _, _, said = doctor_on("check", "--fix", "--unsafe-fixes", "--verify")

    assert "not verified, so not edited: `add` of a.py: as it was, it did not compile with made-up arguments" in said
    assert path.read_text() == before


def test_recording_tells_what_to_try(
    doctor_on: Callable[..., tuple[int, str, str]], write: Callable[..., Path]
) -> None:
    write("a.py", HEAD + STEERING)
    program = (
        "import torch, sys\nsys.path.insert(0, '.')\nfrom triton_doctor import record\n"
        "with record('seen.jsonl', target='cuda:90'):\n    import a\n"
        "    for n in (64, 128, 129, 300):\n        a.launch(torch.zeros(n))\n"
    )
    write("test_run.py", program)
    runner = doctor_on.__closure__[0].cell_contents  # type: ignore[attr-defined]
    runner("test_run.py")

    _, _, said = doctor_on("check", "--fix", "--verify", "--recording", "seen.jsonl")

    assert "4 variants before, 1 after for what was recorded" in said
    assert said.splitlines()[0].endswith("; types from the recording")


def test_the_fix_of_the_ragged_mask_leaves_the_variants_that_a_run_of_it_compiles(
    doctor_on: Callable[..., tuple[int, str, str]], write: Callable[..., Path]
) -> None:
    """On an H100 the fixed program compiled 5 variants."""
    place = "fixtures/seeds/ragged_attention_mask.py"
    write(place, (REPOSITORY / place).read_text())
    recording = REPOSITORY / "fixtures" / "runs" / "seed_ragged_attention_mask.jsonl"

    _, _, said = doctor_on("check", "--fix", "--unsafe-fixes", "--verify", "--recording", str(recording), place)

    assert "40 variants before, 5 after for what was recorded" in said


@pytest.mark.parametrize(
    ("body", "roles"),
    [
        ("tl.store(a + b * tl.arange(0, c), 0)", Roles(frozenset("a"), frozenset(), frozenset())),
        (
            "a += b\n    x = tl.load(a)\n    tl.store(c + x, x.to(b))",
            Roles(frozenset("ac"), frozenset("a"), frozenset("b")),
        ),
        ("p = a + b\n    q = p + c\n    tl.atomic_add(q, 1)", Roles(frozenset("a"), frozenset(), frozenset())),
        ("n = tl.load(a)\n    for i in range(n):\n        pass", Roles(frozenset("a"), frozenset("a"), frozenset())),
    ],
)
def test_source_tells_what_parameters_are(body: str, roles: Roles) -> None:
    assert read_roles(f"def kernel(a, b, c):\n    {body}\n", frozenset("abc")) == roles


def test_edited_file_stands_among_links_to_the_others(write: Callable[..., Path], folder: Path) -> None:
    path = write("src/p/q/a.py", "old")
    for name in ("src/p/__init__.py", "src/p/q/__init__.py", "src/p/q/b.py", "src/p/r/c.py"):
        write(name, name)

    root, module = importable(path)
    overlay(root, {path: b"new"}, folder / "there")

    assert (root, module) == (folder / "src", "p.q.a")
    there = folder / "there" / "p"
    assert (there / "q/a.py").read_bytes() == b"new"
    assert path.read_text() == "old"
    assert (there / "q/b.py").is_symlink()
    assert (there / "r").is_symlink()
