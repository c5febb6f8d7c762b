"""Why no program runs a kernel or launch, if there is a reason: then findings are information only.

Tests, benchmarks and tutorials sweep sizes on purpose, and code that the project never calls compiles nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.calls.compiled_code import runs_only_compiled
from triton_doctor.static.project.calls.optimizers import is_of_optimizer
from triton_doctor.static.project.launches.launches import launches_of
from triton_doctor.static.python.ir import Name, every_part
from triton_doctor.static.python.printing import spell
from triton_doctor.static.variability.queries.launch_hints import interpreter_of

if TYPE_CHECKING:
    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.module import Kernel
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.values.lattice import AbstractNumber

IN_TRIALS = "only tests, benchmarks or tutorials launch it"
_IN_PROFILES = "only a profiler asks for it"
# As compiled_code.py says.
TUNED_ONCE = "only code under `torch.compile` runs it, where Inductor tunes it once for all keys"
_IN_OPTIMIZERS = "only an optimizer runs it, on the parameters of a model"


def describe_idle_reason(reason: str | None) -> str:
    """Return the clause that ends the message of a finding that is information only; empty without `reason`."""
    return f"; {reason}" if reason else ""


def is_test(interpreter: Interpreter, launch: LinkedLaunch) -> bool:
    """Return whether `launch` is in a test, a benchmark or a tutorial."""
    return interpreter.call_graph.is_no_program(launch.module, launch.function, launch.launch.arms)


def explain_idle_kernel(project: Project, kernel: Kernel) -> str | None:
    """Return why no program runs `kernel`: only tests, demonstrations or unreachable code launch or define it."""
    interpreter = interpreter_of(project)
    if interpreter.call_graph.is_shown(kernel):
        return IN_TRIALS
    reasons = [
        IN_TRIALS if is_test(interpreter, one) else _explain_out_of_reach(interpreter, one)
        for one in launches_of(project).get(kernel.key, ())
    ]
    return next((one for one in reasons if one != IN_TRIALS), IN_TRIALS) if reasons and all(reasons) else None


def explain_idle_launch(interpreter: Interpreter, launch: LinkedLaunch, number: AbstractNumber) -> str | None:
    """Return why no program runs `launch`, whose argument is `number`."""
    if is_test(interpreter, launch):
        return IN_TRIALS
    reason = _explain_out_of_reach(interpreter, launch) or _explain_untaken_branch(interpreter, launch)
    if reason is None and number.hints:
        project, reachability = interpreter.project, interpreter.reachability
        if is_of_optimizer(project, reachability, launch.module, launch.function):
            return _IN_OPTIMIZERS
    if reason is None and interpreter.call_graph.only_profiles(launch.module, launch.function):
        return _IN_PROFILES
    return reason


@cached_in_scan()
def runs_compiled(project: Project, kernel: Kernel) -> bool:
    """Return whether every launch of `kernel` that a program may run is in code that only runs under
    `torch.compile`.
    """
    interpreter = interpreter_of(project)
    launches = [
        one
        for one in launches_of(project).get(kernel.key, ())
        if not is_test(interpreter, one) and _explain_out_of_reach(interpreter, one) is None
    ]
    return bool(launches) and all(
        runs_only_compiled(interpreter.reachability, one.module, one.function) for one in launches
    )


def _explain_out_of_reach(interpreter: Interpreter, launch: LinkedLaunch) -> str | None:
    module, function = launch.module, launch.function
    if interpreter.reachability.reaches(module, function):
        return None
    return f"nothing in the project runs `{(function.class_name or function.name).rpartition('.')[2]}`"


def _explain_untaken_branch(interpreter: Interpreter, launch: LinkedLaunch) -> str | None:
    """Return the test for which nothing runs the launch; None if something may, or if there are no known callers.

    `if METHOD == 2:` is never taken if the function says `METHOD = 1`, nor is `if causal:` if that is False by default
    and no caller in the project passes it. A function that a package exports may have other callers.
    """
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
