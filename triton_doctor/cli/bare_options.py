"""The words of a command line, before typer reads them: options of `check` with no value or several, plain values.

--changed src/            the value is left out: src/ is a path
--changed origin/main     the value is a revision, for there is no such path
--add-ignore src/         a reason is given with `=` only
--recording a.jsonl b.jsonl src/
--dry -- -m pytest tests/ what follows -- is the command that runs dry

To convert a value typer 0.29 imports pydantic, even for an option that is left out: 0.09 s of CPU, half of what a check
takes of files that did not change.
"""

from __future__ import annotations

import os
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, get_args, get_origin

from triton_doctor.cli.help import CommandHelp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

RECORDING_SUFFIX, DRY_COMMAND = ".jsonl", "triton_doctor.dry_command"


class PlainCommand(CommandHelp):
    """A command whose options and arguments are converted here where that needs no library."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Create the command with parameters that convert plain values themselves."""
        super().__init__(*args, **kwargs)
        for param in self.params:
            # Earlier typers convert without pydantic, and do not say here to what.
            annotation = getattr(getattr(param, "type_descriptor", None), "annotation", None)
            if annotation is not None and param.callback is None:
                setattr(param, "process_value", partial(convert, param, annotation, param.process_value))  # noqa: B010


class CheckCommand(PlainCommand):
    """`check`, with such options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Spell them all with their value, and keep the command that `--dry` runs in `ctx.meta`."""
        end = args.index("--") if "--" in args else len(args)
        if "--dry" in args[:end]:
            ctx.meta[DRY_COMMAND] = tuple(args[end + 1 :])
            args = args[:end]
        return super().parse_args(ctx, spell_out(args))


def spell_out(arguments: Sequence[str]) -> list[str]:
    """Give each option with an optional value an explicit one, and each recording its own `--recording`."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    spelled: list[str] = []
    of_recording = False
    pending = list(arguments[:end])
    while pending:
        word = pending.pop(0)
        if word == "--changed":
            names_one = bool(pending) and not pending[0].startswith("-") and not is_path(pending[0])
            spelled.append(f"--changed={pending.pop(0) if names_one else ''}")
        elif word == "--add-ignore":
            reason = bool(pending) and " " in pending[0] and not is_path(pending[0])
            spelled.append(f"--add-ignore={pending.pop(0) if reason else ''}")
        elif word == "--recording" and pending:
            spelled += [word, pending.pop(0)]
        elif of_recording and word.endswith(RECORDING_SUFFIX):
            spelled += ["--recording", word]
            continue
        else:
            spelled.append(word)
        of_recording = word.startswith("--recording")
    return [*spelled, *arguments[end:]]


def is_path(word: str) -> bool:
    """Return whether `word` is an existing path, or has the form of one."""
    return os.path.exists(word) or word in (".", "..", "") or word.endswith((".py", "/"))  # noqa: PTH110, too long a word


def convert(param: Any, annotation: Any, otherwise: Callable[[Any, Any], Any], context: Any, value: Any) -> Any:
    """Convert `value` of `param` to `annotation`, or call `otherwise(context, value)` if that needs the library."""
    is_multiple = param.multiple or param.nargs == -1
    if value in (None, (), []):
        return otherwise(context, value) if param.required else () if is_multiple else None
    wanted = get_args(annotation)[0] if get_origin(annotation) is list else annotation
    values = list(value) if is_multiple and isinstance(value, list | tuple) else [value]
    converted = [_word(wanted, word) for word in values]
    if None in converted or is_multiple is not (get_origin(annotation) is list):
        return otherwise(context, value)
    return converted if is_multiple else converted[0]


def _word(wanted: Any, value: Any) -> Any:
    """Convert `value` to `wanted`, which is `str` or an enumeration of words; None if that is impossible."""
    if wanted is str:
        return value if isinstance(value, str) else None
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        return next((member for member in wanted if value in (member, member.value)), None)
    return None
