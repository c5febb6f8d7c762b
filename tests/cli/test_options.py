"""What the options of the command are called, with any release of typer that may be installed."""

from __future__ import annotations

from typing import get_type_hints

import typer

from triton_doctor.cli import app


def test_option_whose_metavar_is_its_own_name_is_named_outright() -> None:
    # Typer 0.27 calls it `--TARGET` otherwise.
    checked = 0
    for command in app.registered_commands + [
        one for group in app.registered_groups for one in group.typer_instance.registered_commands
    ]:
        for name, hint in get_type_hints(command.callback, include_extras=True).items():
            for option in getattr(hint, "__metadata__", ()):
                if isinstance(option, typer.models.OptionInfo) and option.metavar == name.upper():
                    names = (option.default, *option.param_decls)  # in `Annotated` the first of them is the default
                    assert f"--{name.replace('_', '-')}" in names, f"{command.callback} {name}"
                    checked += 1
    assert checked == 3  # run, sweep and prewarm
