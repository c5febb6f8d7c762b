"""TRD901: the code goes out of the comment, and the comment with its last code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.plan import DropDirective, Plan, Safety

if TYPE_CHECKING:
    from triton_doctor.finding import Span


def plan(path: str, span: Span, code: str) -> Plan | None:
    """Safe, in Python files."""
    if not path.endswith(".py"):
        return None
    return Plan(
        safety=Safety.SAFE,
        title=f"delete `{code}` from the comment",
        changes=(DropDirective(path, span, code),),
    )
