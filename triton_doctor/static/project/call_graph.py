"""Functions to the calls that reach them, anywhere in the project."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.project.dependencies import ModuleQuery, query
from triton_doctor.static.project.trials import Trials
from triton_doctor.static.python.function import Function
from triton_doctor.static.python.ir import Attr, Call, Expr, Name, Star, dotted
from triton_doctor.static.python.module import Class
from triton_doctor.static.sources.text_patterns import TextPattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.function import BranchArm, CallSite
    from triton_doctor.static.python.module import Kernel, Module

# A name, or `apply` of it, and the parenthesis: between them what may stand between any two tokens, or closes others.
_BETWEEN = rb"(?:[\s\\)]|#[^\n]*\n)*"
_BEFORE = re.compile(rb"(?<![A-Za-z0-9_])(?<!def )")
_DESCRIBES = TextPattern("launch_metadata")
# `launch_metadata` takes the grid, the compiled kernel and the arguments; it has little beside it but a helper.
_METADATA_PARAMS, _MOST_HELPERS = 3, 2
_AFTER = re.compile(rb"(?:" + _BETWEEN + rb"\." + _BETWEEN + rb"apply)?" + _BETWEEN + rb"\(")


class Caller(NamedTuple):
    """A call, and the function that makes it."""

    module: Module
    function: Function
    site: CallSite


class CallGraph:
    """Looks up calls, but for those of tests, in the files that can name what they call, as they are asked for."""

    def __init__(self, project: Project) -> None:
        """Nothing is looked up yet."""
        self._project = project
        self._for_main: dict[int, bool] = {}
        self._has_guard: dict[str, bool] = {}
        self._trials = Trials(project)

    def of(self, module: Module, function: Function) -> Iterator[Caller]:
        """The calls that reach `function` of `module`, by path and place."""
        wanted, tests, modules = function.name, self._project.tests, self._project.modules
        homes: Iterable[Module] = (module,)
        if function.class_name is not None and function.name == "forward":
            wanted = function.class_name.rpartition(".")[2]
            asked = ModuleQuery("calls", wanted)
            homes = modules.naming(wanted, module.path, asked, calling(wanted), member="apply", but=tests)
        elif function.parent == "<module>" and function.class_name is None:
            asked = ModuleQuery("calls", wanted)
            homes = modules.naming(wanted, module.path, asked, calling(wanted), but=tests)
        for home in homes:
            if home.path in tests:
                # What a test passes says little of what a program does.
                continue
            for caller in calls_of(home, wanted):
                if self._glimpsed(home, caller.function, caller.site.call.func) is function:
                    modules.consult(home.path)
                    if not self.is_test(home, caller.function, caller.site.arms):
                        yield caller

    def is_test(self, module: Module, function: Function, arms: tuple[BranchArm, ...]) -> bool:
        """Whether what stands inside `arms` of `function` only tests: in a file of tests, or for `__main__`.

        For `__main__` is what its guard holds, and a function without arguments that only such code calls.
        """
        if module.path in self._project.tests or any(arm.is_main for arm in arms):
            return True
        if function.name == "<module>":
            return False
        if module.path not in self._has_guard:
            self._has_guard[module.path] = module.functions["<module>"].holds(b"__main__")
        if not self._has_guard[module.path]:
            return False
        if id(function) not in self._for_main:
            self._for_main[id(function)] = False
            self._for_main[id(function)] = self._is_for_main(module, function)
        return self._for_main[id(function)]

    def is_no_program(self, module: Module, function: Function, arms: tuple[BranchArm, ...]) -> bool:
        """Whether what stands there only tests, measures or teaches."""
        return (
            module.path in self._project.demonstrations
            or self.is_test(module, function, arms)
            or module in self._trials
        )

    def is_shown(self, kernel: Kernel) -> bool:
        """Whether `kernel` stands in a test, a benchmark or a tutorial, or in a script that tries its own kernels."""
        if kernel.path in self._project.tests or kernel.path in self._project.demonstrations:
            return True
        module = self._project.modules.get(kernel.path)
        return module is not None and module in self._trials

    def only_profiles(self, module: Module, function: Function, depth: int = _MOST_HELPERS) -> bool:
        """Whether `function` is the `launch_metadata` of a kernel, or nothing but such functions calls it.

        Triton calls these where a launch hook is set, as a profiler does (triton 3.6 compiler/compiler.py:485).
        """
        is_called = False
        for caller in self.of(module, function):
            if self.is_no_program(*caller[:2], caller.site.arms):
                continue
            if depth == 0 or not self.only_profiles(caller.module, caller.function, depth - 1):
                return False
            is_called = True
        takes_launch = function.parent == "<module>" and len(function.params) == _METADATA_PARAMS
        return is_called or (takes_launch and self._describes(function))

    def _describes(self, function: Function) -> bool:
        """Whether some kernel has `function` for its `launch_metadata`."""
        asked, modules = ModuleQuery("launch metadata", function.name), self._project.modules
        return any(
            self._glimpsed(home, home.functions["<module>"], described) is function
            for home in modules.naming(function.name, function.path, asked, _DESCRIBES, but=self._project.tests)
            for described in _describing(home, function.name)
        )

    def _is_for_main(self, module: Module, function: Function) -> bool:
        outer = module.functions.get(function.parent or "")
        if outer is not None and outer.name != "<module>":
            return self.is_test(module, outer, ())
        if function.class_name is not None or any(
            not param.variadic and param.default is None for param in function.params
        ):
            return False
        name, found = function.name, False
        asked, modules = ModuleQuery("calls", name), self._project.modules
        for home in modules.naming(name, module.path, asked, calling(name), but=self._project.tests):
            for caller in calls_of(home, name):
                if self._glimpsed(home, caller.function, caller.site.call.func) is function:
                    modules.consult(home.path)
                    if not self.is_test(home, caller.function, caller.site.arms):
                        return False
                    found = True
        return found

    def reached(self, module: Module, function: Function, func: Expr) -> Function | None:
        """The function of the project that calling `func` there runs; None if it is none, or not to be told."""
        found = self._glimpsed(module, function, func)
        if found is not None:
            self._project.modules.consult(found.path)
        return found

    def _glimpsed(self, module: Module, function: Function, func: Expr) -> Function | None:
        """As `reached`, for who wants to know which it is; it also depends on what `describe_calls` gives."""
        names = self._project.names
        match func:
            case Name():
                local = _local(module, function, func)
                if local is not None:
                    return local
            case Attr(Name("self" | "cls")) if function.class_name is not None:
                return _local(module, function, func)
            case _:
                pass
        full = dotted(func)
        if full is None:
            return None
        base, _, last = full.rpartition(".")
        if last == "apply" and base:
            owner = names.glimpse(module, base)
            return self._method(owner, "forward") if isinstance(owner, Class) else None
        found = names.glimpse(module, full)
        return found if isinstance(found, Function) else None

    def _method(self, owner: Class, name: str) -> Function | None:
        return self._project.names.home_of_class(owner).functions.get(f"{owner.qualname}.{name}")


@query("launch metadata")
def metadata_told(module: Module, name: str) -> object:
    """Of what the kernels in `module` are told to describe launches with, that which has `name` last."""
    return tuple(map(dotted, _describing(module, name)))


def _describing(module: Module, name: str) -> tuple[Expr, ...]:
    described = (kernel.launch_metadata for kernel in module.kernels)
    return tuple(one for one in described if one is not None and _last(one) == name)


@query("calls")
def describe_calls(module: Module, name: str) -> object:
    """Of the calls that `calls_of` gives, what decides which functions they reach."""
    return tuple(
        (caller.function.qualname, caller.function.class_name, full, _local(*caller[:2], caller.site.call.func) is None)
        for caller in calls_of(module, name)
        if (full := dotted(caller.site.call.func)) is not None
    )


def _local(module: Module, function: Function, func: Expr) -> Function | None:
    """What `func` is where it is defined in `function`, or where it is a method of its class."""
    match func:
        case Name(name):
            return module.functions.get(f"{function.qualname}.<locals>.{name}")
        case Attr(Name("self" | "cls"), name):
            return module.functions.get(f"{function.class_name}.{name}")
        case _:
            return None


@cached_in_scan()
def calls_of(module: Module, name: str) -> tuple[Caller, ...]:
    """The calls in `module` of what has `name` last: `forward` of an autograd class goes by the name of the class."""
    sign = calling(name)
    return tuple(
        Caller(module, function, site)
        for function in module.functions.values()
        if function.shows(sign)
        for site in function.calls
        if _called(site.call.func) == name
    )


@cached_in_scan()
def calling(name: str) -> TextPattern:
    """What the text of every call of `name` has, and that of its definition has not."""
    return TextPattern(name, _BEFORE, _AFTER)


def _called(func: Expr) -> str | None:
    name = _last(func)
    return _last(func.base) if name == "apply" and isinstance(func, Attr) else name


def _last(expr: Expr) -> str | None:
    match expr:
        case Name(name) | Attr(_, name):
            return name
        case _:
            return None


def bind(function: Function, call: Call) -> dict[str, Expr]:
    """Which argument of `call` goes to which parameter of `function`; what stars hide is left out."""
    positional = [param for param in function.params if not param.keyword_only and not param.variadic]
    bound: dict[str, Expr] = {}
    for param, arg in zip(positional[_implicit(function) :], call.args, strict=False):
        if isinstance(arg, Star):
            break
        bound[param.name] = arg
    names = {param.name for param in function.params}
    for name, value in call.keywords:
        if name is not None and name in names:
            bound[name] = value
    return bound


def _implicit(function: Function) -> int:
    """How many leading parameters a call does not spell out: `self`, `cls`, or an autograd function's `ctx`."""
    if function.class_name is None:
        return 0
    static = any(_last(decorator) == "staticmethod" for decorator in function.decorators)
    if static:
        return 1 if function.name in ("forward", "backward") else 0
    return 1
