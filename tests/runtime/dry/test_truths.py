"""What a dry run sees of Liger is what a GPU saw: tests/benchmarks/dry.py compares more libraries in the same way."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.benchmarks.dry_comparison import compare_package
from tests.benchmarks.packages import CORPUS, LIGER, ROOT, fetch
from tests.tritons import skip_without

PROGRAM = """
import json, sys
from tests.benchmarks.dry import locate, observe_dry
locate("liger")
print(json.dumps(observe_dry("liger", dict.fromkeys(sys.argv[1:], ()), 1)))
"""
# With the constexprs of theirs that vary per call.
OPERATORS = {"rope": {"bs"}, "added-norm": {"rows_per_program"}, "group-norm": {"hidden_size"}, "dyt": set()}


# One worker of pytest-xdist makes what this fixture makes.
pytestmark = pytest.mark.xdist_group("dry truths")


@pytest.fixture(scope="module")
def observed():
    """What each operator did dry, forward and backward, at the shapes of the truth."""
    skip_without("torch")
    try:
        fetch(LIGER)
    except subprocess.CalledProcessError:
        pytest.skip(f"{LIGER.name} {LIGER.version} cannot be had here")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *OPERATORS], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.long
@pytest.mark.parametrize("operator", OPERATORS)
def test_operator_has_the_variants_and_the_values_that_a_gpu_saw(observed, operator):
    truth = json.loads((CORPUS / "truth" / f"{LIGER.name}-{LIGER.version}.json").read_text())["kernels"]
    kernels = {name: truth[name] for name in observed[operator]["kernels"]}

    comparison = compare_package("liger", kernels, {operator: observed[operator]}, one_process=True)

    assert comparison.differences == []
    assert comparison.operators.part == 1
    assert comparison.per_call.part == len(OPERATORS[operator])
