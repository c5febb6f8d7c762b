"""What a rule advises, followed to the letter: each program is edited as its finding says, and run on a real Triton.

The programs are those of `test_predictions.py`. What TRD201 advises for each use of a constexpr has
a table of its own, `static/rules/test_remedies.py`.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.runtime.tritons import PROGRAMS, Runner, triton_folder
from tests.tritons import skip_without
from triton_doctor.settings import Settings
from triton_doctor.static.scan import scan
from triton_doctor.static.sources.files import FileKind, SourceFile

PREDICTIONS = PROGRAMS / "predictions"
OLD, NEW = "3.4.0", "3.9.0"

# One worker of pytest-xdist makes what this fixture makes.
pytestmark = pytest.mark.xdist_group("predictions")


@dataclass(frozen=True)
class Followed:
    """`edits` do what `advice`, a part of the finding's, says of `program`.

    `kernels` is how many are compiled, or loaded from the cache of kernels, before and after. Before, a Triton may end
    the program instead, and None stands for what differs between Tritons. `said` is what the edited program says.
    """

    program: str
    advice: str
    edits: tuple[tuple[str, str], ...]
    kernels: tuple[int | None, int]
    said: object = None


FOLLOWED = {
    "a constexpr that only the key needs leaves both": Followed(
        "trd201",
        "drop the `tl.constexpr` annotation of `count`: the kernel itself never reads it; remove `count` from",
        (("count: tl.constexpr,", "count,"), ('key=["count"]', "key=[]")),
        (6, 2),
        said=1,
    ),
    "what changes with a constexpr changes with its remedy": Followed(
        "trd201_together",
        "the kernel compiles for what changes with it too: also drop the annotation of `half` with a loop over `range`",
        (("n: tl.constexpr,", "n,"), ("half: tl.constexpr,", "half,"), ("tl.static_range(half)", "range(half)")),
        (3, 1),
    ),
    "what else changes per call compiles all the same": Followed(
        "trd201_beside",
        "each new value of `m` still compiles the kernel",
        (("n: tl.constexpr,", "n,"),),
        (3, 3),
    ),
    "a parameter that is never read is removed": Followed(
        "trd202", "remove `total`", (("total: tl.constexpr, ", ""), ("total=len(requests), ", "")), (3, 1)
    ),
    "a parameter that the tuning takes by name loses its annotation": Followed(
        "trd202_by_name", "has to stay a parameter", (("total: tl.constexpr, ", "total, "),), (3, 1)
    ),
    "a listed constexpr loses its annotation": Followed(
        "trd204", "drop the `tl.constexpr` annotation", (("n: tl.constexpr,", "n,"),), (3, 1)
    ),
    "a listed constexpr leaves the list": Followed(
        "trd204", "or remove it from the list", (('(do_not_specialize=["n"])', ""),), (3, 3)
    ),
    "the list names a parameter": Followed("trd204_unknown", "`n`", (('["m"]', '["n"]'),), (3, 1)),
    "a kernel is defined at module level": Followed(
        "trd205",
        "at module level",
        (
            ("def serve(x):\n    @triton.jit\n    def fill", "@triton.jit\ndef fill"),
            ("        tl.store", "    tl.store"),
            ("\n    fill[", "\n\ndef serve(x):\n    fill["),
        ),
        (3, 1),
    ),
    "a block has a cap": Followed(
        "trd206",
        "cap `BLOCK` with `min(...)` and loop over blocks",
        (
            ("block = triton.next_power_of_2(n)", "block = min(triton.next_power_of_2(n), 64)"),
            (
                "    at = tl.arange(0, BLOCK)\n    tl.store(x_ptr + at, 1, mask=at < n)",
                (
                    "    for start in range(0, n, BLOCK):\n        at = start + tl.arange(0, BLOCK)\n"
                    "        tl.store(x_ptr + at, 1, mask=at < n)"
                ),
            ),
        ),
        (4, 1),
    ),
    "counts are not specialized on": Followed(
        "trd208",
        'do_not_specialize=["n_rows", "n_tokens"]',
        (("@triton.jit\n", '@triton.jit(do_not_specialize=["n_rows", "n_tokens"])\n'),),
        (9, 1),
    ),
    "an offset is an argument of its own": Followed(
        "trd209",
        "with the offset in `do_not_specialize`",
        (
            ("@triton.jit\ndef fill(x_ptr,", '@triton.jit(do_not_specialize=["start"])\ndef fill(x_ptr, start,'),
            ("x_ptr + tl.arange", "x_ptr + start + tl.arange"),
            ("flat[len(requests) :]", "flat, len(requests)"),
        ),
        (2, 1),
    ),
    "offsets are padded": Followed(
        "trd209", "multiples of 16 elements", (("flat[len(requests) :]", "flat[16 * len(requests) :]"),), (2, 1)
    ),
    "a global is a constexpr": Followed(
        "trd210", "write `FACTOR = tl.constexpr(...)`", (("FACTOR = 2", "FACTOR = tl.constexpr(2)"),), (1, 1)
    ),
    "an annotated global is a constexpr": Followed(
        "trd210_annotated",
        "write `FACTOR = tl.constexpr(...)`",
        (("FACTOR: tl.constexpr = 2", "FACTOR = tl.constexpr(2)"),),
        (1, 1),
    ),
    "a table of numbers is a constexpr with a value": Followed(
        "trd210_table",
        "and read its items as `FACTORS.value[...]`",
        (("FACTORS = (2, 3)", "FACTORS = tl.constexpr((2, 3))"), ("FACTORS[1]", "FACTORS.value[1]")),
        (1, 1),
    ),
    "a global is a parameter": Followed(
        "trd210",
        "make it a `tl.constexpr` parameter",
        (
            ("x_ptr, BLOCK:", "x_ptr, factor: tl.constexpr, BLOCK:"),
            ("at, FACTOR *", "at, factor *"),
            ("torch.ones(64), BLOCK", "torch.ones(64), FACTOR, BLOCK"),
        ),
        (1, 1),
    ),
    "a global that changes is a parameter": Followed(
        "trd210_changed",
        "make it a `tl.constexpr` parameter",
        (
            ("x_ptr, BLOCK:", "x_ptr, factor: tl.constexpr, BLOCK:"),
            ("at, FACTOR *", "at, factor *"),
            ("torch.ones(64), BLOCK", "torch.ones(64), FACTOR, BLOCK"),
        ),
        (1, 2),
    ),
    "an option that is also a parameter is passed by name": Followed(
        "trd211",
        "sets both",
        (
            ("by_position[(1,)](x, 64, 8)", "by_position[(1,)](x, 64, num_warps=8)"),
            ("by_default[(1,)](x, 64)", "by_default[(1,)](x, 64, num_warps=8)"),
            ('"num_warps": 8})', "}, num_warps=8)"),
        ),
        (3, 3),
        said=[8, 8, 8],
    ),
    "a size leaves the key": Followed("trd301", "take `n` out of the key", (('key=["n"]', "key=[]"),), (2, 2), said=1),
    "a size is rounded for the key": Followed(
        "trd301",
        "pass `triton.next_power_of_2(n)` as that",
        (
            ('key=["n"]', 'key=["n_bucket"]'),
            ("x_ptr, n, BLOCK:", "x_ptr, n, n_bucket, BLOCK:"),
            ("len(requests))", "len(requests), triton.next_power_of_2(len(requests)))"),
        ),
        (2, 2),
        said=2,
    ),
    "a key names a parameter": Followed("trd303", "the parameters are", (('["N"]', '["n"]'),), (2, 2), said=2),
    "a range is a power of two": Followed(
        "trd502",
        "use 128, and mask the elements beyond the end",
        (
            ("BLOCK=100", "BLOCK=128"),
            (
                "tl.store(x_ptr + tl.arange(0, BLOCK), 1)",
                "at = tl.arange(0, BLOCK)\n    tl.store(x_ptr + at, 1, at < 100)",
            ),
        ),
        (1, 1),
    ),
}


def text_of(name, *, edited):
    """The program of that row, before or after its edits, each of which finds what it replaces."""
    followed = FOLLOWED[name]
    text = (PREDICTIONS / f"{followed.program}.py").read_text(encoding="utf-8")
    for old, new in followed.edits if edited else ():
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.fixture(scope="module", params=[OLD, NEW])
def happened(request, tmp_path_factory):
    """What became of each program with one triton, by name and whether it was edited."""
    skip_without("torch")
    folder = tmp_path_factory.mktemp("followed")
    paths = {}
    for number, name in enumerate(FOLLOWED):
        for edited in (False, True):
            path = folder / f"program_{number}_{'after' if edited else 'before'}.py"
            path.write_text(text_of(name, edited=edited), encoding="utf-8")
            paths[str(path)] = name, edited
    run = Runner(triton_folder(request.param), tmp_path_factory.mktemp(request.param))
    done = run(str(PROGRAMS / "predict.py"), "cuda:90", *paths)
    return {paths[path]: said for path, said in json.loads(done.stdout.splitlines()[-1]).items()}


def findings(name, *, edited):
    file = SourceFile("program.py", "program.py", FileKind.PYTHON, text_of(name, edited=edited).encode())
    found = scan([file], Settings(root=Path()), cwd=Path()).findings
    return [one for one in found if one.code == FOLLOWED[name].program[:6].upper()]


@pytest.mark.parametrize("name", FOLLOWED)
def test_finding_advises_what_is_followed(name):
    assert any(FOLLOWED[name].advice in (one.advice or "") for one in findings(name, edited=False))


@pytest.mark.parametrize("name", FOLLOWED)
def test_program_that_follows_the_advice_needs_as_many_kernels_as_promised(name, happened):
    before, after = happened[name, False], happened[name, True]
    kernels = [one["compiled"] + one["loaded"] for one in (before, after)]

    assert after["error"] is None
    assert kernels[1] == FOLLOWED[name].kernels[1]
    assert before["error"] is not None or FOLLOWED[name].kernels[0] in (None, kernels[0])
    assert after["said"] == FOLLOWED[name].said


@pytest.mark.parametrize("name", FOLLOWED)
def test_finding_is_gone_once_its_advice_is_followed(name):
    assert len(findings(name, edited=True)) < len(findings(name, edited=False))


def test_each_program_that_a_rule_predicts_is_mended():
    assert {one.program for one in FOLLOWED.values()} == {path.stem for path in PREDICTIONS.glob("*.py")}
