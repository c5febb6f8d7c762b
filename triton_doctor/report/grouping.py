"""Findings to blocks for a reader: one cause in many kernels is one block, and the blocks of a kernel stay together.

A cause is a rule, a severity, a parameter, what is said of it and a remedy: a maintainer who knows what to do about
`n_rows` of one kernel knows it for the thirty others, and the message above a list is true of all in it. The worst
kernel comes first: the most severe, then the one whose cause has most places.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from triton_doctor.finding import Finding, Location, Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """`finding`, and the `others` of the same cause, in the order of places.

    `followers` are of parameters that are computed from the one of `finding`: they add no variant of their own.
    """

    finding: Finding
    others: tuple[Finding, ...] = ()
    followers: tuple[Finding, ...] = ()

    @property
    def kernel(self) -> tuple[object, ...] | None:
        """Return what identifies the kernel of the first finding; None if it is about no kernel."""
        return kernel_of(self.finding)

    @property
    def size(self) -> int:
        """Return the number of findings that the block represents."""
        return 1 + len(self.others) + len(self.followers)


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelBlocks:
    """The blocks that begin at one kernel, the most severe first; of no kernel, one block alone."""

    kernel: str | None
    place: Location | None
    blocks: tuple[Block, ...]

    @property
    def rank(self) -> tuple[Severity, int]:
        """Return the sort key: severity first, then the number of findings of the largest block."""
        return max((block.finding.severity, block.size) for block in self.blocks)


def kernel_of(finding: Finding) -> tuple[object, ...] | None:
    """Return what identifies the kernel of `finding`; None if it is about no kernel."""
    facts = finding.facts
    return None if facts.kernel is None else (facts.kernel_location, facts.kernel)


def group_findings(findings: Iterable[Finding]) -> tuple[KernelBlocks, ...]:
    """Group `findings` into blocks of one cause, and those by kernel; the worst kernel first."""
    by_cause: defaultdict[object, list[Finding]] = defaultdict(list)
    followers: defaultdict[object, list[Finding]] = defaultdict(list)
    in_order = sorted(findings, key=lambda finding: finding.order)
    leading = {
        (kernel_of(finding), finding.facts.parameter): finding for finding in in_order if not finding.facts.follows
    }
    for finding in in_order:
        followed = (leading.get((kernel_of(finding), name)) for name in finding.facts.follows)
        lead = next((leader for leader in followed if leader is not None and leader.severity >= finding.severity), None)
        if lead is None or finding.evidence is not None:
            by_cause[cause(finding)].append(finding)
        else:
            followers[cause(lead)].append(finding)
    begun: defaultdict[object, list[Block]] = defaultdict(list)
    for key, found in by_cause.items():
        first, *others = found
        block = Block(finding=first, others=tuple(others), followers=tuple(followers[key]))
        begun[kernel_of(first) or first].append(block)
    grouped = [
        KernelBlocks(
            kernel=blocks[0].finding.facts.kernel,
            place=blocks[0].finding.facts.kernel_location,
            blocks=tuple(sorted(blocks, key=lambda block: (-block.finding.severity, block.finding.order))),
        )
        for blocks in begun.values()
    ]
    return tuple(sorted(grouped, key=lambda kernel: ([-rank for rank in kernel.rank], kernel.blocks[0].finding.order)))


def cause(finding: Finding) -> object:
    """Return a key that is equal for findings with the same remedy and the same message, apart from the kernel.

    A finding with evidence is a cause of its own, as recordings speak of one kernel only.
    """
    facts = finding.facts
    if finding.evidence is not None:
        return finding
    advice = finding.advice and _of_any_kernel(finding.advice, facts.kernel)
    what = (_of_any_kernel(finding.message, facts.kernel), advice, facts.parameter, facts.use)
    return (finding.code, finding.severity, facts.variability, what)


def _of_any_kernel(text: str, kernel: str | None) -> str:
    return text if kernel is None else text.replace(f"`{kernel}`", "`...`")
