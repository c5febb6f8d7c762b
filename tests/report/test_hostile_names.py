"""Names of files, kernels and parameters may hold any character: no report lets them steer a terminal or a CI job."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from triton_doctor.report import Form
from triton_doctor.report.github import escape
from triton_doctor.report.markup import escape_markdown
from triton_doctor.report.recording import RunForm
from triton_doctor.terminal import escape_line, escape_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

    Doctor = Callable[..., Outcome]
    Write = Callable[..., Path]

RECORDING = Path(__file__).parents[2] / "fixtures" / "recordings" / "ragged_mask_constexpr.jsonl"
KERNEL = (Path(__file__).parents[2] / "fixtures" / "seeds" / "ragged_attention_mask.py").read_text(encoding="utf-8")
HOSTILE = [
    pytest.param("\x1b[31mred\x1b]0;title\x07", id="escape sequences"),
    pytest.param("a\n::error::pwned", id="newline and workflow command"),
    pytest.param("::error file=x::y", id="workflow command"),
    pytest.param("a\r\n##[group]b ##vso[x]", id="old workflow commands"),
    pytest.param("a ::warning::b", id="command after a blank"),
    pytest.param("\x9b31m\x7f\x00"[:2] + "c1", id="C1"),
    pytest.param("\u202egnp.exe\u2028x\u200b", id="turned around"),
    pytest.param("<script>alert(1)<!-- [x](http:y) `<b>` | * `` <i> ", id="markup"),
    pytest.param(os.fsdecode(b"\xff\xfe"), id="no UTF-8"),
]
STEERING = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\ud800-\udfff]")
COMMAND = re.compile(r"^\s*::|##\[|##vso\[", re.MULTILINE)


def require_harmless(text: str) -> None:
    assert not STEERING.search(text)
    assert not COMMAND.search(text)


@pytest.mark.parametrize("name", HOSTILE)
def test_escaped_text_is_one_printable_line(name: str) -> None:
    assert escape_text(name).isprintable()
    require_harmless(escape_line(name))
    assert escape_text("plain `name`, é") == "plain `name`, é"


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("form", [*Form])
@pytest.mark.parametrize("color", ["NO_COLOR", "FORCE_COLOR"])
def test_check_escapes_names_of_files(
    doctor: Doctor, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, form: Form, color: str
) -> None:
    monkeypatch.setenv(color, "1")
    shown = name.replace("/", "_").replace("\0", "_")
    (folder / f"{shown}.py").write_text(KERNEL, encoding="utf-8")

    outcome = doctor("check", ".", "--output-format", form)

    assert (outcome.status, outcome.err) == (1, "")
    if form in (Form.JSON, Form.SARIF):
        assert json.loads(outcome.out)
        assert "\x1b" not in outcome.out
    elif form is Form.GITHUB:
        assert all(
            re.match(r"::(error|warning|notice) file=[^:,]*,line=\d+", line) for line in outcome.out.splitlines()
        )
        assert not STEERING.search(outcome.out)
    else:
        require_harmless(re.sub(r"\x1b\[[\d;]*m", "", outcome.out))
        assert color == "FORCE_COLOR" or "\x1b" not in outcome.out


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("form", [*RunForm])
def test_report_escapes_names_of_kernels_paths_and_values(
    doctor: Doctor, write: Write, name: str, form: RunForm
) -> None:
    spelled = json.dumps(name)[1:-1]
    text = RECORDING.read_text(encoding="utf-8")
    for word in ("constexpr_mask", "max_kv_len_per_req", "tests/runtime/programs/ragged_mask.py", "ragged_mask"):
        text = text.replace(word, spelled + word)
    write("run.jsonl", text)

    outcome = doctor("report", "run.jsonl", "--output-format", form)

    assert (outcome.status, outcome.err) == (0, "")
    assert "constexpr_mask" in outcome.out
    if form is RunForm.JSON:
        assert json.loads(outcome.out)
        assert "\x1b" not in outcome.out
    else:
        require_harmless(outcome.out)
    if form is RunForm.MARKDOWN:
        prose = re.sub(r"`[^`\n]*`", "", outcome.out.replace("\\`", ""))
        assert not re.search(r"<\w|(?<!\\)\[", prose)


@pytest.mark.parametrize("name", HOSTILE)
def test_messages_escape_names(doctor: Doctor, name: str) -> None:
    outcome = doctor("check", name.replace("\0", "_"))

    assert outcome.status == 2
    require_harmless(outcome.err)
    assert len(outcome.err.splitlines()) == 2


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("form", ["text", "markdown"])
def test_env_escapes_values(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch, name: str, form: str, tmp_path: Path
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / name.replace("\0", "_")))
    monkeypatch.setenv("TRITON_DUMP_DIR", name.replace("\0", "_"))

    outcome = doctor("env", "--output-format", form)

    assert "TRITON_DUMP_DIR" in outcome.out
    require_harmless(outcome.out)


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("verb", ["list", "show"])
def test_cache_escapes_names_of_kernels(doctor: Doctor, write: Write, name: str, verb: str) -> None:
    kernel = name.replace("/", "_").replace("\0", "_")
    metadata = json.dumps(
        {"name": kernel, "target": {"backend": "cuda", "arch": 90, "warp_size": 32}, "hash": "a" * 64}
    )
    entry = f"cache/{'A' * 52}"
    write(f"{entry}/{kernel}.json", metadata)
    write(f"{entry}/__grp__{kernel}.json", json.dumps({"child_paths": {f"{kernel}.json": f"{entry}/{kernel}.json"}}))

    outcome = doctor("cache", verb, *([kernel] if verb == "show" else []), "--cache-dir", "cache")

    assert "variant" in outcome.out + outcome.err
    require_harmless(outcome.out + outcome.err)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("`k` of <stdin>", "`k` of &lt;stdin>", id="HTML"),
        pytest.param("`a<b>`", "`a<b>`", id="in code"),
        pytest.param("`a`<b>`", "`a`&lt;b>\\`", id="a name with a backtick"),
        pytest.param("``<b>`", "\\x60\\x60&lt;b>\\`".replace("\\x60", "\\\\x60"), id="a run of backticks"),
        pytest.param("[x](y) *z*", "\\[x](y) \\*z\\*", id="link"),
        pytest.param("\\`<b>`", "\\\\`<b>`", id="backslash before code"),
    ],
)
def test_markdown_shows_text_as_it_is(text: str, expected: str) -> None:
    assert escape_markdown(text) == expected


def test_github_commands_keep_newlines_of_messages() -> None:
    assert escape("50%\nmore\x1b") == "50%25%0Amore\\x1b"
