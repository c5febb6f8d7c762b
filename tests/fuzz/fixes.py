"""Fixes: what comes out compiles, nothing that was fixed is found again, and nothing else is found than before.

A second run changes no byte. Found is what is a warning or worse: to fix a parameter may uncover a hint about another.
Where Triton is installed, half of the trials run a kernel on data of a random type before and after its safe fixes.
"""

from __future__ import annotations

import os
import runpy
import warnings
from collections import Counter
from importlib.util import find_spec
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


TYPES = ("int8", "int16", "int32", "int64", "uint8", "float16", "bfloat16", "float32")
PROGRAM = """import torch
import triton
import triton.language as tl


class Box:
    reads = 0

    @property
    def size(self):
        Box.reads += 1
        return 3


@triton.jit
def work(x_ptr, out_ptr, m, n: tl.constexpr, c: tl.constexpr, unread: tl.constexpr, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    pid = tl.program_id(0)
    x = tl.load(x_ptr + o)
    v = {first}
    for i in range({turns}):
        v {op}= {second}
    if {test}:
        v = {third}
    tl.store(out_ptr + o, v, mask=o < {bound})


def launch(lengths: list[int], m: int):
    x = torch.tensor([3, 100, 7, -5, 0, 120, 1, 33]).to(torch.{type})
    out = torch.zeros(8, dtype=torch.{out})
    box, sizes = Box(), {{}}
    try:
        work[(1,)](x, out, m, len(lengths), 5, {unread}, BLOCK=8)
    except (AttributeError, KeyError) as error:
        return str(error), Box.reads
    return out.tolist(), Box.reads
"""


def make_trial(random: Random, sources: Sources) -> Trial:
    """A kernel on data of some type, or one to three programs, most of them damaged so that they still parse."""
    if find_spec("triton") and find_spec("torch") and random.random() < 0.5:
        return _typed_trial(random)
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


def _typed_trial(random: Random) -> Trial:
    """A kernel of random operands, run by the interpreter before and after its safe fixes."""
    data = random.choice(TYPES)
    unread = random.choice(("3", "m", "len(lengths)", "box.size", "box.none", "sizes['a']", "lengths[0]", "-1"))
    text = PROGRAM.format(
        **{name: _expression(random) for name in ("first", "second", "third")},
        **{name: _expression(random, ("n", "m", "c", "pid", "2")) for name in ("turns", "bound")},
        test=f"{_expression(random, ('n', 'm', 'pid'), 1)} > {random.choice(('m', 'c', '2'))}",
        op=random.choice("+-*"),
        type=data,
        out=random.choice(("int32", "int64", "float32", data)),
        unread=unread,
    )

    def run(folder: Path) -> str | None:
        made = fix(find_workspace([folder], Settings(root=folder, fail_on=Severity.INFO), cwd=folder), unsafe=False)
        (edited,) = [file.after for file in made.files.values()] or (None,)
        if edited is None:
            return None
        fixed = folder / "fixed.py"
        fixed.write_bytes(edited)
        for length, m in ((1, 1), (2, 3), (17, 1), (300, 2)):
            was, now = _ran(folder / "a.py", length, m), _ran(fixed, length, m)
            if was is not None and repr(was) != repr(now):
                return f"a safe fix: {was} became {now}"
        return None

    return Trial(files={"a.py": text.encode()}, run=run)


def _expression(random: Random, atoms: tuple[str, ...] = (), depth: int = 2) -> str:
    """A random expression of `atoms`; of data, numbers and casts where none are given."""
    given = atoms or ("x", "o", "pid", "m", "n", "n", "c", "2", f"x.to(tl.{random.choice(TYPES)})")
    if depth == 0 or random.random() < 0.3:
        return random.choice(given)
    one, other = _expression(random, atoms, depth - 1), _expression(random, atoms, depth - 1)
    if random.random() < 0.2:
        return f"tl.{random.choice(('minimum', 'maximum'))}({one}, {other})"
    if random.random() < 0.1 and not atoms:
        return f"tl.where({one} < {other}, {one}, {other})"
    return f"({one} {random.choice(('+', '-', '*', '+', '-', '*', '//', '%', '/', '<<', '>>', '&', '<'))} {other})"


def _ran(path: Path, length: int, m: int) -> object:
    """What the program gives; None where it raises something."""
    os.environ["TRITON_INTERPRET"] = "1"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return runpy.run_path(str(path))["launch"](list(range(length)), m)
        except Exception:
            return None


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
