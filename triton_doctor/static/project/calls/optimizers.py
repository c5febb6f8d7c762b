"""Functions to whether only optimizers run them, which step the parameters of a model: its sizes, and no others.

An optimizer is a class that derives from torch's `Optimizer`. What its methods alone name, and what such functions
alone name in turn, is its own, whether it is called at once, kept in an attribute or passed on. What nothing runs
does not count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.project.calls.reachability import outermost
from triton_doctor.static.project.limits import MOST_DEPTH
from triton_doctor.static.python.ir import dotted
from triton_doctor.static.python.module import Class

if TYPE_CHECKING:
    from triton_doctor.static.project.calls.reachability import Reachability
    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.function import Function
    from triton_doctor.static.python.module import Module


def is_of_optimizer(
    project: Project, reachability: Reachability, module: Module, function: Function, depth: int = MOST_DEPTH
) -> bool:
    """Whether `function` of `module` is a method of an optimizer, or nothing else names it."""
    function = outermost(module, function)
    if function.class_name is not None:
        owner = module.classes.get(function.class_name)
        return owner is not None and _is_optimizer(project, owner, MOST_DEPTH)
    is_run = False
    for user in reachability.users(module, function) if depth > 0 else ():
        if user is not None and is_of_optimizer(project, reachability, *user, depth - 1):
            is_run = True
        elif user is None or reachability.reaches(*user):
            return False
    return is_run


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
