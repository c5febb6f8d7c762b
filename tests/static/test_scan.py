"""Files to findings: what cannot be read is said once, and nothing depends on order."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from triton_doctor.finding import Severity
from triton_doctor.regular_files import LIMIT_BYTES
from triton_doctor.settings import Settings
from triton_doctor.static.python.unreadable import RUNNING
from triton_doctor.static.rules import Rule
from triton_doctor.static.rules.registry import all_rules
from triton_doctor.static.scan import Scan, scan
from triton_doctor.static.sources.files import FileKind, SourceFile, find_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from triton_doctor.finding import Finding
    from triton_doctor.static.project.project import Project

    Write = Callable[..., Path]

ROOT = Path(__file__).parent.parent.parent
KERNEL = "import triton\n\n@triton.jit\ndef kernel(x_ptr):\n    pass\n\nkernel[(1,)](x)\n"
SIZED_KERNEL = "import triton\n\n@triton.jit\ndef kernel(n: triton.language.constexpr):\n    return n\n\n"


def scan_folder(folder: Path, **values: object) -> Scan:
    chosen = Settings(root=folder, **values)  # type: ignore[arg-type]
    return scan(list(find_files([folder], chosen, cwd=folder)), chosen, cwd=folder)


def scan_text(text: bytes) -> Scan:
    file = SourceFile("text.py", "text.py", FileKind.PYTHON, text)
    return scan([file], Settings(root=Path()), cwd=Path())


@pytest.mark.parametrize(
    ("source", "place", "message"),
    [
        pytest.param(
            b"from triton import jit\nif x\n", (2, 5), f"does not parse as {RUNNING}: expected ':'", id="bad syntax"
        ),
        pytest.param(b"from triton import jit\nx = \xff\n", (1, 1), "not text in the encoding", id="not UTF-8"),
        pytest.param(
            b"# coding: nonsense\nfrom triton import jit\n", (1, 1), "not text in the encoding", id="no such encoding"
        ),
        pytest.param(KERNEL.encode("utf-16"), (1, 1), "as text in UTF-16 does", id="UTF-16"),
        pytest.param(b"from triton import jit\n\0\n", (1, 1), "it holds null bytes", id="NUL bytes"),
        pytest.param(
            b"from triton import jit\nx = " + b"(" * 10_000, (2, 205), "too many nested parentheses", id="brackets"
        ),
        pytest.param(
            b"from triton import jit\nx = " + b"-" * 10_000 + b"1", (1, 1), "nested too deeply", id="operators"
        ),
        pytest.param(b"from triton import jit\nx = a" + b".b" * 10_000, (1, 1), "nested too deeply", id="attributes"),
        pytest.param(b"from triton import jit\n" + b"#" * LIMIT_BYTES, (1, 1), "more than 8 MB", id="huge"),
    ],
)
def test_unreadable_file_is_one_finding_and_the_rest_is_checked(
    folder: Path, write: Write, source: bytes, place: tuple[int, int], message: str
) -> None:
    write("bad.py", source)
    write("good.py", KERNEL)

    result = scan_folder(folder)

    assert result.summary.kernels == 1
    (finding,) = result.findings
    assert (finding.path, finding.code, finding.severity) == ("bad.py", "TRD900", Severity.WARNING)
    assert (finding.span.line, finding.span.column) == place
    assert message in finding.message


@pytest.mark.parametrize("call", ["sizes.longest(x)", "sizes.Sizes(x).longest"])
def test_what_is_called_of_a_module_that_does_not_parse_is_unknown(write: Write, tmp_path: Path, call: str) -> None:
    write("pkg/__init__.py", "")
    write("pkg/sizes.py", "import triton\ndef longest(:\n")
    imported = "import triton\nfrom pkg import sizes\n"
    write("pkg/launch.py", f"{imported}{SIZED_KERNEL}def run(x):\n    n = {call}\n    kernel[(1,)](n)\n")

    findings = scan_folder(tmp_path).findings

    assert [finding.path for finding in findings] == ["pkg/sizes.py"]


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\n\n# only a comment about triton.jit", id="only a comment"),
        pytest.param(b"\xef\xbb\xbffrom triton import jit\n", id="byte order mark"),
        pytest.param("# coding: latin-1\nfrom triton import jit\nx = 'é'\n".encode("latin-1"), id="declared encoding"),
        pytest.param(b"from triton import jit\r\nx = '\\d'\r\n", id="Windows line ends and an invalid escape"),
    ],
)
def test_odd_file_that_python_reads_is_clean(source: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    assert scan_text(source).findings == ()
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_file_that_may_not_be_read_is_a_finding(folder: Path, write: Write) -> None:
    write("closed.py", KERNEL).chmod(0)

    (finding,) = scan_folder(folder).findings

    assert finding.message == "this file was not checked: permission denied"


def test_file_that_went_away_is_a_finding(folder: Path) -> None:
    file = SourceFile(str(folder / "gone.py"), "gone.py", FileKind.PYTHON)

    (finding,) = scan([file], Settings(root=folder), cwd=folder).findings

    assert finding.message == "this file was not checked: no such file or directory"


def test_summary_counts_what_was_looked_at(folder: Path, write: Write) -> None:
    write("kernel.py", KERNEL)
    write("other.py", "import torch\n")

    summary = scan_folder(folder).summary

    assert (summary.files_seen, summary.files_read, summary.kernels, summary.launches_resolved) == (2, 1, 1, 1)


def test_table_of_functions_launches_nothing() -> None:
    calls = 'table["rope"](x)\nlayers[0](x)\nlist[int](x)\nkernel[grid](x)\n'

    summary = scan_text(
        (KERNEL + "\ndef use(table, layers, grid, x):\n    " + calls.replace("\n", "\n    ")).encode()
    ).summary

    assert (summary.launches, summary.launches_resolved) == (2, 2)


def test_per_file_ignores_are_relative_to_the_settings(folder: Path, write: Write) -> None:
    for name in ("a.py", "benchmarks/b.py", "x/benchmarks/c.py"):
        write(name, "triton.jit(")

    found = scan_folder(folder, per_file_ignores=(("/benchmarks/**", ("TRD9",)),)).findings

    assert [finding.path for finding in found] == ["a.py", "x/benchmarks/c.py"]


TUNED_KERNEL = """\
import triton


@triton.autotune(configs=[triton.Config({{"B": 16}}), triton.Config({{"B": 32}}{hook})], key=[])
@triton.jit
def {name}(x_ptr, B: triton.language.constexpr):
    triton.language.store(x_ptr, B)


def run(x):
    {name}[(1,)](x)
"""


def test_tuning_that_is_not_kept_is_one_finding_a_project_whatever_its_packages_and_remedies(
    folder: Path, write: Write
) -> None:
    for path, name, hook in [
        ("one/first/a.py", "plain", ""),
        ("one/second/b.py", "hooked", ", pre_hook=print"),
        ("one/second/c.py", "other", ""),
        ("two/d.py", "alone", ""),
    ]:
        write(path, TUNED_KERNEL.format(name=name, hook=hook))
    chosen = Settings(root=folder, select=("TRD304",))
    files = list(find_files([folder], chosen, cwd=folder))

    one, two = scan(files, chosen, cwd=folder, projects=[folder / "one", folder / "two"]).findings

    assert "`plain` and 2 other kernels again" in one.message
    assert "AUTOTUNING=1 (2 kernels); a `pre_hook`" in str(one.advice)
    assert str(one.advice).endswith("(1 kernel)")
    assert [(place.path, place.line) for place in one.facts.also] == [("one/second/b.py", 4), ("one/second/c.py", 4)]
    assert "`alone` again" in two.message
    assert len(scan(files, chosen, cwd=folder).findings) == 1


def test_rule_that_is_off_is_silent(folder: Path, write: Write) -> None:
    write("a.py", "triton.jit(")

    assert scan_folder(folder, ignore=("TRD900",)).findings == ()


def test_progress_counts_the_files(folder: Path, write: Write) -> None:
    for name in ("a.py", "b.py", "c.py"):
        write(name, KERNEL)
    chosen, seen = Settings(root=folder), list[int]()

    scan(list(find_files([folder], chosen, cwd=folder)), chosen, cwd=folder, on_progress=seen.append)

    assert seen == [1, 2, 3]


def test_crash_of_a_check_says_which_it_was(folder: Path, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(project: Project) -> Iterator[Finding]:
        raise ZeroDivisionError
        yield

    write("a.py", KERNEL)
    monkeypatch.setitem(all_rules(), "TRD900", Rule(code="TRD900", check=crash))

    with pytest.raises(ZeroDivisionError) as caught:
        scan_folder(folder)

    assert caught.value.__notes__ == ["TRD900 was checking a.py"]


def test_findings_depend_neither_on_the_order_of_files_nor_on_hash_seeds(folder: Path, write: Write) -> None:
    for name in ("a", "b", "x/c"):
        write(f"{name}_bad.py", "@triton.jit\ny = [")
        write(f"{name}_odd.py", "import triton  # triton-doctor: ignore[TRD900, TRD9x] # triton-doctor: skip[TRD1]")
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.py"))
    command = [sys.executable, "-m", "triton_doctor", "check", "--output-format", "github", "--exit-zero"]

    said = {
        subprocess.run(
            [*command, *order],
            cwd=folder,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed, order in (("1", names), ("2", names[::-1]), ("3", ["."]))
    }

    assert len(said) == 1
    assert said.pop().count("\n") == 12


names = st.sampled_from(["x", "kernel", "grid", "triton", "tl", "self", "n"])
leaves = st.one_of(
    names.map(ast.Name),
    st.one_of(st.integers(0), st.text(max_size=3), st.booleans(), st.none(), st.binary(max_size=2)).map(ast.Constant),
)


def larger(parts: st.SearchStrategy[ast.expr]) -> st.SearchStrategy[ast.expr]:
    some = st.lists(parts, max_size=3)
    keywords = st.lists(st.builds(ast.keyword, arg=st.none() | names, value=parts), max_size=2)
    return st.one_of(
        st.builds(ast.Call, func=parts, args=st.lists(parts | parts.map(ast.Starred), max_size=3), keywords=keywords),
        st.builds(ast.Subscript, value=parts, slice=parts | some.map(lambda found: ast.Tuple(elts=found))),
        st.builds(ast.Attribute, value=parts, attr=names),
        st.builds(ast.BinOp, left=parts, op=st.sampled_from([ast.Add(), ast.Mod(), ast.FloorDiv()]), right=parts),
        st.builds(ast.IfExp, test=parts, body=parts, orelse=parts),
        st.builds(ast.NamedExpr, target=names.map(ast.Name), value=parts),
        st.builds(ast.Lambda, args=st.just(ast.arguments([], [ast.arg("n")], None, [], [], None, [])), body=parts),
        st.builds(
            ast.Dict, keys=st.lists(parts, min_size=1, max_size=1), values=st.lists(parts, min_size=1, max_size=1)
        ),
        some.map(lambda found: ast.List(elts=found)),
    )


expressions = st.recursive(leaves, larger, max_leaves=8)


@st.composite
def statements(draw: st.DrawFn, depth: int = 2) -> ast.stmt:
    value = draw(expressions)
    name = ast.Name(draw(names))
    simple = [
        ast.Expr(value),
        ast.Assign(targets=[ast.Tuple(elts=[ast.Starred(name), ast.Name("y")])], value=value, lineno=1),
        ast.Assign(targets=[ast.Attribute(value=name, attr="shape")], value=value, lineno=1),
        ast.AugAssign(target=name, op=ast.Add(), value=value),
        ast.AnnAssign(target=name, annotation=value, value=None, simple=1),
        ast.Import([ast.alias("triton", draw(st.none() | names))]),
        ast.ImportFrom("triton.language", [ast.alias("constexpr", draw(st.none() | names))], draw(st.integers(0, 2))),
    ]
    if depth == 0:
        return draw(st.sampled_from(simple))
    body = draw(st.lists(statements(depth - 1), min_size=1, max_size=3))
    arguments = ast.arguments(
        posonlyargs=[],
        args=[ast.arg("a"), ast.arg("b", annotation=draw(expressions))],
        vararg=draw(st.none() | st.just(ast.arg("rest"))),
        kwonlyargs=[ast.arg("c")],
        kw_defaults=[draw(st.none() | expressions)],
        kwarg=None,
        defaults=[],
    )
    decorators = draw(st.lists(expressions | st.just(ast.parse("triton.jit", mode="eval").body), max_size=2))
    compound = [
        ast.FunctionDef(draw(names), arguments, [*body, ast.Return(value)], decorators, lineno=1),
        ast.ClassDef(draw(names), [], [], body, decorators),
        ast.If(value, body, body),
        ast.For(name, value, body, [], lineno=1),
        ast.With([ast.withitem(value, name)], body, lineno=1),
        ast.Try(body, [ast.ExceptHandler(value, None, body)], [], body),
    ]
    return draw(st.sampled_from(simple + compound))


MODULE = """\
import triton
import triton.language as tl

@triton.jit
def kernel(x, N: tl.constexpr):
    tl.store(x, N)

def launch(self, x, n):
    BODY
    kernel[(1,)](x, N=LAUNCHED)
"""


@pytest.mark.long
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.lists(statements(), min_size=1, max_size=4), expressions)
def test_no_valid_python_makes_it_crash(body: list[ast.stmt], launched: ast.expr) -> None:
    text = ast.unparse(ast.fix_missing_locations(ast.Module(body, [])))
    module = MODULE.replace("LAUNCHED", ast.unparse(launched)).replace("BODY", text.replace("\n", "\n    "))

    scan_text(f"{module}\n{text}\n".encode(errors="replace"))


LONG = {
    "operands": lambda n: f"n = {' + '.join(['len(r)'] * n)}",
    "methods": lambda n: "n = r" + ".view(1)" * n,
    "assignments to one name": lambda n: "; ".join(["n = len(r)", *(f"n = n + {i}" for i in range(n))]),
    "assignments to many names": lambda n: "; ".join(
        ["n0 = len(r)", *(f"n{i + 1} = n{i}" for i in range(n)), f"n = n{n}"]
    ),
    "conditions": lambda n: f"n = {' '.join(f'{i} if r == {i} else' for i in range(n))} len(r)",
    "lambdas": lambda n: "; ".join([*(f"f{i} = lambda r: f{i - 1}(r)" for i in range(n)), f"n = f{n - 1}(r)"]),
    "elif": lambda n: "if r == 0: n = 0\n" + "\n".join(f"    elif r == {i}: n = {i}" for i in range(n)),
}


@pytest.mark.parametrize("length", [80, 200, 320, 1000])
@pytest.mark.parametrize("body", LONG.values(), ids=LONG)
def test_code_without_end_does_not_make_it_crash(body: Callable[[int], str], length: int) -> None:
    source = f"""\
import triton
import triton.language as tl

@triton.jit
def kernel(o, N: tl.constexpr):
    tl.store(o, N)

def launch(o, r):
    {body(length)}
    kernel[(1,)](o, n)
"""

    assert {finding.code for finding in scan_text(source.encode()).findings} <= {"TRD900", "TRD201"}


@pytest.mark.parametrize("length", [80, 200, 320, 700, 1000])
@pytest.mark.parametrize("body", LONG.values(), ids=LONG)
def test_helper_without_end_does_not_make_it_crash(body: Callable[[int], str], length: int) -> None:
    source = f"""\
import triton
import triton.language as tl

@triton.jit
def kernel(o, N: tl.constexpr):
    tl.store(o, N)

def size(r):
    {body(length)}
    return n

def launch(o, r):
    kernel[(1,)](o, size(r))
"""

    assert {finding.code for finding in scan_text(source.encode()).findings} <= {"TRD900", "TRD201"}


def test_helper_that_is_nested_too_deeply_is_told() -> None:
    source = f"{SIZED_KERNEL}def size(r):\n    return r{'.view(1)' * 300}\n\nkernel[(1,)](size(x))\n"

    (finding,) = scan_text(source.encode()).findings

    assert (finding.code, finding.path) == ("TRD900", "text.py")
    assert "nested too deeply" in finding.message


def test_helper_elsewhere_that_does_not_parse_is_told_where(write: Write) -> None:
    write("sizes.py", "def other():\n    return 1\n\n\ndef size(r):\n    return (r.shape[0]\n")
    source = f"from sizes import size\n{SIZED_KERNEL}def launch(r):\n    kernel[(1,)](size(r))\n"
    folder = write("a.py", source).parent

    (finding,) = scan_folder(folder).findings

    assert (finding.code, finding.path, finding.span.line) == ("TRD900", "sizes.py", 6)


def test_no_file_of_the_standard_library_makes_it_crash() -> None:
    files = sorted(Path(os.__file__).parent.glob("*.py"))[:60]
    given_names = [
        SourceFile(str(path), path.name, FileKind.PYTHON, b"from triton import jit\n" + path.read_bytes())
        for path in files
    ]

    scan(given_names, Settings(root=Path()), cwd=Path())
