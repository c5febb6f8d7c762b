"""What decides a kernel's variants, for a terminal or for a program."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from triton_doctor.static.flow.kinds import Kind
from triton_doctor.terminal import escape_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from triton_doctor.static.variants import Explained, ExplainedKernel

SCHEMA = 1
LAUNCHES_SHOWN = 8
WIDEST_GIVEN = 48
STYLES = {Kind.PER_CALL: "bold red", Kind.LOGARITHMIC: "yellow", Kind.UNKNOWN: "dim"}


def draw_kernels(kernels: Sequence[ExplainedKernel]) -> Iterator[RenderableType]:
    """Each kernel as a heading, a table of its parameters, the paths of those that change, and the sum."""
    for kernel in kernels:
        yield f"[bold]{kernel.name}[/], {shown(kernel.place.path)}:{kernel.place.line}"
        yield _launches(kernel)
        if kernel.autotune_key:
            configs = f", {kernel.configs} configs" if kernel.configs else ""
            yield f"autotuned for each value of {', '.join(kernel.autotune_key)}{configs}"
        yield _table(kernel)
        for one in kernel.parameters:
            if one.kind in (Kind.PER_CALL, Kind.LOGARITHMIC):
                yield f"[bold]{one.name}[/]"
                yield from (shown(f"  {step.path}:{step.line}: {step.text}") for step in one.trail)
        yield _sum(kernel)
        yield ""


def shown(text: str) -> str:
    """`text` as markup of rich's that shows it."""
    return escape(escape_text(text))


def render_kernels_json(kernels: Sequence[ExplainedKernel]) -> str:
    """The same as JSON, schema 1."""
    return json.dumps({"schema": SCHEMA, "kernels": [_json(kernel) for kernel in kernels]}, indent=2) + "\n"


def _launches(kernel: ExplainedKernel) -> str:
    places = [f"{place.path}:{place.line}" for place in kernel.launches]
    more = f" and {len(places) - LAUNCHES_SHOWN} more" if len(places) > LAUNCHES_SHOWN else ""
    return shown(f"launched at {', '.join(places[:LAUNCHES_SHOWN])}{more}") if places else "no launch of it was found"


def _table(kernel: ExplainedKernel) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("parameter", "role", "changes", "at the most", "use"):
        table.add_column(heading, no_wrap=True)
    table.add_column("given", no_wrap=True, overflow="ellipsis", max_width=WIDEST_GIVEN)
    for one in kernel.parameters:
        changes = one.kind.label.replace("_", " ")
        table.add_row(
            one.name,
            one.role + (", in the key" if one.in_autotune_key else ""),
            f"[{STYLES[one.kind]}]{changes}[/]" if one.kind in STYLES else changes,
            str(one.bound) if one.bound is not None else "",
            one.use.replace("_", " ") if one.role == "constexpr" else "",
            shown(one.given or ""),
        )
    return table


def _sum(kernel: ExplainedKernel) -> str:
    if kernel.unbounded:
        return f"variants: one for each value of {', '.join(kernel.unbounded)}, times what the others make"
    unknown = [one.name for one in kernel.parameters if one.role == "constexpr" and one.variants is None]
    if kernel.variants is not None:
        return f"variants: {kernel.variants:,} at the most by its constexprs, for each class of its other arguments"
    return f"variants: no bound is known for {', '.join(unknown)}"


def _json(kernel: ExplainedKernel) -> dict[str, Any]:
    return {
        "kernel": kernel.name,
        "path": kernel.place.path,
        "line": kernel.place.line,
        "launches": [{"path": place.path, "line": place.line} for place in kernel.launches],
        "autotune_key": list(kernel.autotune_key),
        "configs": kernel.configs,
        "variants": kernel.variants,
        "unbounded": list(kernel.unbounded),
        "parameters": [_parameter_json(one) for one in kernel.parameters],
    }


def _parameter_json(one: Explained) -> dict[str, Any]:
    return {
        "parameter": one.name,
        "role": one.role,
        "variability": one.kind.label,
        "bound": one.bound,
        "use": one.use,
        "in_autotune_key": one.in_autotune_key,
        "given": one.given,
        "variants": one.variants,
        "trail": [{"path": step.path, "line": step.line, "text": step.text} for step in one.trail],
    }
