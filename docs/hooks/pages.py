"""The generated pages of the site: rules from rules/; commands, settings, the Python API and JSON from the code."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from mkdocs.structure.files import File
from typer.testing import CliRunner

import triton_doctor
from triton_doctor.cli import app
from triton_doctor.cli.help import TASKS
from triton_doctor.rulebook import installed_home, page_paths, read_page, rule_name
from triton_doctor.settings import READERS, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).parents[2]
FAMILIES = {
    "TRD1": "Interpreter mode and variables in files",
    "TRD2": "Recompiles",
    "TRD3": "Autotuning",
    "TRD4": "Measuring",
    "TRD5": "Sizes",
    "TRD6": "The machine",
    "TRD7": "Causes that a run shows",
    "TRD9": "Reading files",
}
# The JSON of a command, by one that needs neither a GPU nor torch.
RUN = "fixtures/runs/seed_ragged_attention_mask.jsonl"
DOCUMENTS = {
    "check": ["check", "--no-cache", "--output-format", "json", "--recording", RUN, "fixtures/seeds"],
    "report": ["report", "--output-format", "json", RUN],
    "compare": ["compare", "--output-format", "json", RUN, RUN.replace(".jsonl", "_fixed.jsonl")],
    "env": ["env", "--output-format", "json"],
    "rule": ["rule", "TRD201", "--output-format", "json"],
}
LONGEST_DEFAULT = 80
# Who types an option is who reads the page that shows it.
READERS_OF = {
    "start.md": "newcomer",
    "guides/kernel-author.md": "kernel author",
    "guides/library-ci.md": "CI of a library",
    "guides/server.md": "server",
    "guides/ranks.md": "many ranks",
    "guides/editor.md": "editor",
    "reference/dry-runs.md": "without a GPU",
    "reference/reports.md": "reader of runs",
    "how-it-decides.md": "judge of findings",
}
# Options of several commands that a page shows with another one; and those that a person types once, by the help.
TYPED = {
    "--output-format": "CI, scripts",
    "--output": "CI, scripts",
    "--cache-dir": "server",
    "--cluster": "CI, scripts",
    "--select": "kernel author",
    "--ignore": "kernel author",
    "--triton-version": "kernel author",
    "--kernel": "reader of runs",
    "--since": "server",
    "--target": "without a GPU",
    "--dry-unknown": "without a GPU",
    "--jobs": "CI, scripts",
    "--force": "CI, scripts",
    "--src": "server",
    "--no-cache": "kernel author",
    "--max-compiles": "CI of a library",
    "--fail-on": "CI of a library",
    "--all": "server",
    "--check": "server",
    "--dry-run": "server",
    "--yes": "CI, scripts",
    "--variables": "server",
}
NAMES = "[names](../how-it-decides.md#tests-and-demonstrations) of benchmarks, tutorials and the like"
TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Set the address of the site, and list the rules by family."""
    config.site_url = installed_home().site or config.site_url
    families = [
        {title: [{f"{code} {rule_name(code)}": rule_uri(code)} for code in page_paths() if code.startswith(family)]}
        for family, title in FAMILIES.items()
    ]
    assert config.nav is not None
    config.nav[-1]["Rules"] = ["rules/index.md", *families]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made."""
    pages = {rule_uri(code): rule_page(code) for code in page_paths()}
    pages["rules/index.md"] = "\n".join(rule_index())
    pages["reference/commands.md"] = "\n".join(command_reference())
    pages["reference/settings.md"] = "\n".join(setting_reference())
    pages["reference/api.md"] = "\n".join(api_reference())
    pages["reference/json.md"] = "\n".join(json_reference())
    for uri, text in pages.items():
        files.append(File.generated(config, uri, content=text))
    return files


def rule_uri(code: str) -> str:
    """Return where the page of `code` is among the sources of the site."""
    return f"rules/{page_paths()[code].name}"


def rule_page(code: str) -> str:
    """Return the page of `code`, with its facts in a line."""
    page = read_page(code)
    facts = f"**{page.severity.label}** · found by {page.evidence} evidence · since {page.since}"
    return f"# {code} {page.name}\n\n{facts}\n\n{page.summary[0].upper()}{page.summary[1:]}.\n\n{page.markdown}"


def rule_index() -> Iterator[str]:
    """Yield a table of rules for each family."""
    yield "# Rules\n\n`triton-doctor rule TRD201` prints a page. Options and comments take its name as well.\n"
    for family, title in FAMILIES.items():
        yield f"## {title}\n\n| code | name | severity | |\n|---|---|---|---|"
        for page in (read_page(code) for code in page_paths() if code.startswith(family)):
            link = f"[{page.code}]({page_paths()[page.code].name})"
            yield f"| {link} | {page.name} | {page.severity.label} | {page.summary} |"
        yield ""


def command_reference() -> Iterator[str]:
    """Yield a section for each task, and one for each of its commands, from the command line itself."""
    yield "# Commands\n"
    yield "Who types an option is the reader of the guide that shows it with its command.\n"
    commands = typer.main.get_command(app).commands
    for task, names in TASKS.items():
        yield f"## {task}\n"
        for name, command in (found for top in names for found in walk(commands[top], [top])):
            context = command.make_context(name, [], resilient_parsing=True)
            usage = " ".join(command.collect_usage_pieces(context))
            yield f"### {name}\n\n{command.help}\n\n```text\ntriton-doctor {name} {usage}\n```\n"
            panels: dict[str, list[str]] = {}
            for param in command.params:
                if record := param.get_help_record(context):
                    of_options = getattr(param, "rich_help_panel", None) or "Options"
                    panel = "Arguments" if param.param_type_name == "argument" else of_options
                    typist = (
                        "" if panel == "Arguments" or "--help" in param.opts else ", ".join(typists(name, param.opts))
                    )
                    panels.setdefault(panel, []).append(f"| `{record[0]}` | {cell(record[1])} | {typist} |")
            for panel, rows in sorted(panels.items()):
                yield "\n".join([f"| {panel} | | typed by |\n|---|---|---|", *rows, ""])


def typists(command: str, names: list[str]) -> list[str]:
    """Return who types an option of `command`: who reads of it with that command, or anywhere if no other has it."""
    commands = typer.main.get_command(app).commands
    namesakes = sum(
        names[-1] in param.opts for top in commands for _, below in walk(commands[top], [top]) for param in below.params
    )
    word = rf"(?:{'|'.join(map(re.escape, names))})(?![\w-])"
    beside = re.compile(rf"\b{re.escape(command)}\b[^\n]*?[\s`]{word}" if namesakes > 1 else rf"[\s`(]{word}")
    docs = ROOT / "docs"
    found = [reader for page, reader in READERS_OF.items() if beside.search((docs / page).read_text(encoding="utf-8"))]
    return found or [TYPED[name] for name in names if name in TYPED]


def walk(command: Any, path: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield `command`, or each below it where it only groups others, with its words."""
    if not hasattr(command, "commands"):
        yield " ".join(path), command
    for name, below in sorted(getattr(command, "commands", {}).items()):
        yield from walk(below, [*path, name])


def cell(text: str) -> str:
    """Return `text` as a cell of a table takes it."""
    return text.replace("|", "\\|").replace("\n", " ")


def setting_reference() -> Iterator[str]:
    """Yield the settings with what they take."""
    yield "# Settings\n\nIn `[tool.triton-doctor]` of the nearest `pyproject.toml`; options win over them.\n"
    yield "| setting | takes | default |\n|---|---|---|"
    defaults = Settings(root=ROOT)
    for name, (_, takes) in READERS.items():
        default = getattr(defaults, name.replace("-", "_"))
        shown = getattr(default, "label", None)
        if shown is None:
            shown = str(default).lower() if isinstance(default, bool) else ", ".join(map(str, default or ()))
        kind, _, example = takes.partition(": ")
        described = f"{kind}: `{example}`" if example else kind
        shown = f"`{shown}`" if 0 < len(shown) <= LONGEST_DEFAULT else NAMES if shown else ""
        yield f"| `{name}` | {described} | {shown} |"
    yield f"\n{(Settings.__doc__ or '').partition('`pinned_triton`')[0]}"


def api_reference() -> Iterator[str]:
    """Yield the public names, which mkdocstrings describes."""
    yield "# Python\n\n`import triton_doctor` loads neither torch nor triton; each name loads when it is first used.\n"
    for name in sorted(triton_doctor.__all__, key=lambda name: (name[0].isupper(), name)):
        if name != "__version__":
            yield f"::: {getattr(triton_doctor, name).__module__}.{name}\n"


def json_reference() -> Iterator[str]:
    """Yield the JSON Schema of what each command printed for a fixture."""
    yield "# JSON\n\nEvery key is always there, and null where it does not apply. `schema` is the version of the form."
    yield "The schemas here are of one document of each command, as it printed it.\n"
    for name, words in DOCUMENTS.items():
        printed = CliRunner().invoke(app, words).stdout
        schema = json.dumps(schema_of(json.loads(printed)), indent=1)
        yield f"## {name} --output-format json\n\n```json\n{schema}\n```\n"


def schema_of(*values: object) -> dict[str, Any]:
    """Return a JSON Schema that all of `values` meet."""
    schema: dict[str, Any] = {"type": sorted({TYPES.get(type(value)) or kind_of(value) for value in values})}
    if len(schema["type"]) == 1:
        schema["type"] = schema["type"][0]
    if objects := [value for value in values if isinstance(value, dict)]:
        keys = dict.fromkeys(key for value in objects for key in value)
        schema["properties"] = {key: schema_of(*(value[key] for value in objects if key in value)) for key in keys}
    if items := [item for value in values if isinstance(value, list) for item in value]:
        schema["items"] = schema_of(*items)
    return schema


def kind_of(value: object) -> str:
    """Return the JSON type of a container."""
    return "object" if isinstance(value, dict) else "array"
