"""A program's trace to the settings that it makes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.static.environment.python_code.collected import Collected
from triton_doctor.static.environment.python_code.context import contexts
from triton_doctor.static.environment.python_code.order import Program
from triton_doctor.static.environment.python_code.setters import Setters
from triton_doctor.static.python.step import lines_touch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triton_doctor.static.environment.python_code.collected import ReadShell
    from triton_doctor.static.environment.setting import EnvSetting
    from triton_doctor.static.python.trace import Trace

# A line without any of these sets nothing and starts nothing that does. Knobs are recognized by their last names.
_WORTH_READING = (
    *(b"env", b"ENV", b"TRI", b"TRT", b"knobs", b"system", b"popen", b"subprocess", b"setattr", b"getoutput"),
    *(b"interpret", b"compil", b"dump", b"debug", b".run"),
)
_GIVEN_AS_ENVIRONMENT = re.compile(rb"(?i:env)\w*\s*=\s*([A-Za-z_]\w*)\s*[,)]")


def read_program(trace: Trace, read_shell: ReadShell) -> tuple[EnvSetting, ...]:
    """Return every setting of the program, in order of lines. `read_shell` reads the commands that it runs."""
    lines = trace.source.lines_with(_WORTH_READING)
    collected = Collected(trace, read_shell)
    _read(trace, collected, lines)
    if not collected.found:
        return ()
    # Read again, now including the lines that call a function which sets something.
    functions = {setting.function for setting in collected.found.values() if setting.function}
    calling = trace.source.lines_with(name.encode() for name in functions)
    called = _read(trace, collected, sorted({*lines, *calling})).called if functions else {}
    program = Program(trace, called)
    found = sorted(collected.found.values(), key=lambda setting: setting.span)
    return tuple(_placed(setting, program) for setting in found)


def _placed(setting: EnvSetting, program: Program) -> EnvSetting:
    """Return `setting` with its run order; also guarded if all calls of its function are."""
    calls = program.called.get(setting.function or "", ())
    only_when_switched = bool(calls) and all(call.is_guarded for call in calls)
    order = program.order(setting.span.line, setting.function)
    return replace(setting, guarded=setting.guarded or only_when_switched, order=order)


def _read(trace: Trace, collected: Collected, lines: Sequence[int]) -> Setters:
    """Read the statements that contain one of `lines`."""
    setters = Setters(trace, collected, trace.source.found(_GIVEN_AS_ENVIRONMENT))
    pending = [trace.module]
    while pending:
        routine = pending.pop()
        for step in routine.steps:
            if lines_touch(step, lines):
                for context in contexts(trace, routine, step):
                    collected.here = context
                    setters.read_step(step)
        pending += [function for function in routine.functions if lines_touch(function, lines)]
    return setters
