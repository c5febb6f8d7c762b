"""What a kernel's body does with its parameters: needs them while it compiles, reads them, or neither."""

from __future__ import annotations

import ast
from typing import NamedTuple

from triton_doctor.static.read.nodes import FIELDS, names_in

# All arguments of these must be known while compiling.
_NEEDING = frozenset({"arange", "static_range", "static_assert", "static_print"})
# Of these, the shape: its position among the arguments of the function, and its keyword.
_SHAPED: dict[str, tuple[int, str]] = {
    "zeros": (0, "shape"),
    "full": (0, "shape"),
    "empty": (0, "shape"),
    "reshape": (1, "shape"),
    "view": (1, "shape"),
    "broadcast_to": (1, "shape"),
    "make_block_ptr": (4, "block_shape"),
    "make_tensor_descriptor": (3, "block_shape"),
    "topk": (1, "k"),
}
_SHAPED_METHODS = frozenset({"reshape", "view", "broadcast_to"})
_NEEDING_KEYWORDS = frozenset({"dtype", "num_stages", "warp_specialize", "axis", "block_shape"})
# Calls that make a number of numbers: what they are given is still known while compiling if it was before.
_ARITHMETIC = frozenset({"cdiv", "next_power_of_2", "min", "max", "constexpr", "int", "abs", "minimum", "maximum"})


class Uses(NamedTuple):
    """Names of parameters, by what is done with them; `passes`, `computed` and `outer` as in `Kernel`.

    `aranges` are calls of `arange` with nothing that the body computes, and whether they stand in a branch.
    """

    needed: frozenset[str]
    read: frozenset[str]
    walked: frozenset[str]
    replaced: frozenset[str]
    passes: tuple[tuple[str, int | str, str], ...]
    computed: frozenset[str]
    outer: frozenset[str]
    aranges: tuple[tuple[ast.Call, bool], ...]


def read_uses(node: ast.FunctionDef, params: frozenset[str]) -> Uses:
    """How the body of `node` uses `params`; a local that is computed from a parameter stands for it."""
    uses = _Uses(params)
    for statement in node.body:
        uses.visit(statement)
    return uses.gathered()


class _Uses:
    def __init__(self, params: frozenset[str]) -> None:
        self._params = params
        self._from: dict[str, frozenset[str]] = {name: frozenset({name}) for name in params}
        self._read: dict[str, int] = {}
        self._blind: dict[str, int] = {}
        self._loaded: set[str] = set()
        self._bound: set[str] = set()
        self._aranges: list[tuple[ast.Call, bool]] = []
        self._branches = 0
        self._needing: list[ast.expr] = []
        self._walked: set[str] = set()
        self._passes: list[tuple[str, int | str, str]] = []
        self._loops: list[ast.Call] = []
        self._from_memory: set[str] = set()
        self._memory_reads = 0

    def visit(self, node: ast.AST) -> None:
        kind = type(node)
        if kind is ast.Name:
            name = node.id  # type: ignore[attr-defined]
            if name in self._from_memory and type(node.ctx) is ast.Load:  # type: ignore[attr-defined]
                self._memory_reads += 1
            if name in self._params:
                self._read[name] = self._read.get(name, 0) + 1
                if type(node.ctx) is ast.Store:  # type: ignore[attr-defined]
                    self._bound.add(name)
            elif type(node.ctx) is ast.Load:  # type: ignore[attr-defined]
                self._loaded.add(name)
            else:
                self._bound.add(name)
            return
        if kind is ast.Constant:
            return
        if kind is ast.BinOp:
            self.visit(node.left)  # type: ignore[attr-defined]
            self.visit(node.right)  # type: ignore[attr-defined]
            return
        if kind is ast.Attribute:
            self.visit(node.value)  # type: ignore[attr-defined]
            return
        if kind is ast.Call:
            self._call(node)  # type: ignore[arg-type]
        elif kind is ast.Assign:
            self._derive(node)  # type: ignore[arg-type]
            self._assigned(node)  # type: ignore[arg-type]
            return
        elif kind is ast.If or kind is ast.IfExp:
            self._needing.append(node.test)  # type: ignore[attr-defined]
            self._test(node.test)  # type: ignore[attr-defined]
            self._branches += 1
            self._children(node)
            self._branches -= 1
            return
        elif kind is ast.Compare:
            self._blindly(node.left, *node.comparators)  # type: ignore[attr-defined]
        self._children(node)

    def _children(self, node: ast.AST) -> None:
        for name in FIELDS.get(type(node), ()):
            child = getattr(node, name)
            if type(child) is list:
                for one in child:
                    self.visit(one)
            elif child is not None:
                self.visit(child)

    def gathered(self) -> Uses:
        needed = frozenset[str]().union(*(self._names(expr) for expr in self._needing))
        for loop in self._loops:
            step = self._names(loop.args[2]) if len(loop.args) > 2 else frozenset[str]()
            self._walked |= frozenset[str]().union(*map(self._names, loop.args[:2])) - step
        for _, _, name in self._passes:
            self._blind[name] = self._blind.get(name, 0) + 1
        return Uses(
            needed=needed,
            read=frozenset(self._read),
            walked=frozenset(self._walked),
            replaced=frozenset(self._from_memory & self._params),
            passes=tuple(self._passes),
            computed=frozenset(name for name, times in self._read.items() if times > self._blind.get(name, 0)),
            outer=frozenset(self._loaded - self._bound),
            aranges=tuple([one for one in self._aranges if not self._rebound(one[0])]),
        )

    def _rebound(self, call: ast.Call) -> bool:
        """Whether the body itself decides on a name in `call`."""
        return any(name in self._bound for name in names_in(call))

    def _test(self, test: ast.expr) -> None:
        """Names that a branch asks for their truth."""
        if type(test) is ast.BoolOp:
            for value in test.values:
                self._test(value)
        elif type(test) is ast.UnaryOp and type(test.op) is ast.Not:
            self._test(test.operand)
        else:
            self._blindly(test)

    def _blindly(self, *values: ast.expr) -> None:
        """Reads that give the same for 1, 1.0 and True."""
        for value in values:
            if type(value) is ast.Name and value.id in self._params:
                self._blind[value.id] = self._blind.get(value.id, 0) + 1

    def _derive(self, node: ast.Assign) -> None:
        """A local made by arithmetic alone from parameters, and not from what is loaded."""
        target = node.targets[0]
        if type(target) is not ast.Name or target.id in self._params:
            return
        sources: set[str] = set()
        stack: list[ast.AST] = [node.value]
        while stack:
            part = stack.pop()
            kind = type(part)
            if kind is ast.Name:
                sources |= self._from.get(part.id, frozenset())  # type: ignore[attr-defined]
            elif kind is ast.Call:
                if (_callee(part) or "") not in _ARITHMETIC:  # type: ignore[arg-type]
                    return
                stack.extend(part.args)  # type: ignore[attr-defined]
            elif kind is ast.BinOp:
                stack += (part.left, part.right)  # type: ignore[attr-defined]
            elif kind in (ast.Compare, ast.IfExp, ast.UnaryOp, ast.BoolOp, ast.Tuple):
                stack.extend(ast.iter_child_nodes(part))
        if sources:
            self._from[target.id] = self._from.get(target.id, frozenset()) | sources

    def _assigned(self, node: ast.Assign) -> None:
        """Names that are bound to what is loaded, or to what is computed from it, are so themselves."""
        before = self._memory_reads
        self._children(node)
        if self._memory_reads > before:
            self._from_memory.update(*map(names_in, node.targets))

    def _names(self, node: ast.expr) -> frozenset[str]:
        if type(node) is ast.Constant:
            return frozenset()
        return frozenset[str]().union(*(self._from.get(name, ()) for name in names_in(node)))

    def _call(self, call: ast.Call) -> None:
        callee = _callee(call)
        if callee == "load":
            self._memory_reads += 1
        if callee in _NEEDING:
            self._needing.extend(call.args)
            self._needing.extend(keyword.value for keyword in call.keywords)
            if callee == "arange":
                self._aranges.append((call, self._branches > 0))
        elif callee in _SHAPED:
            position, name = _SHAPED[callee]
            self._needing.extend(call.args[position : position + 1])
            self._needing.extend(keyword.value for keyword in call.keywords if keyword.arg == name)
            if callee in _SHAPED_METHODS:
                self._needing.extend(call.args)
        elif callee == "range":
            self._loops.append(call)
        elif callee == "to" and call.args:
            self._needing.append(call.args[0])
        elif type(call.func) is ast.Name and callee is not None:
            self._pass_on(callee, call)
        for keyword in call.keywords:
            if keyword.arg in _NEEDING_KEYWORDS:
                self._needing.append(keyword.value)

    def _pass_on(self, callee: str, call: ast.Call) -> None:
        given: list[tuple[int | str, ast.expr]] = [
            *enumerate(call.args),
            *((keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg is not None),
        ]
        for target, value in given:
            names = self._from.get(value.id, frozenset()) if type(value) is ast.Name else self._names(value)
            self._passes.extend((callee, target, name) for name in sorted(names))


def _callee(call: ast.Call) -> str | None:
    func = call.func
    if type(func) is ast.Name:
        return func.id
    return func.attr if type(func) is ast.Attribute else None
