"""Calls that are made up for small projects: what each kind of code needs before it launches."""

import importlib
import sys
from textwrap import dedent

import pytest

from tests.tritons import skip_without
from triton_doctor.explore.model import EntryPlan, FunctionNotes, Limits, ParameterNotes, SweepEntry

KERNEL = """
import torch
import triton
import triton.language as tl

@triton.jit
def copy(x, o, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i, mask=i < n), mask=i < n)

def launch(x):
    o = torch.empty_like(x)
    copy[(x.numel(),)](x, o, x.shape[-1], BLOCK=triton.next_power_of_2(x.shape[-1]))
    return o
"""


@pytest.fixture
def reach_in(tmp_path, monkeypatch):
    """Return a function that writes a module, and reaches an entry of it."""
    skip_without("torch", "triton")
    from triton_doctor.explore.child import stand_ins
    from triton_doctor.explore.child.search import reach
    from triton_doctor.explore.child.target import resolve
    from triton_doctor.runtime.dry import dry_run

    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))

    def reach_entry(text, kind="function", **notes):
        path = tmp_path / "ops_reached.py"
        path.write_text(KERNEL + dedent(text), encoding="utf-8")
        monkeypatch.delitem(sys.modules, "ops_reached", raising=False)
        importlib.invalidate_caches()
        lines = path.read_text(encoding="utf-8").splitlines()
        line = next((at for at, each in enumerate(lines, 1) if each.startswith("def entry(")), 1)
        entry = SweepEntry(path=path.name, line=line, module="ops_reached", name="entry", kind=kind)
        plan = EntryPlan(
            entry=entry,
            root=str(tmp_path),
            import_roots=("",),
            leading_names=("launch", "copy"),
            notes=(FunctionNotes(path=path.name, line=line, parameters=notes),),
        )
        # What a child may leave as it is, as it ends with its entry, this process has to put back.
        monkeypatch.setattr("torch.jit.script", importlib.import_module("torch").jit.script)
        with dry_run():
            reach_entry.missing = stand_ins.install({"ops_reached"}, lambda file: file.startswith(str(tmp_path)))
            loaded = stand_ins.load("ops_reached")
            return reach(plan, resolve(entry, loaded), Limits())

    return reach_entry


def launched(reached):
    return {kernel.name for _, seen in reached.states for kernel in seen.launched}


FUNCTIONS = {
    "a rank that is unpacked": """
        def entry(x, y):
            a, b, c = x.shape
            d, e = y.shape
            return launch(x)
    """,
    "a rank that is asserted": """
        def entry(x):
            assert x.dim() == 4 and x.is_contiguous()
            return launch(x)
    """,
    "a multiple": """
        def entry(x, y):
            if x.shape[-1] % 48:
                raise ValueError("a multiple of 48 is needed")
            return launch(x)
    """,
    "a dtype": """
        def entry(x):
            assert x.dtype in (torch.bfloat16, torch.float16)
            return launch(x)
    """,
    "an int": """
        def entry(x, h, w):
            return launch(x.new_empty(h, w))
    """,
    "None, deep inside": """
        def inner(x, divisor):
            return launch(x) if x.numel() // divisor else x
        def entry(x, count=None, other=None):
            return inner(inner(x, count), other)
    """,
    "a branch for large sizes": """
        def is_large(x):
            return x.shape[-1] >= 512
        def entry(x):
            if is_large(x):
                return launch(x)
            return x * 2
    """,
    "a flag": """
        def entry(x, use_kernel=False):
            if use_kernel:
                return launch(x)
            return x * 2
    """,
    "a list of tensors": """
        def entry(xs: list[torch.Tensor]):
            assert len(xs) == 4
            return [launch(x) for x in xs]
    """,
    "a dict of tensors": """
        def entry(state: dict):
            return launch(state["cache"] + torch.empty(3, 5, device="cuda"))
    """,
    "a record": """
        from dataclasses import dataclass
        from enum import Enum
        class How(Enum):
            FAST = 1
        @dataclass
        class Options:
            how: How
            width: int
        def entry(x, options: Options):
            assert options.how is How.FAST and options.width > 0
            return launch(x)
    """,
}


@pytest.mark.parametrize("text", FUNCTIONS.values(), ids=FUNCTIONS.keys())
def test_function_is_called_so_that_it_launches(reach_in, text):
    reached = reach_in(text)

    assert launched(reached) == {"copy"}, reached.error
    assert reached.is_complete


CLASSES = {
    "a module whose sizes must fit its input": ("module", """
        class entry(torch.nn.Module):
            def __init__(self, dim: int, heads: int = 4):
                super().__init__()
                assert dim % heads == 0
                self.proj = torch.nn.Linear(dim, dim)
            def forward(self, x):
                batch, length, dim = x.shape
                return launch(self.proj(x))
    """),
    "an autograd Function with defaults": ("autograd", """
        class entry(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, scale=1.0, extra=None):
                return launch(x)
            @staticmethod
            def backward(ctx, grad):
                return launch(grad)
    """),
    "an optimizer": ("optimizer", """
        class entry(torch.optim.Optimizer):
            def __init__(self, params, lr=1e-3):
                super().__init__(params, dict(lr=lr))
            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        launch(p.grad)
    """),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "text"), CLASSES.values(), ids=CLASSES.keys())
def test_class_is_constructed_and_called(reach_in, kind, text):
    reached = reach_in(text, kind=kind)

    assert launched(reached) == {"copy"}, reached.error
    assert reached.is_complete


def test_object_of_the_projects_own_class_is_constructed(reach_in):
    text = """
        class Cache:
            def __init__(self, heads: int, width: int):
                self.keys = torch.empty(heads, width, device="cuda")
            def read(self):
                return self.keys
        def entry(cache):
            return launch(cache.read())
    """
    reached = reach_in(text, cache=ParameterNotes(kind="object", attributes=("read",), classes=("ops_reached:Cache",)))

    assert launched(reached) == {"copy"}, reached.error
    assert reached.states[0][0].specs["cache"].cls == "ops_reached:Cache"


def test_sizes_that_must_be_equal_share_a_symbol_and_say_why(reach_in):
    text = """
        class entry(torch.nn.Module):
            def __init__(self, dim: int):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.empty(dim))
            def forward(self, x):
                assert x.shape[-1] == self.weight.shape[0]
                return launch(x)
    """
    reached = reach_in(text, kind="module")

    state, _ = reached.states[0]
    assert state.specs["x"].axes[-1] == state.specs["init.dim"].axes[0]
    assert ("constructor", "init.dim") in [(tie.provenance, tie.what) for tie in state.ties]


def test_ranks_beyond_the_smallest_are_reached_where_the_rank_is_free(reach_in):
    reached = reach_in("def entry(x):\n    return launch(x)\n")

    ranks = {len(state.specs["x"].axes) for state, _ in reached.states}
    assert {3, 4} <= ranks


def test_kernel_beneath_a_decorator_of_a_missing_package_stays_a_kernel(reach_in):
    text = """
        import missing_for_reach
        from missing_for_reach.nested import wrap, Base
        @wrap
        @triton.jit
        def first(x, BLOCK: tl.constexpr):
            tl.store(x, BLOCK)
        @missing_for_reach.traced(name="second")
        @triton.jit
        def second(x, BLOCK: tl.constexpr):
            tl.store(x, BLOCK)
        class Derived(Base):
            def run(self, x):
                first[(1,)](x, BLOCK=2)
        def entry(x):
            Derived().run(x)
            second[(1,)](x, BLOCK=2)
    """
    reached = reach_in(text)

    assert launched(reached) == {"first", "second"}, reached.error
    assert reach_in.missing.names == ("missing_for_reach",)


def test_import_that_may_fail_fails(reach_in):
    text = """
        try:
            import missing_and_handled as fast
        except ImportError:
            fast = None
        def entry(x):
            return launch(x) if fast is None else x
    """
    assert launched(reach_in(text)) == {"copy"}
    assert reach_in.missing.names == ()


def test_what_is_not_reached_says_the_last_error_and_where(reach_in):
    reached = reach_in("def entry(x):\n    raise RuntimeError('no such device')\n")

    assert reached.states == ()
    assert "no such device" in reached.error
    assert reached.where.startswith("ops_reached.py:")
