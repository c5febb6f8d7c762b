"""Options of `check` whose value may be left out, or may be several words: before the library sees the line.

--changed src/            the value is left out: src/ is a path
--changed origin/main     the value is a revision, for there is no such path
--add-ignore src/         a reason is given with `=` only
--recording a.jsonl b.jsonl src/
--dry -- -m pytest tests/ what follows -- is the command that runs dry
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from triton_doctor.cli.plain_values import PlainCommand

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

RECORDING_SUFFIX, DRY_COMMAND = ".jsonl", "triton_doctor.dry_command"


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
