"""Kernels that Helion generates: one row a function, whose cause is the shapes, in a run and in a recording."""

from pathlib import Path

import pytest

from tests.rule_pages import example_and_fixed
from tests.runtime.tritons import NEWEST, REPOSITORY, Runner, triton_folder
from triton_doctor import Recording
from triton_doctor.evidence import advise
from triton_doctor.runtime.account import account
from triton_doctor.runtime.cause_wording import describe_recompile
from triton_doctor.runtime.prewarm.kernel_variants import gather_variants

PAGE = REPOSITORY / "rules" / "TRD718-generated-for-each-shape.md"
PROGRAM = REPOSITORY / "fixtures" / "recordings" / "helion_double.jsonl"


@pytest.fixture(scope="module")
def replayed():
    """The example of the page, recorded in a dry run of Helion 1.5.1."""
    return Recording.read(PROGRAM)


def test_kernels_of_a_function_are_one_row_under_its_name(replayed):
    (kernel,) = account([replayed]).kernels

    assert (kernel.kernel.name, kernel.kernel.path, kernel.kernel.line) == ("double", "double.py", 7)
    assert (kernel.launches, kernel.compiled, kernel.in_memory) == (3, 3, 0)


def test_cause_is_the_shapes_and_its_remedy_is_static_shapes(replayed):
    (advice,) = advise(account([replayed]))

    assert [cause.code for cause in replayed.causes] == ["TRD701", "TRD718", "TRD718"]
    assert (
        describe_recompile(replayed.causes[-1])
        == "Helion generated it for shapes (102,), was (101,): static_shapes is on"
    )
    assert (advice.codes, advice.saved) == (("TRD718",), 2)
    assert "static_shapes=False" in advice.remedy


def test_launch_is_the_programs_and_prewarm_is_given_the_generated_kernels(replayed):
    variants = gather_variants([replayed]).variants

    assert {event.launch_site.path for event in replayed.compiles} == {"double.py"}
    assert {variant.kernel.name for variant in variants} == {"_helion_double"}
    assert len({variant.kernel.module for variant in variants}) == 3


@pytest.mark.parametrize(("state", "variants"), [("example", 3), ("fixed", 1)])
def test_page_shows_what_helion_does(state, variants, tmp_path):
    helion = pytest.importorskip("helion")
    text = example_and_fixed(PAGE.read_text())[state == "fixed"]
    (tmp_path / "double.py").write_text(text)
    run = Runner(triton_folder(NEWEST), tmp_path / "kernels")
    del run.environment["TRITON_CACHE_DIR"]
    run.environment["PYTHONPATH"] += f":{Path(helion.__file__).parents[1]}"

    output = tmp_path / "double.jsonl"
    said = run(
        *("-m", "triton_doctor", "run", "--dry", "-o", str(output), str(tmp_path / "double.py")),
        TORCHINDUCTOR_CACHE_DIR=str(tmp_path / "inductor"),
    )

    (kernel,) = account(Recording.read(output).processes).kernels
    assert (kernel.kernel.name, kernel.launches, kernel.compiled) == ("double", 3, variants)
    assert ("TRD718" in said.stderr) == (variants > 1)
    assert f"{tmp_path / 'inductor'}/helion/triton/0: Helion set TRITON_CACHE_DIR" in said.stderr
