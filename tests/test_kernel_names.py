"""A kernel whose own name says nothing is named with what encloses it, else with its module."""

import pytest

from triton_doctor.kernel_names import function_name, report_name


@pytest.mark.parametrize(
    ("qualname", "path", "name"),
    [
        pytest.param("add_rows", "ops/add.py", "add_rows", id="a name that says something"),
        pytest.param("Pack.add_rows", "ops/add.py", "add_rows", id="in a class too"),
        pytest.param("Pack.kernel", "ops/add.py", "Pack.kernel", id="a class"),
        pytest.param("Outer.Pack._kernel", "ops/add.py", "Pack._kernel", id="the inner class"),
        pytest.param("make_add.<locals>.fn", "ops/add.py", "make_add.fn", id="a function that makes it"),
        pytest.param("triton_kernel#2", "/srv/ops/add.py", "add.triton_kernel", id="a second definition"),
        pytest.param("_kernel2", "C:\\ops\\add.py", "add._kernel2", id="a module"),
        pytest.param("kernel", "ops/pack/__init__.py", "pack.kernel", id="a package"),
        pytest.param("kernel", "/tmp/ipykernel_12/34.py", "kernel", id="a cell of a notebook"),
        pytest.param("triton_", "/tmp/c1.py", "triton_", id="Inductor's"),
    ],
)
def test_name_in_reports_says_which_kernel_it_is(qualname: str, path: str, name: str) -> None:
    assert report_name(qualname, path) == name
    assert function_name(name) == qualname.rpartition(".")[2].partition("#")[0]
