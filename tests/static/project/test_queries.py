"""Queries: a module whose text lacks the sign of a query has nothing to say to it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

# Those of later passes declare queries too.
import triton_doctor.static.variability.interpreter.attributes
from triton_doctor.static.project.database.dependencies import QUERIES
from triton_doctor.static.python.parse import read_from_outline

if TYPE_CHECKING:
    from triton_doctor.static.project.database.dependencies import QueryKind

assert triton_doctor.static.variability.interpreter.attributes.STORES.kind in QUERIES
FIXTURES = Path(__file__).parents[3] / "fixtures"
SOURCES = sorted(path.read_bytes() for folder in ("kernels", "seeds") for path in (FIXTURES / folder).rglob("*.py"))
WORD = re.compile(rb"[A-Za-z_]\w*")
WITH_PATTERN = [query for query in QUERIES.values() if query.pattern is not None]


@pytest.mark.parametrize("query", WITH_PATTERN, ids=[query.kind for query in WITH_PATTERN])
def test_pattern_of_a_query_matches_every_module_with_a_result(query: QueryKind[object]) -> None:
    assert query.pattern is not None
    said = 0
    for source in SOURCES:
        module = read_from_outline("module.py", source)
        for word in sorted({found.decode() for found in WORD.findall(source)}):
            if query.read(module, word):
                said += 1
                assert next(query.pattern(word).offsets(source), None) is not None, (word, source)
                assert not query.marks or any(next(mark.offsets(source), None) is not None for mark in query.marks)

    assert said, f"no fixture says anything to the query {query.kind!r}"
