"""The uses of a kernel's parameters in its body: needed at compile time, read, or neither."""

from __future__ import annotations

import ast
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from triton_doctor.static.python.compile_time_needs import BLOCK, BRANCH, OTHER, REASONS, needs_of, needs_of_local
from triton_doctor.static.python.kernel_branches import Branch, NamesInOrder, compared, needs_more_than_a_number
from triton_doctor.static.python.module import BodyUses
from triton_doctor.static.python.nodes import (
    ARITHMETIC,
    FIELDS,
    arguments_of,
    callee_name,
    is_unrolled,
    names_in,
    names_in_all,
    operand_names,
    parts,
    read_aranges,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from triton_doctor.static.python.functions import Definition
    from triton_doctor.static.sources.source_text import SourceText


def read_uses(node: Definition, source: SourceText, *, params: frozenset[str], plain: frozenset[str]) -> BodyUses:
    """Return how the body of `node` uses `params`, also through locals; `plain` are those that are no constexprs."""
    uses = _UseReader(params, plain)
    for statement in node.body:
        uses.visit(statement)
    return uses.gathered(node, source)


class _UseReader:
    def __init__(self, params: frozenset[str], plain: frozenset[str]) -> None:
        self._params = params
        self._at_run_time = set(plain)
        self._names = NamesInOrder()
        self._run_time_reads = 0
        self._known_tests: list[Branch] = []
        self._skipped: list[ast.Name] = []
        self._flagged: list[tuple[ast.expr, list[tuple[int, int]]]] = []
        self._loop_depth = 0
        self._block_reads: dict[str, int] = {}
        self._from: dict[str, frozenset[str]] = {name: frozenset({name}) for name in params}
        self._bound: set[str] = set()
        self._aranges: list[tuple[ast.Call, bool]] = []
        self._branches = 0
        self._needing: list[tuple[ast.expr, str]] = []
        self._walked: set[str] = set()
        self._bounds: set[str] = set()
        self._passes: list[tuple[str, int | str, str]] = []
        self._passes_at_run_time: set[tuple[str, int | str, str]] = set()
        self._unrolled: list[ast.For] = []
        self._loops: list[ast.Call] = []
        self._from_memory: set[str] = set()
        self._memory_reads = 0

    def visit(self, statement: ast.AST) -> None:
        """Read a statement, or a part that contains statements; anything else is read as an expression."""
        kind = type(statement)
        if kind is ast.Assign:
            self._derive(statement)  # type: ignore[arg-type]
            self._assigned(statement)  # type: ignore[arg-type]
        elif kind is ast.AnnAssign:
            self._needing += needs_of_local(statement)  # type: ignore[arg-type]
            self._children(statement)
        elif kind is ast.If:
            self._branch(statement)  # type: ignore[arg-type]
        elif kind is ast.For or kind is ast.While:
            self._loop(statement)  # type: ignore[arg-type]
        elif kind is ast.AugAssign and type(statement.target) is ast.Name:  # type: ignore[attr-defined]
            # `total += x` keeps the type of `total`.
            position, before = len(self._names.bound), self._run_time_reads
            self._children(statement)
            if self._run_time_reads > before:
                self._at_run_time.add(statement.target.id)  # type: ignore[attr-defined]
            self._names.loaded.append(self._names.bound.pop(position))
        elif issubclass(kind, ast.expr):
            self._expression(statement)
        else:
            self._children(statement)

    def _children(self, node: ast.AST) -> None:
        for name in FIELDS[type(node)]:
            child = getattr(node, name)
            if type(child) is list:
                for child_node in child:
                    self.visit(child_node)
            elif child is not None:
                self.visit(child)

    def _expression(self, expr: ast.AST) -> None:
        """Read all parts of `expr`, depth first in order of the text, with an explicit stack."""
        loaded, at_run_time, from_memory = self._names.loaded, self._at_run_time, self._from_memory
        pending: list[Any] = []
        node: Any = expr
        while True:
            kind = type(node)
            if kind is ast.Name:
                name = node.id
                if name in at_run_time:
                    self._run_time_reads += 1
                if type(node.ctx) is ast.Load:
                    loaded.append(name)
                    if name in from_memory:
                        self._memory_reads += 1
                else:
                    self._names.bound.append(name)
                    if type(node.ctx) is ast.Store or name not in self._params:
                        self._bound.add(name)
            elif kind is ast.BinOp:
                pending.append(node.right)
                node = node.left
                continue
            elif kind is ast.Attribute:
                node = node.value
                continue
            elif kind is ast.Call:
                self._call(node)
                if node.keywords:
                    pending += [keyword.value for keyword in reversed(node.keywords)]
                pending += node.args[::-1]
                node = node.func
                continue
            elif kind is ast.Subscript:
                pending.append(node.slice)
                node = node.value
                continue
            elif kind is ast.IfExp:
                self._branch(node)
            elif kind is not ast.Constant and node is not None:
                if kind is ast.Compare:
                    self._bound_offsets(node)
                for name in reversed(FIELDS[kind]):
                    child = getattr(node, name)
                    if type(child) is list:
                        pending += child[::-1]
                    else:
                        pending.append(child)
            if not pending:
                return
            node = pending.pop()

    def _branch(self, node: ast.If | ast.IfExp) -> None:
        before = self._run_time_reads
        self.visit(node.test)
        is_known = self._run_time_reads == before
        arms = [node.body, node.orelse] if isinstance(node, ast.If) else [[node.body], [node.orelse]]
        if type(node.test) is ast.Constant:  # Triton skips the other arm
            skipped = arms.pop(1 if node.test.value else 0)
            self._skipped += (part for statement in skipped for part in parts(statement) if isinstance(part, ast.Name))
            is_known = False
        marks = [self._names.mark()]
        self._branches += 1
        for arm in arms:
            for statement in arm:
                self.visit(statement)
            marks.append(self._names.mark())
        self._branches -= 1
        if is_known:
            self._known_tests.append(Branch(node, marks[0], marks[-1], in_loop=self._loop_depth > 0))
            self._flagged.append((node.test, marks))

    def _loop(self, node: ast.For | ast.While) -> None:
        if type(node) is ast.For:
            if is_unrolled(node.iter):
                self._unrolled.append(node)
            else:
                self._at_run_time.update(names_in(node.target))
        self._loop_depth += 1
        self._children(node)
        self._loop_depth -= 1

    def _needed(self) -> Mapping[str, str]:
        """The names that the body needs at compile time, with the reason."""
        needing = list(self._needing)
        for branch in self._known_tests:
            parts = compared(branch.node.test)
            needing += [(part, OTHER) for part in parts if needs_more_than_a_number(part)]
            if any(map(self._sources, parts)) and branch.must_be_constexpr(self._names):
                needing += [(part, OTHER if branch.is_repeated(self._unrolled) else BRANCH) for part in parts]
        reasons: dict[str, str] = {}
        for expr, reason in needing:
            for name in self._sources(expr, known=True):
                reasons[name] = min(reason, reasons.get(name, reason), key=REASONS.index)
        return reasons

    def gathered(self, node: Definition, source: SourceText) -> BodyUses:
        for loop in self._loops:
            step = self._sources(loop.args[2]) if len(loop.args) > 2 else frozenset[str]()
            self._walked |= frozenset[str]().union(*map(self._sources, loop.args[:2])) - step
        self._bound.update(part.id for part in self._skipped if type(part.ctx) is ast.Store)
        skipped = {part.id for part in self._skipped} - self._bound
        reads = Counter(self._names.loaded)
        reads.update(self._names.bound)
        read = {name: reads[name] for name in self._params if name in reads or name in skipped}
        outer = skipped.union(self._names.loaded) - self._params - self._bound
        aranges = [arange for arange in self._aranges if self._bound.isdisjoint(names_in(arange[0]))]
        return BodyUses(
            needed=self._needed(),
            blocks_only=frozenset(name for name, times in self._block_reads.items() if times == read.get(name)),
            read=frozenset(read),
            walked=frozenset(self._walked),
            replaced=frozenset(self._from_memory & self._params),
            bounds=frozenset(self._bounds),
            passes=tuple(self._passes),
            passes_at_run_time=frozenset(self._passes_at_run_time),
            outer=frozenset(outer),
            conditional=tuple(self._conditional(outer)),
            aranges=tuple(read_aranges(aranges, source)),
            span=source.span(node),
        )

    def _conditional(self, outer: Iterable[str]) -> Iterator[tuple[str, str | None, bool]]:
        """Yield the names that are read in one arm of a branch only, as in `BodyUses.conditional`."""
        total = Counter(self._names.loaded)
        yield from ((name, None, False) for name in outer if not total[name])
        for test, marks in self._flagged:
            is_not = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
            flag = test.operand if isinstance(test, ast.UnaryOp) and is_not else test
            if isinstance(flag, ast.Name) and flag.id in self._params - self._bound:
                for (begin, end), value in zip(pairwise(mark[0] for mark in marks), (not is_not, is_not), strict=True):
                    inside = Counter(self._names.loaded[begin:end])
                    yield from ((name, flag.id, value) for name in outer if 0 < inside[name] == total[name])

    def _bound_offsets(self, test: ast.Compare) -> None:
        """Record `n` of `offs_m[:, None] < n`: a parameter that bounds offsets."""
        offsets, bound = test.left, test.comparators[0]
        while type(offsets) is ast.Subscript:
            offsets = offsets.value
        is_local = type(offsets) is ast.Name and offsets.id not in self._params
        if is_local and type(test.ops[0]) is ast.Lt and type(bound) is ast.Name and bound.id in self._params:
            self._bounds.add(bound.id)

    def _derive(self, node: ast.Assign) -> None:
        """Record a local that is computed by arithmetic from parameters, without loads."""
        target = node.targets[0]
        if type(target) is not ast.Name or target.id in self._params:
            return
        sources = frozenset[str]().union(*(self._from.get(name, ()) for name in operand_names(node.value)))
        if sources:
            self._from[target.id] = self._from.get(target.id, frozenset()) | sources

    def _assigned(self, node: ast.Assign) -> None:
        """Propagate "loaded" and "known only at run time" to the names that are assigned from such values."""
        memory, run_time = self._memory_reads, self._run_time_reads
        for target in node.targets:
            self._expression(target)
        self._expression(node.value)
        if self._memory_reads == memory and self._run_time_reads == run_time:
            return
        (first, *others) = node.targets
        bound = {first.id} if type(first) is ast.Name and not others else set(names_in_all(node.targets))
        if self._memory_reads > memory:
            self._from_memory.update(bound)
        if self._run_time_reads > run_time:
            self._at_run_time.update(bound)

    def _sources(self, node: ast.expr, *, known: bool = False) -> frozenset[str]:
        """Return the parameters that `node` is computed from; with `known`, only through compile-time values."""
        names = (name for name in names_in(node) if not (known and name in self._at_run_time))
        return frozenset[str]().union(*(self._from.get(name, ()) for name in names))

    def _call(self, call: ast.Call) -> None:
        callee = callee_name(call)
        if callee == "load":
            self._memory_reads += 1
        if type(call.func) is ast.Attribute and callee not in ARITHMETIC:
            self._run_time_reads += 1
        for value, reason in needs_of(call, callee):
            self._needing.append((value, reason))
            if reason == BLOCK:
                for name in names_in(value):
                    self._block_reads[name] = self._block_reads.get(name, 0) + 1
        if callee == "arange":
            self._aranges.append((call, self._branches > 0))
        elif callee == "range":
            self._loops.append(call)
        elif type(call.func) is ast.Name and callee is not None:
            self._pass_on(callee, call)

    def _pass_on(self, callee: str, call: ast.Call) -> None:
        for target, value in arguments_of(call):
            names = self._from.get(value.id, frozenset()) if type(value) is ast.Name else self._sources(value)
            passed = [(callee, target, name) for name in sorted(names)]
            self._passes += passed
            if passed and not self._at_run_time.isdisjoint(names_in(value)):
                self._passes_at_run_time.update(passed)
