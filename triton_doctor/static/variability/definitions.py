"""Names to the expressions that define them: assignments, what callers pass, defaults, enclosing scopes, imports.

Every query that follows a name goes this way: it asks for the definitions of the name, evaluates each at its point, and
unites the answers. The name has other values too unless the definitions are complete.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.static.project.launches.argument_positions import bind
from triton_doctor.static.project.limits import MOST_CALLERS, MOST_DEPTH
from triton_doctor.static.python.reaching_definitions import reaching_definitions
from triton_doctor.static.variability.program_point import ProgramPoint, end_of

if TYPE_CHECKING:
    from triton_doctor.static.python.function import HostParam
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.variability.interpreter import Interpreter
    from triton_doctor.static.variability.program_point import CallFrame


class Definition(NamedTuple):
    """An expression that a name may stand for, the point where it is evaluated, and the line that it stands in.

    `name` is what the expression is bound to: in another module it may differ from the name that was asked for.
    """

    name: str
    value: Expr
    point: ProgramPoint
    line: int


class Definitions(NamedTuple):
    """What a name may stand for; `param` where it may be this parameter of the function, whose callers decide.

    `is_complete` where it stands for nothing else; a parameter is asked for by `find_arguments`.
    """

    found: tuple[Definition, ...]
    is_complete: bool
    param: HostParam | None = None


_NOTHING = Definitions((), is_complete=False)


def find_definitions(interpreter: Interpreter, name: str, point: ProgramPoint) -> Definitions:
    """What `name` stands for at `point`: nothing where the function declares it global, as anybody may set it."""
    frame = point.frame
    if name in frame.function.globals:
        return _NOTHING
    reaching = reaching_definitions(frame.function, name, point.order, point.arms)
    found = tuple(
        Definition(name, one.value, ProgramPoint(frame, one.order, one.arms), one.line) for one in reaching.bindings
    )
    if reaching.certain:
        return Definitions(found, is_complete=True)
    param = next((param for param in frame.function.params if param.name == name), None)
    if param is not None:
        return Definitions(found, is_complete=not param.variadic, param=None if param.variadic else param)
    if found:
        return Definitions(found, is_complete=False)
    return _find_outside(interpreter, name, frame)


def _find_outside(interpreter: Interpreter, name: str, frame: CallFrame) -> Definitions:
    """A name of an enclosing function, of the module, or of the module that it is imported from."""
    if frame.depth >= MOST_DEPTH:
        return _NOTHING
    module, function = frame.module, frame.function
    outer = module.functions.get(function.parent or "<module>")
    if function.qualname != "<module>" and outer is not None and outer is not function:
        return find_definitions(interpreter, name, end_of(interpreter.frame(module, outer, frame.depth + 1)))
    found = interpreter.project.names.defining(module, name) if name in module.imports else None
    top = found[0].functions.get("<module>") if found is not None else None
    if found is None or top is None:
        return _NOTHING
    return find_definitions(interpreter, found[1], end_of(interpreter.frame(found[0], top, frame.depth + 1)))


def find_arguments(interpreter: Interpreter, param: HostParam, frame: CallFrame) -> Definitions:
    """What the callers of the function pass for `param`, and its default where one of them may leave it out.

    Complete where there are callers, each of them is in sight, and each passes something or leaves it to the default.
    """
    function, found = frame.function, []
    if param.default is not None:
        outer = frame.module.functions.get(function.parent or "<module>") or function
        found.append(
            Definition(
                param.name, param.default, end_of(interpreter.frame(frame.module, outer, frame.depth)), function.line
            )
        )
    if frame.depth >= MOST_DEPTH:
        return Definitions(tuple(found), is_complete=False)
    callers = list(islice(interpreter.callers.of(frame.module, function), MOST_CALLERS + 1))
    is_complete = 0 < len(callers) <= MOST_CALLERS
    for caller in callers[:MOST_CALLERS]:
        site = caller.site
        passed = bind(function, site.call).get(param.name)
        if passed is not None:
            inner = interpreter.frame(caller.module, caller.function, frame.depth + 1)
            found.append(Definition(param.name, passed, ProgramPoint(inner, site.order, site.arms), site.line))
        elif param.default is None:
            is_complete = False
    return Definitions(tuple(found), is_complete=is_complete)
