"""What a verb says beside its report: on stderr, a line at a time."""

from __future__ import annotations

import typer


def say(text: str) -> None:
    """One line on stderr."""
    typer.echo(f"triton-doctor: {text}", err=True)


def say_hint(hint: str | None) -> None:
    """What to do about the line before; nothing for None."""
    if hint:
        typer.echo(f"hint: {hint}", err=True)


def say_more(text: str) -> None:
    """A line below it."""
    typer.echo(f"  {text}", err=True)
