"""Where the walk over a file stands: what names mean, in which function, and which tests decide over it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from triton_doctor.static.environment.python_code.guards import holds

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from triton_doctor.static.environment.python_code.names import Bindings


class WalkState:
    """Moves along with the walk. `tests` are the conditions around, each with the outcome that leads here."""

    def __init__(self, names: Bindings) -> None:
        self.names = names
        self.function: str | None = None
        self.tests: list[tuple[ast.expr, bool]] = []
        self._switched = 0
        self._scopes = 0

    @contextmanager
    def switched(self, on: bool) -> Iterator[None]:
        """Something that is no test decides over what stands within, if `on`."""
        self._switched += on
        yield
        self._switched -= on

    @contextmanager
    def in_scope(self, on: bool) -> Iterator[None]:
        """What stands within is undone at its end, if `on`."""
        self._scopes += on
        yield
        self._scopes -= on

    @property
    def is_undone(self) -> bool:
        """Whether what is set here is undone at the end of a block."""
        return self._scopes > 0

    @contextmanager
    def under(self, test: ast.expr, outcome: bool) -> Iterator[None]:
        """What stands within happens where `test` has that `outcome`."""
        self.tests.append((test, outcome))
        yield
        self.tests.pop()

    def is_switched(self, variable: str | None) -> bool:
        """Whether something decides over this place; a test for `variable` alone does not."""
        return self._switched > 0 or any(
            holds(test, self.names, variable) is not outcome for test, outcome in self.tests
        )
