"""TRD108: a cache folder on a network file system that several ranks write to at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Finding, Severity
from triton_doctor.static.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.project.project import Project

CODE = "TRD108"


def check(project: Project) -> Iterator[Finding]:
    """Yield one finding for each setting; info if only the cluster decides whether the folder is on the network."""
    for file in project.environment:
        for setting in file.settings:
            if setting.shared is not None and not setting.guarded:
                yield Finding(
                    path=file.path,
                    span=setting.span,
                    code=CODE,
                    severity=Severity.WARNING if setting.shared.certain and not file.for_tests else Severity.INFO,
                    message=f"ranks share a cache folder on the network: `{setting.variable}` is {setting.shared.why}",
                    advice="use a folder on a disk of each node; `triton-doctor cache unpack` fills it from a pack",
                )


RULE = Rule(code=CODE, check=check)
