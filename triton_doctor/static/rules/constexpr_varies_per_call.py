"""TRD201: a constexpr whose value follows the data, so that the kernel compiles again for each value.

The fix: a plain argument if the kernel works with one, or a bucket if it needs the value at compile time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.finding import Finding, Severity
from triton_doctor.phrases import join_words
from triton_doctor.plan import AddListed, Change, DropAnnotation, Plan, Replace, Safety
from triton_doctor.static.project.calls.parameter_lookups import find_pruner, is_looked_up_as_constexpr
from triton_doctor.static.project.calls.surroundings import (
    are_spelled_out,
    changed,
    launch_starts,
    launches,
    pointers,
    subject,
)
from triton_doctor.static.project.launches.launches import hides_arguments, spelled_out
from triton_doctor.static.python.ir import Const, Lambda, Name
from triton_doctor.static.python.plain_parameters import find_plain_constexprs
from triton_doctor.static.rules import Rule
from triton_doctor.static.variability.queries.companions import (
    advise_companions,
    describe_companions,
    range_obstacles,
)
from triton_doctor.static.variability.queries.configs import describe_tuning, names_in_key
from triton_doctor.static.variability.queries.derived_parameters import followed_names
from triton_doctor.static.variability.queries.description import describe_value, facts, trail
from triton_doctor.static.variability.queries.idle_code import describe_idle_reason
from triton_doctor.static.variability.queries.parameters import Parameter, ParameterSource, parameters
from triton_doctor.static.variability.queries.queries import find_range_end, is_integer
from triton_doctor.static.variability.values.lattice import Variability

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.project.project import Project
    from triton_doctor.static.python.module import Kernel, Param


CODE = "TRD201"
# `if n <= 32:` around a launch limits it to variants that one warm-up covers.
_FEW_VALUES = 64
# `min(512, n)` is 512 for most data; a grid of `min(8192, n)` is 8,192.
_LARGEST_CAP = 8192
# A block with another bound is one of the few powers of two below it.
_LARGEST_BLOCK = 1024


def check(project: Project) -> Iterator[Finding]:
    """Yield one finding for each parameter that a kernel reads, at the launch whose value changes most often."""
    for parameter in parameters(project):
        worst = parameter.worst
        if not parameter.param.is_constexpr or parameter.use == "unread":
            continue
        if worst is None or worst.kind not in (Variability.PER_CALL, Variability.LOGARITHMIC):
            continue
        if worst.kind is Variability.LOGARITHMIC and worst.number.bound is None and parameter.need == "block":
            continue  # TRD206 reports that, with the advice to cap it
        keys = names_in_key(project, parameter)
        follows = followed_names(project, parameter)
        ranging = _range_end(project, parameter, worst)
        is_key_spare = bool(keys) and find_pruner(project, parameter.kernel, parameter.param.name) is None
        yield Finding(
            path=worst.path,
            span=worst.span,
            code=CODE,
            severity=Severity.INFO if ranging is not None else _severity(parameter, worst, is_tuned=bool(keys)),
            message=_message(parameter, worst)
            + _describe_follows(follows)
            + describe_tuning(project, parameter, keys)
            + describe_companions(project, parameter, named=keys)
            + (f"; `tl.arange` in `{ranging.name}` takes powers of two only" if ranging is not None else "")
            + describe_idle_reason(worst.idle_reason),
            advice=_advice(project, parameter, worst)
            + (f"; remove `{parameter.param.name}` from the autotune key too" if is_key_spare else "")
            + _advise_repr(project, parameter)
            + advise_companions(project, parameter),
            facts=facts(parameter, worst, autotune_keys=keys, follows=follows),
            trail=trail(parameter, worst),
        )


def _severity(parameter: Parameter, worst: ParameterSource, *, is_tuned: bool) -> Severity:
    if worst.kind is Variability.LOGARITHMIC or worst.idle_reason:
        return Severity.INFO
    if _is_capped(parameter, worst):
        return Severity.INFO
    is_stated = not worst.number.hints  # hints may be wrong
    return Severity.ERROR if is_stated and (worst.number.from_data or is_tuned) else Severity.WARNING


def _is_capped(parameter: Parameter, worst: ParameterSource) -> bool:
    """Return whether the constexpr takes few values, or is capped (`min(n, 1024)`) where most inputs reach the cap."""
    bound = worst.number.bound
    if bound is None:
        return False
    if bound <= _FEW_VALUES:
        return True
    return bound <= _LARGEST_CAP if worst.number.is_capped else parameter.need == "block" and bound <= _LARGEST_BLOCK


def _range_end(project: Project, parameter: Parameter, worst: ParameterSource) -> Kernel | None:
    """Return the kernel in which a range ends at each unrounded value, so that only powers of two compile.

    Else None.
    """
    if worst.kind is not Variability.PER_CALL:
        return None
    varying = (source for source in parameter.sources if source.kind is Variability.PER_CALL)
    ranging = [find_range_end(project, parameter, source) for source in varying]
    return ranging[0] if all(ranging) else None


def _message(parameter: Parameter, worst: ParameterSource) -> str:
    name, kernel = parameter.param.name, parameter.kernel.name
    each = "power of two among the values" if worst.kind is Variability.LOGARITHMIC else "value"
    message = f"`{name}` recompiles `{kernel}` for each {each} of {describe_value(worst)}"
    if worst.number.bound is not None:
        message += f" (at most {worst.number.bound:,} values)"
    return message


def _describe_follows(names: tuple[str, ...]) -> str:
    """Return the clause about a value that other parameters of the launch determine; else empty."""
    return f", which follows from {join_words([f'`{name}`' for name in names])}" if names else ""


def _advice(project: Project, parameter: Parameter, worst: ParameterSource) -> str:
    name = parameter.param.name
    if worst.kind is Variability.LOGARITHMIC:
        return (
            "there are few powers of two, so few variants in the long run; where a stall matters, warm up each of "
            f"them, or cap `{name}`"
        )
    match parameter.need:
        case None if name not in parameter.kernel.uses.read:
            return f"drop the `tl.constexpr` annotation of `{name}`: the kernel itself never reads it"
        case None:
            return (
                f"drop the `tl.constexpr` annotation of `{name}`: the kernel only computes with it, and a plain "
                "argument works in an `if`, `%`, `//` or a call too"
            )
        case "block" if name in parameter.kernel.uses.blocks_only:
            return (
                f"`{name}` is the size of a block: give it a fixed size and loop over blocks in the kernel, or round "
                "it up with `triton.next_power_of_2` and mask what lies beyond the data"
            )
        case "block":
            return (
                f"`{name}` is the size of a block and more: give the block a constexpr of its own, of a fixed size or "
                f"rounded up with `triton.next_power_of_2`, and pass `{name}` as a plain argument for all else"
            )
        case "unrolled":
            return (
                f"`tl.static_range` unrolls the loop over `{name}`, so that a compile takes longer the larger it is: "
                f"{_advise_range(project, parameter)}"
            )
        case "branch":
            return (
                f"the kernel needs the outcome of a test of `{name}` while it compiles: pass that outcome as the "
                f"constexpr, which has two values, and `{name}` as a plain argument where the kernel reads it elsewhere"
            )
        case _:
            return (
                f"Triton needs `{name}` while it compiles: change the kernel so that it does not, or limit how many "
                f"values `{name}` takes"
            )


def _advise_repr(project: Project, parameter: Parameter) -> str:
    """Return what is due for a function that names variants by their constexprs; else empty."""
    name, drops = parameter.param.name, parameter.need in (None, "unrolled")
    if not drops or not is_looked_up_as_constexpr(project, parameter.kernel, name):
        return ""
    return f"; the `repr` of the kernel names `{name}`: take it out there too"


def _advise_range(project: Project, parameter: Parameter) -> str:
    name, obstacles = parameter.param.name, range_obstacles(project, parameter)
    if not obstacles:
        return "with `range` a plain argument works"
    if obstacles.is_known:
        return (
            f"`range` takes a plain argument, but the body may need `{name}` or the loop's variable while it compiles; "
            f"change it so that it does not, or limit how many values `{name}` takes"
        )
    carried = join_words([f"`{name}`" for name in obstacles.carried])
    return (
        f"`range` takes a plain argument, but only if {carried} {'has' if len(obstacles.carried) == 1 else 'have'} the "
        f"same type and shape before the loop and in it; else limit how many values `{name}` takes"
    )


def plan(project: Project, finding: Finding) -> Plan | None:
    """Return a plan: drop the annotation, or round up at the launches.

    None if a config or heuristic sets the parameter.
    """
    found = subject(project, finding)
    if found is None or found[0].may_set(found[1].name):
        return None
    kernel, param = found
    if finding.facts.use == "read":
        changes: list[Change] = [DropAnnotation(kernel.path, param.span)]
        how = "a plain argument"
        body = find_plain_constexprs(kernel, project.modules.source(kernel.path), pointers(project, kernel))
        if param.name in body.steering and kernel.jit_span is not None and param.name not in kernel.do_not_specialize:
            changes.append(AddListed(kernel.path, kernel.jit_span, "do_not_specialize", param.name))
            how += ", and not specialize on it"
        return Plan(
            safety=_safety(project, kernel, param) if param.name in body.plain else Safety.UNSAFE,
            title=f"make `{param.name}` of `{kernel.name}` {how}",
            changes=tuple(changes),
            kernel=changed(kernel, param.name),
            launches=launch_starts(project, kernel),
        )
    if finding.facts.variability == Variability.PER_CALL.label and _sizes_a_block(kernel, param):
        return _bucket(project, finding, kernel, param)
    return None


def _safety(project: Project, kernel: Kernel, param: Param) -> Safety:
    """Return SAFE if every known launch passes an integer."""
    if not kernel.has_own_decorators:
        return Safety.UNSAFE
    if param.default is not None and not (isinstance(param.default, Const) and type(param.default.value) is int):
        return Safety.UNSAFE
    if any(not isinstance(heuristic.value, Lambda) for heuristic in kernel.heuristics):
        return Safety.UNSAFE
    if is_looked_up_as_constexpr(project, kernel, param.name):
        return Safety.UNSAFE
    for launch in launches(project, kernel):
        argument = spelled_out(launch, kernel).get(param.name)
        if argument is not None and not is_integer(project, launch, argument.value):
            return Safety.UNSAFE
        if launch.launch.method is not None or (argument is None and (hides_arguments(launch) or not param.default)):
            return Safety.UNSAFE
    return Safety.SAFE


def _sizes_a_block(kernel: Kernel, param: Param) -> bool:
    """Return whether it is only read as the end of an `arange`, which requires powers of two."""
    uses = kernel.uses
    return param.name in uses.blocks_only and any(arange.end == Name(param.name) for arange in uses.aranges)


def _bucket(project: Project, finding: Finding, kernel: Kernel, param: Param) -> Plan | None:
    """Return a plan that rounds up at each launch, if another parameter receives the exact size to mask with."""
    if not are_spelled_out(project, kernel):
        return None
    changes: list[Change] = []
    for launch in launches(project, kernel):
        given = spelled_out(launch, kernel)
        argument = given.get(param.name)
        imported = launch.module.imports.get("triton")
        if argument is None or isinstance(argument.value, Const):
            continue
        if imported is None or imported.member is not None or imported.module != "triton":
            return None
        if not any(passed is not argument and passed.value == argument.value for passed in given.values()):
            return None
        before = f"{argument.name}=" if argument.name is not None else ""
        text = f"{before}triton.next_power_of_2({{}})"
        changes.append(Replace(launch.module.path, launch.launch.span, argument.span, text))
    return Plan(
        safety=Safety.UNSAFE,
        title=f"round `{param.name}` of `{kernel.name}` up to a power of two",
        changes=tuple(changes),
    )


RULE = Rule(code=CODE, check=check, plan=plan)
