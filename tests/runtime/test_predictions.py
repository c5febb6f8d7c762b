"""What static rules predict comes true on a real Triton: each program is read by `check`, and then run."""

import json
from pathlib import Path

import pytest

from tests.runtime.tritons import PROGRAMS, Runner, triton_folder
from tests.tritons import skip_without
from triton_doctor.settings import Settings
from triton_doctor.static.scan import scan
from triton_doctor.static.sources.files import find_files

PREDICTIONS = PROGRAMS / "predictions"
OLD, NEW = "3.4.0", "3.9.0"


# One worker of pytest-xdist makes what this fixture makes.
pytestmark = pytest.mark.xdist_group("predictions")


@pytest.fixture(scope="module")
def happened(tmp_path_factory):
    """What became of each program, by triton and name."""
    skip_without("torch")
    found = {}
    for version in (OLD, NEW):
        run = Runner(triton_folder(version), tmp_path_factory.mktemp(version))
        done = run(str(PROGRAMS / "predict.py"), "cuda:90", *map(str, sorted(PREDICTIONS.glob("*.py"))))
        for path, said in json.loads(done.stdout.splitlines()[-1]).items():
            found[version, Path(path).stem] = said
    return found


def found_by(code, name):
    settings = Settings(root=PREDICTIONS)
    files = list(find_files([PREDICTIONS / f"{name}.py"], settings, cwd=PREDICTIONS))
    return [finding for finding in scan(files, settings, cwd=PREDICTIONS).findings if finding.code == code]


@pytest.mark.parametrize("name", sorted(path.stem for path in PREDICTIONS.glob("*.py")))
def test_each_program_is_reported_by_its_rule(name):
    assert found_by(name[:6].upper(), name)


def test_constexpr_that_is_not_to_be_specialized_on_compiles_for_each_value_or_not_at_all(happened):
    assert happened[OLD, "trd204"]["compiled"] == 3
    assert "marked as constexpr and listed in do_not_specialize" in happened[NEW, "trd204"]["error"]


@pytest.mark.parametrize("version", [OLD, NEW])
def test_unknown_name_is_ignored(version, happened):
    assert happened[version, "trd204_unknown"]["compiled"] == 3


@pytest.mark.parametrize("version", [OLD, NEW])
@pytest.mark.parametrize("code", ["TRD208", "TRD209"])
def test_as_many_variants_are_compiled_as_predicted(code, version, happened):
    (finding,) = found_by(code, code.lower())

    assert happened[version, code.lower()]["compiled"] == finding.facts.bound


@pytest.mark.parametrize("version", [OLD, NEW])
@pytest.mark.parametrize("name", ["trd210", "trd210_annotated", "trd210_table"])
def test_global_that_is_no_constexpr_does_not_compile(name, version, happened):
    assert "Cannot access global variable FACTOR" in happened[version, name]["error"]


@pytest.mark.parametrize("version", [OLD, NEW])
def test_global_that_changes_ends_the_next_launch(version, happened):
    assert "Global variable FACTOR has changed" in happened[version, "trd210_changed"]["error"]


@pytest.mark.parametrize("version", [OLD, NEW])
def test_shadowed_option_leaves_the_default(version, happened):
    assert happened[version, "trd211"]["said"] == [4, 4, 4]
    assert len(found_by("TRD211", "trd211")) == 3


def test_unknown_key_is_dropped_or_refused(happened):
    assert happened[OLD, "trd303"]["said"] == 1
    assert "key contains names that are not kernel arguments: N" in happened[NEW, "trd303"]["error"]


@pytest.mark.parametrize("version", [OLD, NEW])
def test_odd_range_does_not_compile(version, happened):
    assert happened[version, "trd502"]["error"].startswith("CompilationError")
