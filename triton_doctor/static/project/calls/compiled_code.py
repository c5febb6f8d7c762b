"""Whether only code under `torch.compile` runs a function.

Inductor launches the kernels of such code. It tunes a kernel once for each graph, whatever its autotune key says. A
constexpr that follows the data makes Dynamo compile the whole graph again for each value, up to `recompile_limit`
values, and then run the function uncompiled. Measured on an H100 with torch 2.11 and Triton 3.6: with the batch as a
constexpr 0.45 s for each of eight batch sizes, and 0.06 s for each later one; with the batch in the key two compiles
for twelve sizes. A kernel behind `torch.library.custom_op` is launched as written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.project.calls.operators import operators
from triton_doctor.static.project.calls.sole_users import is_used_only_by
from triton_doctor.static.python.imports import expand_name
from triton_doctor.static.python.ir import Call, dotted, final_name

if TYPE_CHECKING:
    from triton_doctor.static.project.calls.reachability import Reachability
    from triton_doctor.static.python.function import Function
    from triton_doctor.static.python.ir import Expr
    from triton_doctor.static.python.module import Module


def runs_only_compiled(reachability: Reachability, module: Module, function: Function) -> bool:
    """Return whether `function` of `module` is decorated with `torch.compile`, or only such functions use it."""
    return is_used_only_by(_is_compiled, reachability, module, function)


def _is_compiled(module: Module, function: Function) -> bool | None:
    decorators = [_full_name(module, one) for one in function.decorators]
    if function.name == "<module>" or any(_keeps_out(one) for one in decorators):
        return False
    if "torch.compile" in decorators:
        return True
    if function.class_name is not None:
        methods = (f"{function.class_name}.{name}" for name in ("forward", "backward"))
        return None if all(name in module.functions for name in methods) else False
    return False if operators(module).get(function.name) else None


def _keeps_out(decorator: str) -> bool:
    """Return whether Dynamo skips the function: `torch.compiler.disable`, `torch._dynamo.disable`."""
    return decorator.startswith("torch.") and decorator.endswith((".disable", ".allow_in_graph"))


def _full_name(module: Module, decorator: Expr) -> str:
    """Return `torch.compile` for `@torch.compile`, `@torch.compile()`, `@partial(torch.compile)`.

    Empty if not dotted.
    """
    match decorator:
        case Call(func, (inner, *_)) if final_name(func) == "partial":
            return _full_name(module, inner)
        case Call(func):
            return _full_name(module, func)
        case _:
            return expand_name(dotted(decorator) or "", module.imports)
