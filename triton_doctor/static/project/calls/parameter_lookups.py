"""Whether code that Triton calls may look up a parameter by name: hooks, grids, lists in decorators.

Decorators name functions, tables and lists; a grid may be a function. Everything in the project that these refer to is
searched for the parameter's name as a string. A grid of unknown origin counts as a lookup.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.static.project.calls.surroundings import launches
from triton_doctor.static.project.limits import MOST_NAMES
from triton_doctor.static.python.function import Function
from triton_doctor.static.python.ir import (
    Attr,
    Call,
    Const,
    DictExpr,
    Expr,
    Lambda,
    Name,
    Subscript,
    children,
    dotted,
    every_part,
)
from triton_doctor.static.sources.source_text import SourceText

if TYPE_CHECKING:
    from triton_doctor.finding import Span
    from triton_doctor.static.project.project import LinkedLaunch, Project
    from triton_doctor.static.python.module import Kernel, Module

# Depth of calls: a hook calls a helper, which calls another.
_WORD = re.compile(rb"[A-Za-z_]\w*")
_NUMBER = re.compile(rb"(?<![\w\"'])\d")
# Lists that a fix edits together with the parameters.
_UNSPECIALIZED = re.compile(rb"do_not_specialize\w*\s*=\s*[\[(][^\])]*[\])]")

# The entry of `prune_configs_by` that removes configs (triton 3.9 autotuner.py).
_PRUNES = "early_config_prune"
# The one that estimates how long a config runs.
_RANKS = "perf_model"
_RAISES = re.compile(r"^\s+raise\b", re.MULTILINE)


def is_looked_up(project: Project, kernel: Kernel, name: str) -> bool:
    """Return whether the decorators of `kernel`, or the grids of its launches, may look up `name`."""
    search = _StringSearch(project, name)
    return search.decorators_look_up(kernel) or any(
        search.grid_looks_up(launch) for launch in launches(project, kernel)
    )


def is_looked_up_as_constexpr(project: Project, kernel: Kernel, name: str) -> bool:
    """Return whether an option of `jit`, such as `repr`, may look up `name` among the constants."""
    return kernel.jit_span is not None and _StringSearch(project, name).jit_looks_up(kernel, kernel.jit_span)


def is_taken_by_name(project: Project, kernel: Kernel, name: str) -> bool:
    """Return whether what decorates `kernel`, or a grid in sight, takes the argument `name` by name: it must stay one.

    Triton passes all arguments by name to a `perf_model`, and those of the launch's keywords to a pruner (triton 3.9
    autotuner.py prune_configs). A function that is not in the project counts.
    """
    pruned_by = kernel.autotune.pruned_by if kernel.autotune is not None else None
    match pruned_by:
        case None:
            called: list[Expr] = []
        case DictExpr(items):
            called = [function for key, function in items if key in (Const(_PRUNES), Const(_RANKS))]
        case Call(Name("dict"), (), keywords):
            called = [function for key, function in keywords if key in (_PRUNES, _RANKS)]
        case elsewhere:
            called = [elsewhere]
    for function in called:
        search = _ArgumentSearch(project, name)
        if function != Const(None) and (search.finds(kernel, function) or not search.visited):
            return True
    strings = _StringSearch(project, name)
    return strings.decorators_look_up(kernel) or any(
        isinstance(grid := launch.launch.grid, Name)
        and not launch.function.param(grid.id)
        and strings.grid_looks_up(launch)
        for launch in launches(project, kernel)
    )


class Pruner(NamedTuple):
    """A function that removes configs depending on an argument; `fails` if it raises when no config is left."""

    name: str
    fails: bool


def find_pruner(project: Project, kernel: Kernel, name: str) -> Pruner | None:
    """Return what removes configs of `kernel` depending on the argument `name`; None if nothing known does.

    Triton calls it once for each value of the autotune key, so the remaining configs belong to exactly that value. A
    `perf_model` only ranks configs: any of them gives the same results.
    """
    pruned_by = kernel.autotune.pruned_by if kernel.autotune is not None else None
    match pruned_by:
        case DictExpr(items):
            named = next((function for key, function in items if key == Const(_PRUNES)), None)
        case Call(Name("dict"), (), keywords):
            named = dict(keywords).get(_PRUNES)
        case elsewhere:
            named = elsewhere
    if named is None:
        return None
    search = _ArgumentSearch(project, name)
    if not search.finds(kernel, named):
        return None
    spelled = dotted(named.func if isinstance(named, Call) else named)
    return Pruner(spelled or _PRUNES, any(_RAISES.search(visited.text.text) for visited in search.visited))


class _StringSearch:
    """Follows names to their definitions, each once, and searches these for `name` as a string."""

    def __init__(self, project: Project, name: str) -> None:
        self._project = project
        self._name = name
        self._quoted = (f'"{name}"'.encode(), f"'{name}'".encode())
        self._seen: set[tuple[str, str, str]] = set()

    def decorators_look_up(self, kernel: Kernel) -> bool:
        module = self._project.modules[kernel.path]
        maker = module.functions.get(kernel.made_in or "")
        # A config or its hook may be filled in elsewhere: `config.kwargs["name"] = ...`
        filled = kernel.autotune is not None and any(self._holds(enclosing) for enclosing in _enclosing(module, maker))
        above = self._above(kernel)
        if any(_NUMBER.search(listed) for listed in _UNSPECIALIZED.findall(above)):
            return True  # a position: removing a parameter would make it that of another
        return filled or self._text_looks_up(module, maker, _UNSPECIALIZED.sub(b"", above))

    def _text_looks_up(self, module: Module, scope: Function | None, text: bytes) -> bool:
        """Return whether `text`, in `scope` of `module`, contains the name, or refers to something that does."""
        if any(quoted in text for quoted in self._quoted):
            return True
        scopes = _enclosing(module, scope)
        words = {word.decode() for word in _WORD.findall(text)}
        return any(self._word_looks_up(module, scopes, word, MOST_NAMES) for word in sorted(words))

    def jit_looks_up(self, kernel: Kernel, span: Span) -> bool:
        module = self._project.modules[kernel.path]
        given = SourceText(self._project.modules.source(kernel.path)).text_at(span).encode()
        return b"repr" in given and self._text_looks_up(module, module.functions.get(kernel.made_in or ""), given)

    def grid_looks_up(self, launch: LinkedLaunch) -> bool:
        grid, function = launch.launch.grid, launch.function
        if grid is None:
            return False
        if isinstance(grid, Name) and grid.id not in function.bindings:
            given = function.param(grid.id)
            if given is not None:
                return given.annotation not in ("tuple", "Tuple", "int", "list", "List")
        if isinstance(grid, Subscript) or (isinstance(grid, Attr) and not _is_own(grid)):
            return True
        return self._expr_looks_up(launch.module, _enclosing(launch.module, function), grid, MOST_NAMES)

    def _above(self, kernel: Kernel) -> bytes:
        """Return the decorators of `kernel` as written."""
        lines = self._project.modules.source(kernel.path).splitlines()
        spans = [kernel.jit_span, kernel.autotune.span if kernel.autotune else None]
        spans += [heuristic.span for heuristic in kernel.heuristics]
        first = min(span.line for span in (kernel.span, *filter(None, spans)))
        return b"\n".join(lines[first - 1 : kernel.line - 1])

    def _holds(self, function: Function) -> bool:
        return any(function.holds(quoted) for quoted in self._quoted)

    def _expr_looks_up(self, module: Module, scopes: list[Function], expr: Expr, steps: int) -> bool:
        match expr:
            case Const(value):
                return value == self._name
            case Name(word):
                return self._word_looks_up(module, scopes, word, steps)
            case Attr(base, member):
                full = dotted(expr)
                found = self._project.names.dotted(module, full) if full is not None else None
                if isinstance(found, Function):
                    return self._function_looks_up(found, steps)
                own = _is_own(expr) and any(
                    self._function_looks_up(function, steps)
                    for function in module.functions.values()
                    if function.name == member
                )
                return own or self._expr_looks_up(module, scopes, base, steps)
            case Lambda(_, body):
                return self._expr_looks_up(module, scopes, body, steps)
            case Call(func, args, keywords):
                inner = (func, *args, *(value for _, value in keywords))
                return any(self._expr_looks_up(module, scopes, part, steps) for part in inner)
            case _:
                return any(self._expr_looks_up(module, scopes, child, steps) for child in children(expr))

    def _word_looks_up(self, module: Module, scopes: list[Function], word: str, steps: int) -> bool:
        key = (module.path, scopes[0].qualname if scopes else "", word)
        if key in self._seen or steps == 0:
            return False
        self._seen.add(key)
        for scope in scopes:
            if word in scope.bindings:
                values = [binding.value for binding in scope.bindings[word]]
                return any(self._expr_looks_up(module, scopes, value, steps - 1) for value in values)
            nested = [
                function
                for function in module.functions.values()
                if (function.parent, function.name) == (scope.qualname, word)
            ]
            if nested:
                return any(self._function_looks_up(nested_function, steps) for nested_function in nested)
        own = [function for function in module.functions.values() if word in (function.class_name, function.qualname)]
        if own:
            return any(self._function_looks_up(function, steps) for function in own)
        if word not in module.imports and not module.star_imports:
            return False
        found = self._project.names.defined(module, word)
        if isinstance(found, Function):
            return self._function_looks_up(found, steps)
        there = self._project.names.defining(module, word)
        if there is None or there[0] is module:
            return False
        return self._word_looks_up(there[0], _enclosing(there[0], None), there[1], steps - 1)

    def _function_looks_up(self, function: Function, steps: int) -> bool:
        if self._holds(function):
            return True
        if steps == 0:
            return False
        module = self._project.modules[function.path]
        called = {site.call.func for site in function.calls}
        scopes = _enclosing(module, function)
        return any(self._expr_looks_up(module, scopes, expression, steps - 1) for expression in called)


class _ArgumentSearch(_StringSearch):
    """Searches the functions that Triton passes a launch's arguments to, and functions that these pass them to."""

    def __init__(self, project: Project, name: str) -> None:
        """Start the search for the argument `name`."""
        super().__init__(project, name)
        self.visited: list[Function] = []

    def finds(self, kernel: Kernel, expr: Expr) -> bool:
        """Return whether `expr` in a decorator of `kernel` is, creates or wraps a function that looks it up."""
        module = self._project.modules[kernel.path]
        return self._expr_looks_up(
            module, _enclosing(module, module.functions.get(kernel.made_in or "")), expr, MOST_NAMES
        )

    def _function_looks_up(self, function: Function, steps: int) -> bool:
        self.visited.append(function)
        if self._holds(function) or any(param.name == self._name for param in function.params):
            return True
        module = self._project.modules[function.path]
        scopes = _enclosing(module, function)
        handed = {Name(param.name) for param in function.params[1:]}  # the first argument is the configs
        return steps > 0 and any(
            self._expr_looks_up(module, scopes, site.call.func, steps - 1)
            for site in function.calls
            if handed & {*every_part(*site.call.args, *(value for _, value in site.call.keywords))}
        )


def _is_own(expr: Attr) -> bool:
    return expr.base in (Name("self"), Name("cls"))


def _enclosing(module: Module, function: Function | None) -> list[Function]:
    """Return `function`, the functions around it, and the top level of `module`."""
    found = []
    while function is not None and function.name != "<module>":
        found.append(function)
        function = module.functions.get(function.parent or "<module>")
    return [*found, module.top]
