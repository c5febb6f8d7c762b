"""A project to its findings: one file for each rule, with its check and its fix.

In: a `Project`, the kernels of one file with all their launches and settings. Out: findings, with a `Plan` where a fix
is known.

- A **check** reads the project and yields findings. It changes nothing and does not know other rules.
- A **plan** says which edits would fix a finding, and whether they are safe. `static/fix` makes the edits.
- A **rule** is both, under the code of a page in `rules/`: the last line of each file.

To add TRD503: write `rules/TRD503-some-name.md`, and here `some_name.py` with `CODE`, `check` and
`RULE = Rule(code=CODE, check=check)`. Nothing lists it: `registry.all_rules` finds the file.

Example, `autotune_key_unknown.py`:

    @triton.autotune(configs=[...], key=["n", "m"])    TRD303 at "m": the kernel has no such parameter
    @triton.jit
    def copy(x, n): ...

Read `registry` first, then any rule; `autotune_key_unknown` is the shortest. The first line of each file is its rule.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from triton_doctor.finding import Finding
from triton_doctor.plan import Plan
from triton_doctor.static.project.project import Project

Check: TypeAlias = Callable[[Project], Iterator[Finding]]
Planner: TypeAlias = Callable[[Project, Finding], Plan | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule: `check` finds violations of `code`, and `plan` fixes one; None if there is no fix."""

    code: str
    check: Check
    plan: Planner | None = None
