"""What a sweep of a project says, as text and JSON: the summary first, each kernel, then what was not reached."""

from __future__ import annotations

import textwrap
from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import msgspec

from triton_doctor.explore.axis_roles import spell_places
from triton_doctor.explore.findings import Findings
from triton_doctor.static.sources.shown_paths import path_shower

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from triton_doctor.explore.entries import Found
    from triton_doctor.explore.findings import KernelFindings, SeenMove, SweptPart
    from triton_doctor.explore.model import EntryOutcome, SweepEntry

NO_ALL_CLEAR = (
    "Only what is listed was run, with arguments that were made up: of all else, and of other arguments, this says "
    "nothing."
)
_LAUNCHED = frozenset({"complete", "partial"})
_SHOWN_PARTS = ("constexpr", "autotune key")
_GROWTHS = {
    "unbounded": "each value is a new one",
    "log2": "a new one at each power of two",
    "bounded": "{} values at most were seen",
    "unknown": "{} values were seen",
}
_MOST_LEFT_OUT, _MOST_WIDE = 10, 120
# The indent of Python text, which may be broken anywhere.
_CALL = "      "


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The report of a sweep of `findings`; `isolation` says how the code was confined.

    `show` rewrites a path relative to the project as a user in the working directory writes it.
    """

    findings: Findings
    isolation: str
    show: Callable[[str], str]

    def to_text(self, width: int) -> str:
        """Return the report for a terminal of `width` columns, with a line break at its end."""
        return "\n".join(_ReportText(self, min(width, _MOST_WIDE)).lines()) + "\n"

    def to_json(self) -> dict[str, Any]:
        """Return the report as values of JSON."""
        findings, found = self.findings, self.findings.found
        reached, launched = findings.reached
        return {
            "summary": {
                "launched_kernels": launched,
                "reached_kernels": reached,
                "entries": len(findings.outcomes),
                "entries_that_launch": sum(outcome.status in _LAUNCHED for outcome in findings.outcomes),
                "isolation": self.isolation,
                "is_whole": found.is_whole,
            },
            "kernels": [self._kernel_object(kernel) for kernel in findings.kernels],
            "not_reached": [self.show_place(key) for key in findings.missed],
            "entries": [
                {
                    "entry": outcome.entry,
                    **self._entry_object(_entry_of(found, outcome.entry)),
                    "status": outcome.status,
                    "error": outcome.error,
                    "where": self.show_place(outcome.where),
                    "help": outcome.help,
                    "stand_ins": list(outcome.stand_ins),
                    "cpu_s": round(outcome.cpu_s, 3),
                }
                for outcome in findings.outcomes
            ],
            "left_out": [
                {"path": self.show(item.path), "line": item.line, "name": item.name, "reason": item.reason}
                for item in found.left_out
            ],
        }

    @property
    def recording(self) -> Iterator[str]:
        """Yield the lines of a recording for `check --recording`."""
        return self.findings.recording()

    def show_place(self, place: str) -> str:
        """Return a `place`, `ops.py:12` or `ops.py:kernel`, with its path as the user writes it."""
        path, colon, rest = place.rpartition(":")
        return f"{self.show(path)}{colon}{rest}" if colon else rest

    def _entry_object(self, entry: SweepEntry | None) -> dict[str, Any]:
        if entry is None:
            return {}
        return {"path": self.show(entry.path), "line": entry.line, "name": entry.name, "kind": entry.kind}

    def _kernel_object(self, kernel: KernelFindings) -> dict[str, Any]:
        return {
            "path": self.show(kernel.path),
            "line": kernel.line,
            "name": kernel.name,
            "entries": list(kernel.entries),
            "is_covered": kernel.is_covered,
            "parts": [_part_object(part) for part in kernel.parts],
        }


def report(found: Found, outcomes: Sequence[EntryOutcome], *, isolation: str, cwd: Path) -> Report:
    """Return the report of the `outcomes` of the entries of `found`, with paths relative to `cwd`."""
    return Report(findings=Findings(found, outcomes), isolation=isolation, show=path_shower(found.root, cwd))


class _ReportText:
    """Writes a report in lines of `width` columns."""

    def __init__(self, of: Report, width: int) -> None:
        self._report, self._findings, self._width = of, of.findings, width
        self._found = of.findings.found

    def lines(self) -> Iterator[str]:
        """Yield the lines."""
        yield from self._summary()
        for kernel in self._findings.kernels:
            yield ""
            yield from self._kernel(kernel)
        yield from self._not_reached()
        yield from self._left_out()
        yield ""
        yield from self._wrap("", self._surroundings())
        yield from self._wrap("", NO_ALL_CLEAR)

    def _summary(self) -> Iterator[str]:
        findings = self._findings
        reached, launched = findings.reached
        launching = sum(outcome.status in _LAUNCHED for outcome in findings.outcomes)
        yield from self._wrap(
            "", f"{reached} of {launched} launched kernels reached, by {launching} of {len(findings.outcomes)} entries"
        )
        parts = [part for kernel in findings.kernels for part in kernel.parts if part.kind in _SHOWN_PARTS]
        roles = Counter(part.judged.role for part in parts if part.sightings)
        yield from self._wrap(
            "",
            f"Of {len(parts)} constexprs and tuning keys, {roles['data']} follow the data, {roles['model']} the model, "
            f"{roles['unknown']} something that may be either, and {len(parts) - roles.total()} never moved",
        )

    def _kernel(self, kernel: KernelFindings) -> Iterator[str]:
        show = self._report.show
        by = ", ".join(f"`{entry.partition(':')[2]}`" for entry in kernel.entries[:3])
        more = f" and {len(kernel.entries) - 3} more" if len(kernel.entries) > 3 else ""
        yield from self._wrap("", f"{kernel.name} ({show(kernel.path)}:{kernel.line}), launched by {by}{more}")
        parts = [part for part in kernel.parts if part.kind in _SHOWN_PARTS]
        shown = dict[str, None]()
        for part in parts:
            if part.sightings:
                yield from self._part(part)
                shown[_call_text(part.sightings[0], self._found)] = None
        still = [f"`{part.name}`" for part in parts if not part.sightings]
        if still:
            yield from self._wrap("  ", f"never moved: {', '.join(still)}")
        for text in shown:
            yield from self._wrap("  ", f"call: {text}", _CALL)

    def _part(self, part: SweptPart) -> Iterator[str]:
        first = part.sightings[0]
        name = f"`{part.name}`" if part.kind == "constexpr" else f"tuning key `{part.name}`"
        formula = first.move.formula
        if part.judged.role == "unknown":
            text = f"{name} varies with {first.origin} (is it fixed?)"
        elif formula in {axis.name for axis in first.axes}:
            text = f"{name} = {first.origin}"
        elif formula:
            where = " and ".join(
                f"{axis.name} = {spell_places(axis.places, first.call.arguments)}" for axis in first.axes
            )
            text = f"{name} = {formula}, {where}"
        else:
            text = f"{name} follows {first.origin}"
        yield from self._wrap("  ", f"{text} in `{_signature(first, self._found)}`", "    ")
        growth = "" if part.judged.role == "model" else f"; {_GROWTHS[part.growth].format(part.values)}"
        role = {"data": "data", "model": "fixed by the model", "unknown": "data or model"}[part.judged.role]
        named = "" if part.judged.is_certain or part.judged.role == "unknown" else ", by name or position only"
        yield from self._wrap("    ", f"{role}{named}: it {part.judged.why}{growth}", "    ")

    def _not_reached(self) -> Iterator[str]:
        missed, show_place = self._findings.missed, self._report.show_place
        if missed:
            yield from ("", f"Kernels that no entry reached ({len(missed)})")
            yield from (line for key in missed for line in self._wrap("  ", show_place(key), "    "))
        failed = [each for each in self._findings.outcomes if each.status not in _LAUNCHED]
        if failed:
            yield from ("", f"Entries that reached no launch ({len(failed)})")
        for outcome in failed:
            entry = _entry_of(self._found, outcome.entry)
            place = show_place(f"{entry.path}:{entry.name}") if entry is not None else outcome.entry
            error = f": {outcome.error.splitlines()[0]}" if outcome.error else ""
            where = f" ({show_place(outcome.where)})" if outcome.where else ""
            yield from self._wrap("  ", f"{place}: {outcome.status}{error}{where}", "    ")
            yield from self._wrap("    ", outcome.help or f"pass a file that calls it: --example {place}=FILE", "    ")
        partial = [item for item in self._findings.outcomes if item.status == "partial"]
        if partial:
            yield from ("", f"Entries that launched and then raised ({len(partial)}): nothing after that was seen")
        for outcome in partial:
            error = (outcome.error.splitlines() or [""])[0]
            where = f" ({show_place(outcome.where)})" if outcome.where else ""
            yield from self._wrap("  ", f"{outcome.entry.partition(':')[2]}: {error}{where}", "    ")

    def _left_out(self) -> Iterator[str]:
        left = self._found.left_out
        if left:
            yield from ("", f"Left out ({len(left)}): name one to sweep it all the same, FILE:NAME")
        for reason, group in groupby(sorted(left, key=lambda each: each.reason), key=lambda item: item.reason):
            names = [f"{self._report.show(item.path)}:{item.name}" for item in group]
            more = f", and {len(names) - _MOST_LEFT_OUT} more" if len(names) > _MOST_LEFT_OUT else ""
            yield from self._wrap("  ", f"it {reason}: {', '.join(names[:_MOST_LEFT_OUT])}{more}", "    ")

    def _surroundings(self) -> str:
        missing = sorted({name for outcome in self._findings.outcomes for name in outcome.stand_ins})
        lines = [f"Run dry; {self._report.isolation}." if self._report.isolation else "Run dry."]
        if missing:
            lines.append(f"Missing, and stood in for: {', '.join(missing)}.")
        return " ".join(lines)

    def _wrap(self, indent: str, text: str, further: str | None = None) -> Iterable[str]:
        return textwrap.wrap(
            text,
            self._width,
            initial_indent=indent,
            subsequent_indent=indent if further is None else further,
            break_long_words=further == _CALL,
            break_on_hyphens=False,
        )


def _entry_of(found: Found, key: str) -> SweepEntry | None:
    return next((entry for entry in found.entries if entry.key == key), None)


def _signature(sighting: SeenMove, found: Found) -> str:
    """Return `attention(q, k, v)`; of a module what its `forward` takes."""
    names = dict.fromkeys(name.partition(".")[0] for name in sighting.call.arguments if not name.startswith("init."))
    return f"{_called(sighting, found)}({', '.join(names)})"


def _called(sighting: SeenMove, found: Found) -> str:
    entry = _entry_of(found, sighting.entry)
    name = sighting.entry.partition(":")[2]
    return f"{name}.apply" if entry is not None and entry.kind == "autograd" else name


def _call_text(sighting: SeenMove, found: Found) -> str:
    """Return the call that was made up, as Python."""
    made = [f"{name[5:]}={text}" for name, text in sighting.call.arguments.items() if name.startswith("init.")]
    given = [f"{name}={text}" for name, text in sighting.call.arguments.items() if not name.startswith("init.")]
    called = _called(sighting, found)
    owner, _, method = called.rpartition(".")
    if made and owner:
        called = f"{owner}({', '.join(made)}).{method}"
    elif made:
        called = f"{called}({', '.join(made)})"
    return f"{called}({', '.join(given)})"


def _part_object(part: SweptPart) -> dict[str, Any]:
    return {
        "part": part.kind,
        "name": part.name,
        "role": part.judged.role,
        "provenance": part.judged.provenance,
        "is_certain": part.judged.is_certain,
        "why": part.judged.why,
        "growth": part.growth if part.sightings else None,
        "values": part.values,
        "points": part.points,
        "sightings": [
            {
                "entry": sighting.entry,
                "role": sighting.judged.role,
                "formula": sighting.move.formula,
                "growth": sighting.move.growth,
                "axes": [
                    {
                        "name": axis.name,
                        "places": msgspec.to_builtins(axis.places),
                        "sizes": sighting.move.sizes.get(axis.name),
                    }
                    for axis in sighting.axes
                ],
                "values": msgspec.to_builtins(sighting.move.values),
                "arguments": sighting.call.arguments,
                "driver": sighting.call.driver,
            }
            for sighting in part.sightings
        ],
    }
