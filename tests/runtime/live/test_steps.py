"""Steps and requests: which of them compiled, in a recording, in the report, and held to a limit."""

import json
import textwrap

import pytest

from tests.runtime.tritons import REPOSITORY
from triton_doctor import Recording
from triton_doctor.runtime.live.program_steps import LINES, Steps

KERNELS = REPOSITORY / "tests" / "runtime" / "launch"


@pytest.fixture
def run(runner, tmp_path):
    """Run a program, given as text, under `run` for a GPU that is not there; its recording and its report."""

    class Done:
        def __init__(self, program, **variables):
            (tmp_path / "program.py").write_text(
                f"import sys\nsys.path.append({str(KERNELS)!r})\nfrom kernels import launch\nimport triton_doctor\n"
                + textwrap.dedent(program)
            )
            recording, python = str(tmp_path / "run.jsonl"), runner()
            command = (
                "-m",
                "triton_doctor",
                "run",
                "--target",
                "cuda:90",
                "-o",
                recording,
                str(tmp_path / "program.py"),
            )
            done = python(*command, **variables)
            self.out, self.text = done.stdout, done.stderr
            self.steps = Recording.read(recording).steps
            report = python("-m", "triton_doctor", "report", recording, "--output-format", "json")
            self.report = json.loads(report.stdout)["steps"]
            markdown = python("-m", "triton_doctor", "report", recording, "--output-format", "markdown")
            self.markdown = markdown.stdout

    return Done


def test_report_names_the_steps_that_compiled_and_what_a_late_one_brought(run):
    done = run(
        """
        for number in range(1, 21):
            launch(10 + min(number, 3))
            if number == 18:
                launch(1)
            triton_doctor.step()
        """
    )

    assert [len(step.compiles_ns) for step in done.steps] == [1, 1, 1, *[0] * 14, 1, 0, 0]
    assert "4 of 20 steps compiled" in done.text
    assert "steps 1 to 3 compiled 3 variants" in done.text
    assert "step 18 compiled 1 variant" in done.text
    assert "`scale`: `n` is 1, was 13" in done.text
    assert "- step 18 compiled 1 variant" in done.markdown
    assert (done.report["steps"], [one["number"] for one in done.report["compiling"]]) == (20, [1, 2, 3, 18])


def test_request_counts_what_its_own_context_compiles(run):
    done = run(
        """
        import asyncio

        async def serve(name, n):
            with triton_doctor.request(name):
                await asyncio.sleep(0)
                launch(n)
                await asyncio.sleep(0.01)

        async def main():
            await asyncio.gather(serve("new", 10), serve("known", 10), serve("other", 11))

        asyncio.run(main())
        """
    )

    compiled = {step.name: len(step.compiles_ns) for step in done.steps}
    assert compiled == {"new": 1, "known": 0, "other": 1}
    assert "request new compiled 1 variant" in done.text


def test_steps_of_torchs_profiler_are_found_and_an_explicit_step_comes_before_them(run):
    program = """
        import torch
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
            for n in (10, 10, 11):
                launch(n)
                profiler.step()
        for n in (12, 12):
            launch(n)
            triton_doctor.step()
        """
    found = run(program)

    assert [(step.number, len(step.compiles_ns)) for step in found.steps] == [(1, 1), (2, 0), (3, 1), (4, 1), (5, 0)]


def test_late_import_of_a_library_that_steps_is_found(run):
    done = run(
        """
        spec = __import__("importlib").util.find_spec("transformers")
        if spec is None:
            print("no transformers")
        else:
            from transformers.trainer_callback import CallbackHandler, TrainerControl, TrainerState
            handler = CallbackHandler([], None, None, None, None)
            for number, n in ((7, 10), (8, 10)):
                launch(n)
                handler.on_step_end(None, TrainerState(global_step=number), TrainerControl())
        """
    )
    if "no transformers" in done.out:
        pytest.skip("transformers is not installed")

    assert [(step.number, len(step.compiles_ns)) for step in done.steps] == [(7, 1), (8, 0)]


def test_limit_tells_how_many_of_the_last_steps_compiled(run):
    done = run(
        """
        told = []
        limit = triton_doctor.limit_compiling_steps(2, of=4, on_excess=told.append)
        for n in (10, 10, 11, 12, 12, 12, 12, 13):
            launch(n)
            triton_doctor.step()
        limit.close()
        print(told[0])
        print(len(told))
        with triton_doctor.limit_compiling_steps(0, of=3, on_excess="raise"):
            launch(14)
            try:
                triton_doctor.step()
            except triton_doctor.CompilingStepsError as error:
                print("raised", error.compiling)
        """
    )

    lines = done.out.splitlines()
    assert lines[0] == "3 of the last 4 steps compiled, at most 2 allowed: 1, 3, 4"
    assert "`n` is 12, was 11" in lines[1]
    assert lines[3:] == ["1", "raised ('9',)"]


def test_steps_in_which_nothing_compiled_share_a_line_after_many():
    told = []
    steps = Steps(told.append, lambda: None)
    for number in range(LINES + 500):
        if number == LINES + 400:
            steps.note_compile(42)
        steps.end_step("step()")
    steps.flush()

    assert sum(event.count for event in told) == LINES + 500
    assert [(event.number, event.compiles_ns) for event in told if event.compiles_ns] == [(LINES + 401, (42,))]
    assert len(told) < LINES + 500
    assert [event.number for event in told] == sorted(event.number for event in told)


@pytest.mark.parametrize("number", [-1, True, "1", 1.0])
def test_number_that_is_none_is_refused(number):
    from triton_doctor import step
    from triton_doctor.errors import DoctorError

    with pytest.raises(DoctorError, match="number is"):
        step(number)
