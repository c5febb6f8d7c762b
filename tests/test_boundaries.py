"""Who imports what: the contracts of pyproject.toml, and what a start of the command loads."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from importlinter.application.use_cases import SUCCESS, lint_imports
from importlinter.configuration import configure

ROOT = Path(__file__).parent.parent
HEAVY = {"rich", "libcst", "yaml", "pathspec", "torch", "triton", "pygments", "pydantic", "tomllib", "ast", "msgspec"}


def loaded_by(program: str) -> set[str]:
    script = f"{program}\nimport sys; print(' '.join({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_a_class_name_has_one_meaning_in_the_package() -> None:
    places = defaultdict[str, list[str]](list)
    for file in sorted((ROOT / "triton_doctor").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.ClassDef):
                places[node.name.lstrip("_")].append(f"{file.relative_to(ROOT)}:{node.lineno}")

    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_what_a_file_keeps_to_itself_it_uses() -> None:
    unused = []
    for file in sorted((ROOT / "triton_doctor").rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        private = re.findall(r"^(?:def |class |)(_[A-Za-z]\w*)(?=[(: =])", text, re.MULTILINE)
        unused += [
            f"{file.relative_to(ROOT)}: {name}" for name in private if len(re.findall(rf"\b{name}\b", text)) == 1
        ]

    assert unused == []


def test_import_contracts_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(str(ROOT))
    configure()

    assert lint_imports(cache_dir=None) == SUCCESS


@pytest.mark.parametrize(
    ("program", "allowed"),
    [
        pytest.param("import triton_doctor", {"ast"}, id="the package"),
        pytest.param("import triton_doctor.cli", {"ast"}, id="the command"),
        pytest.param("import triton_doctor.runtime.watch", {"ast"}, id="a program that is watched"),
        pytest.param("import triton_doctor.static.scan", {"ast", "tomllib", "msgspec"}, id="the static side"),
        pytest.param(
            "from triton_doctor.cli import main; main(['rule', 'TRD900'])",
            {"ast", "rich", "pygments", "tomllib"},
            id="rule",
        ),
        pytest.param("from triton_doctor.cli import main; main(['--version'])", {"ast"}, id="--version"),
    ],
)
def test_start_loads_nothing_heavy(program: str, allowed: set[str]) -> None:
    assert loaded_by(program) & HEAVY <= allowed


FIXABLE = """
import triton
import triton.language as tl

@triton.jit
def fill(x_ptr, n: tl.constexpr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 0, mask=tl.arange(0, BLOCK) < n)

def launch(x):
    fill[(4,)](x, x.numel(), BLOCK=64)
"""


@pytest.mark.parametrize(
    ("flags", "loaded"),
    [
        *((["--output-format", form], False) for form in ("full", "concise", "json", "github")),
        (["--output-format", "sarif"], True),  # it carries what to replace
        (["--diff"], True),
    ],
)
def test_libcst_is_loaded_only_to_fix_something(flags: list[str], loaded: bool, tmp_path: Path) -> None:
    source = tmp_path / "kernels.py"
    source.write_text(FIXABLE, encoding="utf-8")
    program = f"from triton_doctor.cli import main; main(['check', {str(source)!r}, *{flags!r}])"

    assert ("libcst" in loaded_by(program)) is loaded
    source.write_text("import triton\n", encoding="utf-8")
    assert "libcst" not in loaded_by(program)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["check", "."], id="check"),
        pytest.param(["check", ".", "--output-format=json", "--select=TRD2", "--show=info"], id="check with options"),
        pytest.param(["explain", "fill", "."], id="explain"),
    ],
)
def test_words_of_the_command_line_are_converted_without_pydantic(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(FIXABLE, encoding="utf-8")
    program = f"import os; os.chdir({str(tmp_path)!r}); from triton_doctor.cli import main; main({arguments!r})"

    assert "pydantic" not in loaded_by(program)


def test_check_runs_where_torch_and_triton_are_not_installed(tmp_path: Path) -> None:
    source = tmp_path / "kernels.py"
    source.write_text("import triton\n\n@triton.jit\ndef double(x_ptr):\n    pass\n", encoding="utf-8")
    program = (
        "import sys\n"
        "sys.modules.update(torch=None, triton=None, libcst=None)\n"
        "from triton_doctor.cli import main\n"
        f"sys.exit(main(['check', '--output-format', 'concise', {str(source)!r}]))"
    )

    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, "no problems in 1 file, 1 kernel, 0 launches\n")


def test_python_is_parsed_by_one_front_end() -> None:
    static = ROOT / "triton_doctor" / "static"
    parsing = {
        file.relative_to(static).as_posix()
        for file in static.rglob("*.py")
        if any("ast" in words_of_import(node) for node in ast.walk(ast.parse(file.read_bytes())))
    }

    # `sources` stands below `python`; a cell of a notebook that is no Python must not cost the others. Settings of a
    # program need its statements in order, which no later pass does.
    others = {name for name in parsing if not name.startswith(("python/", "environment/python_code/"))}
    assert others == {"sources/notebooks.py", "environment/read_python.py"}


def words_of_import(node: ast.AST) -> set[str | None]:
    if isinstance(node, ast.ImportFrom):
        return {node.module}
    return {alias.name for alias in node.names} if isinstance(node, ast.Import) else set()
