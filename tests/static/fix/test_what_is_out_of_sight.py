"""What stands beside a kernel and may still name it or its parameter withholds the fix; what is seen does not."""

from __future__ import annotations

import ast
import subprocess
from typing import TYPE_CHECKING

import pytest

from triton_doctor.static.project.names import unscanned
from triton_doctor.testing.variant_baseline import Baseline, write_baseline

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome
    from triton_doctor.static.fix.rounds import Fixed

    Fix = Callable[..., Fixed]
    Doctor = Callable[..., Outcome]
    Write = Callable[..., Path]

HEAD = "import torch, triton\nimport triton.language as tl\n"
OPS = f"""{HEAD}
@triton.jit
def k(x_ptr, n, unused: tl.constexpr, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    tl.store(x_ptr + o, n, mask=o < n)


def f(x, n):
    k[(1,)](x, n, 0, BLOCK=128)
"""
LAUNCH = "from ops import k\nk[(1,)](x, 3, 1, 64)\n"
RENAMED = "from m import kk\nkk[(1,)](x, 3, 1, 64)\n"
TUNED = '@triton.autotune(configs=[triton.Config({{"BLOCK": 64}}{config})], key=[]{more})\n@triton.jit'


def decorated(decorators: str, before: str = "") -> str:
    return OPS.replace("@triton.jit", f"{before}\n{decorators}", 1).replace(", BLOCK=128", "")


def launched(launch: str, before: str = "", after: str = "") -> str:
    return OPS.replace("    k[(1,)](x, n, 0, BLOCK=128)", f"{before}    {launch}\n{after}")


def test_kernel_whose_every_use_is_seen_is_fixed(fixed: Fix) -> None:
    done = fixed({"ops.py": OPS, "other.py": "import torch\nunused = 'something else'\n"})

    assert [one.code for one in done.made] == ["TRD202"]
    assert b"unused" not in done.files["ops.py"].after


def test_launch_of_a_star_import_is_fixed_with_the_kernel(fixed: Fix) -> None:
    """S1: it stands in a file that does not say triton, and may have come through a package."""
    done = fixed(
        {
            "ops.py": OPS,
            "t.py": "from ops import *\n\ndef g(x):\n    k[(1,)](x, 3, 1, 64)\n",
            "p/__init__.py": "from ops import *\n",
            "u.py": "from p import *\n\ndef g(x):\n    k[(1,)](x, 3, 1, 64)\n",
        }
    )

    assert done.files["t.py"].after == b"from ops import *\n\ndef g(x):\n    k[(1,)](x, 3, 64)\n"
    assert done.files["u.py"].after == b"from p import *\n\ndef g(x):\n    k[(1,)](x, 3, 64)\n"


def test_launch_of_a_star_import_is_counted(doctor: Doctor, write: Write) -> None:
    write("ops.py", OPS)
    write("t.py", "from ops import *\n\ndef g(x):\n    k[(1,)](x, 3, 1, 64)\n")

    assert "2 launches" in doctor("check", ".").out


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            launched("k[grid](x, n, 2, 64)", before='    def grid(meta):\n        return (meta["unused"],)\n\n'),
            id="S2: a grid function",
        ),
        pytest.param(
            f'{launched("k[grid](x, n, 2, 64)")}\n\ndef grid(meta):\n    return (meta["unused"],)\n',
            id="S2: a grid function of the module",
        ),
        pytest.param(
            f'{launched("k[grid](x, n, 2, 64)")}\n\ndef grid(m):\n    return of(m)\n\n'
            'def of(m):\n    return m["unused"],\n',
            id="S2: a function that the grid calls",
        ),
        pytest.param(launched("k[grid](x, n, 2, 64)").replace("f(x, n)", "f(x, n, grid)"), id="S2: a grid given"),
        pytest.param(launched("k[(1,)](x, n, (y := n), 128)", after="    return y\n"), id="S3: a name is bound"),
        pytest.param(launched("k[(1,)](x, n, 1 if (y := n) else 2, 128)"), id="S3: bound within"),
        pytest.param(launched("k[(1,)](x, n, unused=(B := 64), BLOCK=B)"), id="S3: bound for another argument"),
        pytest.param(
            decorated(
                TUNED.format(config=", pre_hook=hook", more=""), "def hook(nargs):\n    nargs['unused'].zero_()\n"
            ),
            id="S4: a hook before each launch",
        ),
        pytest.param(decorated(TUNED.format(config="", more=", reset_to_zero=['unused']")), id="S4: reset to zero"),
        pytest.param(decorated(TUNED.format(config="", more=", restore_value=['unused']")), id="S4: restored"),
        pytest.param(
            decorated(
                "@triton.autotune(configs=made(), key=[])\n@triton.jit",
                "def made():\n    c = triton.Config({'BLOCK': 64})\n    c.kwargs['unused'] = 1\n    return [c]\n",
            ),
            id="S4: filled after the config was made",
        ),
        pytest.param(
            decorated(
                TUNED.format(config="", more="").replace("[triton", "CONFIGS + [triton"),
                "CONFIGS = []\nfor c in CONFIGS:\n    c.kwargs['unused'] = 1\n",
            ),
            id="S4: filled at the top of the module",
        ),
        pytest.param(
            decorated(
                "@triton.jit(launch_metadata=lm)", "def lm(grid, kernel, args):\n    return {'n': args['unused']}\n"
            ).replace("n, 0)", "n, 0, BLOCK=128)"),
            id="S4: launch metadata",
        ),
        pytest.param(
            decorated("@triton.jit(repr=rp)", "def rp(spec):\n    return str(spec.constants['unused'])\n").replace(
                "n, 0)", "n, 0, BLOCK=128)"
            ),
            id="S4: its name in traces",
        ),
        pytest.param(
            OPS.replace("@triton.jit", "@triton.jit(do_not_specialize=[1])"), id="a position in a list of the decorator"
        ),
    ],
)  # fmt: skip
def test_parameter_that_something_asks_for_stays(fixed: Fix, text: str) -> None:
    ast.parse(text)
    done = fixed({"ops.py": text})

    assert not [one for one in done.made if one.code == "TRD202"]


def test_repr_that_names_a_constexpr_keeps_it_one(fixed: Fix) -> None:
    text = f"""{HEAD}
@triton.jit
def k(x_ptr, n: tl.constexpr, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    tl.store(x_ptr + o, 0, mask=o < n)


def f(x):
    k[(1,)](x, x.numel(), BLOCK=128)
"""
    named = text.replace("@triton.jit", "def rp(s):\n    return str(s.constants['n'])\n\n@triton.jit(repr=rp)")

    assert [one.code for one in fixed({"ops.py": text}).made] == ["TRD201"]
    assert not fixed({"ops.py": named}).made


def test_name_in_a_list_of_the_decorator_goes_with_the_parameter(fixed: Fix) -> None:
    listed = OPS.replace("@triton.jit", '@triton.jit(do_not_specialize=["unused", "n"])')

    after = fixed({"ops.py": listed}).files["ops.py"].after
    assert b'do_not_specialize=["n"]' in after
    assert b"unused" not in after


@pytest.mark.parametrize(
    "beside",
    [
        pytest.param({"t.py": f"type X = int\n{LAUNCH}(\n"}, id="S5: does not parse"),
        pytest.param({"n.ipynb": '{"cells": [{"source": "from ops import k\\nk[(1,)](x, 3, 1'}, id="S7: a notebook"),
        pytest.param({"t.py": "import importlib as i\ni.import_module('ops').k[(1,)](x)\n"}, id="S7: importlib"),
        pytest.param({"t.py": "__import__('ops').k[(1,)](x, 3, 1, 64)\n"}, id="S7: __import__"),
        pytest.param({"ops.py": f"{OPS}\nglobals()['k'][(1,)](x, 3, 1, 64)\n"}, id="S7: globals"),
        pytest.param({"ops.py": f"{OPS}\ngetattr(sys.modules[__name__], 'k')[(1,)](x, 3)\n"}, id="S7: getattr"),
        pytest.param({"ops.py": f"{OPS}\nexec('k[(1,)](x, 3, 1, 64)')  # [(\n"}, id="S7: exec"),
        pytest.param({"t.py": "from ops import k\nKERNELS = [k]\n"}, id="a table in a file that launches nothing"),
        pytest.param({"old/t.py": LAUNCH, ".gitignore": "old/\n"}, id="S6: ignored by git"),
        pytest.param({"m.py": "from ops import k as kk\n", "old/t.py": RENAMED, ".gitignore": "old/\n"},
                     id="S6: under another name"),
        pytest.param({"ops.py": f"{OPS}\n__all__ = ['k', 'f']\n"}, id="S8: a public kernel"),
    ],
)  # fmt: skip
def test_kernel_that_something_out_of_sight_may_use_is_not_changed(fixed: Fix, beside: dict[str, str]) -> None:
    assert not [one for one in fixed({"ops.py": OPS, **beside}).made if one.code == "TRD202"]


@pytest.mark.parametrize("asked", ["ops", "ops/kern.py", "ops/sub/t.py"])
def test_launches_in_other_folders_are_fixed_with_the_kernel(fixed: Fix, asked: str) -> None:
    """S6: no folder has an `__init__.py`, and a part of the project is given."""
    launch = "from ops.kern import k\n\ndef g(x):\n    k[(1,)](x, 3, 1, 64)\n"
    files = {"ops/kern.py": OPS, "train.py": launch, "ops/sub/t.py": launch}

    done = fixed(files, paths=(asked,))

    if asked != "ops/sub/t.py":
        assert set(done.files) == set(files)
        assert b"1, 64" not in done.files["train.py"].after


def test_launch_in_the_folder_above_the_working_directory_withholds_the_fix(
    write: Write, doctor: Doctor, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    """S6: `cd ops; check --fix .`"""
    path = write("ops/kern.py", OPS)
    write("train.py", "from ops.kern import k\nk[(1,)](x, 3, 1, 64)\n")
    monkeypatch.chdir(folder / "ops")

    doctor("check", "--fix", "--fail-on", "info", "--no-cache", ".")

    assert path.read_text() == OPS


def test_excluded_folder_is_searched_for_the_kernel(write: Write, doctor: Doctor) -> None:
    write("pyproject.toml", '[tool.triton-doctor]\nexclude = ["old/"]\nfail-on = "info"\n')
    path = write("ops.py", OPS)
    other = write("old/t.py", "from ops import k\nk[(1,)](x, 3, 1, 64)\n")

    doctor("check", "--fix", ".")
    assert path.read_text() == OPS

    other.write_text("from ops import f\n")
    doctor("check", "--fix", ".")
    assert "unused" not in path.read_text()


def test_more_text_than_is_searched_withholds_the_fix_and_is_said(
    write: Write, doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unscanned, "MOST_FILES", 2)
    path = write("ops.py", OPS)
    for number in range(4):
        write(f"old/{number}.py", "")
    write(".gitignore", "old/\n")

    outcome = doctor("check", "--fix", "--fail-on", "info", "--no-cache", ".")

    assert path.read_text() == OPS
    assert "files that are no Python" in outcome.err


def test_each_file_is_searched_once_however_many_kernels_there_are(
    write: Write, fixed: Fix, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    read = unscanned.read_regular_file
    monkeypatch.setattr(unscanned, "read_regular_file", lambda *given: opened.append(str(given[0])) or read(*given))
    for number in range(5):
        write(f"old/{number}.py", "import ops\n")
    write(".gitignore", "old/\n")

    done = fixed({f"ops{number}.py": OPS for number in range(20)})

    assert len(done.made) == 20
    assert len(opened) == len(set(opened)) == 6  # with .gitignore


def test_package_unpacked_beside_another_has_nothing_to_do_with_it(
    write: Write, doctor: Doctor, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    write("elsewhere/readme.txt", "")
    path = write("packages/one/ops.py", OPS)
    write("packages/other/train.py", LAUNCH)
    monkeypatch.chdir(folder / "elsewhere")

    doctor("check", "--fix", "--fail-on", "info", "--no-cache", str(folder / "packages" / "one"))

    assert "unused" not in path.read_text()


def test_no_file_beside_two_folders_is_opened_for_the_kernels_of_both(
    write: Write, doctor: Doctor, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    opened: list[str] = []
    read = unscanned.read_regular_file
    monkeypatch.setattr(unscanned, "read_regular_file", lambda *given: opened.append(str(given[0])) or read(*given))
    write("elsewhere/readme.txt", "")
    for name in ("one", "two"):
        write(f"packages/{name}/ops.py", OPS)
        write(f"packages/{name}/build/left.py", "")
        write(f"packages/{name}/.gitignore", "old/\n")
        write(f"packages/{name}/old/left.py", "")
    write("packages/other/train.py", LAUNCH)
    monkeypatch.chdir(folder / "elsewhere")

    doctor("check", "--no-cache", *(str(folder / "packages" / name) for name in ("one", "two")))

    found = (".gitignore", "old/left.py")
    assert sorted(opened) == [(folder / "packages" / one / two).as_posix() for one in ("one", "two") for two in found]


LAUNCHED = "[(1,)](x, n, 77, 128)"


@pytest.mark.parametrize(
    "mention",
    [
        pytest.param(f"def g(x, n, kern=k):\n    kern{LAUNCHED}\n", id="a default argument"),
        pytest.param(f"def g(x, n, k=k):\n    k{LAUNCHED}\n", id="a default argument of the same name"),
        pytest.param(f"g = lambda x, n, kern=k: kern{LAUNCHED}\n", id="a default argument of a lambda"),
        pytest.param("class A:\n    kern: object = k\n", id="a field"),
        pytest.param("class A(B, kern=k):\n    pass\n", id="a keyword of a class"),
        pytest.param("def g():\n    yield k\n", id="a yield"),
        pytest.param("match k:\n    case kern:\n        pass\n", id="a match"),
        pytest.param("def g():\n    raise LookupError(k)\n", id="a raise"),
        pytest.param("def g(kern: k): ...\n", id="an annotation"),
        pytest.param("[q for q in (k,)]\n", id="a comprehension"),
        pytest.param("[k for k in (k,)]\n", id="a comprehension of the same name"),
        pytest.param("import sys\nme = sys.modules[__name__]\nme.k[(1,)](x)\n", id="an attribute of a module"),
        pytest.param("def get(name):\n    return globals()[name]\nget('k')\n", id="a string to a helper"),
        pytest.param("def get(name):\n    return globals()[name]\nget(f'k{i}')\n", id="an f-string to a helper"),
        pytest.param("def get(name):\n    return globals()[name]\nget('\\x6b')\n", id="a string with escapes"),
        pytest.param(f'def g(x, n):\n    """\n    >>> k{LAUNCHED}\n    """\n', id="a doctest"),
        pytest.param(f"# RUN: python -c 'from ops import k; k{LAUNCHED}'\n", id="a comment that is a directive"),
        pytest.param("def k(x, n, unused, BLOCK): ...\n", id="a second definition in its place"),
    ],
)
def test_kernel_that_its_own_file_names_otherwise_is_not_changed(fixed: Fix, mention: str) -> None:
    ast.parse(mention)

    assert not [one for one in fixed({"ops.py": f"{OPS}\n\n{mention}"}).made if one.code == "TRD202"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("bin/launch", f"#!/usr/bin/env python\nfrom ops import k\nk{LAUNCHED}\n"),
        ("run.sh", f'python -c "from ops import k; k{LAUNCHED}"\n'),
        ("fast.pyx", f"from ops import k\nk{LAUNCHED}\n"),
        ("README.md", f"```python\nk{LAUNCHED}\n```\n"),
        ("README.md", f"Text:\n\n    k{LAUNCHED}\n"),
        ("README.md", f"Call `k{LAUNCHED}`.\n"),
        ("n.ipynb", '{"cells": [{"source": ["ops.\\u006b[(1,)](x)"]}]}'),
        ("utf16.txt", "run k".encode("utf-16")),
        ("large.txt", "k ".rjust(3 << 20)),
        ("q.py", "from ops import k as q\nkept = [q]\n"),
        ("q.py", "from ops import *\nkept = [k]\n"),
        ("q.py", "from ops import k\nkept = [\uff4b]\n"),
        ("q.py", "import ops\ngetattr(ops, '' + 'k')\n"),
        ("q.py", "try:\n    from ops import k\nexcept ImportError:\n    from fast import k\nk[(1,)](x, 3, 1, 64)\n"),
    ],
)  # fmt: skip
def test_kernel_that_another_file_names_otherwise_is_not_changed(fixed: Fix, name: str, text: str | bytes) -> None:
    assert not [one for one in fixed({"ops.py": OPS, name: text}).made if one.code == "TRD202"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.py", "# k is fast\n"),
        ("q.py", '"""Like k of ops."""\n'),
        ("README.md", "The kernel `k`, or `ops.k`: k is fast.\n\n```python\nf(x, n)\n```\n"),
        ("q.py", "from ops import k\n\n\ndef g(k):\n    return [k for k in k]\n"),
        ("q.py", "def k(x):\n    return x\n\n\nkept = [k]\n"),
        ("q.py", "import torch\ny = torch.k\n"),
        ("q.py", "class A:\n    def k(self):\n        return self.k\n"),
        ("q.txt", "kk _k k_ k1\n"),
        ("q.bin", b"k \0 k"),
    ],
)
def test_prose_and_other_definitions_withhold_no_fix(fixed: Fix, name: str, text: str | bytes) -> None:
    assert [one.code for one in fixed({"ops.py": OPS, name: text}).made] == ["TRD202"]


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("import ops\ng = getattr(ops, f'sc{kind}')\n", 0),
        ('import ops\ng = getattr(ops, f\'{"sc"}{"ale"}\')\n', 0),
        ("import ops\ng = vars(ops)['%sale' % kind]\n", 0),
        ("import ops\ng = getattr(ops, kind + 'ale')\n", 0),
        ("import ops\ng = getattr(ops, 'sc' + 'ale')\n", 0),
        ("import ops\ng = {1: getattr(ops, 'sc' + 'ale')}\n", 0),
        ("import ops\ng = {1: getattr(ops, '%sale' % 'sc')}\n", 0),
        ("import ops\ng = getattr(ops, f'other{kind}')\n", 1),
        ("from ops import f\nlabel = f'sc{kind}'\n", 1),
        ("import config\ng = getattr(config, f'sc{kind}')\n", 1),
        ("import ops\n\n\nclass A:\n    def g(self, kind):\n        return getattr(self, f'sc{kind}')\n", 1),
    ],
)
def test_computed_name_counts_where_it_may_be_looked_up_in_the_module(fixed: Fix, text: str, made: int) -> None:
    scale = OPS.replace("def k(", "def scale(").replace("k[", "scale[")

    assert len(fixed({"ops.py": scale, "q.py": text}).made) == made


@pytest.mark.parametrize(
    ("path", "is_tracked", "made"),
    [("old/t.py", False, 1), ("old/t.py", True, 0), ("new/t.py", False, 0), ("build/t.sh", False, 0)],
)
def test_files_that_git_tracks_or_would_track_are_searched(
    fixed: Fix, write: Write, folder: Path, path: str, is_tracked: bool, made: int
) -> None:
    write(path, LAUNCH)
    write(".gitignore", "old/\n")
    subprocess.run(["git", "init", "-q", "."], cwd=folder, check=True)
    if is_tracked:
        subprocess.run(["git", "add", "-f", path], cwd=folder, check=True)

    done = fixed({"ops.py": OPS, "pyproject.toml": '[tool.triton-doctor]\nexclude = ["new/"]\n'})

    assert len(done.made) == made or (path.startswith("new") and b"3, 64" in done.files[path].after)


def test_recordings_and_baselines_of_triton_doctor_name_kernels_and_launch_none(
    doctor: Callable[..., Outcome], folder: Path, write: Callable[..., Path]
) -> None:
    program = (
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef fill(x_ptr, n: tl.constexpr):\n"
        "    tl.store(x_ptr + tl.arange(0, 64), 0, mask=tl.arange(0, 64) < n)\n\n\n"
        "def run(x, lens: list[int]):\n    fill[(1,)](x, len(lens))\n"
    )
    path = write("a.py", program)
    write("seen.jsonl", '{"event":"header","schema":1}\n{"event":"compile","kernel":"fill"}\n')
    write_baseline(folder / "compiles.json", Baseline(variants=frozenset({("a.fill", (("n", "3"),))})))
    doctor("check", "--write-baseline", "--no-cache", ".")
    assert "fill" in (folder / "triton-doctor-baseline.json").read_text()

    doctor("check", "--fix", "--no-cache", ".")

    assert "def fill(x_ptr, n):" in path.read_text()
