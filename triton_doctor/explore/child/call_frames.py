"""The frames of a call that raised or was stopped, and which argument an expression in one of them is.

A value is followed to its argument by its object where it has one of its own (tensors, configs, objects). Numbers,
flags and None are followed by their names: through assignments, through the calls that the frames are in, and through
attributes that constructors set.
"""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from triton_doctor.explore.child.building import MadeConfig
from triton_doctor.explore.child.running_source import (
    assigned_values,
    code_of,
    definition_of,
    function_of_code,
    header_of,
    statements_at,
)
from triton_doctor.explore.child.target import class_parameters, constructor_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, TracebackType

    from triton_doctor.explore.child.building import BuiltCall
    from triton_doctor.explore.child.target import Target

# Names, calls and attributes that are followed from one expression.
DEEPEST = 12
OUTSIDE = "<explored>"


class NotEvaluated:
    """What an expression is that could not be evaluated."""


UNKNOWN = NotEvaluated()


@dataclass(kw_only=True)
class LiveFrame:
    """A frame of the project, at a line. `caller` is the next outer one of the project."""

    frame: FrameType
    line: int
    caller: LiveFrame | None

    @property
    def path(self) -> str:
        """Return the file."""
        return self.frame.f_code.co_filename

    @property
    def statements(self) -> list[ast.stmt]:
        """Return the statements around the line, in the function, the outermost first."""
        found = statements_at(self.path, self.line)
        starts = [index for index, each in enumerate(found) if isinstance(each, ast.FunctionDef | ast.ClassDef)]
        return found[starts[-1] + 1 if starts and starts[-1] + 1 < len(found) else 0 :]

    @property
    def statement(self) -> ast.AST:
        """Return what runs at the line."""
        statements = self.statements
        return header_of(statements[-1]) if statements else ast.Pass()

    @property
    def function(self) -> ast.AST | None:
        """Return the definition of the function of this frame."""
        return function_of_code(self.frame.f_code)

    def evaluate(self, node: ast.AST) -> Any:
        """Return the value of an expression, UNKNOWN where it raises."""
        if not isinstance(node, ast.expr):
            return UNKNOWN
        try:
            code = compile(ast.fix_missing_locations(ast.Expression(node)), OUTSIDE, "eval")
            return eval(code, self.frame.f_globals, dict(self.frame.f_locals))
        except BaseException:  # whatever the project's code raises
            return UNKNOWN


def frames_of(traceback: TracebackType | None, is_inside: Callable[[str], bool]) -> list[LiveFrame]:
    """Return the frames of the project, the innermost last."""
    found: list[LiveFrame] = []
    while traceback is not None:
        if is_inside(traceback.tb_frame.f_code.co_filename):
            caller = found[-1] if found else None
            found.append(LiveFrame(frame=traceback.tb_frame, line=traceback.tb_lineno, caller=caller))
        traceback = traceback.tb_next
    return found


def frame_at(frame: FrameType, is_inside: Callable[[str], bool]) -> LiveFrame | None:
    """Return the running `frame` with its callers of the project."""
    chain: list[FrameType] = []
    running: FrameType | None = frame
    while running is not None:
        if is_inside(running.f_code.co_filename):
            chain.append(running)
        running = running.f_back
    found = None
    for each in reversed(chain):
        found = LiveFrame(frame=each, line=each.f_lineno, caller=found)
    return found


class Tracker:
    """Follows expressions to the arguments of a call."""

    def __init__(self, target: Target, built: BuiltCall) -> None:
        self._built = built
        self._called = code_of(target.called)

    def path_of(self, node: ast.AST, frame: LiveFrame, depth: int = 0) -> str | None:
        """Return the argument that the expression `node` is; None where that is not known."""
        if depth > DEEPEST or not isinstance(node, ast.expr):
            return None
        value = frame.evaluate(node)
        origin = self._built.origin(value)
        if origin is not None:
            return origin
        match node:
            case ast.Name(id=name):
                return self._path_of_name(name, value, frame, depth)
            case ast.Attribute(value=owner, attr=name):
                holder = frame.evaluate(owner)
                return self.path_of_attribute(holder, name, depth + 1)
            case ast.Call(func=ast.Name(id="int" | "float" | "bool" | "str"), args=[inner]):
                return self.path_of(inner, frame, depth + 1)
            case ast.Call(func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=str() as name), *_]):
                return self.path_of_attribute(frame.evaluate(owner), name, depth + 1)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.path_of(body if frame.evaluate(test) else orelse, frame, depth + 1)
            case ast.BoolOp(values=values):
                return next((path for each in values if (path := self.path_of(each, frame, depth + 1))), None)
            case ast.Subscript(value=owner, slice=ast.Constant(value=str() as name)):
                return self.path_of_attribute(frame.evaluate(owner), name, depth + 1)
            case _:
                return None

    def _path_of_name(self, name: str, value: Any, frame: LiveFrame, depth: int) -> str | None:
        code = frame.frame.f_code
        function = frame.function
        for assigned in [] if function is None else assigned_values(function, name, frame.line):
            # What the name was given, if nothing that it depends on has changed since.
            path = self.path_of(assigned, frame, depth + 1) if not _mentions(assigned, name) else None
            if path is not None:
                return path
        variables = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if name not in variables:
            return None
        if code is self._called and name in self._built.state.specs:
            return name
        for start, constructor in self._built.constructing:
            if code is constructor and f"{start}.{name}" in self._built.state.specs:
                return f"{start}.{name}"
        if frame.caller is None:
            return None
        passed = _argument_for(name, frame)
        return None if passed is None else self.path_of(passed, frame.caller, depth + 1)

    def path_of_attribute(self, holder: Any, name: str, depth: int = 0) -> str | None:
        """Return the argument that the attribute `name` of an object is."""
        state = self._built.state
        owner = self._built.origins.get(id(holder))
        if owner is not None and f"{owner}.{name}" in state.specs:
            return f"{owner}.{name}"
        if isinstance(holder, MadeConfig | torch.Tensor | NotEvaluated) or holder is None or depth > DEEPEST:
            return None
        definition = definition_of(constructor_of(type(holder)))
        if definition is None:
            return None
        for assigned in assigned_values(definition, f"self.{name}", 10**9):
            for node in ast.walk(assigned):
                match node:
                    case ast.Attribute(value=ast.Name(id=parameter), attr=attribute):
                        path = self._path_of_parameter(holder, parameter, depth + 1)
                        if f"{path}.{attribute}" in state.specs:
                            return f"{path}.{attribute}"
                    case ast.Name(id=parameter):
                        path = self._path_of_parameter(holder, parameter, depth + 1)
                        if path is not None and state.specs[path].kind not in ("object", "config"):
                            return path
                    case _:
                        pass
        return self._path_of_parameter(holder, name, depth + 1)

    def _path_of_parameter(self, holder: Any, parameter: str, depth: int) -> str | None:
        """Return the argument that was given to the parameter of the constructor that made `holder`."""
        state, instance = self._built.state, self._built.instance
        if parameter not in class_parameters(type(holder)) or depth > DEEPEST:
            return None
        start = self._built.origins.get(id(holder), "init" if holder is instance else None)
        if start is not None:
            path = f"{start}.{parameter}"
            return path if path in state.specs else None
        return None


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(node))


def _argument_for(name: str, frame: LiveFrame) -> ast.expr | None:
    """Return what the caller of `frame` passes for the parameter `name`."""
    code, caller = frame.frame.f_code, frame.caller
    names = list(code.co_varnames[: code.co_argcount])
    is_bound = bool(names) and names[0] in ("self", "cls", "ctx")
    passed = [_bind(call, names[is_bound:], name) for call in _calls_to(frame)]
    found = [each for each in passed if each is not None]
    value = frame.frame.f_locals.get(name, UNKNOWN)
    same = [each for each in found if caller is not None and caller.evaluate(each) is value]
    return next(iter(same or found), None)


def _bind(call: ast.Call, names: list[str], name: str) -> ast.expr | None:
    """Return the expression that `call` passes to the parameter `name` of those in order."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    for index, argument in enumerate(call.args[: len(names)]):
        if isinstance(argument, ast.Starred):
            return None
        if names[index] == name:
            return argument
    return None


def _calls_to(frame: LiveFrame) -> list[ast.Call]:
    """Return the calls in the caller's statement that `frame` may be in."""
    caller = frame.caller
    if caller is None:
        return []
    calls = [node for node in ast.walk(caller.statement) if isinstance(node, ast.Call)]
    sure = [call for call in calls if _calls_code(caller.evaluate(call.func), frame.frame.f_code)]
    return sure or (calls if len(calls) == 1 else [])


def _calls_code(function: Any, code: Any) -> bool:
    """Return whether calling `function` runs `code`."""
    if isinstance(function, torch.nn.Module):
        function = function.forward
    owner = getattr(function, "__self__", None)
    if inspect.isclass(owner) and issubclass(owner, torch.autograd.Function):
        function = vars(owner).get("forward", function)
    if inspect.isclass(function):
        function = constructor_of(function)
    return code_of(function) is code or getattr(function, "__code__", None) is code
