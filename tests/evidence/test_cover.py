"""What recordings of a warm-up do not cover, by the source of the program: closed key spaces, and open ones."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.evidence.recorded import process
from triton_doctor.cli.cover import find_cover
from triton_doctor.evidence.cover import NOT_LAUNCHED, NOT_PROVED, NOT_TUNED, Cover
from triton_doctor.runtime.event import KEPT, NOT_KEPT, AutotuneEvent, CompileEvent, CompileKey, KernelName, LaunchSite
from triton_doctor.runtime.prewarm.kernel_variants import gather_variants
from triton_doctor.runtime.recording import Recording
from triton_doctor.runtime.sweep_event import SweepEvent

KERNELS = """\
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x, bias, n, BLOCK: tl.constexpr, HAS_BIAS: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    if HAS_BIAS:
        value += tl.load(bias + at, mask=at < n)
    tl.store(x + at, value, mask=at < n)


"""
LINE = 6
FULL = """\
def answer(lengths: list[int], bias=None):
    n = len(lengths)
    x = torch.empty(n, device="cuda")
    scale[(1,)](x, bias, n, BLOCK=64, HAS_BIAS=bias is not None)
"""


def compiled(folder: Path, *, none: bool = False, n: str = "%16", block: int = 64, flag: bool = True) -> CompileEvent:
    """The compile of one launch of `scale`."""
    attributes = (("x", "%16"), *(() if none else (("bias", "%16"),)), *((("n", n),) if n else ()))
    key = CompileKey(
        signature=(
            ("x", "*fp32"),
            ("bias", "none" if none else "*fp32"),
            ("n", "i32"),
            ("BLOCK", "constexpr"),
            ("HAS_BIAS", "constexpr"),
        ),
        constants=(("BLOCK", block), ("HAS_BIAS", flag)),
        attributes=attributes,
        options=(("num_warps", 4),),
        spelled=("num_warps=4",),
        target="cuda:90",
    )
    return CompileEvent(
        kernel=KernelName(name="scale", module="ops", path=str(folder / "ops.py"), line=LINE),
        key=key,
        tier="compiled",
        stages_us=(),
        launch_site=None,
        device=0,
        thread=1,
        rank=None,
        at_ns=0,
        source="s",
        exact=(),
    )


def cover(
    folder: Path,
    functions: str,
    *events: CompileEvent | AutotuneEvent | SweepEvent,
    serve: str = "import ops\n\nops.answer(*read())\n",
    **files: str,
) -> Cover:
    """What `events` of `serve.py` lack, whose module `ops` has `functions` below the kernel `scale`."""
    for name, text in {"ops": KERNELS + functions, "serve": serve, **files}.items():
        (folder / f"{name}.py").write_text(text)
    (folder / "pyproject.toml").touch()
    recording = process(events or [compiled(folder)], 1)
    command = ("python", str(folder / "serve.py"))
    recording = Recording(headers=[replace(recording.headers[0], command=command)], events=recording.events)
    return find_cover([recording], gather_variants([recording]).variants, [], cwd=folder)


def told(found: Cover) -> list[str]:
    """How each missing variant differs from what was recorded."""
    return sorted(variant.reason.partition(":")[0].replace("`", "") for variant in found.missing)


def gaps(found: Cover, kind: str = NOT_PROVED) -> Sequence[tuple[str, str]]:
    """(parameter, rule) of each gap."""
    return [(gap.parameter or gap.kernel, gap.code) for gap in found.gaps if gap.kind == kind]


def test_length_of_what_another_object_keeps_is_the_models_by_its_name_alone(tmp_path: Path) -> None:
    found = cover(
        tmp_path,
        """\
def run(batch):
    answer(batch.req_pool_indices)


def answer(req_pool_indices: torch.Tensor):
    bs = req_pool_indices.shape[0]
    scale[(1,)](req_pool_indices, None, bs, BLOCK=64, HAS_BIAS=False)
""",
        compiled(tmp_path, none=True, flag=False),
        serve="import ops\n\nops.run(read())\n",
    )

    assert ("n", "") in gaps(found)


def test_flag_by_a_counter_of_an_object_has_both_values(tmp_path: Path) -> None:
    found = cover(
        tmp_path,
        """\
class Server:
    def __init__(self):
        self.step = 0

    def answer(self, lengths):
        x = torch.empty(len(lengths), device="cuda")
        scale[(1,)](x, x, 16, BLOCK=64, HAS_BIAS=self.step == 0)
        self.step += 1
""",
        serve="import ops\n\nserver = ops.Server()\nfor line in read():\n    server.answer(line)\n",
    )

    assert told(found) == ["HAS_BIAS False"]


def test_of_too_many_combinations_each_new_value_is_added_alone(tmp_path: Path) -> None:
    blocks = [16 * number for number in range(1, 61)]
    launch = (
        f"    for block in {tuple(blocks)}:\n        scale[(1,)](x, bias, n, BLOCK=block, HAS_BIAS=bias is not None)\n"
    )
    found = cover(
        tmp_path,
        FULL[: FULL.index("    scale[")] + launch,
        compiled(tmp_path),
        compiled(tmp_path, n=""),
    )

    assert sorted(told(found)) == sorted(
        ["n 1", "bias None, HAS_BIAS False", *(f"BLOCK {block}" for block in blocks if block != 64)]
    )
    assert gaps(found) == [("scale", "")]


def test_class_of_a_count_and_a_tensor_that_may_be_none_vary_with_the_flag_that_says_so(tmp_path: Path) -> None:
    found = cover(tmp_path, FULL)

    assert told(found) == [
        "bias None, HAS_BIAS False",
        "bias None, n 1, HAS_BIAS False",
        "bias None, n no multiple of 16, HAS_BIAS False",
        "n 1",
        "n no multiple of 16",
    ]
    assert found.missing[0].reason.endswith("`len(lengths)` is per call, ops.py:18")
    assert found.gaps == ()


def test_tensor_that_stands_in_for_one_that_is_none_has_the_type_of_its_own_parameter(tmp_path: Path) -> None:
    functions = """\
def answer(lengths: list[int], bias=None):
    x = torch.empty(64, device="cuda")
    scale[(1,)](x, bias if bias is not None else x, 64, BLOCK=64, HAS_BIAS=bias is not None)
"""
    event = compiled(tmp_path)
    given = tuple((name, "*bf16" if name == "bias" else kind) for name, kind in event.key.signature)
    with_bias = replace(event, key=replace(event.key, signature=given))
    without = replace(event, key=replace(event.key, constants=(("BLOCK", 64), ("HAS_BIAS", False))))

    assert told(cover(tmp_path, functions, with_bias)) == ["bias *fp32, HAS_BIAS False"]
    assert cover(tmp_path, functions, with_bias, without).is_whole
    assert gaps(cover(tmp_path, functions, without)) == [("bias", "")]


def test_table_of_options_that_is_not_followed_leaves_the_other_arguments_to_be_worked_out(tmp_path: Path) -> None:
    functions = FULL.replace("HAS_BIAS=bias", "**options(), HAS_BIAS=bias")

    found = cover(tmp_path, functions)

    assert told(found) == told(cover(tmp_path, FULL))
    assert gaps(found) == [("scale", "")]


def test_cover_is_whole_once_the_missing_variants_are_recorded(tmp_path: Path) -> None:
    every = [compiled(tmp_path, none=none, n=n, flag=not none) for none in (False, True) for n in ("=1", "%16", "")]

    assert cover(tmp_path, FULL, *every).is_whole


LAUNCH = """\
def answer(lengths: list[int], wide: bool = False):
    n = len(lengths)
    {before}
    scale[(1,)](torch.empty(n, device="cuda"), torch.empty(8, device="cuda"), n, BLOCK={block}, HAS_BIAS=True)
"""


@pytest.mark.parametrize(
    ("before", "block", "missing", "unproved"),
    [
        pytest.param("", "64", ["n 1", "n no multiple of 16"], [], id="literal"),
        pytest.param("", "32 if wide else 64", 5, [], id="flag of two literals"),
        pytest.param("", "min(triton.next_power_of_2(n), 64)", 9, [], id="bucket below a bound"),
        pytest.param("if n > 64: raise ValueError", "triton.next_power_of_2(n)", 9, [], id="bucket below a test"),
        pytest.param("", "max(16, min(64, triton.next_power_of_2(n)))", 6, [], id="bucket in a range"),
        pytest.param("", "32 if n > 1000 else 64", 4, [], id="choice by a size"),
        pytest.param("", "triton.next_power_of_2(n)", 2, [("BLOCK", "TRD206")], id="bucket without a bound"),
        pytest.param("", "n", 2, [("BLOCK", "TRD201")], id="raw size"),
        pytest.param("", "unknown(n)", 2, [("BLOCK", "")], id="not followed"),
        pytest.param("if wide: n = 16", "64", ["n 1", "n no multiple of 16"], [], id="assigned in a branch"),
    ],
)
def test_key_space_is_closed_only_where_the_source_shows_all_values(
    tmp_path: Path, before: str, block: str, missing: list[str] | int, unproved: list[tuple[str, str]]
) -> None:
    found = cover(tmp_path, LAUNCH.format(before=before or "pass", block=block))

    assert (len(told(found)) if isinstance(missing, int) else told(found)) == missing
    assert gaps(found) == unproved


TESTED = """\
import sys

IS_WIDE = bool(sys.platform)


def answer(lengths: list[int], bias=None):
    n = len(lengths)
    block = 64
    {test}
    if bias is not None:
        bias = bias.contiguous()
    x = torch.empty(n, device="cuda")
    scale[(1,)](x, bias, {n}, BLOCK=block, HAS_BIAS=bias is not None)
"""


@pytest.mark.parametrize(
    ("test", "n", "missing"),
    [
        pytest.param("if bias is None: block = 32", "16", ["bias None, BLOCK 32, HAS_BIAS False"], id="of None"),
        pytest.param("if n < 16: block = 32", "n", 7, id="of a size"),
        pytest.param("if IS_WIDE: block = 32", "16", ["bias None, HAS_BIAS False"], id="of a global"),
        pytest.param(
            "if x.device.type == 'cpu': block = 32", "16", ["bias None, HAS_BIAS False"], id="of the kind of device"
        ),
        pytest.param("if bias is None: bias = x", "16", [], id="that replaces None"),
    ],
)
def test_name_assigned_in_a_branch_follows_from_the_test(
    tmp_path: Path, test: str, n: str, missing: list[str] | int
) -> None:
    found = cover(tmp_path, TESTED.format(test=test, n=n))

    assert (len(told(found)) if isinstance(missing, int) else told(found)) == missing


SET_ELSEWHERE = """\
from dataclasses import dataclass, replace
from enum import IntEnum


class Mode(IntEnum):
    SMALL = 64
    LARGE = 32


@dataclass(frozen=True)
class Config:
    block: int = 64
    flag: bool = True


class Batch:
    block = 64

    def __init__(self, bias):
        self.bias = bias

    @property
    def size(self):
        return 32 if self.bias is None else 64

    def grow(self):
        self.block = 32


BASE = Config()
STATE = {{"block": 64}}


def pick(wide):
    return (32, False) if wide else (64, True)


pick.size = 64
SIZE = 64


def configure(wide):
    global SIZE
    SIZE = 32 if wide else 64


def indirectly(function, *arguments):
    function(*arguments)


def launch(x, block, flag=True, bias=...):
    scale[(1,)](x, x if bias is ... else bias, 16, BLOCK=block, HAS_BIAS=flag)


def configured(x, config):
    scale[(1,)](x, x, 16, BLOCK=config.block, HAS_BIAS=config.flag)


def batched(x, batch):
    scale[(1,)](x, batch.bias, 16, BLOCK=64, HAS_BIAS=True)


def answer(wide: bool = False):
    x = torch.empty(64, device="cuda")
    {body}
"""


@pytest.mark.parametrize(
    ("body", "missing", "unproved"),
    [
        pytest.param("configured(x, Config(32) if wide else BASE)", ["BLOCK 32"], [], id="field of an object"),
        pytest.param("configured(x, replace(BASE, block=32) if wide else BASE)", ["BLOCK 32"], [], id="copied object"),
        pytest.param("batched(x, Batch(x if wide else None))", ["bias None"], [], id="attribute that may be None"),
        pytest.param(
            "batch = Batch(x)\n    if wide: batch.grow()\n    launch(x, batch.block)",
            ["BLOCK 32"],
            [],
            id="attribute that a method sets",
        ),
        pytest.param("launch(x, Batch(x).size)", ["BLOCK 32"], [], id="property"),
        pytest.param(
            "block, flag = pick(wide)\n    scale[(1,)](x, x, 16, BLOCK=block, HAS_BIAS=flag)",
            ["BLOCK 32, HAS_BIAS False"],
            [],
            id="results of a call vary together",
        ),
        pytest.param(
            'options = {"BLOCK": 64, "HAS_BIAS": True}\n    if wide: options["BLOCK"] = 32\n'
            "    scale[(1,)](x, x, 16, **options)",
            ["BLOCK 32"],
            [],
            id="table that a branch changes",
        ),
        pytest.param(
            'if wide: STATE["block"] = 32\n    scale[(1,)](x, x, 16, BLOCK=STATE["block"], HAS_BIAS=True)',
            ["BLOCK 32"],
            [],
            id="global table",
        ),
        pytest.param("launch(x, Mode.LARGE if wide else Mode.SMALL)", ["BLOCK 32"], [], id="members of an enum"),
        pytest.param(
            "bias = None\n    if wide: bias = x\n    scale[(1,)](x, bias, 16, BLOCK=64, HAS_BIAS=True)",
            ["bias None"],
            [],
            id="None that a branch replaces",
        ),
        pytest.param(
            'scale[(1,)](x, {}.get("bias"), 16, BLOCK=64, HAS_BIAS=True)', ["bias None"], [], id="get of a table"
        ),
        pytest.param(
            "block = 16\n    while block < x.shape[0]: block *= 2\n"
            "    scale[(1,)](x, x, 16, BLOCK=block, HAS_BIAS=True)",
            [],
            [("BLOCK", "")],
            id="loop that doubles",
        ),
        pytest.param(
            "dtype = torch.half\n    if wide: dtype = torch.float\n    launch(x, dtype)",
            [],
            [("BLOCK", "")],
            id="constants that are no literals",
        ),
        pytest.param("configure(wide)\n    launch(x, SIZE)", ["BLOCK 32"], [], id="global that a function sets"),
        pytest.param(
            "if wide: pick.size = 32\n    launch(x, pick.size)", ["BLOCK 32"], [], id="attribute of a function"
        ),
        pytest.param(
            "indirectly(launch, x, 32)\n    launch(x, 64)",
            ["HAS_BIAS False"],
            [("BLOCK", "")],
            id="function that is passed on",
        ),
        pytest.param("launch(torch.unbind(x)[1], 64)", [], [("", "TRD209")], id="row of a tensor"),
    ],
)
def test_value_that_is_set_elsewhere_has_each_value_that_it_is_set_to(
    tmp_path: Path, body: str, missing: list[str], unproved: list[tuple[str, str]]
) -> None:
    found = cover(tmp_path, SET_ELSEWHERE.format(body=body), serve="import ops\n\nops.answer(ops.read())\n")

    assert told(found) == missing
    assert gaps(found) == unproved


def test_default_of_a_helper_to_which_each_call_passes_a_tensor_is_no_value(tmp_path: Path) -> None:
    functions = """\
def answer(bias=None):
    if bias is None:
        bias = torch.empty(64, device="cuda")
    helper(bias)


def helper(bias=None):
    launch(bias)


def launch(bias):
    scale[(1,)](torch.empty(64, device="cuda"), bias, 16, BLOCK=64, HAS_BIAS=True)
"""
    called = cover(tmp_path, functions, serve="import ops\n\nops.answer()\n")
    used = cover(tmp_path, functions, serve="import ops\n\nops.helper(ops.read())\n")

    assert (told(called), told(used)) == ([], ["bias None"])


def test_values_that_callers_without_triton_pass_are_values_too(tmp_path: Path) -> None:
    functions = """\
def answer(mode):
    x = torch.empty(64, device="cuda")
    scale[(1,)](x, x, 64, BLOCK=mode, HAS_BIAS=True)
"""
    serve = "import ops\n\nops.answer(64)\nops.answer(32)\n"
    found = cover(tmp_path, functions, serve=serve)

    assert told(found) == ["BLOCK 32"]
    assert gaps(found) == []


def test_values_that_no_reached_caller_passes_are_none_of_the_program(tmp_path: Path) -> None:
    functions = """\
def answer(block, flag: bool = True):
    x = torch.empty(64, device="cuda")
    scale[(1,)](x, x, 64, BLOCK=block, HAS_BIAS=flag)


def other():
    answer(32, False)
"""
    found = cover(tmp_path, functions, serve="import ops\n\nops.answer(64)\n")

    assert found.is_whole


def test_value_of_a_launch_that_made_no_compile_is_not_that_of_another_launch(tmp_path: Path) -> None:
    functions = """\
WIDTH = int(open("width").read())


def answer(block):
    x = torch.empty(64, device="cuda")
    scale[(1,)](x, x, 64, BLOCK=BLOCK, HAS_BIAS=True)


def other(x):
    scale[(1,)](x, x, 64, BLOCK=WIDTH, HAS_BIAS=True)
"""
    serve = "import ops\n\nops.answer(64)\nops.other(read())\n"

    def found(block: str, line: int) -> Cover:
        site = LaunchSite(path=str(tmp_path / "ops.py"), line=line, function="")
        event = replace(compiled(tmp_path), launch_site=site)
        return cover(tmp_path, functions.replace("BLOCK=BLOCK", f"BLOCK={block}"), event, serve=serve)

    line = 1 + (KERNELS + functions).splitlines().index("    scale[(1,)](x, x, 64, BLOCK=BLOCK, HAS_BIAS=True)")
    assert gaps(found("64", line)) == [("BLOCK", "")]
    # Here both have what was read once.
    assert found("WIDTH", line).is_whole


def test_integer_that_is_not_specialized_has_one_class(tmp_path: Path) -> None:
    unspecialized = KERNELS.replace("@triton.jit\n", '@triton.jit(do_not_specialize=["n"])\n')
    found = cover(tmp_path, "", compiled(tmp_path, n=""), ops=unspecialized + FULL)

    assert told(found) == ["bias None, HAS_BIAS False"]


def test_view_that_begins_anywhere_is_aligned_or_not(tmp_path: Path) -> None:
    functions = """\
def answer(lengths: list[int]):
    x = torch.empty(100, device="cuda")
    start = len(lengths)
    scale[(1,)](x[start:], x, 64, BLOCK=64, HAS_BIAS=True)
"""
    found = cover(tmp_path, functions)

    assert told(found) == ["x given unaligned"]


def test_view_that_is_passed_on_keeps_alignment_from_being_proved(tmp_path: Path) -> None:
    functions = """\
def answer(x):
    scale[(1,)](x, x, 64, BLOCK=64, HAS_BIAS=True)


def shifted(tokens):
    answer(tokens[:, 1:].reshape(-1))
"""
    found = cover(tmp_path, functions, serve="import ops\n\nops.shifted(read())\n")

    assert [(gap.reason.partition(" may")[0], gap.code) for gap in found.gaps] == [("`tokens[:, 1:]`", "TRD209")]


def test_heuristic_is_computed_from_the_arguments_of_the_launch(tmp_path: Path) -> None:
    heuristic = '@triton.heuristics({"HAS_BIAS": lambda args: args["bias"] is not None})\n@triton.jit\n'
    functions = FULL.replace(", HAS_BIAS=bias is not None", "")
    found = cover(tmp_path, "", ops=KERNELS.replace("@triton.jit\n", heuristic) + functions)

    assert len(told(found)) == 5
    assert gaps(found) == []


OTHER = """\
@triton.jit
def sample(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 0.0)


def draw(x):
    sample[(1,)](x, BLOCK=64)


"""


@pytest.mark.parametrize(
    ("serve", "missing"),
    [
        pytest.param("import ops\n\nops.answer(read())\n", [], id="nothing names it"),
        pytest.param("import ops\n\nops.answer(read())\nif hot():\n    ops.draw(x)\n", ["sample"], id="called"),
        pytest.param(
            "import ops\n\nWAYS = {'draw': ops.draw}\nops.answer(read())\nWAYS[way()](1)\n", ["sample"], id="in a table"
        ),
        pytest.param(
            "from ops import answer, draw\n\ndef unused():\n    draw(1)\n\nanswer(read())\n",
            [],
            id="in an unused function",
        ),
        pytest.param("import other\n\nother.main()\n", ["sample"], id="through a module without Triton"),
    ],
)
def test_kernel_that_the_program_can_launch_and_never_did_is_named(
    tmp_path: Path, serve: str, missing: list[str]
) -> None:
    other = "import ops\n\n\ndef main():\n    ops.answer([])\n    ops.draw(1)\n"
    found = cover(tmp_path, OTHER + FULL, serve=serve, other=other)

    assert [gap.kernel for gap in found.gaps if gap.kind == NOT_LAUNCHED] == missing


@pytest.mark.parametrize(
    ("serve", "reason"),
    [
        pytest.param(
            "import ops\n\nops.answer(read())\ngetattr(ops, name())(1)\n",
            "`getattr` of a computed name may lead to launches that are not listed",
            id="function by a computed name",
        ),
        pytest.param(
            "import absent_package\nimport ops\n\nops.answer(read())\n",
            "`absent_package` is not installed here, and was not read",
            id="package that is not here",
        ),
        pytest.param(
            "import ops\n\nops.answer(read())\nops.indirect(ops.pick())\n",
            "the kernel of a launch is not found: `kernel` is an argument of `indirect`, and no caller is followed "
            "for it",
            id="kernel that is not found",
        ),
    ],
)
def test_launch_behind_code_that_was_not_read_keeps_the_cover_from_being_proved(
    tmp_path: Path, serve: str, reason: str
) -> None:
    indirect = "\n\ndef indirect(kernel):\n    kernel[(1,)](1)\n\n\n"
    found = cover(tmp_path, OTHER + FULL + indirect, serve=serve)

    assert reason in [gap.reason for gap in found.gaps]


NO_CALLER = "`kernel` is an argument of `indirect`, and no caller is followed for it"


@pytest.mark.parametrize(
    ("is_per_model", "expected"),
    [
        pytest.param(
            None,
            [
                "no launch of it is read: code that is not followed launches it",
                f"the kernel of a launch is not found: {NO_CALLER}",
            ],
            id="no sweep",
        ),
        pytest.param(True, [], id="swept, only the model moves the key"),
        pytest.param(
            False,
            ["a launch of it is not read, and in a sweep `BLOCK` had 2 values over 2 shapes, follows batch"],
            id="swept, a call moves the key",
        ),
    ],
)
def test_launch_that_a_sweep_made_is_proved_unless_a_call_moves_the_key(
    tmp_path: Path, is_per_model: bool | None, expected: list[str]
) -> None:
    indirect = "def indirect(kernel):\n    kernel[(1,)](1)\n"
    site = LaunchSite(path=str(tmp_path / "ops.py"), line=len(KERNELS.splitlines()) + 2, function="indirect")
    event = replace(compiled(tmp_path), launch_site=site)
    moved = SweepEvent(
        **dict.fromkeys(("part", "growth", "entry"), "x"),
        **dict.fromkeys(("values", "points", "at_ns"), 2),
        function="scale",
        module="ops",
        name="BLOCK",
        formula="",
        follows=("batch",),
        per_model=bool(is_per_model),
    )
    events = [event] if is_per_model is None else [event, moved]

    found = cover(tmp_path, indirect, *events, serve="import ops\n\nops.indirect(ops.pick())\n")

    assert sorted(gap.reason for gap in found.gaps) == expected


def test_parameter_that_the_helper_of_a_declared_launch_fills_is_open(tmp_path: Path) -> None:
    functions = """\
@launched(kernel=scale)
def answer(x, bias):
    return (1,), dict(BLOCK=64, HAS_BIAS=bias is not None)
"""
    found = cover(tmp_path, functions)

    assert told(found) == ["bias None, HAS_BIAS False"]
    assert gaps(found) == [("n", "")]


def test_shift_by_a_size_without_a_bound_is_not_worked_out(tmp_path: Path) -> None:
    functions = FULL.replace("bias=None", "").replace("BLOCK=64", "BLOCK=1 << n").replace("bias", "x")
    found = cover(tmp_path, functions.replace("HAS_BIAS=x is not None", "HAS_BIAS=True"))

    assert ("BLOCK", "") in gaps(found)


def test_first_of_several_open_choices_is_named_whatever_the_hashes(tmp_path: Path) -> None:
    sizes = " + ".join(f"size_{name}(lengths)" for name in "abcdefgh")
    found = cover(tmp_path, FULL.replace("BLOCK=64", f"BLOCK={sizes}"))

    assert [gap.reason.partition(" ")[0] for gap in found.gaps if gap.parameter == "BLOCK"] == ["`size_a(lengths)`"]


PACKAGE = {
    "lib/pkg/__init__.py": "",
    "lib/pkg/ops/kernels.py": f"""{KERNELS}
def answer(n, bias=None):
    x = torch.empty(n, device="cuda")
    scale[(1,)](x, bias, n, BLOCK=64, HAS_BIAS=bias is not None)
""",
    "lib/pkg/api.py": """\
from pkg.ops.kernels import answer


def handle(lengths: list[int], bias=None):
    answer(len(lengths), bias)
""",
    "app/serve.py": "import pkg.api\n\npkg.api.handle(read(), bias=read())\n",
}


@pytest.mark.parametrize("asked", ["lib/pkg", "lib/pkg/ops", "lib/pkg/ops/kernels.py", "lib/pkg/api.py"])
@pytest.mark.parametrize("working", ["app", "lib/pkg/ops", "elsewhere"])
def test_callers_in_the_whole_package_count_whatever_part_of_it_is_asked(
    tmp_path: Path, asked: str, working: str
) -> None:
    for path, text in PACKAGE.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "elsewhere").mkdir()
    event = compiled(tmp_path)
    kernel = replace(event.kernel, module="pkg.ops.kernels", path=str(tmp_path / "lib/pkg/ops/kernels.py"))
    recording = process([replace(event, kernel=kernel)], 1)
    header = replace(recording.headers[0], command=("python", str(tmp_path / "app/serve.py")))
    recording = Recording(headers=[header], events=recording.events)
    sources = [tmp_path / "app/serve.py", tmp_path / asked]
    found = find_cover([recording], gather_variants([recording]).variants, sources, cwd=tmp_path / working)

    assert gaps(found) == []
    assert [word for word in told(found) if "bias" not in word] == ["n 1", "n no multiple of 16"]


def test_recording_whose_script_is_not_here_proves_nothing(tmp_path: Path) -> None:
    found = cover(tmp_path, FULL)
    (tmp_path / "serve.py").unlink()
    recording = process([compiled(tmp_path)], 1)
    found = find_cover([recording], gather_variants([recording]).variants, [], cwd=tmp_path)

    assert any(gap.reason.startswith("the script of the recorded command") for gap in found.gaps)


KEEP = "pass `cache_results=True`, or set TRITON_CACHE_AUTOTUNING=1 where the program starts"
TUNED = KERNELS.replace(
    "@triton.jit\n", '@triton.autotune(configs=[triton.Config({"BLOCK": 64})], key=["n"])\n@triton.jit\n'
)
TUNED_LAUNCH = """\
def answer(lengths: list[int]):
    n = len(lengths)
    {test}
    x = torch.empty(n, device="cuda")
    scale[(1,)](x, x, n, HAS_BIAS=True)
"""


def tuned(folder: Path, n: int, kept: str = KEPT) -> AutotuneEvent:
    """A round of tuning for one size."""
    return AutotuneEvent(
        kernel=compiled(folder).kernel,
        key=(("n", n), ("dtype 0", "torch.float32")),
        best="BLOCK: 64",
        timings_ms=(("BLOCK: 64", 0.1),),
        duration_us=None,
        cached=False,
        launch_site=None,
        thread=1,
        rank=None,
        at_ns=0,
        kept=kept,
    )


def test_sizes_that_were_not_tuned_and_tuning_that_is_not_kept_are_named(tmp_path: Path) -> None:
    ops = TUNED + TUNED_LAUNCH.format(test="if n > 3: raise ValueError")
    found = cover(tmp_path, "", compiled(tmp_path, n=""), tuned(tmp_path, 3, NOT_KEPT), ops=ops)

    assert [gap.reason for gap in found.gaps if gap.kind == NOT_TUNED] == [
        "not tuned for n 1",
        "not tuned for n 2",
        f"each start tunes it again: {KEEP}",
    ]


def test_tuning_key_that_is_a_raw_size_is_open(tmp_path: Path) -> None:
    ops = TUNED + TUNED_LAUNCH.format(test="pass")
    found = cover(tmp_path, "", compiled(tmp_path, n=""), tuned(tmp_path, 3), ops=ops)

    assert gaps(found) == [("n", "TRD301")]
    assert told(found) == ["n 1", "n a multiple of 16"]
