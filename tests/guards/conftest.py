"""The same Tritons as the runtime's tests, and the same project as the plugin's."""

from tests.plugin.conftest import project
from tests.runtime.conftest import runner

__all__ = ["project", "runner"]
