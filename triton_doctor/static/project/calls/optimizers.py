"""Whether only optimizers run a function: it then processes the parameters of a model, whose sizes are fixed.

An optimizer is a class derived from torch's `Optimizer`. A function that only its methods use, directly or through such
functions, belongs to it, whether it is called, stored in an attribute or passed on. Code that nothing runs does not
count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.project.calls.sole_users import is_used_only_by
from triton_doctor.static.project.limits import MOST_DEPTH
from triton_doctor.static.python.ir import dotted
from triton_doctor.static.python.module import Class

if TYPE_CHECKING:
    from triton_doctor.static.project.calls.reachability import Reachability
    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.function import Function
    from triton_doctor.static.python.module import Module


def is_of_optimizer(project: Project, reachability: Reachability, module: Module, function: Function) -> bool:
    """Return whether `function` of `module` is a method of an optimizer, or only such functions use it."""

    def is_method(module: Module, function: Function) -> bool | None:
        if function.class_name is None:
            return None
        owner = module.classes.get(function.class_name)
        return owner is not None and _is_optimizer(project, owner, MOST_DEPTH)

    return is_used_only_by(is_method, reachability, module, function)


def _is_optimizer(project: Project, owner: Class, depth: int) -> bool:
    home = project.names.home_of_class(owner)
    for base in owner.bases:
        name = dotted(base) or "?"
        first, _, rest = name.partition(".")
        imported = home.imports.get(first)
        if imported is not None and imported.module.partition(".")[0] == "torch" and imported.level == 0:
            if (rest or imported.member or "").rpartition(".")[2] == "Optimizer":
                return True
            continue
        found = project.names.dotted(home, name)
        if isinstance(found, Class) and depth > 0 and _is_optimizer(project, found, depth - 1):
            return True
    return False
