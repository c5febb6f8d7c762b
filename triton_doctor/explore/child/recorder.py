"""Calls of entries, recorded while a test, an example or a benchmark of the project runs dry in a child.

Comes in: a `SeedPlan`, one file to run and the entries to look out for. Goes out: for each entry a few `State`s, calls
that were seen. A call is noticed by the code that runs, whatever name or wrapper it was called by. Places whose sizes
were equal in every call of the same form share a symbol.
"""

from __future__ import annotations

import dataclasses
import enum
import signal
import sys
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import msgspec
import torch

from triton_doctor.explore.child import answer
from triton_doctor.explore.child.calling import renew_threads
from triton_doctor.explore.child.stand_ins import install
from triton_doctor.explore.child.state import CONSTRUCTOR, FLOAT, Spec, State, Tie
from triton_doctor.runtime.dry import dry_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import CodeType, FrameType

    from triton_doctor.explore.model import SeedPlan, SweepEntry

# Forms of a call (kinds, ranks, dtypes, flags) that are kept of an entry, and calls of each form.
FORMS, CALLS = 8, 40
DEPTH, ITEMS = 3, 16
KEEP_S = 1.0


class SeedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What was recorded: for the key of each entry calls, best first. `error` is why the file ended early."""

    calls: dict[str, tuple[State, ...]]
    error: str = ""


def record_seeds(plan: SeedPlan) -> SeedRecord:
    """Run one file, and return the calls of entries that it made."""
    renew_threads()
    install(plan.own_modules, lambda path: path.startswith(f"{plan.root}/"))
    recorder = Recorder(plan.root, plan.entries)
    signal.signal(signal.SIGPROF, _stop)
    error = ""
    with dry_run(target=plan.target or None):
        sys.setprofile(recorder.see)
        signal.setitimer(signal.ITIMER_PROF, plan.seconds)
        try:
            _run(plan)
        except KeyboardInterrupt:
            pass
        except BaseException as raised:
            error = f"{type(raised).__name__}: {raised}"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            sys.setprofile(None)
    return SeedRecord(calls=recorder.states(), error=error[:400])


def _stop(*_: object) -> None:
    # pytest, too, ends for it in an orderly way.
    raise KeyboardInterrupt


def _run(plan: SeedPlan) -> None:
    path = f"{plan.root}/{plan.path}"
    if plan.is_test:
        import pytest

        options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly", "-o", "addopts="]
        pytest.main([*options, "--rootdir", plan.root, path])
        return
    import runpy

    sys.argv[:] = [path]
    sys.path.insert(0, path.rpartition("/")[0])
    runpy.run_path(path, run_name="__main__")


class Recorder:
    """What is called while it is the profile function of this thread."""

    def __init__(self, root: str, entries: Sequence[SweepEntry]) -> None:
        self._root = f"{root}/"
        self._wanted = dict(_codes(root, entries))
        self._forms: defaultdict[str, dict[bytes, _CallForm]] = defaultdict(dict)
        self._constructed: dict[int, tuple[object, dict[str, Spec], dict[str, int]]] = {}
        self._kept_at = time.monotonic()

    def see(self, frame: FrameType, event: str, _: object) -> None:
        """Note a call. An object's constructor is noted for the calls of its methods."""
        if event != "call" or not frame.f_code.co_filename.startswith(self._root):
            return
        code = frame.f_code
        try:
            if code.co_name == "__init__":
                self._note_constructor(frame)
            found = self._wanted.get((code.co_filename, code.co_qualname))
            if found is not None:
                self._note_call(*found, frame)
        except Exception:
            # What cannot be described is no first guess; the program goes on.
            return

    def states(self) -> dict[str, tuple[State, ...]]:
        """Return a state of each form of call of each entry: those called most often first."""
        return {
            key: tuple(form.state() for form in sorted(forms.values(), key=lambda form: -form.count))
            for key, forms in self._forms.items()
        }

    def _note_constructor(self, frame: FrameType) -> None:
        names = _parameters(frame.f_code)
        made = frame.f_locals[names[0]]
        known = self._constructed.get(id(made))
        # `super().__init__` runs within the constructor that the call named.
        if known is not None and known[0] is made:
            return
        specs, sizes = self._describe(frame, names[1:], "")
        self._constructed[id(made)] = made, specs, sizes

    def _note_call(self, entry: SweepEntry, has_self: bool, frame: FrameType) -> None:
        names = _parameters(frame.f_code)
        specs: dict[str, Spec] = {}
        sizes: dict[str, int] = {}
        if has_self:
            if entry.kind != "autograd":
                _, own, own_sizes = self._constructed[id(frame.f_locals[names[0]])]
                specs |= {f"{CONSTRUCTOR}{path}": _below(CONSTRUCTOR, spec) for path, spec in own.items()}
                sizes |= {_symbol(f"{CONSTRUCTOR}{symbol}"): size for symbol, size in own_sizes.items()}
            names = names[1:]
        its_specs, its_sizes = self._describe(frame, names, "")
        specs |= its_specs
        sizes |= its_sizes
        forms = self._forms[entry.key]
        form = msgspec.json.encode(sorted(specs.items()))
        if form not in forms and len(forms) == FORMS:
            return
        forms.setdefault(form, _CallForm(specs)).add(sizes)
        if time.monotonic() - self._kept_at > KEEP_S:
            answer.keep(SeedRecord(calls=self.states()))
            self._kept_at = time.monotonic()

    def _describe(self, frame: FrameType, names: Sequence[str], prefix: str) -> tuple[dict[str, Spec], dict[str, int]]:
        specs: dict[str, Spec] = {}
        sizes: dict[str, int] = {}
        for name in names:
            for path, spec, own in self._specs(f"{prefix}{name}", frame.f_locals[name], DEPTH):
                specs[path] = spec
                sizes |= own
        return specs, sizes

    def _specs(self, path: str, value: Any, depth: int) -> Iterator[tuple[str, Spec, dict[str, int]]]:
        """Yield `value` and what it is made of: nothing if it cannot be made again from that."""
        match value:
            case torch.Tensor():
                axes = tuple(_symbol(f"{path}_{index}") for index in range(value.dim()))
                dtype = str(value.dtype).removeprefix("torch.")
                spec = Spec(kind="tensor", axes=axes, dtype=dtype, wants_gradient=value.requires_grad)
                yield path, spec, dict(zip(axes, map(int, value.shape), strict=True))
            case None:
                yield path, Spec(kind="none"), {}
            case enum.Enum():
                yield path, Spec(kind="enum", cls=_class_name(value), value=value.name), {}
            case bool():
                yield path, Spec(kind="bool", value=value), {}
            case int() if value > 1:
                yield path, Spec(kind="int", axes=(_symbol(path),)), {_symbol(path): value}
            case int():
                yield path, Spec(kind="int", value=value), {}
            case float():
                yield path, Spec(kind="float", value=value), {}
            case str():
                yield path, Spec(kind="str", value=value), {}
            case torch.dtype():
                yield path, Spec(kind="dtype", value=str(value).removeprefix("torch.")), {}
            case torch.device():
                yield path, Spec(kind="device"), {}
            case list() if depth and value and all(type(item) is int for item in value):
                length, item = _symbol(path), _symbol(f"{path}.0")
                yield path, Spec(kind="list", value="list", axes=(length,)), {length: len(value)}
                yield f"{path}.0", Spec(kind="int", axes=(item,)), {item: max(value)}
            case list() if depth and value and len(forms := self._forms_of(path, value, depth)) == 1:
                length = _symbol(path)
                yield path, Spec(kind="list", value="list", axes=(length,)), {length: len(value)}
                yield from forms[0]
            case list() | tuple() if depth and len(value) <= ITEMS:
                parts = [list(self._specs(f"{path}.{index}", item, depth - 1)) for index, item in enumerate(value)]
                if all(parts):
                    yield path, Spec(kind="list", value="tuple" if isinstance(value, tuple) else "list"), {}
                    yield from (spec for part in parts for spec in part)
            case _ if depth and dataclasses.is_dataclass(value) and not isinstance(value, type):
                fields = [field.name for field in dataclasses.fields(value) if field.init]
                yield path, Spec(kind="object", cls=_class_name(value)), {}
                for name in fields:
                    yield from self._specs(f"{path}.{name}", getattr(value, name), depth - 1)
            case _ if depth and (known := self._constructed.get(id(value))) is not None and known[0] is value:
                yield path, Spec(kind="object", cls=_class_name(value)), {}
                for name, spec in known[1].items():
                    own = {_symbol(f"{path}.{symbol}"): known[2][symbol] for symbol in spec.axes}
                    yield f"{path}.{name}", _below(f"{path}.", spec), own

    def _forms_of(self, path: str, items: list[Any], depth: int) -> list[list[tuple[str, Spec, dict[str, int]]]]:
        """Return the descriptions of `items`, as the first of them, that are of different form."""
        forms: list[list[tuple[str, Spec, dict[str, int]]]] = []
        for item in items[:ITEMS]:
            described = list(self._specs(f"{path}.0", item, depth - 1))
            if [part[:2] for part in described] not in [[part[:2] for part in form] for form in forms]:
                forms.append(described)
        return forms if all(forms) else []


class _CallForm:
    """The calls of one form: the same specs, other sizes."""

    def __init__(self, specs: dict[str, Spec]) -> None:
        self._specs = specs
        self._calls: list[dict[str, int]] = []
        self.count = 0

    def add(self, sizes: dict[str, int]) -> None:
        """Add a call."""
        self.count += 1
        if len(self._calls) < CALLS and sizes not in self._calls:
            self._calls.append(sizes)

    def state(self) -> State:
        """Return the call whose sizes differ most from each other; sizes that are equal in all calls are one symbol."""
        chosen = max(self._calls, key=lambda sizes: len(set(sizes.values())))
        first: dict[tuple[int, ...], str] = {}
        symbols = {name: first.setdefault(tuple(call[name] for call in self._calls), name) for name in chosen}
        dtypes = {spec.dtype for spec in self._specs.values() if spec.kind == "tensor" and _is_floating(spec.dtype)}
        dtype = dtypes.pop() if len(dtypes) == 1 else ""
        specs = {
            path: msgspec.structs.replace(
                spec,
                axes=tuple(symbols[axis] for axis in spec.axes),
                dtype=FLOAT if spec.kind == "tensor" and spec.dtype == dtype else spec.dtype,
            )
            for path, spec in self._specs.items()
        }
        sizes = {symbol: chosen[symbol] for symbol in symbols.values()}
        varied = (symbol for symbol in sizes if len({call[symbol] for call in self._calls}) > 1)
        ties = tuple(Tie(symbol=symbol, provenance="test", what="") for symbol in varied)
        return State(specs=specs, sizes=sizes, dtype=dtype or "float32", ties=ties, note="a call of the project's own")


def _is_floating(dtype: str) -> bool:
    return "float" in dtype


def _codes(root: str, entries: Sequence[SweepEntry]) -> Iterator[tuple[tuple[str, str], tuple[SweepEntry, bool]]]:
    """Yield the code of each entry, by its file and qualified name, and whether its first argument is an object."""
    for entry in entries:
        name = f"{entry.name}.forward" if entry.kind in ("module", "autograd") else entry.name
        if entry.kind != "optimizer":
            yield (f"{root}/{entry.path}", name), (entry, entry.kind != "function")


def _parameters(code: CodeType) -> tuple[str, ...]:
    """Return the parameters of `code`, apart from `*args` and `**options`."""
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _below(prefix: str, spec: Spec) -> Spec:
    return msgspec.structs.replace(spec, axes=tuple(_symbol(f"{prefix}{axis}") for axis in spec.axes))


def _class_name(value: object) -> str:
    return f"{type(value).__module__}:{type(value).__qualname__}"


def _symbol(text: str) -> str:
    return text.replace(".", "_")
