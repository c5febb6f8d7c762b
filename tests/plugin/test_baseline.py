"""The baseline: written once, green afterwards, and what it does not know fails, and only that."""

import json

import pytest

from triton_doctor.errors import DoctorError
from triton_doctor.testing.failure import describe_unknown
from triton_doctor.testing.variant_baseline import Baseline, read_baseline, write_baseline

TESTS = """
import pytest
from kernels import run, scale, shift

run(shift, 16)


@pytest.fixture
def warm():
    run(shift, 1)


@pytest.mark.parametrize("n", [32, 33])
def test_shift(n, warm):
    run(shift, n)


def test_scale():
    run(scale, 100)


def test_other():
    run(scale, 200)
"""
KNOWN = "--triton-doctor-baseline=compiles.json"
UPDATE = "--triton-doctor-update-baseline"


@pytest.mark.long
def test_written_once_then_green_then_a_seeded_regression_is_caught_and_only_that(project):
    project.write("test_kernels.py", TESTS)
    written = project.pytest(KNOWN, UPDATE)
    first = (project.folder / "compiles.json").read_text()
    again = project.pytest(KNOWN, UPDATE, "-n2")
    green = [project.pytest(KNOWN, *options) for options in ((), ("-k", "33 or other"), ("-n2",))]
    kernels = (project.folder / "kernels.py").read_text()
    project.write("kernels.py", kernels.replace("def shift(x_ptr, n,", "def shift(x_ptr, n: tl.constexpr,"))
    seeded = project.pytest(KNOWN, "-rf")

    assert "5 variants of 2 kernels written to" in written.stdout
    assert (project.folder / "compiles.json").read_text() == first, again.stdout
    assert json.loads(first)["variants"] == {
        "kernels.scale": [
            {"x_ptr": "*fp32%16", "n": "100", "BLOCK": "256"},
            {"x_ptr": "*fp32%16", "n": "200", "BLOCK": "256"},
        ],
        "kernels.shift": [
            {"x_ptr": "*fp32%16", "n": "i32", "BLOCK": "256"},
            {"x_ptr": "*fp32%16", "n": "i32%16", "BLOCK": "256"},
            {"x_ptr": "*fp32%16", "n": "i32=1", "BLOCK": "256"},
        ],
    }
    assert [run.returncode for run in green] == [0, 0, 0], green[0].stdout
    assert seeded.returncode == 1
    assert "2 failed, 2 passed" in seeded.stdout
    assert "FAILED test_kernels.py::test_shift[32]" in seeded.stdout
    assert (
        "`kernels.shift`: 1 variant is not in compiles.json\n  `n` became a constexpr: 32, was i32, i32%16, i32=1\n"
        in seeded.stdout
    )
    setups = seeded.stdout.partition("fixtures or imports, not tests, compiled what is not known:\n")[2]
    assert setups.startswith(
        "`kernels.shift`: 2 variants are not in compiles.json\n  `n` became a constexpr: 1, 16, was i32"
    )


def test_unknown_variant_in_a_fixture_alone_fails_the_run_and_blames_no_test(project):
    project.write("compiles.json", '{"schema": 1, "made_with": {}, "variants": {}, "again": {}}')
    project.write(
        "test_fixture.py",
        """
        import pytest
        from kernels import run, scale


        @pytest.fixture
        def warm():
            run(scale, 1)


        def test_it(warm):
            run(scale, 1)
        """,
    )
    done = project.pytest(KNOWN)

    assert (done.returncode, "1 passed" in done.stdout) == (1, True)
    assert "`kernels.scale`: 1 variant is not in compiles.json\n  it knows none of this kernel" in done.stdout


@pytest.mark.long
def test_kernel_that_one_test_makes_anew_is_told_although_its_variant_is_known(project):
    project.write(
        "test_anew.py",
        """
        import os
        import triton
        from kernels import run, shift


        def test_anew():
            for _ in range(int(os.environ["TIMES"])):
                run(triton.jit(shift.fn), 1)
        """,
    )
    project.pytest(KNOWN, UPDATE, TIMES="1")
    caught = project.pytest(KNOWN, TIMES="2")
    project.pytest(KNOWN, UPDATE, TIMES="2")

    assert "it is known, and one test compiled it more than once: the kernel was created again" in caught.stdout
    assert project.pytest(KNOWN, TIMES="3").returncode == 0


def variant(**parts):
    return tuple(parts.items())


def test_baseline_reads_back(tmp_path):
    baseline = Baseline(
        variants=frozenset(
            {("a.k", variant(n="1", text="'x \"y\" é'")), ("a.k", variant(n="2")), ("b.k", variant(n="1"))}
        ),
        again=frozenset({("b.k", variant(n="1"))}),
        made_with=(("target", "cuda:90"), ("triton", "3.6.0")),
    )
    write_baseline(tmp_path / "folder" / "compiles.json", baseline)

    assert read_baseline(tmp_path / "folder" / "compiles.json") == baseline


def test_empty_baseline_reads_back(tmp_path):
    write_baseline(tmp_path / "compiles.json", Baseline(variants=frozenset()))

    assert read_baseline(tmp_path / "compiles.json") == Baseline(variants=frozenset())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("", "is no baseline", id="empty"),
        pytest.param("[]", "is no baseline", id="a list"),
        pytest.param('{"schema": 1}', "is no baseline", id="without variants"),
        pytest.param('{"schema": 2}', "has schema 2, this triton-doctor reads 1", id="newer"),
    ],
)
def test_what_is_no_baseline_is_told(text, told, tmp_path):
    path = tmp_path / "compiles.json"
    path.write_text(text)

    with pytest.raises(DoctorError, match=told):
        read_baseline(path)


def test_options_in_another_order_are_another_variant():
    known = ("a.k", variant(n="i32", num_warps="4", num_stages="3"))
    respelled = ("a.k", variant(n="i32", num_stages="3", num_warps="4"))
    baseline = Baseline(variants=frozenset({known}))

    assert baseline.unknown({known: 1, respelled: 1}) == [respelled]
    assert "`the order of the options`" not in describe_unknown([respelled], baseline, "compiles.json")
    assert "the order of its options" in describe_unknown([respelled], baseline, "compiles.json")


@pytest.mark.parametrize(
    ("known", "now", "told"),
    [
        pytest.param("i32%16", "i32", "`n` is i32, was i32%16", id="class"),
        pytest.param("i32", "700", "`n` became a constexpr: 700, was i32", id="constexpr"),
        pytest.param("none", "None", "`n` became a constexpr: None, was none", id="constexpr None"),
        pytest.param("700", "701", "`n` is 701, was 700", id="value"),
        pytest.param("700", "i32", "`n` is i32, was 700", id="no longer a constexpr"),
        pytest.param("*fp32%16", "*bf16%16", "`n` is *bf16%16, was *fp32%16", id="dtype"),
    ],
)
def test_what_changed_against_the_nearest_known_variant(known, now, told):
    baseline = Baseline(variants=frozenset({("a.k", variant(n=known, m="i32"))}))

    lines = describe_unknown([("a.k", variant(n=now, m="i32"))], baseline, "compiles.json").splitlines()

    assert lines[1] == f"  {told}"


def test_failure_stays_short():
    unknown = [(f"a.k{kernel}", variant(n=str(n))) for kernel in range(10) for n in range(100)]
    known = frozenset((f"a.k{kernel}", variant(n="i32")) for kernel in range(10))
    told = describe_unknown(unknown, Baseline(variants=known), "compiles.json").splitlines()

    assert told == [
        *(
            line
            for kernel in range(4)
            for line in (
                f"`a.k{kernel}`: 100 variants are not in compiles.json",
                "  `n` became a constexpr: 0, 1, 2, 3 and 96 more, was i32",
            )
        ),
        "and 6 other kernels",
        "  hint: if this is meant, --triton-doctor-update-baseline writes it",
    ]
