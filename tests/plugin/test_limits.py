"""Tests whose kernels compile too often fail, shortly and with the reason; the others do not notice."""

import json
import re
import sys

import pytest

from triton_doctor import Recording


def failures(done):
    """Test to the text of its failure."""
    text = done.stdout.partition("= FAILURES =")[2].partition("= short test summary info =")[0]
    parts = re.split(r"\n_{3,} (\S+) _{3,}\n", text)
    return {name: told.strip().rstrip("=").strip() for name, told in zip(parts[1::2], parts[2::2], strict=True)}


def test_constexpr_that_varies_fails_and_the_message_names_it_and_its_values(project):
    project.write(
        "test_lengths.py",
        """
        import pytest
        from kernels import run, scale, shift


        @pytest.mark.max_compiles(2)
        def test_constexpr():
            run(scale, 700, 701, 702)


        @pytest.mark.max_compiles(2)
        def test_plain():
            run(shift, 700, 701, 702)
        """,
    )
    done = project.pytest()

    assert failures(done) == {
        "test_constexpr": "triton-doctor: `scale` compiled 3 times in this test, at most 2 allowed\n"
        "  TRD702 2 times, last: `n` is 702, was 701: 3 values so far: 700, 701, 702\n"
        "    launched at kernels.py:26\n"
        "  hint: pass `n` without tl.constexpr: the kernel does not need it while it compiles"
    }
    assert "1 failed, 1 passed" in done.stdout


def test_block_size_that_varies_is_not_advised_to_be_a_plain_argument(project):
    project.write(
        "test_blocks.py",
        """
        import pytest
        from kernels import scale, x


        @pytest.mark.max_compiles(1)
        def test_blocks():
            for block in (64, 128):
                scale[(4,)](x, 700, BLOCK=block)
        """,
    )

    assert failures(project.pytest())["test_blocks"].endswith(
        "  hint: launch with fewer values of `BLOCK`: the kernel needs it while it compiles"
    )


def test_marks_of_a_kernel_and_a_tier_and_of_a_class(project):
    project.write(
        "test_marks.py",
        """
        import pytest
        from kernels import run, scale, shift


        @pytest.mark.max_compiles(0, kernel="sh*")
        def test_other_kernel():
            run(scale, 1, 2, 3)


        @pytest.mark.max_compiles(0, tier="loaded from disk")
        def test_other_tier():
            run(scale, 4, 5)


        @pytest.mark.max_compiles(1)
        class TestClosest:
            def test_of_the_class(self):
                run(scale, 6, 7)

            @pytest.mark.max_compiles(2)
            def test_of_the_function(self):
                run(scale, 8, 9)


        @pytest.mark.max_compiles(3)
        @pytest.mark.max_compiles(1, kernel="scale")
        def test_each_mark_holds():
            run(scale, 10, 11)


        @pytest.mark.max_compiles(1, tier="in memory")
        def test_misspelt():
            pass


        @pytest.mark.max_compiles("2")
        def test_text():
            pass
        """,
    )
    told = failures(project.pytest("--strict-markers"))

    assert list(told) == ["TestClosest.test_of_the_class", "test_each_mark_holds", "test_misspelt", "test_text"]
    assert told["test_misspelt"].startswith("triton-doctor: max_compiles knows no tier 'in memory' (there are:")
    assert told["test_text"].startswith("triton-doctor: max_compiles is given '2', not a whole number")


def test_ini_budget_and_flag_hold_where_no_mark_does(project):
    project.write("pyproject.toml", '[tool.triton-doctor.budgets]\n"sca*" = 3\n')
    project.write("pytest.ini", "[pytest]\ntriton_doctor_target = cuda:90\ntriton_doctor_max_compiles = 1\n")
    project.write(
        "test_defaults.py",
        """
        import pytest
        from kernels import run, scale, shift


        def test_budget():
            run(scale, 1, 2, 3)


        def test_over_budget():
            run(scale, 4, 5, 6, 7)


        def test_ini():
            run(shift, 16, 17)


        @pytest.mark.max_compiles(4)
        def test_mark():
            run(scale, 8, 9, 10, 11)
        """,
    )

    assert list(failures(project.pytest())) == ["test_over_budget", "test_ini"]
    assert list(failures(project.pytest("--triton-doctor-max-compiles=2"))) == ["test_over_budget"]


def test_fixtures_and_imports_are_setup(project):
    project.write(
        "test_setup.py",
        """
        import pytest
        from kernels import run, scale, shift

        run(shift, 1)


        @pytest.fixture(scope="session")
        def warm():
            run(scale, 1, 2)


        @pytest.fixture
        def late():
            run(scale, 3)
            yield
            run(scale, 4)


        @pytest.mark.max_compiles(0)
        def test_fixtures(warm, request):
            request.getfixturevalue("late")
            run(scale, 1, 2, 3)
            run(shift, 1)
        """,
    )
    done = project.pytest("--triton-doctor")

    assert done.returncode == 0, done.stdout
    summary = re.sub(r"\d+\.\d ms", "_ ms", done.stdout.partition("= triton-doctor =")[2])
    assert [line for line in summary.splitlines() if line and not line.startswith("=")] == [
        "test_setup.py::test_fixtures",
        "  setup: `scale` 2 compiled, 0 loaded from disk, _ ms (TRD701 1, TRD702 1)",
        "  setup: `scale` 1 compiled, 0 loaded from disk, _ ms (TRD702 1)",
        "  setup: `scale` 1 compiled, 0 loaded from disk, _ ms (TRD702 1)",
        "imports",
        "  setup: `shift` 1 compiled, 0 loaded from disk, _ ms (TRD701 1)",
        "in tests: 0 compiled, 0 loaded from disk, _ ms",
        "in setup, counted against no test: 5 compiled, 0 loaded from disk, _ ms",
    ]


def test_test_that_fails_on_its_own_account_keeps_its_failure(project):
    project.write(
        "test_own.py",
        """
        import unittest
        import pytest
        from kernels import run, scale


        @pytest.mark.max_compiles(0)
        def test_wrong():
            run(scale, 1)
            assert False, "its own"


        @pytest.mark.max_compiles(0)
        def test_skipped():
            run(scale, 2)
            pytest.skip("half way")


        @pytest.mark.xfail(reason="it compiles", strict=True)
        @pytest.mark.max_compiles(0)
        def test_expected():
            run(scale, 3)


        @pytest.mark.max_compiles(0)
        class TestCase(unittest.TestCase):
            def test_right(self):
                run(scale, 4)

            def test_wrong(self):
                run(scale, 5)
                self.fail("its own")
        """,
    )
    done = project.pytest()
    told = failures(done)

    assert list(told) == ["test_wrong", "TestCase.test_right", "TestCase.test_wrong"]
    assert "its own" in told["test_wrong"]
    assert "triton-doctor" not in told["test_wrong"] + told["TestCase.test_wrong"]
    assert "at most 0 allowed" in told["TestCase.test_right"]
    assert "3 failed, 1 skipped, 1 xfailed" in done.stdout


def test_parametrized_tests_are_counted_each_for_itself(project):
    project.write(
        "test_each.py",
        """
        import pytest
        from kernels import run, scale


        @pytest.mark.max_compiles(1)
        @pytest.mark.parametrize("n", [1, 2, 3])
        def test_one(n, compiles):
            run(scale, n)
            assert compiles.of("scale").count == compiles.count == 1
            assert compiles.of("other").count == 0
            assert [cause.code for cause in compiles.causes] == ["TRD701" if n == 1 else "TRD702"]
        """,
    )

    assert "3 passed" in project.pytest().stdout


def test_attempt_that_finds_the_first_ones_kernels_in_memory_fails_too(project):
    project.write(
        "conftest.py",
        """
        from _pytest.runner import runtestprotocol


        def pytest_runtest_protocol(item, nextitem):
            for attempt in range(3):
                item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
                reports = runtestprotocol(item, nextitem=nextitem, log=False)
                item._initrequest()
                if not any(report.failed for report in reports):
                    break
            for report in reports:
                item.ihook.pytest_runtest_logreport(report=report)
            return True
        """,
    )
    project.write(
        "test_again.py",
        """
        import pytest
        from kernels import run, scale

        attempts = []


        @pytest.mark.max_compiles(1)
        def test_over():
            run(scale, 1, 2)


        @pytest.mark.max_compiles(2)
        def test_flaky():
            attempts.append(1)
            run(scale, 3, 4)
            assert len(attempts) > 1
        """,
    )

    assert list(failures(project.pytest())) == ["test_over"]


@pytest.mark.long
def test_workers_fail_the_same_tests_and_their_counts_come_together(project):
    project.write(
        "test_many.py",
        """
        import pytest
        from kernels import run, scale, shift

        run(shift, 1)


        @pytest.mark.max_compiles(1)
        @pytest.mark.parametrize("n", range(1, 7))
        def test_n(n):
            run(scale, *range(10 * n, 10 * n + (2 if n == 3 else 1)))
        """,
    )
    done = project.pytest("-n2", "--triton-doctor", "--triton-doctor-report=seen.jsonl")

    assert list(failures(done)) == ["test_n[3]"]
    assert "in tests: 7 compiled, 0 loaded from disk" in done.stdout
    assert [path.name for path in project.folder.glob("*.jsonl")] == ["seen.jsonl"]
    assert len(Recording.read(project.folder / "seen.jsonl").compiles) == 9


def test_run_without_triton_is_left_alone_and_loads_nothing_heavy(project):
    project.write(
        "test_nothing.py",
        """
        import json
        import sys
        from pathlib import Path


        def test_nothing():
            Path("loaded.json").write_text(json.dumps(sorted(sys.modules)))
        """,
    )
    loaded = []
    for options in (("-p", "no:triton_doctor", "-c", "/dev/null", "--rootdir=."), ()):
        done = project.pytest("test_nothing.py", *options)
        loaded.append(set(json.loads((project.folder / "loaded.json").read_text())))

    assert "1 passed" in done.stdout
    assert "triton-doctor" not in done.stdout.replace(str(project.folder), "").partition("collected")[2]
    packages = {name.partition(".")[0] for name in loaded[1] - loaded[0]}
    assert packages <= {"triton_doctor"} | sys.stdlib_module_names


def test_plugin_that_is_turned_off_does_nothing(project):
    project.write("pytest.ini", "[pytest]\n")
    off, on = (project.pytest("--markers", *options).stdout for options in (("-p", "no:triton_doctor"), ()))

    assert ("max_compiles" in off, "max_compiles" in on) == (False, True)


def test_package_that_is_imported_before_pytest_gives_no_warning(project):
    project.write("conftest.py", "")
    project.write("test_it.py", "def test_it():\n    pass\n")
    project.write(
        "main.py", "import sys, triton_doctor, pytest\nsys.exit(pytest.main(['-q', '-Werror', 'test_it.py']))\n"
    )

    assert "1 passed" in project.python("main.py").stdout


def test_options_that_mean_nothing_stop_the_run(project):
    for option, told in (
        ("--triton-doctor-target=cuda", "no such target: 'cuda'"),
        ("--triton-doctor-max-compiles=few", "triton_doctor_max_compiles is 'few'"),
        ("--triton-doctor-baseline=nowhere.json", "cannot read the baseline"),
        ("--triton-doctor-update-baseline", "names no file"),
    ):
        done = project.pytest(option)

        assert (done.returncode, told in done.stderr) == (4, True), done.stdout + done.stderr


def test_report_that_cannot_be_written_is_told_and_what_should_be_held_fails(project):
    project.write("occupied", "a file where a folder should be")
    project.write(
        "test_blind.py",
        """
        import pytest
        import triton


        def test_free():
            pass


        @pytest.mark.max_compiles(2)
        def test_held():
            pass
        """,
    )
    done = project.pytest("--triton-doctor-report=occupied/seen.jsonl")

    assert done.returncode == 4
    assert list(failures(done)) == ["test_held"]
    assert "what it compiled is not known: cannot write" in failures(done)["test_held"]


def test_plugin_that_nothing_asks_attaches_nothing(project):
    project.write("pytest.ini", "[pytest]\n")
    project.write(
        "test_idle.py",
        """
        import triton
        from triton import knobs
        from triton.compiler.compiler import ASTSource


        def test_idle():
            assert type(knobs.compilation).__dict__["listener"] is None
            assert ASTSource.parse_options.__module__ == "triton.compiler.compiler"
        """,
    )

    assert "1 passed" in project.pytest("test_idle.py").stdout


@pytest.mark.parametrize("asks", ["@pytest.mark.max_compiles(0)\ndef test_it():", "def test_it(compiles):"])
def test_mark_or_fixture_attaches(project, asks):
    project.write("pytest.ini", "[pytest]\n")
    project.write(
        "test_it.py",
        f"import pytest\nfrom triton import knobs\n\n\n{asks}\n"
        "    assert type(knobs.compilation).__dict__['listener'] is not None\n",
    )

    assert "1 passed" in project.pytest("test_it.py").stdout


def test_listener_that_a_test_sets_and_resets_hides_nothing_of_later_tests(project):
    project.write(
        "test_knob.py",
        """
        from kernels import run, scale
        from triton import knobs


        def test_reset():
            knobs.compilation.listener = lambda **told: None
            knobs.compilation.listener = None


        def test_after():
            run(scale, 1, 2, 3)
        """,
    )
    done = project.pytest("--triton-doctor-max-compiles=1")

    assert list(failures(done)) == ["test_after"]
    assert "3 times in this test" in failures(done)["test_after"]


def test_test_that_hides_its_compiles_fails_its_mark(project):
    project.write(
        "test_hidden.py",
        """
        import pytest
        from kernels import run, scale
        from triton import knobs


        @pytest.mark.max_compiles(1)
        def test_hidden():
            type(knobs.compilation).listener = None
            run(scale, 1, 2)
        """,
    )
    done = project.pytest()

    assert "what it compiled is not known: the program replaced" in failures(done)["test_hidden"]


def test_failure_names_what_changed_against_an_earlier_test(project):
    project.write(
        "test_two.py",
        """
        import pytest
        from kernels import run, scale


        def test_first():
            run(scale, 700)


        @pytest.mark.max_compiles(0)
        def test_second():
            run(scale, 704)
        """,
    )
    for options in ((), ("--triton-doctor",)):
        failure = failures(project.pytest(*options))["test_second"]

        assert "TRD702" in failure
        assert "`n` is 704, was 700" in failure


def test_variants_that_tuning_tries_count_against_no_limit(project):
    project.write(
        "test_tuned.py",
        """
        import pytest
        import triton
        import triton.language as tl
        from kernels import x


        @triton.autotune(configs=[triton.Config({"BLOCK": block}) for block in (64, 128, 256)], key=["n"])
        @triton.jit
        def tuned(x_ptr, n, BLOCK: tl.constexpr):
            offsets = tl.arange(0, BLOCK)
            tl.store(x_ptr + offsets, 1.0, mask=offsets < n)


        @pytest.mark.max_compiles(0)
        def test_tuned():
            tuned[(1,)](x, 1000)
        """,
    )

    assert "1 passed" in project.pytest().stdout


def test_mark_of_the_test_comes_before_that_of_its_module_and_all_of_one_test_hold(project):
    project.write(
        "test_marks.py",
        """
        import pytest
        from kernels import run, scale, shift

        pytestmark = pytest.mark.max_compiles(1, kernel="scale")


        @pytest.mark.max_compiles(5)
        def test_closer():
            run(scale, 1, 2, 3)


        def test_module():
            run(scale, 4, 5)


        @pytest.mark.max_compiles(5)
        @pytest.mark.max_compiles(1, kernel="sc*")
        def test_both():
            run(scale, 6, 7)
        """,
    )

    assert list(failures(project.pytest())) == ["test_module", "test_both"]
