"""Who may name what a file defines: told by what files import, and by what they take from modules."""

from __future__ import annotations

import pytest

from triton_doctor.static.importers import Importers
from triton_doctor.static.prefilter import imported_words

HOME = {"pkg/__init__.py": b"from .impl import f\n", "pkg/impl.py": b"def f(x): ...\n"}


def naming(text: bytes, wanted: str) -> tuple[str, ...]:
    texts = {**HOME, "user.py": text}
    importers = Importers(texts, {path: imported_words(data) for path, data in texts.items()})
    return importers.naming("f", "pkg/impl.py", wanted).paths


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
    assert naming(text, "f") == ("pkg/__init__.py", "pkg/impl.py", "user.py")


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
    assert naming(text, "f") == ("pkg/__init__.py", "pkg/impl.py")


def test_file_without_the_text_is_none_of_them() -> None:
    assert naming(b"from pkg import f\nf(x).width = 1\n", ".width") == ("user.py",)
