"""Reaching definitions: which assignments of a name a place in a function may see."""

from __future__ import annotations

from textwrap import indent

import pytest

from triton_doctor.static.python.parse import read_module
from triton_doctor.static.python.printing import spell
from triton_doctor.static.python.reaching_definitions import reaching_definitions


@pytest.mark.parametrize(
    ("body", "seen", "certain"),
    [
        pytest.param("x = 1\nx = 2\nuse(x)", ["2"], True, id="the latest"),
        pytest.param("use(x)\nx = 1", [], False, id="none that comes later"),
        pytest.param("x = 1\nif a:\n    x = 2\nuse(x)", ["2", "1"], True, id="what an arm may replace"),
        pytest.param("if a:\n    x = 1\nelse:\n    x = 2\nuse(x)", ["2", "1"], True, id="both arms"),
        pytest.param("if a:\n    x = 1\nuse(x)", ["1"], False, id="an arm that need not run"),
        pytest.param("if a:\n    x = 1\nelse:\n    use(x)", [], False, id="none of the other arm"),
        pytest.param("x = 0\nfor i in y:\n    use(x)\n    x = 1", ["1", "0"], True, id="what a loop brings round"),
        pytest.param("x = 0\nif a:\n    x = 1\nif not a:\n    use(x)", ["0"], True, id="none of the other truth"),
        pytest.param("x = 0\nif a:\n    x = 1\na = b\nif not a:\n    use(x)", ["0"], True, id="a flag bound once"),
        pytest.param(
            "a = c\nx = 0\nif a:\n    x = 1\na = b\nif not a:\n    use(x)", ["1", "0"], True, id="a flag bound twice"
        ),
    ],
)
def test_assignments_that_a_use_sees(body: str, seen: list[str], certain: bool) -> None:
    source = f"def f(a, b, c, y):\n{indent(body, '    ')}\n"
    function = read_module("module.py", source.encode()).functions["f"]
    (use,) = (site for site in function.calls if site.call.args)

    found = reaching_definitions(function, "x", use.order, use.arms)

    assert ([spell(binding.value) for binding in found.bindings], found.certain) == (seen, certain)
