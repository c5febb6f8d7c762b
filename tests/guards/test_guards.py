"""Guards on each generation of triton's hooks."""

import re

import pytest

from tests.runtime.tritons import REPOSITORY, VERSIONS


@pytest.mark.long
@pytest.mark.parametrize("version", VERSIONS)
def test_each_guard_holds_on_triton(version, runner):
    folder = REPOSITORY / "tests" / "guards" / "on_triton"
    command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:triton_doctor", str(folder))
    done = runner(version)(*command, TRITON_DOCTOR_TESTS_ON_TRITON="1")

    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 40
