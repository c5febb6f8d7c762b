"""What is wrong with a machine: a finding that stands in no file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from triton_doctor.finding import Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFinding:
    """One thing that is wrong. `evidence` is what was seen and where; `command` can be typed as it is."""

    code: str
    severity: Severity
    message: str
    evidence: str
    remedy: str
    command: str | None = None

    @property
    def order(self) -> tuple[int, str, str]:
        """The worst first."""
        return (-self.severity, self.code, self.message)
