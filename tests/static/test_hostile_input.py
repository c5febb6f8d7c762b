"""Hostile and unlucky input to `check`: no traceback, no hang, and no file that hides the others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.conftest import KERNEL
from triton_doctor.static.environment.settings_files import yaml as yaml_settings
from triton_doctor.static.project.names.resolver import Resolver

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Doctor = Callable[..., Outcome]
    Write = Callable[..., Path]

FOUND = "good.py:14:16 TRD201"
SETTING = "import os\nos.environ['TRITON_INTERPRET'] = '1'\n"


@pytest.fixture
def check(doctor: Doctor, write: Write) -> Callable[[], set[str]]:
    """Check the folder, in which a program with a finding lies too: that is found whatever lies beside it."""
    write("good.py", KERNEL)

    def run() -> set[str]:
        outcome = doctor("check", "--no-cache", "--output-format", "json")
        assert (outcome.status, outcome.err) == (1, "")
        found = json.loads(outcome.out)["findings"]
        places = {f"{one['path']}:{one['line']}:{one['column']} {one['code']}" for one in found}
        assert FOUND in places
        return places

    return run


def notebook(*cells: str) -> str:
    return json.dumps({"cells": [{"cell_type": "code", "source": cell} for cell in cells]})


def deep(count: int, term: str = "n", sign: str = " + ") -> str:
    return sign.join([term] * count)


# YAML


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('env: {TRITON_INTERPRET: "1"}\na: &a {x: *a, y: *a}\n', id="an anchor in itself"),
        pytest.param(
            'env: {TRITON_INTERPRET: "1"}\na0: &a0 {x: 1}\n'
            + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10)),
            id="a billion laughs",
        ),
        pytest.param(
            'env: {TRITON_INTERPRET: "1"}\na0: &a0 {x: 1}\n'
            + "".join(f"a{i}: &a{i} {{x: *a{i - 1}, y: *a{i - 1}}}\n" for i in range(1, 50)),
            id="doublings",
        ),
        pytest.param(
            'env: {TRITON_INTERPRET: "1"}\na0: &a0 {x: 1}\n'
            + "".join(
                f"a{i}: &a{i}\n  b: {{volumes: ['/{i}'], x: *a{i - 1}}}\n  c: {{volumes: ['/{i}c'], x: *a{i - 1}}}\n"
                for i in range(1, 50)
            ),
            id="doublings, each with a mount of its own",
        ),
    ],
)
def test_alias_bomb_is_read_node_by_node(
    check: Callable[[], set[str]], write: Write, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    write("r.yml", text)
    walked = Counter[int]()
    walk = yaml_settings._Document._mapping

    def counting(self: object, node: object, *rest: object) -> None:
        walked[id(node)] += 1
        walk(self, node, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(yaml_settings._Document, "_mapping", counting)

    assert "r.yml:1:7 TRD102" in check()
    assert max(walked.values()) <= yaml_settings._MOST_CONTEXTS


# star imports


def star_imports(write: Write, count: int) -> None:
    """Files of a folder each of which imports all from every other."""
    for number in range(count):
        stars = "".join(f"from web.m{other} import *\n" for other in range(count) if other != number)
        launch = f"\n\ndef g{number}(x):\n    missing[(1,)](x, other(x))\n"
        write(f"web/m{number}.py", "import triton\n" + stars + launch)


def test_web_of_star_imports_is_searched_in_steps_linear_in_its_imports(
    check: Callable[[], set[str]], write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = Counter[str]()
    search, defined = Resolver._search, Resolver._defined

    def counting_search(self: Resolver, *rest: object) -> object:
        steps["steps"] += 1
        return search(self, *rest)  # type: ignore[arg-type]

    def counting_defined(self: Resolver, *rest: object) -> object:
        steps["searches"] += 1
        return defined(self, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Resolver, "_search", counting_search)
    monkeypatch.setattr(Resolver, "_defined", counting_defined)
    count = 20
    star_imports(write, count)

    check()

    hops = 8
    assert 0 < steps["steps"] <= steps["searches"] * hops * count * count


def test_kernel_behind_several_star_imports_is_found(check: Callable[[], set[str]], write: Write) -> None:
    write("m0.py", KERNEL.partition("\n\n\ndef f")[0])
    for number in range(1, 5):
        write(f"m{number}.py", f"from m{number - 1} import *\nfrom m{number + 1} import *\n")
    write(
        "m5.py",
        "import triton\nfrom m4 import *\n\n\ndef f(x, lens: list[int]):\n    k[(1,)](x, max(lens), BLOCK=128)\n",
    )

    assert "m5.py:6:16 TRD201" in check()


# notebooks


@pytest.mark.parametrize(
    "cookie", ["# -*- coding: nope -*-", "# -*- coding: utf-16 -*-", "# -*- coding: ascii -*-\nname = 'é'"]
)
def test_coding_comment_in_a_notebook_means_nothing(check: Callable[[], set[str]], write: Write, cookie: str) -> None:
    write("d.ipynb", notebook(f"{cookie}\n{SETTING}"))

    assert {place.partition(":")[0] for place in check()} == {"good.py", "d.ipynb"}


def test_byte_order_mark_of_a_cell_is_passed_over(check: Callable[[], set[str]], write: Write) -> None:
    write("d.ipynb", notebook(f"\ufeff{SETTING}"))

    assert {place.partition(":")[0] for place in check()} == {"good.py", "d.ipynb"}


# nesting

DEEP = [pytest.param(count, id=f"{count} deep") for count in (100, 400, 700, 950, 1500, 3000)]


@pytest.mark.parametrize("count", DEEP)
@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("z = {}", id="in a kernel"),
        pytest.param("tl.store(x_ptr, {})", id="in a call in a kernel"),
        pytest.param("if {}:\n        pass", id="in a test in a kernel"),
    ],
)
def test_deep_expression_in_a_kernel(check: Callable[[], set[str]], write: Write, count: int, statement: str) -> None:
    body = statement.format(deep(count))
    write("deep.py", KERNEL.replace("    o = tl", f"    {body}\n    o = tl", 1))

    assert check() & {"deep.py:15:16 TRD201", "deep.py:16:16 TRD201", "deep.py:1:1 TRD900"}


@pytest.mark.parametrize("count", DEEP)
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(lambda count: f"m = {deep(count)}", id="a sum"),
        pytest.param(lambda count: f"m = {'-' * count}n", id="signs"),
        pytest.param(lambda count: f"m = n{'.a' * count}", id="attributes"),
        pytest.param(lambda count: f"m = n{'[0]' * count}", id="subscripts"),
        pytest.param(lambda count: f"m = n{'()' * count}", id="calls"),
        pytest.param(lambda count: f"m = {'n if n else ' * count}n", id="conditionals"),
        pytest.param(lambda count: f"m = {'lambda: ' * count}n", id="functions"),
        pytest.param(lambda count: "if n:\n        pass\n" + "    elif n:\n        pass\n" * count, id="branches"),
    ],
)
def test_deep_expression_in_a_launching_function(
    check: Callable[[], set[str]], write: Write, count: int, text: Callable[[int], str]
) -> None:
    write("deep.py", KERNEL.replace("m = max(lens)", f"m = n = max(lens)\n    {text(count)}"))

    check()


@pytest.mark.parametrize("count", DEEP)
@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param(
            "d.ipynb", lambda sum_: notebook(f"import os\nos.environ['TRITON_INTERPRET'] = {sum_}"), id="notebook"
        ),
        pytest.param(
            "d.sh", lambda sum_: f"python -c \"import os; os.environ['TRITON_INTERPRET'] = {sum_}\"\n", id="shell"
        ),
        pytest.param("d.py", lambda sum_: f"import os\nos.environ['TRITON_INTERPRET'] = {sum_}\n", id="Python"),
        pytest.param(
            "d.yml", lambda sum_: f"TRITON_INTERPRET: 1\na: {'[' * sum_.count('+')}{']' * sum_.count('+')}\n", id="YAML"
        ),
        pytest.param(
            "d.toml",
            lambda sum_: f"TRITON_INTERPRET = 1\na = {'[' * sum_.count('+')}{']' * sum_.count('+')}\n",
            id="TOML",
        ),
        pytest.param(
            "launch.json",
            lambda sum_: f'{{"TRITON_INTERPRET": {"[" * sum_.count("+")}{"]" * sum_.count("+")}}}',
            id="JSON",
        ),
    ],
)
def test_deep_expression_in_a_settings_file(
    check: Callable[[], set[str]], write: Write, count: int, name: str, text: Callable[[str], str]
) -> None:
    write(name, text(deep(count, "'1'", "+")))

    check()


def test_what_can_be_read_does_not_depend_on_the_cache(doctor: Doctor, write: Write) -> None:
    for count in range(100, 1600, 50):
        write(f"m{count}.py", KERNEL.replace("m = max(lens)", f"m = {deep(count, 'max(lens)')}"))
    arguments = ("check", "--output-format", "json", "--exit-zero")

    first, again, fresh = doctor(*arguments), doctor(*arguments), doctor(*arguments, "--no-cache")

    findings = [json.loads(one.out)["findings"] for one in (first, again, fresh)]
    assert findings[0] == findings[1] == findings[2]


# names


@pytest.mark.parametrize("form", ["full", "concise", "json", "github", "sarif"])
def test_name_that_is_no_utf8_is_reported(folder: Path, form: str) -> None:
    (folder / os.fsdecode(b"bad\xff.py")).write_text(KERNEL)
    for encoding in ({}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}):
        command = [sys.executable, "-m", "triton_doctor", "check", "--no-cache", "--output-format", form]
        done = subprocess.run(command, capture_output=True, env={**os.environ, **encoding}, cwd=folder, check=False)

        assert (done.returncode, done.stderr) == (1, b"")
        assert b"TRD201" in done.stdout


@pytest.mark.parametrize("name", [b"bad\xff.py", "zéro.py".encode()])
def test_name_that_is_not_ascii_is_known_to_a_baseline_and_fixed(folder: Path, name: bytes) -> None:
    path = folder / os.fsdecode(name)
    path.write_text(KERNEL)

    def run(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
        command = [sys.executable, "-m", "triton_doctor", "check", *arguments]
        return subprocess.run(command, capture_output=True, cwd=folder, env=environment, check=False)

    assert run("--write-baseline", "--baseline", "known.json").returncode == 0
    assert run("--baseline", "known.json").returncode == 0
    assert run("-o", "report.txt").returncode == 1
    assert run("--diff", "--unsafe-fixes").returncode == 1
    assert run("--fix", "--unsafe-fixes").returncode == 0
    assert "n: tl.constexpr" not in path.read_text()


# encodings


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_source_in_utf16_is_told(check: Callable[[], set[str]], write: Write, encoding: str) -> None:
    write("wide.py", KERNEL.encode(encoding))

    assert "wide.py:1:1 TRD900" in check()


# numbers


@pytest.mark.parametrize(
    "number", [pytest.param("9" * 5000, id="decimal"), pytest.param("0x" + "f" * 5000, id="hexadecimal")]
)
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(("max(lens)", "{}"), id="launched with"),
        pytest.param(("max(lens)", "max(lens) + {}"), id="added"),
        pytest.param(("BLOCK=128", "BLOCK={}"), id="an option"),
        pytest.param(("mask=o < n", "mask=o < {}"), id="in the kernel"),
        pytest.param(("(0, BLOCK)", "(0, {})"), id="a range"),
        pytest.param(("lens: list[int]", "lens={}"), id="a default"),
    ],
)
def test_number_of_thousands_of_digits(
    check: Callable[[], set[str]], write: Write, number: str, change: tuple[str, str]
) -> None:
    write("long.py", KERNEL.replace(change[0], change[1].format(number)) + SETTING)

    check()


# names that are no words


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("a.sh", 'if [ -z "$(" ]; then\nexport TRITON_(=1\nexport TRITON_INTERPRET((=1\nfi\n', id="shell"),
        pytest.param("a.bat", "if not defined TRITON_INTERPRET( set TRITON_INTERPRET(=1\n", id="batch"),
    ],
)
def test_name_of_a_variable_is_no_pattern(check: Callable[[], set[str]], write: Write, name: str, text: str) -> None:
    write(name, text)

    check()


# large files

PREAMBLE, LAUNCH = (
    KERNEL.partition("\n\n\ndef f")[0],
    "\n\ndef f{0}(x, lens: list[int]):\n    k[(1,)](x, max(lens), BLOCK=128)\n",
)


def calls_of_check(doctor: Doctor, write: Write, text: str) -> int:
    """How many functions a check of `text` calls, those in C included."""
    write("large.py", text)
    count = 0

    def counting(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counting)
    try:
        doctor("check", "--no-cache", "--output-format", "json", "large.py")
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(lambda count: PREAMBLE + "".join(LAUNCH.format(one) for one in range(count)), id="launches"),
        pytest.param(
            lambda count: "".join(KERNEL.replace("k(", f"k{one}(").replace("f(", f"f{one}(") for one in range(count)),
            id="kernels",
        ),
        pytest.param(
            lambda count: PREAMBLE + "\n\ndef f(x, n):\n" + "    k[(1,)](x, n, BLOCK=128)\n" * count,
            id="launches in one function",
        ),
    ],
)
def test_work_grows_with_the_size_of_a_file(doctor: Doctor, write: Write, text: Callable[[int], str]) -> None:
    calls_of_check(doctor, write, text(10))  # what is imported and compiled once
    small, medium, large = (calls_of_check(doctor, write, text(count)) for count in (50, 100, 200))

    assert large - medium < 2.3 * (medium - small)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        pytest.param("a.sh", "# {}\nexport TRITON_INTERPRET=1\n", "more than 1 MB", id="shell"),
        pytest.param("a.yml", "# {}\nenv: {{TRITON_INTERPRET: 1}}\n", "more than 1 MB", id="YAML"),
        pytest.param("b.sh", "# {0}{0}{0}{0}{0}{0}{0}{0}\n", "more than 8 MB", id="beyond what is read"),
        pytest.param("a.ipynb", "{0}{0}{0}{0}{0}{0}{0}{0}\n", "more than 8 MB", id="notebook"),
    ],
)
def test_settings_that_are_too_large_are_told(doctor: Doctor, write: Write, name: str, text: str, reason: str) -> None:
    write("good.py", KERNEL)
    write(name, text.format("x" * (1 << 20)))

    for flags in (["--no-cache"], [], []):
        outcome = doctor("check", "--output-format", "concise", *flags)

        assert f"{name}:1:1: warning: TRD900 this file was not checked: {reason}" in outcome.out


def test_large_file_that_sets_no_variable_is_no_matter(check: Callable[[], set[str]], write: Write) -> None:
    write("data.yml", f"a: {'x' * (1 << 20)}\n")

    assert check() == {FOUND}
