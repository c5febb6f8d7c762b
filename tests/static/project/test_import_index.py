"""Who may name what a file defines: told by what files import, and by what they take from modules."""

from __future__ import annotations

import pytest

from triton_doctor.static.project.database.import_index import ImportIndex
from triton_doctor.static.project.database.roles import imported_words

HOME = {"pkg/__init__.py": b"from .impl import f\n", "pkg/impl.py": b"def f(x): ...\n"}


def files_naming(text: bytes, member: str | None = None) -> tuple[str, ...]:
    texts = {**HOME, "user.py": text}
    importers = ImportIndex(texts, {path: imported_words(data) for path, data in texts.items()})
    return importers.files_naming("f", "pkg/impl.py", member).paths


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"from pkg.impl import f\n", id="by its name"),
        pytest.param(b"from pkg.impl import f as g\ng(x)\n", id="by its name, called otherwise"),
        pytest.param(b"from pkg import impl\nimpl.f(x)\n", id="by its module"),
        pytest.param(b"import pkg.impl as i\ni . \\\n  f(x)\n", id="by its module, written apart"),
        pytest.param(b"import pkg\npkg.f(x)\n", id="by the package that hands it on"),
        pytest.param(b"from pkg.impl import *\nf(x)\n", id="by all of its module"),
        pytest.param(b"import pkg.impl\ny = pkg.impl.f if a else None\n", id="without a call"),
    ],
)
def test_file_that_may_name_it(text: bytes) -> None:
    assert files_naming(text) == ("pkg/__init__.py", "pkg/impl.py", "user.py")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"f(x)\n", id="nothing is imported"),
        pytest.param(b"from pkg import impl\nf = impl.g(x)\n", id="another is taken from its module"),
        pytest.param(b"from pkg import impl\nimpl.fold(x)\n", id="a longer name is taken from its module"),
        pytest.param(b"import numpy as impl\nimpl.f(x)\n", id="another module is called so"),
    ],
)
def test_file_that_cannot_name_it(text: bytes) -> None:
    assert files_naming(text) == ("pkg/__init__.py", "pkg/impl.py")


@pytest.mark.parametrize(
    ("text", "says"), [(b"f(x).width = 1", True), (b"f(x) . \\\n  width = 1", True), (b"f(x).widths = 1", False)]
)
def test_file_that_says_a_member_besides(text: bytes, says: bool) -> None:
    assert files_naming(b"from pkg import f\n" + text, "width") == (("user.py",) if says else ())
