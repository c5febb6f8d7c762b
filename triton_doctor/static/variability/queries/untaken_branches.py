"""Finds the test for which no program runs a launch.

`if METHOD == 2:` around a launch is never taken if the function says `METHOD = 1`, nor is `if causal:` if that is False
by default and no caller in the project passes it. A function that a package exports may have other callers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.python.ir import Name, every_part
from triton_doctor.static.python.printing import spell

if TYPE_CHECKING:
    from triton_doctor.static.project.project import LinkedLaunch
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter


def explain_untaken_branch(interpreter: Interpreter, launch: LinkedLaunch) -> str | None:
    """Return why nothing runs the launch; None if something may, or if there are no known callers."""
    function, frame = launch.function, interpreter.frame(launch.module, launch.function)
    order, arms = launch.launch.order, launch.launch.arms
    tests = function.text.contents.tests
    branch = interpreter.own_tests.closing(order, arms, frame)
    if branch is not None:
        holds = "true" if interpreter.own_tests.outcome(branch, frame) else "false"
        return f"`{spell(tests[branch].test)}` is always {holds}, which keeps `{function.name}` from this launch"
    branch = interpreter.tests.closing(order, arms, frame)
    if branch is None:
        return None
    names = dict.fromkeys(part.id for part in every_part(tests[branch].test) if isinstance(part, Name))
    flags = [name for name in names if function.param(name) is not None] or [*names]
    keeping = " and ".join(f"`{name}`" for name in flags)
    return f"every call of `{function.name}` in the project keeps {keeping} from leading there"
