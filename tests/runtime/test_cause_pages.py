"""Every page of a cause: a real compile reports its example as that cause, and the fixed example not."""

import json
from pathlib import Path

import pytest

from tests.rule_pages import example_and_fixed
from tests.runtime.tritons import NEWEST, PROGRAMS, REPOSITORY, Runner, triton_folder
from triton_doctor.runtime.cause_table import CAUSES

# Its examples capture a CUDA graph: tests/gpu/programs/graph_capture.py runs them.
ON_A_GPU = {"TRD716"}
# What a kernel's rounds have in common, and no cause of one: tests/runtime/prewarm/test_tuning.py runs it.
OF_A_KERNEL = {"TRD717"}
# Helion is no dependency of the tests: tests/runtime/test_helion.py runs it where it is there.
OF_HELION = {"TRD718"}
PAGES = [
    page
    for page in sorted((REPOSITORY / "rules").glob("TRD7*.md"))
    if page.name[:6] not in ON_A_GPU | OF_A_KERNEL | OF_HELION
]
SHOWN = sorted(CAUSES.keys() - OF_HELION)


# One worker of pytest-xdist makes what this fixture makes.
pytestmark = pytest.mark.xdist_group("cause pages")


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What each example of each page was told as, from one process."""
    folder = tmp_path_factory.mktemp("pages")
    for page in PAGES:
        for state, text in zip(("example", "fixed"), example_and_fixed(page.read_text()), strict=True):
            (folder / f"{page.stem[:6]}_{state}.py").write_text(text)
    files = sorted(map(str, folder.glob("*.py")))
    done = Runner(triton_folder(NEWEST), folder / "kernels")(str(PROGRAMS / "pages.py"), "cuda:90", *files)
    return {Path(path).stem: said for path, said in json.loads(done.stdout.splitlines()[-1]).items()}


def test_each_cause_has_a_page():
    assert [page.stem[:6] for page in PAGES] == SHOWN


@pytest.mark.parametrize("code", SHOWN)
def test_example_is_reported_as_its_cause(code, told):
    said = told[f"{code}_example"]

    assert said["faults"] == []
    assert said["codes"][-1] == code


@pytest.mark.parametrize("code", SHOWN)
def test_fixed_example_is_never_reported_as_it(code, told):
    said = told[f"{code}_fixed"]

    assert said["faults"] == []
    assert code not in said["codes"]
