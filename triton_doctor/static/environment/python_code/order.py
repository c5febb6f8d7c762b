"""What has run when a setting takes effect: was Triton imported, was a kernel decorated, which come later."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from triton_doctor.static.environment.setting import RunOrder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from triton_doctor.static.environment.python_code.names import Bindings

# triton.language functions that are jitted kernels themselves (triton 3.9 language/standard.py, random.py): decorated
# when Triton is imported, so interpreted only if the variable was set before.
JITTED_HELPERS = frozenset(
    [
        "argmax",
        "argmin",
        "bitonic_merge",
        "cdiv",
        "cumprod",
        "cumsum",
        "flip",
        "interleave",
        "max",
        "min",
        "pair_uniform_to_normal",
        "philox",
        "rand",
        "rand4x",
        "randint",
        "randint4x",
        "randn",
        "randn4x",
        "ravel",
        "reduce_or",
        "sigmoid",
        "softmax",
        "sort",
        "sum",
        "swizzle2d",
        "topk",
        "uint_to_uniform_float",
        "xor_sum",
        "zeros",
        "zeros_like",
    ]
)


@dataclass(frozen=True, slots=True)
class _DecoratedKernel:
    name: str
    line: int
    function: str | None
    helper: str | None


@dataclass(frozen=True, slots=True)
class _ImportStatement:
    line: int
    function: str | None


class Program:
    """The imports of Triton, the kernels, and the calls of one file, in order of lines."""

    def __init__(
        self, tree: ast.Module, names: Bindings, called: Mapping[str, list[tuple[int, str | None, bool]]]
    ) -> None:
        """Walks the statements of `tree`, not its expressions.

        `called` are the calls of its functions: line, the function that calls, whether a flag decides.
        """
        self._names = names
        self._kernels: list[_DecoratedKernel] = []
        self._imports: list[_ImportStatement] = []
        self._called = called
        self._walk(tree.body, None)

    def order(self, line: int, function: str | None) -> RunOrder:
        """What had run before line `line`, which stands in `function`."""
        at = self._module_line(line, function)
        imports = [one for one in self._imports if self._before(one.line, one.function, line, function, at)]
        before = [one for one in self._kernels if self._before(one.line, one.function, line, function, at)]
        after = [one for one in self._kernels if one not in before]
        last = max(before, key=lambda kernel: kernel.line, default=None)
        return RunOrder(
            triton_imported=min((one.line for one in imports), default=None),
            kernel_decorated=last.line if last else None,
            kernel=last.name if last else None,
            kernels_after=tuple(kernel.name for kernel in after),
            helper=next((kernel.helper for kernel in after if kernel.helper), None),
        )

    def _before(self, line: int, owner: str | None, setting: int, function: str | None, at: float) -> bool:
        if owner is None:
            return line < at
        return owner == function and line < setting

    def _module_line(self, line: int, function: str | None) -> float:
        """When a setting inside a function runs: where the module calls it, else after the module was read."""
        if function is None:
            return line
        calls = [at for at, caller, _ in self._called.get(function, ()) if caller is None]
        return min(calls, default=float("inf"))

    def _walk(self, statements: list[ast.stmt], function: str | None) -> None:
        for statement in statements:
            match statement:
                case ast.Import(names=aliases) if any(_is_triton(alias.name) for alias in aliases):
                    self._imports.append(_ImportStatement(statement.lineno, function))
                case ast.ImportFrom(module=str(module), level=0) if _is_triton(module):
                    self._imports.append(_ImportStatement(statement.lineno, function))
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    if not self._kernel(statement, function):
                        self._walk(statement.body, statement.name)
                case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
                    self._walk(statement.orelse, function)
                case ast.Assign(value=ast.Call(func=func, args=[ast.Name(id=name), *_])) if self._is_jit(func):
                    self._kernels.append(_DecoratedKernel(name, statement.lineno, function, None))
                case _:
                    for block in ("body", "orelse", "finalbody"):
                        self._walk(getattr(statement, block, []), function)
                    for handler in getattr(statement, "handlers", []):
                        self._walk(handler.body, function)
                    for case in getattr(statement, "cases", []):
                        self._walk(case.body, function)

    def _kernel(self, node: ast.FunctionDef | ast.AsyncFunctionDef, function: str | None) -> bool:
        for decorator in node.decorator_list:
            if self._is_jit(decorator.func if isinstance(decorator, ast.Call) else decorator):
                self._kernels.append(_DecoratedKernel(node.name, decorator.lineno, function, self._helper(node)))
                return True
        return False

    def _is_jit(self, expr: ast.expr) -> bool:
        full = self._names.full_name(expr) or ""
        return _is_triton(full) and full.rpartition(".")[2] == "jit"

    def _helper(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> str | None:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute | ast.Name):
                full = self._names.full_name(inner.func) or ""
                module, _, name = full.rpartition(".")
                if name in JITTED_HELPERS and module == "triton.language":
                    return f"tl.{name}"
        return None


def _is_triton(name: str) -> bool:
    return name == "triton" or name.startswith("triton.")
