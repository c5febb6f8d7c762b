"""Over all keys of a kernel: which parameters, left out, leave how many variants. Pure: values in, values out."""

from itertools import product

import pytest

from tests.evidence.recorded import compile_event
from tests.runtime.test_causes import event
from triton_doctor.runtime.event import CompileKey
from triton_doctor.runtime.savings import KeyPart, find_savings, read_variants


def variant(bools=False, m=7, **constants):
    """A compile of a kernel whose constexprs are `constants`."""
    made = compile_event(0, m=m)
    signature = (("x_ptr", "*fp32"), ("m", "i32"), *((name, "constexpr") for name in constants))
    key = CompileKey(
        signature=signature,
        constants=tuple(constants.items()),
        attributes=(("m", "%16"),) if m % 16 == 0 else (),
        options=(("num_warps", 4),),
    )
    return type(made)(**{name: getattr(made, name) for name in made.__dataclass_fields__} | {"key": key})


def savings(events, may_leave_out=lambda part: True):
    found = find_savings(read_variants([events], lambda event: 50_000.0), may_leave_out)
    return [(tuple(part.name for part in one.parts), one.before, one.after, one.saved_us) for one in found]


def test_length_is_named_and_not_the_flag_that_alternates():
    events = [variant(bs=bs, FLAG=flag) for bs in range(1, 13) for flag in (False, True)]

    assert savings(events) == [(("bs",), 24, 2, 1_100_000)]


def test_two_lengths_that_change_together_are_named_together():
    events = [variant(stride=n, length=2 * n, FLAG=flag) for n in range(40) for flag in (False, True)]

    assert savings(events)[0][:3] == (("stride", "length"), 80, 2)


def test_independent_lengths_are_named_one_after_the_other():
    events = [variant(a=a, b=b) for a, b in product(range(10), range(6))]

    assert [(names, before, after) for names, before, after, _ in savings(events)] == [(("a",), 60, 6), (("b",), 6, 1)]


def test_what_may_not_be_left_out_is_not():
    events = [variant(bs=bs, BLOCK=16 * 2**bs) for bs in range(6)] + [variant(bs=0, BLOCK=2048)]

    assert savings(events, lambda part: part.name != "BLOCK") == []


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([variant(FLAG=flag) for flag in (False, True)], id="a flag"),
        pytest.param([variant(BLOCK=block) for block in (64, 128, 256)], id="a handful of values"),
    ],
)
def test_choice_of_the_author_is_no_saving(events):
    assert savings(events) == []


def test_class_of_an_integer_is_a_part_of_its_own():
    events = [event(n=n) for n in (16, 17, 1)]

    (found,) = find_savings(read_variants([events], lambda event: 1000.0), lambda part: True)

    assert (found.parts, found.before, found.after) == ((KeyPart("TRD703", "n"),), 3, 1)


def test_each_process_has_its_own_variants():
    events = [variant(bs=bs) for bs in range(5)]

    found = find_savings(read_variants([events, events], lambda event: 1000.0), lambda part: True)

    assert [(one.before, one.after) for one in found] == [(10, 2)]
