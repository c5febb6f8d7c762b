"""Commands that convert the words of their line themselves, where a word or one of an enumeration is all they want.

To convert a value typer 0.29 imports pydantic, even for an option that is left out: 0.09 s of CPU, half of what a check
takes of files that did not change.
"""

from __future__ import annotations

from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, get_args, get_origin

from triton_doctor.cli.help import CommandHelp

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


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
