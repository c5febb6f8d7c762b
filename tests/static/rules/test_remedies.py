"""Uses of a constexpr to the remedy that TRD201 names; each is followed to the letter, and compiled by Triton."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.runtime.tritons import NEWEST, Runner, triton_folder
from triton_doctor.settings import Settings
from triton_doctor.static.scan import scan
from triton_doctor.static.sources.files import FileKind, SourceFile

HEAD = """
import triton
import triton.language as tl


@triton.jit
def twice(x, n: tl.constexpr):
    return x * n


@triton.jit
def choose(flag):
    y = 1
    if flag:
        y = 2
    return y


"""
LAUNCH = "\n\ndef launch(out, x):\n    work[(1,)](out, x.numel())\n"
ADD = "    tl.atomic_add(out, {})\n"
# Of each body: what TRD201 says of `n` in its remedy, and whether a plain argument compiles.
BODIES = {
    "arithmetic": (ADD.format("n % 7 + n // 3"), "drop the `tl.constexpr`", True),
    "a branch that stores": ("    if n > 64:\n    " + ADD.format("n"), "drop the `tl.constexpr`", True),
    "an early return": ("    if n < 2:\n        return\n" + ADD.format("n"), "drop the `tl.constexpr`", True),
    "a branch on what is loaded": (
        "    y = tl.load(out)\n    k = 1\n    if y > n:\n        k = 2\n" + ADD.format("k"),
        "drop the `tl.constexpr`",
        True,
    ),
    "a total that grows in a branch": (
        "    total = tl.load(out)\n    if n > 2:\n        total += n\n" + ADD.format("total"),
        "drop the `tl.constexpr`",
        True,
    ),
    "one of two numbers": (ADD.format("1 if n > 2 else 3"), "drop the `tl.constexpr`", True),
    "the count of a loop": ("    for i in range(n):\n    " + ADD.format("i"), "drop the `tl.constexpr`", True),
    "a call of a helper": (ADD.format("twice(1, n)"), "drop the `tl.constexpr`", True),
    "a cast to the type of a pointer": (
        "    at = out + n\n    tl.atomic_add(at, tl.load(out).to(at.dtype.element_ty))\n",
        "drop the `tl.constexpr`",
        True,
    ),
    "a type that a branch decides": (
        "    if n > 2:\n        y = tl.full([4], 1, tl.int32)\n    else:\n        y = 1.5\n"
        + ADD.format("tl.sum(y + 0, 0)"),
        "pass that outcome as the constexpr",
        False,
    ),
    "a name that one arm binds": (
        "    if n > 2:\n        y = 4\n" + ADD.format("y"),
        "pass that outcome as the constexpr",
        False,
    ),
    "a return in a loop": (
        "    for i in range(3):\n        if n > 2:\n            return\n    " + ADD.format("i"),
        "pass that outcome as the constexpr",
        False,
    ),
    "a test that differs by program": (
        "    last = tl.program_id(0) * 4 > n\n" + ADD.format("choose(last)"),
        "drop the `tl.constexpr`",
        True,
    ),
    "a test that each round of a loop repeats": (
        "    for i in tl.static_range(3):\n        if i * 4 > n:\n            y = 4\n    " + ADD.format("y"),
        "needs `n` while it compiles",
        False,
    ),
    "an unrolled loop": (
        "    for i in tl.static_range(n):\n    " + ADD.format("i"),
        "with `range` a plain argument works",
        False,
    ),
    "a block": ("    tl.store(out + tl.arange(0, n), 1)\n", "mask what lies beyond", False),
    "a block and a stride": (
        "    tl.store(out + tl.program_id(0) * n + tl.arange(0, n), 1)\n",
        "give the block a constexpr of its own",
        False,
    ),
    "a shape": ("    tl.store(out + n, tl.sum(tl.zeros([n], tl.int32)))\n", "give the block a constexpr", False),
    "what is given a shape": (
        "    near = tl.broadcast_to((tl.arange(0, 4) < n)[None, :], (2, 4))\n"
        + ADD.format("tl.sum(near.to(tl.int32))"),
        "drop the `tl.constexpr`",
        True,
    ),
    "what is given another shape": (
        ADD.format("tl.sum(tl.reshape(tl.arange(0, 8) * n, (2, 4)))"),
        "drop the `tl.constexpr`",
        True,
    ),
    "an assertion": ("    tl.static_assert(n > 0)\n" + ADD.format("n"), "needs `n` while it compiles", False),
}
# Triton 3.9 compiles it with a plain `n`; 3.2 and 3.6 do not.
LOCAL = "    m: tl.constexpr = n * 2\n" + ADD.format("m + 1")
PROGRAM = """
import json, sys
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
sys.path.insert(0, sys.argv[1])
import kernels
compiled = {}
for name, kernel in vars(kernels).items():
    if name.startswith("work_"):
        try:
            source = ASTSource(kernel, {"out": "*i32", "n": "i32"}, {})
            triton.compile(source, target=GPUTarget("cuda", 90, 32))
            compiled[name] = True
        except Exception:
            compiled[name] = False
print(json.dumps(compiled))
"""


def kernel(name: str, annotation: str, body: str) -> str:
    return f"@triton.jit\ndef {name}(out, n{annotation}):\n{body}"


@pytest.mark.parametrize(("body", "remedy", "compiles"), BODIES.values(), ids=BODIES.keys())
def test_remedy_is_that_of_the_use(body: str, remedy: str, *, compiles: bool) -> None:
    text = HEAD + kernel("work", ": tl.constexpr", body) + LAUNCH
    file = SourceFile("text.py", "text.py", FileKind.PYTHON, text.encode())

    (finding,) = [one for one in scan([file], Settings(root=Path()), cwd=Path()).findings if one.facts.parameter == "n"]

    assert remedy in (finding.advice or "")
    assert finding.facts.use == ("read" if compiles else "compile_time")
    assert ("next_power_of_2" in (finding.advice or "")) == ("block" in (finding.advice or ""))


@pytest.mark.parametrize(("body", "compiles"), [(one[0], one[2]) for one in BODIES.values()], ids=BODIES.keys())
def test_listed_constexpr_may_lose_its_annotation_only_where_a_plain_argument_compiles(
    body: str, *, compiles: bool
) -> None:
    listed = kernel("work", ": tl.constexpr", body).replace("@triton.jit", '@triton.jit(do_not_specialize=["n"])')
    file = SourceFile("text.py", "text.py", FileKind.PYTHON, (HEAD + listed + LAUNCH).encode())

    found = scan([file], Settings(root=Path()), cwd=Path()).findings
    (finding,) = [one for one in found if one.code == "TRD204"]

    assert ("drop the `tl.constexpr`" in (finding.advice or "")) == compiles


def test_plain_argument_compiles_where_the_remedy_says_so(tmp_path: Path) -> None:
    names = {f"work_{number}": id_ for number, id_ in enumerate(BODIES)}
    bodies = (kernel(name, "", BODIES[id_][0]) for name, id_ in names.items())
    (tmp_path / "kernels.py").write_text(HEAD + "\n\n".join(bodies), encoding="utf-8")

    run = Runner(triton_folder(NEWEST), tmp_path / "cache")
    compiled = json.loads(run("-c", PROGRAM, str(tmp_path)).stdout.splitlines()[-1])

    assert {names[name]: said for name, said in compiled.items()} == {id_: body[2] for id_, body in BODIES.items()}


def test_local_that_is_declared_a_constexpr_needs_what_it_is_made_of(tmp_path: Path) -> None:
    text = HEAD + kernel("work", ": tl.constexpr", LOCAL) + LAUNCH
    file = SourceFile("text.py", "text.py", FileKind.PYTHON, text.encode())
    (tmp_path / "kernels.py").write_text(HEAD + kernel("work_0", "", LOCAL), encoding="utf-8")

    (finding,) = [one for one in scan([file], Settings(root=Path()), cwd=Path()).findings if one.facts.parameter == "n"]
    run = Runner(triton_folder("3.6.0"), tmp_path / "cache")
    compiled = json.loads(run("-c", PROGRAM, str(tmp_path)).stdout.splitlines()[-1])

    assert finding.facts.use == "compile_time"
    assert "drop the `tl.constexpr`" not in (finding.advice or "")
    assert compiled == {"work_0": False}


@pytest.mark.parametrize("version", ["3.2.0", NEWEST])
def test_items_of_a_global_table_are_read_as_advised_by_every_triton(version: str, tmp_path: Path) -> None:
    file = SourceFile(
        "text.py",
        "text.py",
        FileKind.PYTHON,
        (HEAD + "TABLE = [4, 5]\n\n\n" + kernel("work_0", "", ADD.format("TABLE[1]"))).encode(),
    )
    followed = HEAD + "TABLE = tl.constexpr([4, 5])\n\n\n" + kernel("work_0", "", ADD.format("TABLE.value[1]"))
    (tmp_path / "kernels.py").write_text(followed, encoding="utf-8")

    (finding,) = scan([file], Settings(root=Path()), cwd=Path()).findings
    run = Runner(triton_folder(version), tmp_path / "cache")
    compiled = json.loads(run("-c", PROGRAM, str(tmp_path)).stdout.splitlines()[-1])

    assert "write `TABLE = tl.constexpr(...)`, and read its items as `TABLE.value[...]`" in (finding.advice or "")
    assert compiled == {"work_0": True}


@pytest.mark.parametrize(
    ("body", "remedy"),
    [
        (ADD.format("n"), "; the `repr` of the kernel names `n`: take it out there too"),
        (ADD.format("1"), "remove `n` from `work` and from its launches, and from its decorators where they name it"),
    ],
)
def test_remedy_is_for_the_function_that_names_variants_too(body: str, remedy: str) -> None:
    named = kernel("work", ": tl.constexpr", body).replace("@triton.jit", "@triton.jit(repr=describe)")
    describe = "def describe(variant):\n    return f\"work_{variant.constants['n']}\"\n\n\n"
    file = SourceFile("text.py", "text.py", FileKind.PYTHON, (HEAD + describe + named + LAUNCH).encode())

    (finding,) = [one for one in scan([file], Settings(root=Path()), cwd=Path()).findings if one.facts.parameter == "n"]

    assert remedy in (finding.advice or "")


def test_parameter_that_the_grid_looks_up_stays_one() -> None:
    launch = """

def launch(out, x):
    def grid(meta):
        programs = meta["n"]
        return (programs,)

    work[grid](out, x.numel())
"""
    text = HEAD + kernel("work", ": tl.constexpr", ADD.format("1")) + launch
    file = SourceFile("text.py", "text.py", FileKind.PYTHON, text.encode())

    (finding,) = [one for one in scan([file], Settings(root=Path()), cwd=Path()).findings if one.facts.parameter == "n"]

    assert "has to stay a parameter" in (finding.advice or "")
