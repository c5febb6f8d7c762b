"""Run order: what had run when a setting takes effect (import of Triton, decorated kernels), and what runs later."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.static.environment.python_code.names import Names
from triton_doctor.static.environment.setting import RunOrder
from triton_doctor.static.python.ir import Attr, Call, Const, Expr, Name, Opaque, every_part
from triton_doctor.static.python.step import Condition, lines_touch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from triton_doctor.static.environment.python_code.setters import FunctionCall
    from triton_doctor.static.python.step import Surrounding
    from triton_doctor.static.python.trace import Routine, Trace

# Functions of triton.language that are jitted kernels themselves (triton 3.9 language/standard.py, random.py). They are
# decorated when Triton is imported, so they are interpreted only if the variable was set before.
_JITTED_HELPERS = frozenset(
    "argmax argmin bitonic_merge cdiv cumprod cumsum flip interleave max min pair_uniform_to_normal philox rand rand4x "
    "randint randint4x randn randn4x ravel reduce_or sigmoid softmax sort sum swizzle2d topk uint_to_uniform_float "
    "xor_sum zeros zeros_like".split()
)


class _DecoratedKernel(NamedTuple):
    line: int
    function: str | None
    name: str
    body: Routine | None


class _ImportOfTriton(NamedTuple):
    line: int
    function: str | None


class Program:
    """The imports of Triton, the kernels and the calls of one file."""

    def __init__(self, trace: Trace, called: Mapping[str, Sequence[FunctionCall]]) -> None:
        """`called` are the calls of its functions, by name."""
        self.called = called
        self._names = Names(trace.module, trace.imports)
        self._kernels: list[_DecoratedKernel] = []
        self._imports: list[_ImportOfTriton] = []
        self._helpers: dict[Routine | None, str | None] = {}
        makers = {name for name, one in trace.imports.names.items() if one.member == "jit"}
        self._lines = trace.source.lines_with([b"triton", b"jit", *(name.encode() for name in makers)])
        self._read(trace, trace.module)
        self._kernels.sort(key=lambda kernel: kernel.line)

    def order(self, line: int, function: str | None) -> RunOrder:
        """Return what had run before line `line` of `function`."""
        at = self._module_line(line, function)
        imports = [one for one in self._imports if _before(one, line, function, at)]
        before = [one for one in self._kernels if _before(one, line, function, at)]
        after = [one for one in self._kernels if one not in before]
        return RunOrder(
            triton_imported=min((one.line for one in imports), default=None),
            kernel_decorated=before[-1].line if before else None,
            kernel=before[-1].name if before else None,
            kernels_after=tuple(kernel.name for kernel in after),
            helper=next(filter(None, map(self._helper, after)), None),
        )

    def _module_line(self, line: int, function: str | None) -> float:
        """Return the module's line at which a setting inside `function` runs: the first call, or the end
        of the module.
        """
        if function is None:
            return line
        return min((call.line for call in self.called.get(function, ()) if call.caller is None), default=float("inf"))

    def _read(self, trace: Trace, routine: Routine) -> None:
        for step in routine.steps:
            if not lines_touch(step, self._lines) or _is_for_types(step.around):
                continue
            match step.value:
                case Opaque("Import", (Const(str(module)),)) if _is_triton(module):
                    self._imports.append(_ImportOfTriton(step.line, routine.name))
                case Call(func, (Name(name), *_)) if step.target is not None and self._is_jit(func):
                    self._kernels.append(_DecoratedKernel(step.line, routine.name, name, None))
        for function in routine.functions:
            made_by = next((one for one in function.decorators if self._is_jit(one)), None)
            if _is_for_types(function.around):
                continue
            if made_by is None:
                self._read(trace, function)
            else:
                line, name = trace.lowering.span(made_by).line, function.name or ""
                self._kernels.append(_DecoratedKernel(line, routine.name, name, function))

    def _is_jit(self, expr: Expr) -> bool:
        full = self._names.full_name(expr.func if isinstance(expr, Call) else expr) or ""
        return _is_triton(full) and full.rpartition(".")[2] == "jit"

    def _helper(self, kernel: _DecoratedKernel) -> str | None:
        if kernel.body not in self._helpers:
            self._helpers[kernel.body] = self._find_helper(kernel.body)
        return self._helpers[kernel.body]

    def _find_helper(self, body: Routine | None) -> str | None:
        for step in body.steps if body is not None else ():
            for part in every_part(step.value):
                full = self._names.full_name(part.func) if isinstance(part, Call) else None
                module, _, name = (full or "").rpartition(".")
                if name in _JITTED_HELPERS and module == "triton.language":
                    return f"tl.{name}"
        return None


def _before(one: _DecoratedKernel | _ImportOfTriton, line: int, function: str | None, at: float) -> bool:
    """Return whether `one` runs before a setting at `line` of `function`, which runs when the module
    reaches line `at`.
    """
    return one.line < at if one.function is None else one.function == function and one.line < line


def _is_for_types(around: Sequence[Surrounding]) -> bool:
    for one in around:
        match one:
            case Condition(Name("TYPE_CHECKING") | Attr(_, "TYPE_CHECKING"), True):
                return True
    return False


def _is_triton(name: str) -> bool:
    return name == "triton" or name.startswith("triton.")
