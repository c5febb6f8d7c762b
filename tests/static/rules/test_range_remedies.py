"""Unrolled loops to the remedy that TRD201 names: `range` is advised where Triton compiles the loop as a `range`."""

import json
from pathlib import Path

import pytest

from tests.runtime.tritons import Runner, triton_folder
from tests.static.rules.test_remedies import HEAD, LAUNCH, PROGRAM, kernel
from triton_doctor.settings import Settings
from triton_doctor.static.scan import scan
from triton_doctor.static.sources.files import FileKind, SourceFile

HELPER = "@triton.jit\ndef pick(x, at: tl.constexpr):\n    return x + tl.sum(tl.zeros([at], tl.int32), 0)\n\n\n"
LOOP = "    for i in tl.static_range(n):\n"
WORKS = "with `range` a plain argument works"
KNOWN = "or the loop's variable while it compiles"
ADD = "        tl.atomic_add(out, {})\n"
# Of each body: what TRD201 says of `n`, and whether `range` with a plain `n` compiles.
BODIES = {
    "nothing of the loop is needed": (LOOP + ADD.format("i * 2"), WORKS, True),
    "a count down": (
        "    for i in tl.static_range(n - 1, -1, -1):\n" + ADD.format("tl.load(out + i)"),
        WORKS,
        True,
    ),
    "a store in a branch": (LOOP + "        if i > 1:\n    " + ADD.format("i"), WORKS, True),
    "a name of the loop alone": (
        LOOP + "        x = tl.load(out + tl.arange(0, 4) + i)\n" + ADD.format("tl.sum(x, 0)"),
        WORKS,
        True,
    ),
    "products that a tile adds up": (
        "    tile = tl.zeros([16, 16], tl.float16)\n    total = tl.zeros([16, 16], tl.float32)\n"
        + LOOP
        + "        total = tl.dot(tile, tile, total)\n"
        + "    tl.store(out, tl.sum(tl.sum(total, 0), 0))\n",
        WORKS,
        True,
    ),
    "a block that gains an axis": (
        "    y = tl.zeros([4], tl.int32)\n"
        + LOOP
        + "        y = y + tl.load(out + i + tl.zeros([1, 4], tl.int32))\n"
        + "    tl.atomic_add(out, tl.sum(tl.sum(y, 0), 0))\n",
        "only if `y` has the same type and shape",
        False,
    ),
    "a number that becomes a block": (
        "    y = 0\n"
        + LOOP
        + "        y += tl.load(out + i + tl.arange(0, 4))\n    tl.atomic_add(out, tl.sum(y, 0))\n",
        "only if `y` has the same type and shape",
        False,
    ),
    "a total of another type": (
        "    y = 0\n" + LOOP + "        y += i * 0.5\n    tl.store(out, y)\n",
        "only if `y` has the same type and shape",
        False,
    ),
    "a name that only the loop binds": (
        LOOP + "        y = i\n    tl.atomic_add(out, y)\n",
        "only if `y` has the same type and shape",
        False,
    ),
    "a range of the variable": (LOOP + ADD.format("tl.sum(tl.arange(0, 1 << i), 0)"), KNOWN, False),
    "an assertion": (LOOP + "        tl.static_assert(i < 64)\n" + ADD.format("i"), KNOWN, False),
    "an item of a tuple": ("    two = (1, 2)\n" + LOOP + ADD.format("two[i % 2]"), KNOWN, False),
    "a test that binds a type": (
        LOOP
        + "        if i > 2:\n            y = 1.5\n        else:\n            y = 2\n"
        + ADD.format("(y * 2).to(tl.int32)"),
        KNOWN,
        False,
    ),
    "a constexpr of another kernel": (LOOP + ADD.format("pick(1, i)"), KNOWN, False),
    "the number itself": ("    tl.static_assert(n < 64)\n" + LOOP + ADD.format("i"), KNOWN, False),
    "a return": (LOOP + "        if n > 2:\n            return\n" + ADD.format("i"), KNOWN, False),
}


@pytest.mark.parametrize(("body", "remedy"), [one[:2] for one in BODIES.values()], ids=BODIES.keys())
def test_remedy_of_an_unrolled_loop_says_what_range_needs(body: str, remedy: str) -> None:
    text = HEAD + HELPER + kernel("work", ": tl.constexpr", body) + LAUNCH
    file = SourceFile("text.py", "text.py", FileKind.PYTHON, text.encode())

    (finding,) = [one for one in scan([file], Settings(root=Path()), cwd=Path()).findings if one.facts.parameter == "n"]

    assert remedy in (finding.advice or "")
    assert (WORKS in (finding.advice or "")) == (remedy == WORKS)


@pytest.mark.parametrize("version", ["3.2.0", "3.9.0"])
def test_range_compiles_where_it_is_advised(version: str, tmp_path: Path) -> None:
    kernels = [
        kernel(f"work_{number}", "", body.replace("tl.static_range", "range"))
        for number, (body, _, _) in enumerate(BODIES.values())
    ]
    (tmp_path / "kernels.py").write_text(HEAD + HELPER + "\n\n".join(kernels), encoding="utf-8")

    run = Runner(triton_folder(version), tmp_path / "cache")
    compiled = json.loads(run("-c", PROGRAM, str(tmp_path)).stdout.splitlines()[-1])

    assert dict(zip(BODIES, compiled.values(), strict=True)) == {name: one[2] for name, one in BODIES.items()}
