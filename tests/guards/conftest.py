"""The same Tritons as the runtime's tests."""

from tests.runtime.conftest import runner

__all__ = ["runner"]
