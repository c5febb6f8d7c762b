"""Python: a program of kernels damaged, and checked; the exit status says whether something was found, no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fuzz.driver import Trial
from tests.fuzz.mutations import damage_bytes, damage_lines, damage_tokens, damage_tree, damage_words, insert, mutate
from triton_doctor.cli import main

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from tests.fuzz.sources import Sources

_DEEP = 1500
HOSTILE = (
    b"from a import *\nfrom b import *\nfrom c import *",
    b"from . import *\nfrom .a import *",
    b"x = " + b"n + " * 700 + b"n",
    b"x = " + b"n + " * _DEEP + b"n",
    b"x = " + b"(" * 150 + b"n" + b")" * 150,
    b"x = " + b"-" * _DEEP + b"1",
    b"x = n" + b".a" * _DEEP,
    b"x = n" + b"[0]" * _DEEP,
    b"x = n" + b"()" * _DEEP,
    b"x = " + b"n if n else " * _DEEP + b"n",
    b"x = " + b"lambda: " * _DEEP + b"n",
    b"if n:\n  pass\n" + b"elif n:\n  pass\n" * _DEEP,
    b"x = " + b"9" * 5000,
    b"x = 0x" + b"f" * 5000,
    b"x = 10 ** 10 ** 10",
    b"x = 'a' * 10 ** 12",
    b"x = 1 << (1 << 40)",
    b"import os\nos.environ['TRITON_INTERPRET'] = " + b"+".join([b"'1'"] * _DEEP),
    b"import os\nos.system('" + b"$(" * 500 + b"TRITON_INTERPRET=1 python a.py" + b")" * 500 + b"')",
    b"# -*- coding: nope -*-",
    b"# -*- coding: utf-16 -*-",
    b"# -*- coding: ascii -*- \xc3\xa9",
    b"# triton-doctor: ignore[" + b"TRD201," * 2000 + b"]",
    b"# triton-doctor: disable[TRD2]",
    b"k = k = k\nk[k](k, *k, **k)",
    b"class k(k):\n    k = k",
    b"def k(k=k, *, n=n, **kw):\n    return k(k)",
    b"x = [x for x in x for x in x if x]",
    b"k[(1,)](*[k] * 10 ** 9, n=n, **{'BLOCK': BLOCK})",
    b"global k",
    b"type X = int",
    b"match n:\n    case [*_, {'a': k, **rest}] | k:\n        pass",
    b"@triton.autotune(configs=[triton.Config({'B': 2 ** i}) for i in range(10 ** 9)], key=['n'])",
    b"@triton.jit\ndef k(" + b", ".join(b"a%d: tl.constexpr" % i for i in range(300)) + b"): pass",
)
MUTATIONS = (
    damage_bytes,
    damage_lines,
    damage_words,
    damage_tokens,
    damage_tokens,
    damage_tree,
    damage_tree,
    insert(HOSTILE),
)
_FORMS = ("full", "concise", "json", "github", "sarif")


def make_trial(random: Random, sources: Sources) -> Trial:
    """One to three programs that may import each other, damaged."""
    names = random.sample(("a.py", "b.py", "pkg/__init__.py", "pkg/c.py", "test_a.py"), random.choice((1, 1, 2, 3)))
    files = {name: mutate(sources.kernel(random), MUTATIONS, random) for name in names}
    if len(names) > 1 and random.random() < 0.5:
        files[names[0]] += b"\nfrom a import *\nfrom pkg.c import *\nfrom b import *\n"
    form = random.choice(_FORMS)

    def run(folder: Path) -> str | None:
        status = main(["check", "--no-cache", "--output-format", form, str(folder)])
        return None if status in (0, 1) else f"check --output-format {form} ended with {status}"

    return Trial(files=files, run=run)
