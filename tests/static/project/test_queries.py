"""Queries: a module whose text lacks the sign of a query has nothing to say to it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

# Those of later passes declare queries too.
import triton_doctor.static.variability.attribute_stores
from triton_doctor.static.project.database.dependencies import QUERIES
from triton_doctor.static.python.parse import read_consulted

if TYPE_CHECKING:
    from triton_doctor.static.project.database.dependencies import QueryKind

assert triton_doctor.static.variability.attribute_stores.STORES.kind in QUERIES
FIXTURES = Path(__file__).parents[3] / "fixtures"
SOURCES = sorted(path.read_bytes() for folder in ("kernels", "seeds") for path in (FIXTURES / folder).rglob("*.py"))
WORD = re.compile(rb"[A-Za-z_]\w*")
SIGNED = [query for query in QUERIES.values() if query.sign is not None]


@pytest.mark.parametrize("query", SIGNED, ids=[query.kind for query in SIGNED])
def test_text_of_a_module_that_says_something_has_the_sign_of_the_query(query: QueryKind[object]) -> None:
    assert query.sign is not None
    said = 0
    for source in SOURCES:
        module = read_consulted("module.py", source)
        for word in sorted({found.decode() for found in WORD.findall(source)}):
            if query.read(module, word):
                said += 1
                assert next(query.sign(word).offsets(source), None) is not None, (word, source)
                assert not query.marks or any(next(mark.offsets(source), None) is not None for mark in query.marks)

    assert said, f"no fixture says anything to the query {query.kind!r}"
