"""Which variants are likely beside the recorded ones, and which are not."""

from dataclasses import replace

import pytest

from triton_doctor.runtime.event import CompileKey, KernelName
from triton_doctor.runtime.prewarm.closure import close_variants
from triton_doctor.runtime.prewarm.kernel_variants import KernelVariant, retarget

KERNEL = KernelName(name="rope", module="layers", path="layers.py", line=3)


def variant(
    classes: dict[str, str],
    values: tuple[tuple[str, int], ...] = (),
    *,
    dtype: str = "*fp16",
    constants: tuple[tuple[str, int], ...] = (("BLOCK", 64),),
    exact: tuple[tuple[str, str], ...] = (),
    configs: tuple[str, ...] = (),
) -> KernelVariant:
    """Of a kernel with a pointer, two integers and constants."""
    names = (("x_ptr", dtype), ("n", "i32"), ("stride", "i32"), *((name, "constexpr") for name, _ in constants))
    key = CompileKey(
        signature=names,
        constants=constants,
        attributes=tuple((name, classes[name]) for name, _ in names if classes.get(name)),
        options=(("num_stages", 3), ("num_warps", 4)),
        spelled=("num_warps=4",),
        target="cuda:90",
    )
    return KernelVariant(kernel=KERNEL, key=key, source="s", exact=exact, values=values, configs=configs)


def added(*recorded: KernelVariant) -> list[tuple[str, str]]:
    """(origin, classes, dtype and constants) of what is added."""
    return [
        (each.origin, " ".join(f"{name}{text}" for name, text in each.key.attributes))
        for each in close_variants(recorded).added
    ]


def test_integer_that_varies_takes_each_class_and_one_that_equals_it_moves_with_it() -> None:
    first = variant({"x_ptr": "%16", "n": "%16", "stride": "%16"}, (("n", 32), ("stride", 32)))
    second = variant({"x_ptr": "%16"}, (("n", 33), ("stride", 33)))

    assert added(first, second) == [("integer classes", "x_ptr%16 n=1 stride=1")]


@pytest.mark.parametrize(
    "recorded",
    [
        pytest.param([variant({"n": "%16"}, (("n", 32),))], id="seen once"),
        pytest.param(
            [
                variant({"n": "%16"}, (("n", 32),), constants=(("EVEN", 1),)),
                variant({}, (("n", 33),), constants=(("EVEN", 0),)),
            ],
            id="follows a constant",
        ),
        pytest.param([variant({}, (("n", 32),)), variant({"x_ptr": "%16"}, (("n", 1),))], id="never specialized"),
    ],
)
def test_integer_that_does_not_vary_is_left_alone(recorded: list[KernelVariant]) -> None:
    assert "integer classes" not in {origin for origin, _ in added(*recorded)}


def test_pointer_seen_both_ways_takes_the_other_alignment_elsewhere() -> None:
    seen = [variant({"x_ptr": "%16"}), variant({}), variant({"x_ptr": "%16"}, constants=(("BLOCK", 128),))]

    assert added(*seen) == [("alignments", "")]


def test_dtypes_are_combined_with_other_constants_unless_a_constant_is_a_dtype() -> None:
    seen = [variant({}), variant({}, dtype="*fp32", constants=(("BLOCK", 128),))]
    named = [replace(each, exact=(("T", '{"dtype": "fp16"}'),)) for each in seen]

    assert [origin for origin, _ in added(*seen)] == ["dtypes", "dtypes"]
    assert added(*named) == []


def test_each_config_that_a_round_tried_is_combined_with_what_was_launched() -> None:
    launched = variant({}, configs=("BLOCK: 64, num_warps: 4", "BLOCK: 128, num_warps: 8, maxnreg: None"))
    (other,) = close_variants([launched]).added

    assert other.key.constants == (("BLOCK", 128),)
    assert other.key.options == (("num_stages", 3), ("num_warps", 8))
    assert other.key.spelled == ("num_warps=8",)


def test_another_target_keeps_what_the_launch_wrote_and_derives_the_rest() -> None:
    (moved,) = retarget([variant({"x_ptr": "%16", "n": "=1"})], "hip:gfx942")

    assert moved.key.options == (("num_warps", 4),)
    assert moved.key.attributes == (("x_ptr", "%16 tt.pointer_range=32"), ("n", "=1"))
