"""What the documents show, at the root and in docs/, is what happens: sessions, paths, hooks."""

from __future__ import annotations

import importlib
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer
import yaml

from tests.cli.test_report_on_logs import END, VLLM
from tests.tritons import skip_without
from triton_doctor.cli import app
from triton_doctor.rulebook import page_paths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conftest import Outcome

ROOT = Path(__file__).parent.parent
SITE = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
DOCUMENTS = {
    name: (ROOT / name).read_text(encoding="utf-8")
    for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", *SITE)
}
SESSION = re.compile(r"^```\n\$ triton-doctor (?P<arguments>[^\n]+)\n(?P<printed>.*?)^```$", re.MULTILINE | re.DOTALL)
SESSIONS = {match[0]: match for text in DOCUMENTS.values() for match in SESSION.finditer(text)}.values()
TITLE = re.compile(r'title="(?P<path>[^"]+)"')
SCRIPTS = [name for name in SITE if "\n```console\n" in DOCUMENTS[name]]
PLACEHOLDER = re.compile(
    r"\b(?:OWNER|ORG|TODO|FIXME|YOUR[-_ ]?\w+)\b|<(?:your|owner|user|repo)[^>\n]*>|\byour-\w+\b|/path/to|example\.com"
)
FENCE = re.compile(r"^(?P<ticks>`{3,4})(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=ticks)$", re.MULTILINE | re.DOTALL)
# A command in a block of code, up to a comment, a pipe or the next command; and as a list of words.
VERBS = "check|explain|run|report|compare|sweep|env|cache|prewarm|rule|rules"
COMMAND = re.compile(rf"(?:^|[ (]|bin/)triton-doctor ((?:{VERBS})\b[^\n`|#;&>]*)", re.MULTILINE)
LISTED = re.compile(r"\[triton-doctor, ([^]]*)\]")
COMMAND_AND_OUTPUT = re.compile(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
OURS = re.compile(r"^```sh\n(?:(?!```)[^\n]*\n)*?triton-doctor ", re.MULTILINE)
OUR_LINE = re.compile(r"^triton-doctor ([^\n#|]*)", re.MULTILINE)
# As vLLM logs a compile.
KEY = "(key=[('*i32', 'D'), ('constexpr', 1), ('constexpr', 4)]{'debug': False})"
# The programs that the pages name. Without a GPU, and not dry, they launch nothing.
SCALE = """import os, socket, time
import torch, triton
import triton.language as tl

@triton.jit
def scale(x_ptr, n: tl.constexpr, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    tl.store(x_ptr + o, n, mask=o < n)

def run(sizes):
    for size in sizes if torch.cuda.is_available() else ():
        scale[(1,)](torch.empty(64, device="cuda"), size, BLOCK=64)
"""
PROJECT = {
    "pyproject.toml": "[project]\nname = 'ops'\n",
    "ops.py": SCALE,
    "train.py": "from ops import run\nrun([3, 5])\n",
    "serve.py": """from ops import *
server = socket.create_server(('', int(os.environ['PORT'])))
time.sleep(1)
run([3, 5])
""",
    "src/ops.py": SCALE,
    "tests/test_ops.py": "import torch\nfrom ops import run\ndef test_run(): run([3])\n",
    "conftest.py": "",
    "serve.log": f"INFO starting\n{VLLM}scale {KEY}{END}\n",
}
LOADED = re.compile(r"""<(?:script|link|img)\b[^>]*(?:src|href)="https?://[^"]*"[^>]*>""")
PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)*(?:/|\.(?:py|md|tsv|toml)))`")


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session["arguments"])
def test_session_prints_what_the_document_shows(
    doctor: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch, session: re.Match[str]
) -> None:
    monkeypatch.chdir(ROOT)

    printed = doctor(*session["arguments"].split()).out

    assert session["printed"] in printed


def test_readme_shows_a_session() -> None:
    assert SESSION.search(DOCUMENTS["README.md"])


@pytest.mark.long
@pytest.mark.parametrize("page", SCRIPTS)
def test_page_with_files_and_commands_prints_what_it_shows(page: str, tmp_path: Path) -> None:
    """Writes each file of the page, and runs each command, in their order; `...` at the end of a line is any text."""
    skip_without("torch", "triton")
    environment = os.environ | {"COLUMNS": "120"}
    for info, text in fences(page):
        if title := TITLE.search(info):
            (tmp_path / title["path"]).write_text(text, encoding="utf-8")
        for command, shown in COMMAND_AND_OUTPUT.findall(text) if info == "console" else ():
            done = subprocess.run(
                command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
            )

            printed = done.stdout + done.stderr
            assert done.returncode in (0, 1), printed
            for line in shown.splitlines():
                before, found, printed = printed.partition(line.removesuffix("..."))
                assert found, f"`{command}` did not print {line!r} after:\n{before}"


@pytest.mark.long
@pytest.mark.parametrize("page", [name for name in DOCUMENTS if OURS.search(DOCUMENTS[name]) and name in SITE])
def test_commands_of_a_page_succeed(page: str, tmp_path: Path) -> None:
    """Runs each of our commands in a block of `sh`, in their order, in a project with a program, a server and tests."""
    skip_without("torch", "triton")
    for name, text in PROJECT.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    environment = os.environ | {"TRITON_CACHE_DIR": str(tmp_path / "cache"), "PORT": port}
    setup = ["run --dry -o run.jsonl train.py", "run --dry -o runs/ train.py", "prewarm --recorded-only run.jsonl"]
    blocks = "".join(text for info, text in fences(page) if info == "sh")
    for line in [*setup, *OUR_LINE.findall(blocks)]:
        for ours, theirs in (
            ("8000", port),
            ("/opt/", f"{tmp_path}/"),
            ("/shared/", f"{tmp_path}/"),
            ("/local/triton", f"{tmp_path}/kernels"),
        ):
            line = line.replace(ours, theirs)
        command = f"triton-doctor {line}".replace("doctor run ", "doctor run --force ")
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

        assert done.returncode in (0, 1), f"{command}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr, f"{command}\n{done.stderr}"


def test_pages_of_the_site_run_commands() -> None:
    assert {"docs/start.md", *(f"docs/guides/{name}.md" for name in ("library-ci", "ranks", "server"))} <= set(SCRIPTS)


def test_site_builds_without_a_warning_or_the_network(tmp_path: Path) -> None:
    skip_without("mkdocs", "material", "mkdocstrings")
    variables = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9", "NO_MKDOCS_2_WARNING": "1"}
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path]

    done = subprocess.run(build, cwd=ROOT, env=os.environ | variables, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    pages = [path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.html")]
    assert len(pages) > len(page_paths())
    assert not [loaded for text in pages for loaded in LOADED.findall(text)]


def test_each_option_has_somebody_who_types_it(monkeypatch: pytest.MonkeyPatch) -> None:
    skip_without("mkdocs")
    monkeypatch.syspath_prepend(ROOT / "docs" / "hooks")
    rows = "\n".join(importlib.import_module("pages").command_reference()).splitlines()
    options = [row for row in rows if row.startswith("| `-") and "`-h, --help`" not in row]

    assert len(options) > 100
    assert [row for row in options if row.endswith("|  |")] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_document_leaves_nothing_to_fill_in(document: str) -> None:
    assert PLACEHOLDER.findall(DOCUMENTS[document]) == []


@pytest.mark.parametrize("document", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_paths_that_a_document_names_exist(document: str) -> None:
    named = set(PATH.findall(FENCE.sub("", DOCUMENTS[document])))

    assert named
    assert [
        path for path in sorted(named) if not any((top / path).exists() for top in (ROOT, ROOT / "triton_doctor"))
    ] == []


def test_commands_of_the_documents_are_understood() -> None:
    """By the command line itself, which runs nothing."""
    text = "".join(text for document in DOCUMENTS for _, text in fences(document))
    commands = [line.split() for line in COMMAND.findall(text)]
    commands += [line.split(", ") for line in LISTED.findall(text)]

    assert len(commands) > 40
    for words in commands:
        command = typer.main.get_command(app)
        while hasattr(command, "commands"):
            command = command.commands[words.pop(0)]
        command.make_context("triton-doctor", words)


def test_rules_that_a_document_names_exist() -> None:
    named = {code for text in DOCUMENTS.values() for code in re.findall(r"\bTRD\d{3}\b", text)}

    assert named - page_paths().keys() <= {"TRD503"}  # the rule of the example


def test_hooks_that_a_document_configures_are_offered() -> None:
    offered = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
    files = [yaml.safe_load(text) for document in DOCUMENTS for info, text in fences(document) if info == "yaml"]

    configured = {
        hook["id"] for file in files for repository in file.get("repos") or () for hook in repository["hooks"]
    }

    assert configured
    assert configured <= offered


def fences(document: str) -> Iterator[tuple[str, str]]:
    """What follows the ticks of each fence of `document`, and the text in it."""
    return split_fences(DOCUMENTS[document])


def split_fences(text: str) -> Iterator[tuple[str, str]]:
    """The same of a text; a fence within another is part of its text."""
    return ((fence["info"].strip(), fence["text"]) for fence in FENCE.finditer(text))
