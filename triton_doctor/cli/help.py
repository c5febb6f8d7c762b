"""What `--help` prints: commands by task, options by panel, each line whole at 80 columns."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from typing import Any

# The commands by what a reader wants to do, each with a line of at most 66 letters.
TASKS = {
    "Before it runs": {
        "check": "Find what will recompile, by reading Python and settings files",
        "explain": "Show how often each parameter of a kernel changes, and why",
        "sweep": "Call functions dry at many sizes: which size moves which key",
    },
    "While it runs": {
        "run": "Run a program and report its compiles; --dry needs no GPU",
        "top": "Show what running processes compile now, or look into one",
        "report": "Report where the time of recorded runs went, with advice",
        "compare": "Compare two runs: variants that are new, gone or changed",
    },
    "So that it does not compile": {
        "prewarm": "Compile what recordings name, before a program needs it",
        "cache": "Show, prune, pack and move what Triton keeps on disk",
    },
    "This machine and the rules": {
        "env": "Show what is wrong with this machine, and how to mend it",
        "rule": "Explain a rule, or list all: TRD201, TRD3, name",
        "server": "Serve an editor (Language Server Protocol)",
        "help": "Show the help of a command",
    },
}
EXAMPLE = """Start with:
  triton-doctor check src/            what will recompile, and how to mend it
  triton-doctor run --dry script.py   what would compile, without a GPU

Documentation: {documentation} and `triton-doctor rule CODE`"""
# What typer adds to the name of an argument says nothing to who types it.
PYTHON_TYPE = re.compile(r" <[^>]*>$")


class CommandHelp(TyperCommand):
    """A command whose options are listed by panel, those without one first."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write a section for the arguments, and one for each panel."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None:
                continue
            is_argument = param.param_type_name == "argument"
            if is_argument:
                record = (PYTHON_TYPE.sub("", record[0]), record[1])
            panel = "Arguments" if is_argument else getattr(param, "rich_help_panel", None) or "Options"
            panels.setdefault(panel, []).append(record)
        general = panels.pop("Options", [])
        for title, records in (*panels.items(), ("Options", general)):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class TaskHelp(TyperGroup):
    """The commands of triton-doctor, by task."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands by task, then the options."""
        for title, commands in TASKS.items():
            with formatter.section(title):
                formatter.write_dl(list(commands.items()))
        with formatter.section("Options"):
            formatter.write_dl([record for param in self.get_params(ctx) if (record := param.get_help_record(ctx))])

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write an example, and where the documentation is."""
        from triton_doctor.rulebook import installed_home  # which imports tomllib

        del ctx
        formatter.write(f"\n{EXAMPLE.format(documentation=installed_home().site or 'README.md, docs/')}\n")
