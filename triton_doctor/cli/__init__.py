"""The command line: the verbs, and the one place where what the user can put right is caught."""

import os
import re
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from triton_doctor.cli.bare_options import CheckCommand, PlainCommand
from triton_doctor.cli.cache import cache
from triton_doctor.cli.check import check
from triton_doctor.cli.compare import compare
from triton_doctor.cli.env import env
from triton_doctor.cli.explain import explain
from triton_doctor.cli.help import CommandHelp, TaskHelp
from triton_doctor.cli.messages import print_hint, print_message
from triton_doctor.cli.packs import pack, unpack, why
from triton_doctor.cli.prewarm import prewarm
from triton_doctor.cli.report import report
from triton_doctor.cli.rule import CONTEXT, USAGE, rule
from triton_doctor.cli.run import RUN_CONTEXT, RUN_USAGE, run
from triton_doctor.cli.server import server
from triton_doctor.cli.sweep import sweep
from triton_doctor.cli.top import top
from triton_doctor.errors import DoctorError
from triton_doctor.version import __version__

STOPPED = 2
INTERRUPTED = 130
# typer 0.29 brings its own click, earlier ones import it: the error that both raise for a wrong option, by its child.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]

# To convert a value typer 0.29 imports pydantic, even for a `--help` that is not there; what is False is not converted.
NO_HELP = {"help": False}
# What a shell sets that asks for completions (typer, completion.py). To offer them costs each start 0.07 s of CPU.
COMPLETES = "_TRITON_DOCTOR_COMPLETE"
NO_COMMAND = re.compile(r"No such command '(?P<word>.*?)'")

app = typer.Typer(
    name="triton-doctor",
    cls=TaskHelp,
    help="Finds what makes Triton GPU kernels recompile, or run in the wrong mode.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "default_map": {**NO_HELP, **dict.fromkeys(("rule", "check", "explain"), NO_HELP)},
    },
)
app.command(cls=CheckCommand)(check)
app.command(cls=PlainCommand)(explain)
app.command(cls=CommandHelp)(sweep)
app.command(cls=CommandHelp, options_metavar=RUN_USAGE, context_settings=RUN_CONTEXT)(run)
app.command(cls=CommandHelp)(top)
app.command(cls=CommandHelp)(report)
app.command(cls=CommandHelp)(compare)
app.command(cls=CommandHelp)(prewarm)
cache.command()(pack)
cache.command()(unpack)
cache.command()(why)
app.add_typer(cache, name="cache")
app.command(cls=CommandHelp)(env)
app.command(cls=CommandHelp, options_metavar=USAGE, context_settings=CONTEXT)(rule)
app.command(cls=CommandHelp)(server)


@app.command("help", context_settings=CONTEXT, add_help_option=False)
def show_help(context: typer.Context) -> None:
    """Show the help of a command."""
    raise typer.Exit(main([*context.args, "--help"]))


def show_version(wanted: bool) -> None:
    """Print the version and stop, where it is `wanted`."""
    if wanted:
        typer.echo(f"triton-doctor {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Find what makes Triton GPU kernels recompile, or run in the wrong mode."""
    if context.invoked_subcommand is None:
        from triton_doctor.cli.overview import show_overview

        show_overview()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `arguments`, those of the process for None, and give its exit status: 0 clean, 1 found, 2 stopped."""
    app._add_completion = wants_completion(sys.argv[1:] if arguments is None else arguments)
    command = typer.main.get_command(app)
    try:
        status = command.main(arguments, prog_name="triton-doctor", standalone_mode=False)
        sys.stdout.flush()
    except DoctorError as error:
        return complain(error.message, error.hint)
    except UsageError as error:
        return complain(*explain_usage(error))
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else 0  # how the completion of a shell ends
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    return status if isinstance(status, int) else 0


def wants_completion(arguments: Sequence[str]) -> bool:
    """Return whether shell completion is needed: installed, shown in help, or requested by a completing shell."""
    words = ("--help", "-h", "--install-completion", "--show-completion")
    return not arguments or COMPLETES in os.environ or any(argument.startswith(words) for argument in arguments[:1])


def complain(message: str, hint: str | None) -> int:
    """Print an error and a hint to stderr; return the exit status."""
    print_message(message)
    print_hint(hint)
    return STOPPED


def explain_usage(error: Exception) -> tuple[str, str]:
    """Return the message and the hint for a wrong option or argument."""
    text = str(getattr(error, "format_message", error.__str__)()).strip().rstrip(".").replace("Value error, ", "")
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "triton-doctor"
    stray = NO_COMMAND.match(text)
    if stray and os.path.exists(stray["word"]):  # noqa: PTH110, Path raises for a word that is too long
        hint = f"`triton-doctor check {stray['word']}`"
    else:
        hint = f"`{command} --help` lists what it takes"
    return text[:1].lower() + text[1:], hint
