"""A watched kernel is the kernel that it was, and tells when it compiles too often."""

import inspect
import pickle
import warnings

import pytest
import triton
import triton.language as tl

import triton_doctor
from tests.runtime.on_triton.kernels import launch
from triton_doctor import CompileWarning, UnexpectedCompileError
from triton_doctor.errors import DoctorError

CONFIGS = [triton.Config({"BLOCK": block}) for block in (64, 128)]


def plain(x_ptr, out_ptr, n, VALUE: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n), mask=offsets < n)


@triton_doctor.watch
@triton.jit
def by_name(x_ptr, out_ptr, n, VALUE: tl.constexpr, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, BLOCK), doubled(tl.load(x_ptr + tl.arange(0, BLOCK))))


@triton_doctor.watch(max_compiles=0)
@triton.jit
def doubled(x):
    return x * 2


def anew(name):
    """`plain` under a name of its own, so that no other test counts with it."""
    function = type(plain)(plain.__code__, globals(), name)
    function.__annotations__ = plain.__annotations__
    return function


def test_kernel_is_the_very_object():
    kernel = triton.jit(plain)
    tuned = triton.autotune(configs=CONFIGS, key=["n"])(kernel)

    assert triton_doctor.watch(kernel) is kernel
    assert triton_doctor.watch(max_compiles=3)(tuned) is tuned
    assert triton_doctor.watch(plain) is plain
    assert pickle.loads(pickle.dumps(plain)) is plain
    assert inspect.signature(by_name.fn).parameters.keys() == inspect.signature(plain).parameters.keys()


def test_watched_kernels_call_each_other_and_the_callee_is_not_a_compile(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        launch(by_name, x)


def test_each_recompile_is_told_and_the_first_compile_is_not(x):
    kernel = triton_doctor.watch(triton.jit(anew("recompiled")))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for value in (1, 2, 2, 3):
            launch(kernel, x, value=value)

    texts = [str(warning.message).splitlines() for warning in caught if warning.category is CompileWarning]
    assert [lines[0].rpartition(", ")[2] for lines in texts] == [
        "variant 2 in this process",
        "variant 3 in this process",
    ]
    assert texts[1][1] == "  TRD702: `VALUE` is 3, was 2: 3 values so far: 1, 2, 3"


ORDERS = {
    "jit": [triton.jit],
    "autotune": [triton.jit, triton.autotune(configs=CONFIGS[:1], key=["n"])],
    "heuristics": [triton.jit, triton.heuristics({"BLOCK": lambda _: 64})],
    "both": [triton.jit, triton.heuristics({"VALUE": lambda _: 7}), triton.autotune(configs=CONFIGS[:1], key=["n"])],
}


@pytest.mark.parametrize(
    ("decorators", "place"), [(name, place) for name, above in ORDERS.items() for place in range(len(above) + 1)]
)
def test_any_order_of_decorators(decorators, place, x):
    told = []
    above = list(ORDERS[decorators])
    above.insert(place, triton_doctor.watch(max_compiles=1, on_excess=told.append))
    kernel = anew(f"{decorators}_{place}")
    for decorator in above:
        kernel = decorator(kernel)
    given = {"VALUE": 0} if decorators != "both" else {}
    given |= {"BLOCK": 64} if decorators == "jit" else {}
    for n in (64, 65):
        kernel[(1,)](x, x, n, **given)

    assert [(error.recompile.code, error.recompile.changes[0].name) for error in told] == [("TRD703", "n")]


def test_launch_beyond_the_limit_raises(x):
    kernel = triton_doctor.watch(max_compiles=2, on_excess="raise")(triton.jit(anew("held")))
    launch(kernel, x, value=1)
    launch(kernel, x, value=2)
    with pytest.raises(UnexpectedCompileError, match="number 3 of at most 2"):
        launch(kernel, x, value=3)

    launch(kernel, x, value=1)


def test_variants_that_a_round_tries_are_told_by_the_round(x):
    told = []
    kernel = triton.autotune(configs=CONFIGS, key=["n"])(triton.jit(anew("in_rounds")))
    triton_doctor.watch(on_excess=told.append)(kernel)
    for n in (64, 128, 65):
        kernel[(1,)](x, x, n, VALUE=0)

    assert [error.recompile.code for error in told] == ["TRD714", "TRD714"]


def test_kernel_made_anew_goes_on_with_the_count(x):
    told = []
    for _ in range(3):
        kernel = triton_doctor.watch(max_compiles=1, on_excess=told.append)(triton.jit(anew("made_anew")))
        launch(kernel, x)

    assert [error.recompile.code for error in told] == ["TRD712", "TRD712"]


@pytest.mark.parametrize("wrong", [3, "kernel", object()], ids=repr)
def test_what_is_no_kernel_is_refused(wrong):
    with pytest.raises(DoctorError, match="watch needs a kernel"):
        triton_doctor.watch(wrong)


@pytest.mark.parametrize("options", [{"max_compiles": -1}, {"max_compiles": True}, {"on_excess": "shout"}], ids=str)
def test_options_that_mean_nothing_are_refused(options):
    with pytest.raises(DoctorError, match=next(iter(options))):
        triton_doctor.watch(**options)
