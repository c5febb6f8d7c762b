"""Why no program runs a kernel or launch, if there is a reason: then findings are information only.

Tests, benchmarks and tutorials sweep sizes on purpose, and code that the project never calls compiles nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.calls.compiled_code import runs_only_compiled
from triton_doctor.static.project.calls.optimizers import is_of_optimizer
from triton_doctor.static.project.launches.launches import launches_of
from triton_doctor.static.variability.queries.launch_hints import interpreter_of
from triton_doctor.static.variability.queries.untaken_branches import explain_untaken_branch

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
    reason = _explain_out_of_reach(interpreter, launch) or explain_untaken_branch(interpreter, launch)
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
