"""What torch.compile did, in one screen: kernels by template, graphs with the guards that failed, benchmarks."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from triton_doctor.phrases import plural
from triton_doctor.report.recording.wording import place, seconds
from triton_doctor.runtime.account import is_choice
from triton_doctor.runtime.kernel_account import INDUCTOR

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from triton_doctor.runtime.account import Account, GraphAccount
    from triton_doctor.runtime.kernel_account import KernelAccount
    from triton_doctor.runtime.program_event import GraphEvent

TEMPLATES_SHOWN, GRAPHS_SHOWN = 8, 12
# The kinds of kernels that Inductor generates, by what follows `triton_` (torch 2.13 codegen/triton.py).
KINDS = {
    "poi": "pointwise",
    "red": "reduction",
    "per": "persistent reduction",
    "tem": "template",
    "for": "foreach",
    "spl": "split scan",
}


def of_inductor(account: Account) -> list[KernelAccount]:
    """Return the kernels that Inductor compiled."""
    return [kernel for kernel in account.kernels if kernel.direct and kernel.maker == INDUCTOR]


def describe_torch_compile(account: Account, cwd: Path) -> Iterator[str]:
    """Yield the lines of the section; none if torch.compile was not used."""
    kernels = of_inductor(account)
    if kernels:
        compiled = sum(kernel.compiled for kernel in kernels)
        loaded = sum(kernel.from_disk for kernel in kernels)
        tiers = [f"{count:,} {what}" for count, what in ((compiled, "compiled"), (loaded, "from disk")) if count]
        took = seconds(sum(kernel.waited_us for kernel in kernels))
        yield f"{plural(len(kernels), 'kernel')} of Inductor: {', '.join(tiers)}, {took}; launches not counted"
        yield from _describe_templates(kernels)
    for name, (count, precompile_us, benchmark_us) in sorted(_sum_choices(account).items()):
        yield (
            f"benchmarked {name} {'once' if count == 1 else f'{count:,} times'}: {seconds(benchmark_us)}, "
            f"after {seconds(precompile_us)} of compiling the choices"
        )
    graphs = account.graphs
    shown = graphs if len(graphs) <= GRAPHS_SHOWN else graphs[:GRAPHS_SHOWN]
    for graph in shown:
        yield from _describe_graph(graph, cwd)
    if len(graphs) > len(shown):
        rest = sum(graph.event.duration_us for graph in graphs[len(shown) :])
        yield f"and {plural(len(graphs) - len(shown), 'graph')} more, {seconds(rest)}"


def _describe_templates(kernels: list[KernelAccount]) -> Iterator[str]:
    groups: defaultdict[str, list[KernelAccount]] = defaultdict(list)
    for kernel in kernels:
        groups[name_template(kernel)].append(kernel)
    ordered = sorted(groups.items(), key=lambda group: (-sum(kernel.waited_us for kernel in group[1]), group[0]))
    for template, group in ordered[:TEMPLATES_SHOWN]:
        took = seconds(sum(kernel.waited_us for kernel in group))
        yield f"  {template}: {plural(len(group), 'kernel')}, {took}"
    if len(ordered) > TEMPLATES_SHOWN:
        yield f"  and {plural(len(ordered) - TEMPLATES_SHOWN, 'template')} more"


def name_template(kernel: KernelAccount) -> str:
    """Name the kind of an Inductor kernel, such as `pointwise` or `choices for mm`."""
    head, _, rest = kernel.kernel.name.removeprefix("triton_").partition("_")
    if kernel.kernel.name.startswith("triton_") and is_choice(kernel.kernel):
        return f"choices for {head}"
    return KINDS.get(head, "your kernels" if not kernel.kernel.name.startswith("triton_") else f"{head} {rest}".strip())


def _describe_graph(graph: GraphAccount, cwd: Path) -> Iterator[str]:
    event = graph.event
    made = [plural(graph.kernels, "kernel")] if graph.kernels else []
    made += [plural(graph.choices, "choice")] if graph.choices else []
    head = (
        f"[{event.compile_id}] {event.function} at {place(event.path, event.line, cwd)}: {seconds(event.duration_us)}"
    )
    yield ", ".join([head, *made, *_describe_cached(event)])
    if event.reason:
        yield f"  again, since {event.reason}"
    if event.failure:
        yield f"  failed: {event.failure}"


def _describe_cached(event: GraphEvent) -> Iterator[str]:
    if event.cached:
        found = "found" if not event.uncached else f"{event.cached:,} of {event.cached + event.uncached:,} graphs found"
        yield f"{found} in Inductor's cache"


def _sum_choices(account: Account) -> dict[str, tuple[int, int, int]]:
    """Return for each operation how often it was benchmarked, and the microseconds of compiling and benchmarking."""
    sums: dict[str, tuple[int, int, int]] = {}
    for event in account.choices:
        count, precompile_us, benchmark_us = sums.get(event.name, (0, 0, 0))
        precompile_us, benchmark_us = precompile_us + event.precompile_us, benchmark_us + event.benchmark_us
        sums[event.name] = count + event.count, precompile_us, benchmark_us
    return sums
