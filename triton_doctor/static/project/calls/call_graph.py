"""The call graph: the calls that reach a function, anywhere in the project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.calls.called_names import (
    ALIASES,
    CALLS,
    CalledName,
    Caller,
    call_pattern,
    called_name,
    calls_of,
    read_calls,
)
from triton_doctor.static.project.calls.operators import OPERATOR_CALLS, operator_calls, operator_pattern, operators
from triton_doctor.static.project.calls.stored_functions import (
    STORED_APPLY_CALLS,
    STORED_FUNCTION_CALLS,
    stored_apply_calls,
    stored_function_calls,
)
from triton_doctor.static.project.calls.trials import Trials
from triton_doctor.static.project.database.import_index import last_name
from triton_doctor.static.project.names.resolver import APPLIED_NAMES, DefinitionKind, is_applied
from triton_doctor.static.python.ir import Call, Expr, dotted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.function import BranchArm, Function
    from triton_doctor.static.python.module import Kernel, Module


class CallGraph:
    """Looks up calls on demand, in the files that can name the called function, except in tests.

    These are files with Triton; with `in_all_files`, also files that only import the function's module.
    """

    def __init__(self, project: Project, *, in_all_files: bool = False) -> None:
        """Start with an empty cache."""
        self._project = project
        self._in_all_files = in_all_files
        self._for_main: dict[int, bool] = {}
        self._trials = Trials(project)

    def callers_of(self, module: Module, function: Function, *, include_tests: bool = False) -> Iterator[Caller]:
        """Yield the calls of `function` of `module`, by path and line.

        With `include_tests`, also those under a main guard.
        """
        if is_applied(function) or (function.parent == "<module>" and function.class_name is None):
            callers = self.all_callers(module, function)
        else:
            callers = self._among(module.path, read_calls(module, function.name), function.name, function)
        for caller in callers:
            if include_tests or (
                caller.module.path not in self._project.tests
                and not self.is_test(caller.module, caller.function, caller.site.arms)
            ):
                yield caller

    def all_callers(self, module: Module, function: Function) -> Iterator[Caller]:
        """Yield the calls of `function` of `module`, by path and line, including main guards but not tests.

        An autograd function is called by its class, `Scale.apply(x)`, or by a name bound to that.
        """
        wanted, member = function.name, None
        if is_applied(function):
            wanted, member = (function.class_name or "").rpartition(".")[2], "apply"
        found = self._project.modules.search(
            CALLS, wanted, name=wanted, home=module.path, member=member, skip=self._project.tests
        )
        for path, calls in found:
            yield from self._among(path, calls, wanted, function)
        if self._in_all_files:
            yield from self.callers_without_triton(module, function)
        if member is not None:
            yield from self._callers_of_applied(module.path, wanted, function)
        else:
            yield from self._callers_of_renamed(module.path, function)
            yield from self._callers_of_stored(module.path, wanted)
            for operator in operators(module).get(function.name, ()):
                yield from self._callers_of_operator(operator)

    def _callers_of_stored(self, home: str, name: str) -> Iterator[Caller]:
        """Yield the calls through what stores the function `name` of `home`: attributes, names, a `partial` of it."""
        modules, tests = self._project.modules, self._project.tests
        for path, _ in modules.search(STORED_FUNCTION_CALLS, name, name=name, home=home, skip=tests):
            found = self._project.names.locate(path, name)
            if found is not None and found[:2] == (home, name):
                yield from stored_function_calls(modules[path], name)

    def _callers_of_renamed(self, home: str, function: Function) -> Iterator[Caller]:
        """Yield the calls of `function` of `home` by another name: `from kernels import scale as run`, `run(x)`."""
        search, tests = self._project.modules.search, self._project.tests
        for path, names in search(ALIASES, function.name, name=function.name, home=home, skip=tests):
            for name in names:
                for caller_path, calls in search(CALLS, name, name=name, home=path, skip=tests):
                    yield from self._among(caller_path, calls, name, function)

    def _callers_of_operator(self, operator: str) -> Iterator[Caller]:
        """Yield the calls of a torch operator, in all files that import torch."""
        modules, tests = self._project.modules, self._project.tests
        for path, _ in modules.search(OPERATOR_CALLS, operator, name="torch", member="ops", skip=tests):
            yield from operator_calls(modules[path], operator)
        for path in modules.bystander_importers("torch", operator_pattern(operator), member="ops"):
            module = modules.get(path) if path not in tests else None
            if module is not None:
                yield from operator_calls(module, operator)

    def callers_without_triton(self, module: Module, function: Function) -> Iterator[Caller]:
        """Yield the calls of `function` of `module` in files that import the module and do not mention Triton."""
        wanted = (function.class_name or "").rpartition(".")[2] if is_applied(function) else function.name
        for path in self._project.modules.bystander_importers(last_name(module.path), call_pattern(wanted)):
            other = self._project.modules.get(path) if path not in self._project.tests else None
            if other is not None:
                yield from self._among(path, read_calls(other, wanted), wanted, function)

    def _callers_of_applied(self, home: str, class_name: str, function: Function) -> Iterator[Caller]:
        """Yield the calls of `function` by a name for `apply` of its class: `scale = Scale.apply`, `scale(x)`."""
        search, tests = self._project.modules.search, self._project.tests
        for path, _ in search(STORED_APPLY_CALLS, class_name, name=class_name, home=home, member="apply", skip=tests):
            found = self._project.names.locate(path, class_name)
            if found is not None and found[:2] == (home, class_name):
                yield from stored_apply_calls(self._project.modules[path], class_name)
        for path, names in search(APPLIED_NAMES, class_name, name=class_name, home=home, member="apply", skip=tests):
            for name in names:
                for caller_path, calls in search(CALLS, name, name=name, home=path, skip=tests):
                    yield from self._among(caller_path, calls, name, function)

    def _among(
        self, path: str, calls: Sequence[CalledName | None], wanted: str, function: Function
    ) -> Iterator[Caller]:
        """Yield those of `calls` of the name `wanted`, in the module at `path`, that reach `function`."""
        key = (function.path, name_in_module(function))
        for index, called in enumerate(calls):
            if called is not None and self._find_callee(path, called) == key:
                yield calls_of(self._project.modules[path], wanted)[index]

    def is_test(self, module: Module, function: Function, arms: tuple[BranchArm, ...]) -> bool:
        """Return whether code inside `arms` of `function` is a test: in a test file or function, or under a main guard.

        Under a main guard are also functions defined there, and functions without arguments that only such code calls.
        """
        if module.path in self._project.tests or any(arm.is_main for arm in arms):
            return True
        if function.name == "<module>":
            return False
        if function.is_for_main or is_test_function(function):
            return True
        if not _may_have_guard(module):
            return False
        if id(function) not in self._for_main:
            self._for_main[id(function)] = False
            self._for_main[id(function)] = self._is_for_main(module, function)
        return self._for_main[id(function)]

    def is_no_program(self, module: Module, function: Function, arms: tuple[BranchArm, ...]) -> bool:
        """Return whether code there only tests, measures or teaches."""
        return (
            module.path in self._project.demonstrations
            or self.is_test(module, function, arms)
            or module in self._trials
        )

    def is_shown(self, kernel: Kernel) -> bool:
        """Return whether `kernel` is in a test, a benchmark, a tutorial, or a script that tries its own kernels."""
        if kernel.path in self._project.tests or kernel.path in self._project.demonstrations:
            return True
        module = self._project.modules.get(kernel.path)
        return module is not None and module in self._trials

    def _is_for_main(self, module: Module, function: Function) -> bool:
        outer = module.functions.get(function.parent or "")
        if outer is not None and outer.name != "<module>":
            return self.is_test(module, outer, ())
        if function.class_name is not None or any(
            not param.variadic and param.default is None for param in function.params
        ):
            return False
        found = False
        for caller in self.all_callers(module, function):
            if not self.is_test(caller.module, caller.function, caller.site.arms):
                return False
            found = True
        return found

    def find_callee(self, module: Module, function: Function, func: Expr) -> Function | None:
        """Return the project function that calling `func` there runs; None if it is none or unknown."""
        called = called_name(module, function, func)
        key = self._find_callee(module.path, called) if called is not None else None
        home = self._project.modules.get(key[0]) if key is not None else None
        return home.functions.get(key[1]) if home is not None and key is not None else None

    def _find_callee(self, path: str, called: CalledName) -> tuple[str, str] | None:
        """Return the file and qualified name of the function that a call in the module at `path` runs."""
        if called.local is not None:
            return path, called.local
        if called.is_own:
            return None
        names = self._project.names
        base, _, last = called.name.rpartition(".")
        found = names.applied(path, base) if last == "apply" and base else names.locate(path, called.name)
        return found[:2] if found is not None and found.kind is DefinitionKind.FUNCTION else None


@cached_in_scan()
def _may_have_guard(module: Module) -> bool:
    return module.top.holds(b"__main__")


def name_in_module(function: Function) -> str:
    """Return the qualified name by which `function` is called; later definitions have a number: `scale#2`."""
    name, _, number = function.qualname.rpartition("#")
    return name if number.isdigit() else function.qualname


def is_test_function(function: Function) -> bool:
    """Return whether pytest calls `function` (`def test_scan()`, a mark) or Triton times it."""
    if function.parent != "<module>" or function.class_name is not None:
        return False
    marks = [
        dotted(decorator.func if isinstance(decorator, Call) else decorator) or "" for decorator in function.decorators
    ]
    if function.name.startswith("test_") and (not function.params or any(map(_is_of_pytest, marks))):
        return True
    return any(mark.rpartition(".")[2] == "perf_report" for mark in marks)


def _is_of_pytest(mark: str) -> bool:
    return mark.startswith("pytest.mark.")
