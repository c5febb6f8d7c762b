"""When a fix of a kernel's parameter is safe, when it is offered as unsafe, and when not at all."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from triton_doctor.settings import Settings
from triton_doctor.static.scan import scan
from triton_doctor.static.sources.workspace import find_workspace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from triton_doctor.static.fix.rounds import Fixed

HEAD = "import math\nimport torch\nimport triton\nimport triton.language as tl\n"


def fixable(folder: Path, code: str, paths: tuple[str, ...] = (".",)) -> str:
    """What the one finding of `code` says of itself."""
    settings = Settings(root=folder)
    read = find_workspace([folder / path for path in paths], settings, cwd=folder)
    found = scan(read.files, settings, cwd=folder, report_paths=read.report_paths)
    (told,) = {finding.fixable for finding in found.findings if finding.code == code}
    return told


def kernel(body: str, given: str = "x.numel()", param: str = "n: tl.constexpr") -> str:
    lines = dedent(body).replace("\n", "\n    ")
    return f"""{HEAD}
@triton.jit
def work(x_ptr, m, {param}, BLOCK: tl.constexpr = 64):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    {lines}


def launch(x, k: int, eps, lengths: list[int], maybe: int = None):
    work[(4,)](x, 8, {given})
"""


@pytest.mark.parametrize(
    ("body", "safe"),
    [
        pytest.param("tl.store(x_ptr + at, 0, mask=at < n)", True, id="a mask"),
        pytest.param(
            "p = tl.make_block_ptr(x_ptr, (8, 64), (64, 1), (0, 0), (16, 16), (1, 0))\n"
            "p = tl.advance(p, (16, 0))\n"
            "tl.store(x_ptr + at, 0, mask=at < n)",
            True,
            id="a mask, beside a block that is moved",
        ),
        pytest.param("tl.store(x_ptr + tl.program_id(0) * n + at, 0)", True, id="an address"),
        pytest.param("for i in range(n):\n    tl.store(x_ptr + i * BLOCK + at, 0)", True, id="a loop"),
        pytest.param("last = n - 1 - tl.program_id(0)\ntl.store(x_ptr + last, 0)", True, id="less a number"),
        pytest.param("half = tl.program_id(0) // n\ntl.store(x_ptr + half, 0)", True, id="a divisor of int32"),
        pytest.param("tl.store(x_ptr + at, tl.load(x_ptr + at).to(tl.float32) * n)", True, id="times float32"),
        pytest.param(
            "s = tl.zeros((64,), tl.float32)\nfor i in range(m):\n    s += at * n\ntl.store(x_ptr, s)",
            True,
            id="a sum of float32",
        ),
        pytest.param("tl.store(x_ptr + tl.load(x_ptr + at).to(tl.int64) * n, 0)", True, id="times a loaded int64"),
        pytest.param("tl.store(x_ptr + at, tl.load(x_ptr + at) / n)", False, id="a divisor of what was loaded"),
        pytest.param(
            "tl.store(x_ptr + at, tl.load(x_ptr + at).to(tl.float32) / n)",
            False,
            id="a quotient that constants round otherwise",
        ),
        pytest.param("tl.store(x_ptr + at, tl.load(x_ptr + at) * n)", False, id="times data that may be narrow"),
        pytest.param("x = tl.load(x_ptr + at)\ntl.store(x_ptr + at, (x << n) >> n)", False, id="shifts of data"),
        pytest.param("x = tl.load(x_ptr + at)\nx += n\ntl.store(x_ptr + at, x)", False, id="added to data"),
        pytest.param("tl.store(x_ptr + at, 0, mask=tl.load(x_ptr + at) < n)", False, id="compared with data"),
        pytest.param("x = tl.load(x_ptr + at).to(tl.int16)\ntl.store(x_ptr + at, x + n)", False, id="added to int16"),
        pytest.param(
            "s = tl.zeros((64,), tl.int8)\nfor i in range(m):\n    s += n\ntl.store(x_ptr, s)",
            False,
            id="a sum of int8",
        ),
        pytest.param(
            "x = at\nif m > 3:\n    x = tl.load(x_ptr + at)\ntl.store(x_ptr + at, x * n)",
            False,
            id="times data of one branch",
        ),
        pytest.param(
            "x = at\nfor i in range(m):\n    y = x * n\n    x = tl.load(x_ptr + at)\ntl.store(x_ptr, y)",
            False,
            id="times data of an earlier turn",
        ),
        pytest.param(
            "x = tl.load(x_ptr + at).to(tl.uint32)\ntl.store(x_ptr + at, x % n)",
            False,
            id="modulus of an unsigned number",
        ),
        pytest.param("tl.store(x_ptr + at, tl.where(at < m, n, tl.load(x_ptr + at)))", False, id="chosen beside data"),
        pytest.param(
            "for i in range(tl.cdiv(n, BLOCK)):\n    tl.store(x_ptr + i, 0)", False, id="rounded up by Python"
        ),
        pytest.param("tl.store(x_ptr + at, 0, mask=at < n + 1)", False, id="a sum that may pass 2**31"),
        pytest.param(
            "last = min(n, 64)\ntl.store(x_ptr + at, 0, mask=at < last)", False, id="the lesser of two constants"
        ),
        pytest.param("if n > 5:\n    tl.store(x_ptr + at, 0)", False, id="a branch that may not compile"),
        pytest.param("tl.static_print(n)\ntl.store(x_ptr + at, 0, mask=at < n)", False, id="printed while compiling"),
        pytest.param("last = min(n, m)\ntl.store(x_ptr + at, 0, mask=at < last)", True, id="the lesser of two"),
        pytest.param(
            "half = n // 2\ntl.store(x_ptr + at, 0, mask=at < half)", False, id="half of it, which Python floors"
        ),
        pytest.param("tl.store(x_ptr + n.to(tl.int64) * at, 0)", True, id="made wider"),
        pytest.param("tl.store(x_ptr + at, 1 / n)", False, id="a quotient that Python computes exactly"),
        pytest.param("tl.store(x_ptr + at, 0, mask=at < n * n)", False, id="a product that may pass 2**31"),
        pytest.param("less = (n - 9) // 4\ntl.store(x_ptr + at, 0, mask=at < less)", False, id="floored below zero"),
        pytest.param("sum = n\nfor i in range(m):\n    sum += i\ntl.store(x_ptr, sum)", False, id="a local that grows"),
        pytest.param("tl.store(x_ptr + at, n)", False, id="a value that is stored"),
        pytest.param("tl.store(x_ptr + at, helper(n))", False, id="handed to another function"),
        pytest.param("n = n + 1\ntl.store(x_ptr + at, 0, mask=at < n)", False, id="bound anew"),
        pytest.param("for i in tl.range(m, flatten=n):\n    tl.store(x_ptr + i, 0)", False, id="how a loop is built"),
        pytest.param("some = n and m\ntl.store(x_ptr + at, 0, mask=at < some)", False, id="asked for its truth"),
    ],
)
def test_plain_argument_is_safe_where_each_use_is_as_good(body: str, safe: bool, write: Callable[..., Path]) -> None:
    folder = write("a.py", kernel(body)).parent

    assert fixable(folder, "TRD201") == ("safe" if safe else "unsafe")


@pytest.mark.parametrize(
    ("given", "safe"),
    [
        pytest.param("x.numel()", True, id="a count"),
        pytest.param("triton.cdiv(x.numel(), k) + 1", True, id="arithmetic of whole numbers"),
        pytest.param("math.ceil(x.numel() / 3)", True, id="rounded up"),
        pytest.param("n=x.numel()", True, id="by keyword"),
        pytest.param("max(lengths)", True, id="the greatest of a list of integers"),
        pytest.param("x.numel() / 2", False, id="a fraction"),
        pytest.param("x.max().item()", False, id="of a type that is not known"),
        pytest.param("x.numel() if k else None", False, id="or nothing"),
        pytest.param("x.numel() if k else eps", False, id="or something else"),
        pytest.param("x.numel() + maybe", False, id="and a number that may be missing"),
    ],
)
def test_plain_argument_is_safe_where_integers_are_given(given: str, safe: bool, write: Callable[..., Path]) -> None:
    folder = write("a.py", kernel("tl.store(x_ptr + at, 0, mask=at < n)", given)).parent

    assert fixable(folder, "TRD201") == ("safe" if safe else "unsafe")


PLAIN = kernel("tl.store(x_ptr + at, 0, mask=at < n)")


@pytest.mark.parametrize(
    ("also", "safe"),
    [
        pytest.param("", True, id="nothing else"),
        pytest.param("def other(x, k: int):\n    work[(4,)](x, 8, k)", True, id="another launch"),
        pytest.param("def other(x, k):\n    work[(4,)](x, 8, k)", False, id="a launch with who knows what"),
        pytest.param("def other(x, *rest):\n    work[(4,)](x, *rest)", False, id="a launch with a starred list"),
        pytest.param("def other(x):\n    work.warmup(x, 8, 16, grid=(1,))", False, id="compiled ahead of time"),
        pytest.param("ALL = {'work': work}", False, id="kept in a table"),
        pytest.param("@triton.jit\ndef outer(x_ptr):\n    work(x_ptr, 8, None)", False, id="called by another kernel"),
    ],
)
def test_plain_argument_is_safe_where_all_uses_of_the_kernel_are_seen(
    also: str, safe: bool, write: Callable[..., Path]
) -> None:
    folder = write("a.py", f"{PLAIN}\n\n{also}\n").parent

    assert fixable(folder, "TRD201") == ("safe" if safe else "unsafe")


def test_file_beside_that_was_not_read_may_launch_it_too(write: Callable[..., Path]) -> None:
    write("b.py", "from a import work\n\ndef use(x, k):\n    work[(4,)](x, 8, k)\n")
    folder = write("a.py", PLAIN).parent

    assert fixable(folder, "TRD201", paths=("a.py",)) == "unsafe"
    write("b.py", "from a import work\n\ndef use(x, k: int):\n    work[(4,)](x, 8, k)\n")
    assert fixable(folder, "TRD201", paths=("a.py",)) == "safe"


def test_one_file_of_a_package_is_fixed_with_all_of_it_in_sight(write: Callable[..., Path], folder: Path) -> None:
    write("p/__init__.py")
    write("p/q/__init__.py")
    write("p/q/a.py", PLAIN)

    for path in ("p/q/a.py", "p/q", "p"):
        assert fixable(folder, "TRD201", paths=(path,)) == "safe"


UNREAD = kernel("tl.store(x_ptr + at, 0)", given="k")


@pytest.mark.parametrize(
    ("name", "package", "text", "told"),
    [
        pytest.param("a.py", False, UNREAD, "safe", id="a program"),
        pytest.param("p/a.py", True, UNREAD, "unsafe", id="a public kernel of a package, which others may launch"),
        pytest.param("p/a.py", True, UNREAD.replace("work", "_work"), "safe", id="a private kernel"),
        pytest.param("p/_a.py", True, UNREAD, "safe", id="of a private module"),
        pytest.param("a.py", False, UNREAD.replace("8, k)", "8, next(x))"), "unsafe", id="an argument that acts"),
        pytest.param("a.py", False, UNREAD.replace("x, 8, k", "*x"), "no", id="a launch that hides it"),
        pytest.param("a.py", False, f"{UNREAD}\nkept = [work]\n", "unsafe", id="a kernel that is kept"),
        pytest.param("a.py", False, UNREAD.replace("@triton.jit", "@my\n@triton.jit"), "no", id="decorated by others"),
    ],
)  # fmt: skip
def test_parameter_goes_where_nobody_else_can_give_it(
    name: str, package: bool, text: str, told: str, write: Callable[..., Path], folder: Path
) -> None:
    write(name, text)
    if package:
        write("p/__init__.py")

    assert fixable(folder, "TRD202") == told


@pytest.mark.parametrize(
    ("function", "safe"),
    [
        pytest.param("def f(x, k):\n    work[(4,)](x, 8, k)", True, id="a parameter"),
        pytest.param("def f(x, k):\n    work[(4,)](x, 8, -3)", True, id="a literal"),
        pytest.param("def f(x, k):\n    m, _ = x.shape\n    work[(4,)](x, 8, m)", True, id="a local"),
        pytest.param("def f(x):\n    for i in range(9):\n        work[(4,)](x, 8, i)", True, id="the loop's variable"),
        pytest.param("def f(x):\n    work[(4,)](x, 8, x.n)", False, id="a property"),
        pytest.param("def f(x, seen):\n    work[(4,)](x, 8, seen['a'])", False, id="an item of a defaultdict"),
        pytest.param("def f(x):\n    work[(4,)](x, 8, x.shape[3])", False, id="an index that may raise"),
        pytest.param("def f(x):\n    work[(4,)](x, 8, len(x))", False, id="a call"),
        pytest.param("def f(x, k):\n    work[(4,)](x, 8, k + x)", False, id="an operator"),
        pytest.param("def f(x, k):\n    work[(4,)](x, 8, not k)", False, id="a truth value"),
        pytest.param("def f(x, k):\n    work[(4,)](x, 8, f'{k}')", False, id="an f-string"),
        pytest.param("def f(x):\n    work[(4,)](x, 8, GLOBAL)", False, id="a global that may come later"),
        pytest.param(
            "def f(x, k):\n    if k:\n        m = 1\n    work[(4,)](x, 8, m)", False, id="bound in one branch"
        ),
        pytest.param("def f(x, k):\n    for m in k:\n        pass\n    work[(4,)](x, 8, m)", False, id="after a loop"),
        pytest.param("def f(x, k):\n    del(k)\n    work[(4,)](x, 8, k)", False, id="deleted"),
        pytest.param("def f(x, k):\n    k or (m := 1)\n    work[(4,)](x, 8, m)", False, id="a walrus that may not run"),
        pytest.param(
            "def f(x, k):\n    with k:\n        m = k()\n    work[(4,)](x, 8, m)",
            False,
            id="in a with that may suppress",
        ),
        pytest.param(
            "def f(x, k):\n    try:\n        m = k()\n    finally:\n        work[(4,)](x, 8, m)", False, id="in a try"
        ),
        pytest.param(
            "def f(x):\n    def g():\n        work[(4,)](x, 8, m)\n    g()\n    m = 1",
            False,
            id="of the function around",
        ),
    ],
)
def test_argument_is_dropped_where_it_certainly_has_no_effect(
    function: str, safe: bool, write: Callable[..., Path]
) -> None:
    folder = write("a.py", f"{UNREAD}\n\n{function}\n").parent

    assert fixable(folder, "TRD202") == ("safe" if safe else "unsafe")


def test_default_that_is_computed_is_not_dropped_safely(write: Callable[..., Path]) -> None:
    folder = write("a.py", UNREAD.replace("n: tl.constexpr", "n: tl.constexpr = print(4)")).parent

    assert fixable(folder, "TRD202") == "unsafe"


def test_value_that_a_heuristic_sets_is_left_alone(write: Callable[..., Path], folder: Path) -> None:
    decorated = '@triton.heuristics({"n": lambda args: 4})\n@triton.jit'
    write("a.py", UNREAD.replace("@triton.jit", decorated).replace("8, k)", "8)"))

    assert fixable(folder, "TRD202") == "no"


def test_launch_in_another_file_loses_the_argument_too(write: Callable[..., Path], folder: Path) -> None:
    write("p/__init__.py")
    write("p/_kernels.py", UNREAD)
    write("p/use.py", "import triton\nfrom p._kernels import work as it\n\ndef use(x):\n    it[(1,)](x, 8, n=3)\n")

    assert fixable(folder, "TRD202") == "safe"
    write("p/use.py", "import triton\nfrom p import _kernels\n\ndef use(x):\n    use.it = _kernels.work\n")
    assert fixable(folder, "TRD202") == "unsafe"


def test_value_that_a_config_sets_is_left_alone(write: Callable[..., Path], folder: Path) -> None:
    tuned = '@triton.autotune(configs=[triton.Config({"n": 4}), triton.Config({"n": 8})], key=[])\n@triton.jit'
    write("a.py", PLAIN.replace("@triton.jit", tuned))

    assert fixable(folder, "TRD201") == "no"


@pytest.mark.parametrize(
    ("params", "told", "advice"),
    [
        pytest.param("T_tmp", "no", "did you mean `T_tmp`?", id="a longer name"),
        pytest.param("t", "no", "did you mean `t`?", id="another case"),
        pytest.param("T_tmp: tl.constexpr", "safe", "the parameters are `x`, `T_tmp`", id="a constexpr, which is none"),
        pytest.param("BT", "safe", "the parameters are `x`, `BT`", id="a name that is another"),
    ],
)
def test_misspelled_name_in_a_list_is_asked_about_and_not_deleted(
    params: str, told: str, advice: str, write: Callable[..., Path]
) -> None:
    text = f'{HEAD}\n@triton.jit(do_not_specialize=["T"])\ndef work(x, {params}):\n    tl.store(x, 0)\n'
    folder = write("a.py", text).parent

    read = find_workspace([folder], Settings(root=folder), cwd=folder)
    (finding,) = (one for one in scan(read.files, read.settings, cwd=folder).findings if one.code == "TRD204")

    assert (finding.fixable, finding.advice) == (told, advice)


@pytest.mark.parametrize("value", ['(flag := "1")', "str(1)", '"1" if print() else "1"', '["1", print()][0]'])
def test_setting_whose_value_may_do_something_is_left(value: str, fixed: Callable[..., Fixed]) -> None:
    lines = ("import os", 'os.environ["TRITON_INTERPRET"] = {}', "import torch, triton", 'torch.ones(4, device="cuda")')
    setting = "\n".join(lines)

    assert fixed({"a.py": setting.format('"1"')}).files
    assert not fixed({"a.py": setting.format(value)}).files
