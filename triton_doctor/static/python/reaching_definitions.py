"""Reaching definitions: which assignments of a name may be in force at a point of a function."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.scan_caches import cached_in_scan
from triton_doctor.static.python.conditions import name_in_flag

if TYPE_CHECKING:
    from triton_doctor.static.python.function import Binding, BranchArm, Function


class ReachingDefinitions(NamedTuple):
    """The assignments that may be in force, latest first; `certain` if one of them must be."""

    bindings: tuple[Binding, ...]
    certain: bool


_NOWHERE = ReachingDefinitions((), certain=False)


def reaching_definitions(function: Function, name: str, order: int, arms: tuple[BranchArm, ...]) -> ReachingDefinitions:
    """Return the assignments of `name` that reach the event `order` of `function`, inside `arms`."""
    bindings = function.text.contents.bindings.get(name)
    if not bindings:
        return _NOWHERE
    if bindings[-1].order < order and not bindings[-1].arms:
        return ReachingDefinitions((bindings[-1],), certain=True)
    loops = {arm.branch for arm in arms if arm.loop}
    found: list[Binding] = []
    taken: set[tuple[int, int]] = set()
    for binding in reversed(bindings):
        if binding.order >= order:
            # An assignment later in the text reaches this point only through another turn of a loop.
            if loops and binding.order > order and any(arm.branch in loops for arm in binding.arms):
                found.append(binding)
            continue
        if are_exclusive(binding.arms, arms) or _contradict(function, binding.arms, arms):
            continue
        if found and any(later.order < order and set(later.arms) <= set(binding.arms) for later in found):
            continue  # assigned again in the same arm
        found.append(binding)
        own = [arm for arm in binding.arms if arm not in arms]
        if not own or _completes(own, taken):
            return ReachingDefinitions(tuple(found), certain=True)
    return ReachingDefinitions(tuple(found), certain=False)


def are_exclusive(arms: tuple[BranchArm, ...], other: tuple[BranchArm, ...]) -> bool:
    """Return whether the two are in different arms of one branch."""
    for arm in arms:
        for its in other:
            if arm.branch == its.branch and arm.side != its.side:
                return True
    return False


def _contradict(function: Function, arms: tuple[BranchArm, ...], other: tuple[BranchArm, ...]) -> bool:
    """Return whether one flag, assigned at most once, must be true for `arms` and false for `other`."""
    for arm in arms:
        if arm.flag is not None:
            for its in other:
                if arm.flag == its.flag and arm.is_true != its.is_true:
                    return keeps_flag(function, arm.flag)
    return False


def keeps_flag(function: Function, flag: str) -> bool:
    """Return whether `flag` has one truth in all of `function`.

    A flag may be assigned at most once; for "x is None", `x` is bound at most once, by an assignment or as a parameter.
    """
    name = name_in_flag(flag)
    if name is None:
        return len(function.bindings.get(flag, ())) <= 1
    is_param = function.param(name) is not None
    return len(function.bindings.get(name, ())) + is_param <= 1


def _completes(own: list[BranchArm], taken: set[tuple[int, int]]) -> bool:
    """Return whether this assignment and the later ones in `taken` cover all arms of every branch around it."""
    while own:
        arm = own.pop()
        taken.add((arm.branch, arm.side))
        if arm.loop or any((arm.branch, side) not in taken for side in range(arm.sides)):
            return False
    return True


def flags_at(function: Function, arms: tuple[BranchArm, ...]) -> tuple[BranchArm, ...]:
    """Return those of `arms` whose flag is bound once and decides another branch: earlier code went the same way."""
    if not any(arm.flag is not None for arm in arms):
        return ()
    deciding = _deciding_again(function)
    return tuple(arm for arm in arms if arm.flag in deciding)


@cached_in_scan()
def _deciding_again(function: Function) -> frozenset[str]:
    """Return the flags that decide more than one branch around an assignment and are assigned at most once."""
    branches: dict[str, set[int]] = {}
    arms = {arm for call in function.calls for arm in call.arms}
    arms.update(arm for bindings in function.bindings.values() for binding in bindings for arm in binding.arms)
    for arm in arms:
        if arm.flag is not None:
            branches.setdefault(arm.flag, set()).add(arm.branch)
    return frozenset(flag for flag, found in branches.items() if len(found) > 1 and keeps_flag(function, flag))
