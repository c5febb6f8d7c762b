"""The entries of a project: what leads to a launch through names, from where it is imported, and what is none."""

from __future__ import annotations

import pytest

from tests.explore.project import KERNEL, find_in

FUNCTION = """

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return scale(x)

    @staticmethod
    def backward(ctx, grad):
        return grad
"""
MODULE = """

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.op = Scale.apply

    def forward(self, x):
        return self.op(x)
"""


def keys(found):
    return [(entry.kind, entry.key) for entry in found.entries]


def reasons(found):
    return {one.name: one.reason for one in found.left_out}


def test_modules_come_first_then_autograd_functions_then_functions(tmp_path):
    found = find_in(tmp_path, {"ops.py": KERNEL + FUNCTION + MODULE})

    assert keys(found) == [("module", "ops:Block"), ("autograd", "ops:Scale"), ("function", "ops:scale")]
    assert {entry.kernels for entry in found.entries} == {("ops.py:scale_kernel",)}
    assert [entry.callers for entry in found.entries] == [(), ("ops:Block",), ("ops:Scale",)]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        pytest.param("\nTABLE = {'scale': scale}\n\ndef run(x, how):\n    return TABLE[how](x)\n", "run", id="a table"),
        pytest.param(
            "\ndef run(x, fast):\n    op = scale if fast else None\n    return op(x)\n", "run", id="a local name"
        ),
        pytest.param(
            "\nfrom functools import partial\nquick = partial(scale)\n\ndef run(x):\n    return quick(x)\n",
            "run",
            id="a partial",
        ),
        pytest.param(
            "\n@torch.library.custom_op('mine::scale_op', mutates_args=())\ndef op(x: torch.Tensor) -> torch.Tensor:\n"
            "    return scale(x)\n\ndef run(x):\n    return torch.ops.mine.scale_op(x)\n",
            "run",
            id="a torch operator",
        ),
        pytest.param(
            "\nclass Base:\n    def run(self, x):\n        return self.impl(x)\n\n"
            "class Derived(Base):\n    def impl(self, x):\n        return scale(x)\n",
            "Base.run",
            id="an override",
        ),
        pytest.param(
            "\nclass Store:\n    def lookup(self, x):\n        return scale(x)\n\n"
            "def run(store: Store, x):\n    return store.lookup(x)\n",
            "run",
            id="an annotation",
        ),
    ],
)
def test_launch_is_reached_through(tmp_path, text, name):
    assert name in {entry.name for entry in find_in(tmp_path, {"ops.py": KERNEL + text}).entries}


def test_tests_and_benchmarks_are_no_entries_and_are_seeds(tmp_path):
    found = find_in(
        tmp_path,
        {
            "ops.py": KERNEL,
            "tests/test_ops.py": "from ops import scale\n\ndef test_scale():\n    scale(1)\n",
            "benchmarks/bench_ops.py": "from ops import scale\n\ndef measure(x):\n    scale(x)\n",
        },
    )

    assert keys(found) == [("function", "ops:scale")]
    assert found.seed_files == ("tests/test_ops.py", "benchmarks/bench_ops.py")
    assert found.is_whole


def test_files_that_look_like_benchmarks_have_entries_where_nothing_else_has_kernels(tmp_path):
    found = find_in(tmp_path, {"benchmarks/bench_scale.py": KERNEL})

    assert keys(found) == [("function", "bench_scale:scale")]
    assert [one.name for one in found.launched] == ["scale_kernel"]


def test_class_whose_methods_reach_no_launch_is_no_entry(tmp_path):
    text = KERNEL + "\n\nclass Plain(nn.Module):\n    def forward(self, x):\n        return x\n"

    assert keys(find_in(tmp_path, {"ops.py": text})) == [("function", "ops:scale")]


def test_private_helpers_come_last_with_their_callers(tmp_path):
    text = KERNEL.replace("def scale(", "def _scale(") + "\n\ndef run(x):\n    return _scale(x)\n"
    found = find_in(tmp_path, {"ops.py": text})

    assert [(entry.name, entry.is_private, entry.callers) for entry in found.entries] == [
        ("run", False, ()),
        ("_scale", True, ("ops:run",)),
    ]


@pytest.mark.parametrize(
    ("files", "key", "roots"),
    [
        pytest.param({"src/lib/__init__.py": "", "src/lib/ops.py": KERNEL}, "lib.ops:scale", ("src",), id="src"),
        pytest.param({"ops.py": KERNEL, "main.py": "from ops import scale\n"}, "ops:scale", ("",), id="flat"),
        pytest.param(
            {"pkg/sub/ops.py": KERNEL, "pkg/use.py": "from pkg.sub.ops import scale\n"},
            "pkg.sub.ops:scale",
            ("",),
            id="namespace package by an absolute import",
        ),
        pytest.param(
            {"pkg/sub/ops.py": "from ..base import name\n" + KERNEL, "pkg/base.py": "name = 1\n"},
            "pkg.sub.ops:scale",
            ("",),
            id="namespace package by a relative import",
        ),
    ],
)
def test_import_root_is_found(tmp_path, files, key, roots):
    found = find_in(tmp_path, files)

    assert [entry.key for entry in found.entries] == [key]
    assert found.import_roots == roots
    assert found.copied == ("",)


def test_package_of_site_packages_is_copied_alone(tmp_path):
    (tmp_path / "site-packages").mkdir()
    files = {"site-packages/lib/__init__.py": "", "site-packages/lib/ops.py": KERNEL, "site-packages/other/a.py": ""}
    found = find_in(tmp_path, files, "site-packages/lib")

    assert found.root == tmp_path / "site-packages"
    assert (found.copied, found.import_roots) == (("lib",), ("",))
    assert [entry.key for entry in found.entries] == ["lib.ops:scale"]


def test_named_function_is_an_entry_wherever_it_is(tmp_path):
    files = {"ops.py": KERNEL, "benchmarks/bench.py": "from ops import scale\n\ndef measure(x):\n    scale(x)\n"}
    found = find_in(tmp_path, files, "benchmarks/bench.py", names=("measure",))

    assert [entry.name for entry in found.entries] == ["measure"]
    assert not found.is_whole


def test_kernel_that_is_launched_through_a_parameter_is_counted_by_the_text(tmp_path):
    text = KERNEL.replace("scale_kernel[(rows,)](", "pick()[(rows,)](") + "\n\ndef other(x, kernels):\n    pass\n"
    launched = find_in(tmp_path, {"ops.py": text + "\n\ndef last(x):\n    scale_kernel[(1,)](x, x, 1, BLOCK=16)\n"})

    assert [one.name for one in launched.launched] == ["scale_kernel"]


def test_notes_are_those_of_what_an_argument_is_passed_to(tmp_path):
    text = (
        KERNEL
        + "\n\ndef run(x, how='fast', cfg=None):\n    if how in ('fast', 'slow'):\n        width = cfg.heads\n"
        + "    scale(x)\n"
    )
    found = find_in(tmp_path, {"ops.py": text})
    entry = next(entry for entry in found.entries if entry.name == "run")
    notes = next(notes for notes in found.notes_of(entry) if notes.line == entry.line).parameters

    assert notes["x"].kind == "tensor"
    assert (notes["x"].rank, notes["x"].axes) == (2, {0: "rows", 1: "width"})
    assert (notes["how"].kind, notes["how"].choices) == ("str", ("fast", "slow"))
    assert (notes["cfg"].kind, notes["cfg"].attributes) == ("config", ("heads",))


def test_function_that_has_the_name_of_its_kernel_is_an_entry_of_that_name(tmp_path):
    text = KERNEL + "\n\nkernel = scale_kernel\n\n\ndef scale_kernel(x):\n    kernel[(1,)](x, x, 1, BLOCK=16)\n"

    assert ("function", "ops:scale_kernel") in keys(find_in(tmp_path, {"ops.py": text}))
    assert keys(find_in(tmp_path, {"ops.py": text}, names=("scale_kernel",))) == [("function", "ops:scale_kernel")]
