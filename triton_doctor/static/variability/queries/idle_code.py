"""Whether a program runs a kernel or launch, and how often a function that makes kernels runs.

Tests, benchmarks and tutorials sweep sizes on purpose, and code that the project never calls compiles nothing.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from triton_doctor.static.project.launches.launches import launches_of
from triton_doctor.static.python.ir import (
    Attr,
    Call,
    Name,
    Subscript,
    dotted,
    every_part,
)
from triton_doctor.static.python.printing import spell
from triton_doctor.static.variability.queries.kernel_hints import interpreter_of
from triton_doctor.static.variability.values.lattice import Variability

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.project.calls.called_names import Caller
    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.function import Function
    from triton_doctor.static.python.module import Kernel, Module
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter

IN_TRIALS = "only tests, benchmarks or tutorials launch it"


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
        IN_TRIALS if is_test(interpreter, launch) else _explain_out_of_reach(interpreter, launch)
        for launch in launches_of(project).get(kernel.key, ())
    ]
    return next((reason for reason in reasons if reason != IN_TRIALS), IN_TRIALS) if reasons and all(reasons) else None


def explain_idle_launch(interpreter: Interpreter, launch: LinkedLaunch) -> str | None:
    """Return why no program runs `launch`."""
    if is_test(interpreter, launch):
        return IN_TRIALS
    return _explain_out_of_reach(interpreter, launch) or _explain_untaken_branch(interpreter, launch)


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


_ONCE = frozenset({"main", "setup", "__init__", "__new__", "__post_init__", "<module>"})
_MEMO = ("cache", "memo", "once", "singleton")


class KernelFactories:
    """Finds kernels inside functions, how often they are created, and where."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._interpreter = interpreter_of(project)
        self._launches = launches_of(project)

    def recreated_kernels(self) -> Iterator[tuple[Kernel, LinkedLaunch]]:
        """Yield the kernels that are created again for launches, with one such launch each."""
        for kernel in self._project.kernels():
            if kernel.made_in is None or kernel.path in self._project.tests:
                continue
            module = self._project.modules.get(kernel.path)
            maker = module.functions.get(kernel.made_in) if module is not None else None
            if module is None or maker is None:
                continue
            if self._runs(module, maker) is not Variability.PER_CALL:
                continue
            launch = next(iter(self._launches.get(kernel.key, ())), None)
            if launch is not None and launch.module.path not in self._project.tests:
                yield kernel, launch

    def _runs(self, module: Module, function: Function) -> Variability:
        """Return how often a function runs: FIXED for once, PER_CALL, or UNKNOWN without known callers."""
        key = ("runs", module.path, function.qualname)
        evaluation = partial(self._runs_by_callers, module, function)
        return self._interpreter.evaluations.evaluate(
            key, evaluation, on_cycle=Variability.UNKNOWN, beyond_limit=Variability.UNKNOWN
        )

    def _runs_by_callers(self, module: Module, function: Function) -> Variability:
        if function.name in _ONCE or _memoizes(function):
            return Variability.FIXED
        if function.parent not in (None, "<module>"):
            outer = module.functions.get(function.parent or "")
            if outer is not None and _memoizes(outer):
                return Variability.FIXED
        callers = list(self._interpreter.call_graph.callers_of(module, function))
        launches_own = any(
            launch.function is function
            for kernel in module.kernels
            if kernel.made_in == function.qualname
            for launch in self._launches.get(kernel.key, ())
        )
        if not callers:
            return Variability.PER_CALL if launches_own and not _is_script(module, function) else Variability.UNKNOWN
        kinds = [self._called(caller) for caller in callers]
        if Variability.PER_CALL in kinds:
            return Variability.PER_CALL
        if launches_own and Variability.UNKNOWN in kinds:
            return Variability.PER_CALL
        return Variability.UNKNOWN if Variability.UNKNOWN in kinds else Variability.FIXED

    def _called(self, caller: Caller) -> Variability:
        module, function, site = caller
        if any(arm.loop for arm in site.arms):
            return Variability.PER_CALL
        if function.name in _ONCE:
            return Variability.FIXED
        # Memoization by hand: `if key not in made: made[key] = make(key)`, or a global that is set if it is None.
        if site.arms and (function.globals or _keeps(function, site.call)):
            return Variability.FIXED
        return self._runs(module, function)


def _memoizes(function: Function) -> bool:
    """Return whether a decorator, or a lookup in a table that outlives the call, caches the function's result."""
    for decorator in function.decorators:
        name = (dotted(decorator.func if isinstance(decorator, Call) else decorator) or "").lower()
        if any(word in name for word in _MEMO):
            return True
    local = set(function.bindings) | {param.name for param in function.params}
    for returned in function.returns:
        match returned.value:
            case Subscript(Name(table), _) | Call(Attr(Name(table), "get" | "setdefault"), _, _) if table not in local:
                return True
            case Subscript(Attr(Name("self" | "cls"), _), _) | Attr(Name("self" | "cls"), _):
                return True
            case Name(name) if name in function.globals:
                return True
    return bool(function.globals)


def _keeps(function: Function, call: Call) -> bool:
    """Return whether the result of a guarded call is stored somewhere that outlives the function."""
    if any(stored.value == call for stored in function.stored):
        return True
    every = (binding for bindings in function.bindings.values() for binding in bindings)
    return any(binding.value == call and binding.arms for binding in every)


def _is_script(module: Module, function: Function) -> bool:
    """Return whether the function is in a file that is run rather than imported: it has a main guard and calls."""
    return any(arm for site in module.top.calls for arm in site.arms) and function.parent == "<module>"
