"""What a verb says beside its report: on stderr, a line at a time."""

from __future__ import annotations

import typer

from triton_doctor.terminal import escape_line, escape_text


def print_message(text: str) -> None:
    """Print one line to stderr that begins with the name of the tool."""
    print_line(f"triton-doctor: {text}")


def print_line(text: str) -> None:
    """Print one line to stderr."""
    typer.echo(escape_line(text), err=True)


def print_hint(hint: str | None) -> None:
    """Print what to do about the message before; nothing for None."""
    if hint:
        print_line(f"hint: {hint}")


def print_detail(text: str) -> None:
    """Print an indented line to stderr."""
    typer.echo(f"  {escape_text(text)}", err=True)
