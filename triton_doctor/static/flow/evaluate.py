"""Expressions to values, followed back through assignments, calls, attributes and callers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.static.expression import (
    Apply,
    Attr,
    Call,
    Choice,
    Const,
    Each,
    Element,
    Expr,
    Item,
    Lambda,
    Mapping,
    Name,
    Pack,
    Part,
    Slice,
    Star,
    Truth,
)
from triton_doctor.static.flow import leanings, tensors
from triton_doctor.static.flow.arithmetic import apply
from triton_doctor.static.flow.callers import Callers, bind
from triton_doctor.static.flow.calls import call_value
from triton_doctor.static.flow.frame import Frame, Place, end_of
from triton_doctor.static.flow.indexing import attribute, element, item, part
from triton_doctor.static.flow.kinds import FEW, FIXED, UNKNOWN, Kind, Scalar, choice, join
from triton_doctor.static.flow.note import Note
from triton_doctor.static.flow.sizes import Root
from triton_doctor.static.flow.values import (
    Context,
    Either,
    Instance,
    Many,
    Sequence,
    Shape,
    Table,
    Tensor,
    Thing,
    Value,
    either,
)
from triton_doctor.static.model import Class, Function
from triton_doctor.static.reaching import reaching

if TYPE_CHECKING:
    from triton_doctor.static.flow.callers import Caller
    from triton_doctor.static.model import Binding, HostParam, LinkedLaunch, Module, Project

# A size passes through few functions between its source and a kernel; each level multiplies the work.
_MOST_DEPTH = 5
# So many callers tell how often an argument changes; a helper that is called from hundreds of places is not read on.
_MOST_CALLERS = 16


class Flow:
    """Evaluates expressions of one project. What was evaluated once is kept."""

    def __init__(self, project: Project) -> None:
        """Nothing is evaluated before it is asked for."""
        self._project = project
        self._callers: Callers | None = None
        self._frames: dict[tuple[int, int], Frame] = {}
        self._active: set[tuple[int, str, int]] = set()
        self._sought: dict[tuple[int, str, int | None], Scalar | None] = {}

    @property
    def callers(self) -> Callers:
        """The index of calls, made when it is first needed."""
        if self._callers is None:
            self._callers = Callers(self._project)
        return self._callers

    def at(self, launch: LinkedLaunch) -> Place:
        """The place of a launch, in its function entered from wherever it is called."""
        frame = self.frame(launch.module, launch.function)
        return Place(frame, launch.launch.order, launch.launch.arms)

    def frame(self, module: Module, function: Function, depth: int = 0) -> Frame:
        """`function` entered from wherever it is called; one frame for each depth, so that its values are kept."""
        key = (id(function), depth)
        frame = self._frames.get(key)
        if frame is None:
            frame = self._frames[key] = Frame(module, function, None, depth)
        return frame

    def scalar(self, expr: Expr, place: Place) -> Scalar:
        """How often `expr` changes at `place`."""
        return self.as_scalar(self.value(expr, place), place.frame)

    def as_scalar(self, value: Value, frame: Frame) -> Scalar:
        """A value where a number or a flag is wanted."""
        match value:
            case Scalar():
                return value
            case Thing():
                return self._sought_scalar(value, frame, None) or value.scalar
            case Either(options):
                return choice([self.as_scalar(option, frame) for option in options])
            case Sequence(items) if items:
                return join([self.as_scalar(option, frame) for option in items])
            case _:
                return UNKNOWN

    def axis(self, value: Tensor | Thing, position: int, frame: Frame) -> Scalar:
        """`value.shape[position]`, asked of the callers where the function itself does not tell."""
        own = tensors.axis_at(value, position)
        if isinstance(value, Thing) and own.settled() is Kind.UNKNOWN:
            return self._sought_scalar(value, frame, position) or own
        return own

    def value(self, expr: Expr, place: Place) -> Value:
        """What `expr` is at `place`."""
        match expr:
            case Const(literal):
                return _literal(literal)
            case Name(name):
                return self._name(name, place)
            case Attr(base, name):
                return self._attribute(base, name, place)
            case Part(of, position, size, open_):
                return self._part(of, position, size, open_, place)
            case Item(base, key):
                return self._item(base, key, place)
            case Apply(op, operands):
                return apply(op, [self.scalar(operand, place) for operand in operands])
            case Truth():
                return FEW
            case Choice(_, options):
                return either([self.value(option, place) for option in options])
            case Call():
                return self._call(expr, place)
            case Pack(items):
                return self._pack(items, place)
            case Mapping(items):
                return self._table(items, place)
            case Each(of, names, source):
                one = element(self, self.value(source, place), place.frame)
                length = self.length(self.value(source, place), place.frame)
                return Many(item=self.value(of, place.binding(dict.fromkeys(names, one))), length=length)
            case Element(source):
                return element(self, self.value(source, place), place.frame)
            case Star(of):
                return self.value(of, place)
            case Lambda() | Slice():
                return UNKNOWN
            case _:
                return UNKNOWN

    def length(self, value: Value, frame: Frame) -> Scalar:
        """`len(value)`."""
        match value:
            case Sequence(items, open=False):
                return replace(FIXED, literal=len(items), low=len(items), high=len(items))
            case Many(_, length):
                return length
            case Tensor():
                return self.axis(value, 0, frame)
            case Thing(root, scalar, origin):
                if origin is not None:
                    found = self._sought_scalar(value, frame, None, length=True)
                    if found is not None:
                        return found
                name = frozenset({leanings.NAME}) if leanings.names_data(root.name) else frozenset[str]()
                trail = (Note(root.path, root.line, f"the length of `{root.name}`"),)
                if scalar.kind is not Kind.UNKNOWN:
                    return replace(scalar, trail=trail)
                return Scalar(kind=Kind.UNKNOWN, pro=name | {leanings.LENGTH}, from_data=True, trail=trail)
            case Shape(of):
                return tensors.number_of_axes(of)
            case Table(items, open=False):
                return replace(FIXED, literal=len(items))
            case Either(options):
                return choice([self.length(option, frame) for option in options])
            case _:
                return UNKNOWN

    # Names

    def _name(self, name: str, place: Place) -> Value:
        if place.local is not None and name in place.local:
            return place.local[name]
        frame = place.frame
        found = reaching(frame.function, name, place.order, place.arms)
        if name in frame.function.globals:
            return self._outer(name, frame)
        values = [value for binding in found.bindings if (value := self._bound(binding, frame)) is not None]
        if not found.certain:
            param = next((param for param in frame.function.params if param.name == name), None)
            if param is not None:
                values.append(self._param(param, frame))
            elif not values:
                return self._outer(name, frame)
        return either(values) if values else UNKNOWN

    def _bound(self, binding: Binding, frame: Frame) -> Value | None:
        """The value of one assignment; None where it rests on itself, as in a loop."""
        key = (binding.name, binding.order)
        if key in frame.values:
            return frame.values[key]
        active = (id(frame), *key)
        if active in self._active:
            return None
        self._active.add(active)
        try:
            value = self.value(binding.value, Place(frame, binding.order, binding.arms))
        finally:
            self._active.discard(active)
        value = _named(value, binding, frame)
        frame.values[key] = value
        return value

    def _outer(self, name: str, frame: Frame) -> Value:
        """A name from an enclosing function or the top level: any of its assignments may be in force."""
        function, module = frame.function, frame.module
        if function.parent is not None:
            outer = module.functions.get(function.parent)
            if outer is not None and frame.depth < _MOST_DEPTH:
                inner = end_of(self.frame(module, outer, frame.depth + 1))
                if name in outer.bindings or any(param.name == name for param in outer.params):
                    return self._name(name, inner)
                return self._outer(name, inner.frame)
        imported = module.imports.get(name)
        if imported is not None and imported.member is not None:
            return self._global_elsewhere(name, frame)
        return self._thing(name, frame, FIXED if function.name == "<module>" else UNKNOWN)

    def _global_elsewhere(self, name: str, frame: Frame) -> Value:
        found = self._project.names.defining(frame.module, name)
        if found is None or frame.depth >= _MOST_DEPTH:
            return self._thing(name, frame, FIXED)
        module, own = found
        top = module.functions.get("<module>")
        if top is None or own not in top.bindings:
            return self._thing(name, frame, FIXED)
        return self._name(own, end_of(self.frame(module, top, frame.depth + 1)))

    def _thing(self, name: str, frame: Frame, scalar: Scalar, *, line: int | None = None) -> Thing:
        root = Root(
            frame.module.path,
            frame.function.qualname,
            name,
            line if line is not None else frame.function.line,
            None,
            leanings.names_weight(name),
        )
        return Thing(root=root, scalar=scalar)

    # Parameters and their callers

    def _param(self, param: HostParam, frame: Frame) -> Value:
        if frame.arguments is not None:
            if param.name in frame.arguments:
                return frame.arguments[param.name]
            if param.default is not None:
                return self.value(param.default, end_of(Frame(frame.module, frame.function, {}, frame.depth)))
        function = frame.function
        if param.name in ("self", "cls") and function.class_name is not None:
            owner = frame.module.classes.get(function.class_name)
            if owner is not None:
                return Instance(of=owner)
        if function.name == "backward" and function.class_name is not None and param is function.params[0]:
            forward = frame.module.functions.get(f"{function.class_name}.forward")
            if forward is not None:
                return Context(forward=forward)
        if param.variadic:
            return UNKNOWN
        root = Root(
            frame.module.path,
            function.qualname,
            param.name,
            function.line,
            _rank(function, param.name),
            leanings.names_weight(param.name),
        )
        return Thing(root=root, scalar=_param_scalar(param, root), origin=function)

    def _sought_scalar(
        self, thing: Thing, frame: Frame, position: int | None, *, length: bool = False
    ) -> Scalar | None:
        """What the callers pass for the parameter that `thing` is: itself, an axis of it or its length."""
        function = thing.origin
        if function is None or frame.depth >= _MOST_DEPTH or thing.scalar.kind is not Kind.UNKNOWN:
            return None
        key = (id(function), thing.root.name, -99 if length else position)
        if key in self._sought:
            return self._sought[key]
        self._sought[key] = None
        module = self._project.names.home(function) or frame.module
        found: list[Scalar] = []
        for count, caller in enumerate(self.callers.of(module, function)):
            if count >= _MOST_CALLERS:
                break
            scalar = self._passed(caller, function, thing.root.name, position, length, frame.depth + 1)
            if scalar is not None:
                found.append(scalar)
        per_call = [scalar for scalar in found if scalar.settled() in (Kind.PER_CALL, Kind.LOGARITHMIC)]
        own = thing.scalar if position is None else tensors.axis_at(thing, position)
        result = choice([*per_call, own]) if per_call else (choice([own, *found]) if found else None)
        if result is not None and per_call:
            result = replace(result, trail=per_call[0].trail)
        self._sought[key] = result
        return result

    def _passed(
        self, caller: Caller, function: Function, name: str, position: int | None, length: bool, depth: int
    ) -> Scalar | None:
        arg = bind(function, caller.site.call).get(name)
        if arg is None:
            return None
        frame = self.frame(caller.module, caller.function, depth)
        place = Place(frame, caller.site.order, caller.site.arms)
        value = self.value(arg, place)
        step = Note(caller.module.path, caller.site.line, f"passed to `{function.name}` as `{name}`")
        if length:
            return self.length(value, frame).stepping(step)
        if position is None:
            return self.as_scalar(value, frame).stepping(step)
        options = value.options if isinstance(value, Either) else (value,)
        axes = [self.axis(option, position, frame) for option in options if isinstance(option, Tensor | Thing)]
        return choice(axes).stepping(step) if axes else None

    # Structures

    def _attribute(self, base: Expr, name: str, place: Place) -> Value:
        value = self.value(base, place)
        match value:
            case Instance(of):
                return self._field(of, name, place)
            case Context(forward):
                return self._saved(forward, name, place.frame)
            case _:
                return attribute(self, value, name, base, place)

    def _field(self, of: Class, name: str, place: Place) -> Value:
        """`self.name`: what the methods of the class set it to; sizes set in `__init__` alone last as the model does."""
        module = self._project.names.home_of_class(of) or place.frame.module
        values: list[Value] = []
        for function in module.functions.values():
            if function.class_name != of.qualname:
                continue
            for stored in function.stored:
                if stored.base in ("self", "cls") and stored.name == name:
                    if function.name in ("__init__", "__post_init__", "__new__", "setup", "build"):
                        values.append(self._kept(name, module.path, stored.line))
                    else:
                        values.append(self._stored(stored, module, function, place.frame))
        known = of.fields.get(name)
        if known is not None and not values:
            values.append(self._kept(name, module.path, known.line))
        return either(values) if values else self._kept(name, module.path, place.frame.function.line)

    def _stored(self, stored, module, function, frame: Frame) -> Value:  # type: ignore[no-untyped-def]
        if frame.depth >= _MOST_DEPTH:
            return UNKNOWN
        active = (id(function), f".{stored.name}", stored.order)
        if active in self._active:
            return UNKNOWN
        self._active.add(active)
        try:
            value = self.value(stored.value, Place(self.frame(module, function, frame.depth + 1), stored.order))
        finally:
            self._active.discard(active)
        step = Note(module.path, stored.line, f"`{stored.base}.{stored.name}` is `{{}}`", stored.value)
        return value.stepping(step) if isinstance(value, Scalar) else value

    def _kept(self, name: str, path: str, line: int) -> Thing:
        root = Root(path, "self", name, line, None, weight=True)
        return Thing(root=root, scalar=Scalar(kind=Kind.PER_MODEL))

    def _saved(self, forward: Function, name: str, frame: Frame) -> Value:
        """`ctx.name` in backward: what forward stored, `saved_tensors` in the order of `save_for_backward`."""
        if frame.depth >= _MOST_DEPTH or not forward.params:
            return UNKNOWN
        module = self._project.names.home(forward) or frame.module
        context = forward.params[0].name
        inner = self.frame(module, forward, frame.depth + 1)
        if name == "saved_tensors":
            for site in forward.calls:
                match site.call.func:
                    case Attr(Name(base), "save_for_backward") if base == context:
                        return self._pack(site.call.args, Place(inner, site.order, site.arms))
            return UNKNOWN
        values = [
            self._stored(stored, module, forward, frame)
            for stored in forward.stored
            if stored.base == context and stored.name == name
        ]
        return either(values) if values else UNKNOWN

    def _part(self, of: Expr, position: int | None, size: int, open_: bool, place: Place) -> Value:
        value = self.value(of, place)
        options = value.options if isinstance(value, Either) else (value,)
        found = [part(self, option, position, size, open_, place.frame) for option in options]
        return either([one for one in found if one is not None]) if any(one is not None for one in found) else UNKNOWN

    def _item(self, base: Expr, key: Expr, place: Place) -> Value:
        value = self.value(base, place)
        options = value.options if isinstance(value, Either) else (value,)
        return either([item(self, option, key, place) for option in options])

    def _pack(self, items: tuple[Expr, ...], place: Place) -> Value:
        values: list[Value] = []
        open_ = False
        for expr in items:
            if isinstance(expr, Star):
                inner = self.value(expr.value, place)
                match inner:
                    case Sequence(own, own_open):
                        values.extend(own)
                        open_ = open_ or own_open
                    case Shape(of) if (rank := tensors.rank(of)) is not None:
                        values.extend(self.axis(of, position, place.frame) for position in range(rank))
                    case Shape():
                        values.append(inner)
                    case _:
                        open_ = True
            else:
                values.append(self.value(expr, place))
        return Sequence(items=tuple(values), open=open_)

    def _table(self, items: tuple[tuple[Expr | None, Expr], ...], place: Place) -> Value:
        table: dict[str, Value] = {}
        open_ = False
        for key, value in items:
            if isinstance(key, Const) and isinstance(key.value, str):
                table[key.value] = self.value(value, place)
            else:
                open_ = True
        return Table(items=table, open=open_)

    # Calls

    def _call(self, call: Call, place: Place) -> Value:
        function = self.callers.reached(place.frame.module, place.frame.function, call.func)
        if function is None:
            return call_value(self, call, place)
        if place.frame.depth >= _MOST_DEPTH:
            return UNKNOWN
        module = self._project.names.home(function) or place.frame.module
        arguments = {name: self.value(arg, place) for name, arg in bind(function, call).items()}
        active = (id(function), "()", 0)
        if active in self._active:
            return UNKNOWN
        self._active.add(active)
        try:
            inner = Frame(module, function, arguments, place.frame.depth + 1)
            returned = [self.value(one.value, Place(inner, one.order)) for one in function.returns]
        finally:
            self._active.discard(active)
        return either(returned) if returned else UNKNOWN


def _literal(literal: object) -> Scalar:
    if isinstance(literal, int) and not isinstance(literal, bool):
        power = literal > 0 and literal & (literal - 1) == 0
        return replace(FIXED, literal=literal, low=literal, high=literal, power=power)
    return replace(FIXED, literal=literal)


def _named(value: Value, binding: Binding, frame: Frame) -> Value:
    """The value one step further: bound to a name, which may itself lean."""
    if isinstance(binding.value, Name | Const):
        return value
    step = Note(frame.module.path, binding.line, f"`{binding.name}` is `{{}}`", binding.value)
    if isinstance(value, Scalar):
        return leaning_by_name(value, binding.name).stepping(step)
    return value


def leaning_by_name(scalar: Scalar, name: str) -> Scalar:
    """An axis that is called `n_rows` or `head_dim` leans accordingly."""
    if scalar.kind is not Kind.UNKNOWN or scalar.size is None or len(scalar.size.over) != 1 or scalar.size.under:
        return scalar
    if leanings.names_data(name):
        return replace(scalar, pro=scalar.pro | {leanings.NAME})
    if leanings.names_model(name):
        return replace(scalar, con=scalar.con | {leanings.NAME})
    return scalar


def _param_scalar(param: HostParam, root: Root) -> Scalar:
    trail = (Note(root.path, root.line, f"`{param.name}` is an argument of `{root.function.rpartition('.')[2]}`"),)
    if param.annotation in ("bool", "dtype", "str", "float"):
        return replace(FEW, trail=trail)
    if isinstance(param.default, Const) and isinstance(param.default.value, bool | str | float):
        return replace(FEW, trail=trail)
    pro = frozenset({leanings.NAME}) if leanings.names_data(param.name) else frozenset[str]()
    con = frozenset({leanings.NAME}) if leanings.names_model(param.name) else frozenset[str]()
    return Scalar(kind=Kind.UNKNOWN, pro=pro, con=con, trail=trail)


def _rank(function: Function, name: str) -> int | None:
    """How many axes the function unpacks the parameter into, before it binds the name anew."""
    rebound = min((binding.order for binding in function.bindings.get(name, ())), default=1 << 30)
    for bindings in function.bindings.values():
        for binding in bindings:
            match binding.value:
                case Part(Attr(Name(base), "shape") | Call(Attr(Name(base), "size"), (), ()), _, size, False):
                    if base == name and binding.order <= rebound:
                        return size
                case _:
                    pass
    return None
