"""Fixes: what comes out compiles, nothing that was fixed is found again, and nothing else is found than before.

A second run changes no byte. Found is what is a warning or worse: to fix a parameter may uncover a hint about another.
"""

from __future__ import annotations

import warnings
from collections import Counter
from typing import TYPE_CHECKING

from tests.fuzz.driver import Trial
from tests.fuzz.mutations import damage_tokens, damage_tree, mutate
from triton_doctor.cli import main
from triton_doctor.finding import Severity
from triton_doctor.settings import Settings
from triton_doctor.static.fix.rounds import fix, name_of
from triton_doctor.static.scan import scan
from triton_doctor.static.sources.workspace import find_workspace
from triton_doctor.static.suppression.suppress import AUTOTUNE_KEY

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from random import Random

    from tests.fuzz.sources import Sources
    from triton_doctor.finding import Finding


def make_trial(random: Random, sources: Sources) -> Trial:
    """One to three programs, most of them damaged so that they still parse."""
    names = ("a.py", "b.py", "c.py")[: random.choice((1, 1, 2, 3))]
    files = {}
    for name in names:
        data = sources.kernel(random)
        files[name] = data if random.random() < 0.2 else mutate(data, (damage_tokens, damage_tree), random)
    flags = random.choice((["--fix"], ["--fix", "--unsafe-fixes"], ["--fix", "--unsafe-fixes"]))

    def run(folder: Path) -> str | None:
        settings = Settings(root=folder)
        workspace = find_workspace([folder], settings, cwd=folder)
        before = scan(workspace.files, settings, cwd=folder).findings
        made = fix(workspace, unsafe="--unsafe-fixes" in flags).made
        once = _fixed(folder, flags)
        for name, data in once.items():
            if data != files[name] and _compiles(files[name]) and not _compiles(data):
                return f"{name} does not compile after {' '.join(flags)}"
        after = scan(find_workspace([folder], settings, cwd=folder).files, settings, cwd=folder).findings
        difference = _difference(before, made, after)
        if difference is not None:
            return f"{difference} after {' '.join(flags)}"
        twice = _fixed(folder, flags)
        changed = [name for name in files if once[name] != twice[name]]
        return f"{', '.join(changed)} changed in a second run of {' '.join(flags)}" if changed else None

    return Trial(files=files, run=run)


def _difference(before: Iterable[Finding], made: Iterable[Finding], after: Iterable[Finding]) -> str | None:
    """What is found `after` the fixes that were `made` and should not be."""
    found, fixed = _counted(before), Counter(map(name_of, made))
    for name, count in Counter(map(name_of, after)).items():
        if fixed[name] and count > Counter(map(name_of, before))[name] - fixed[name]:
            return f"{name} was fixed, and is found again"
    for name, count in _counted(after).items():
        if count > found[name]:
            return f"{name} is found {count} times, and was {found[name]} times"
    return None


def _counted(findings: Iterable[Finding]) -> Counter[tuple[str, ...]]:
    """How often each is found, by rule, file, kernel and parameter: messages may say in which line something stands.

    A finding about a constexpr that is in the autotune key says both, and the second of them alone stays once the
    parameter is no constexpr.
    """
    return Counter(
        (code, one.path, one.facts.kernel or "", one.facts.parameter or "")
        for one in findings
        if one.severity >= Severity.WARNING
        for code in ({one.code, AUTOTUNE_KEY} if one.facts.autotune_keys else {one.code})
    )


def _fixed(folder: Path, flags: list[str]) -> dict[str, bytes]:
    status = main(["check", "--no-cache", *flags, str(folder)])
    if status not in (0, 1):
        raise AssertionError(f"check {' '.join(flags)} ended with {status}")
    return {path.name: path.read_bytes() for path in folder.glob("*.py")}


def _compiles(data: bytes) -> bool:
    """Whether it compiles to bytecode, which says more than that it parses: a parameter may be there twice."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(data, "a.py", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True
