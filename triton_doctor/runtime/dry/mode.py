"""The mode under which a program runs dry: fake tensors, with values where they are small, and guesses where asked."""

from __future__ import annotations

import functools
import itertools
import threading
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
)
from torch.utils import _pytree as pytree

from triton_doctor.runtime.dry.data_guesses import (
    DATA_DEPENDENT,
    SCALARS,
    describe_question,
    guess_result,
    remember_origin,
)
from triton_doctor.runtime.dry.known_values import (
    forget_value,
    is_whole,
    is_worth_keeping,
    keep_value,
    real_tensors,
    replace_value,
    value_of,
)
from triton_doctor.runtime.dry.output_strides import true_strides
from triton_doctor.runtime.dry.python_kernels import PythonKernels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from triton_doctor.runtime.dry.questions import Questions

CPU, META, CUDA = torch.device("cpu"), torch.device("meta"), torch.device("cuda", 0)
PRIM_DEVICE = torch.ops.prim.device.default
# Their results hold nothing that could be known.
UNFILLED = frozenset(
    {"empty", "empty_strided", "empty_like", "new_empty", "new_empty_strided", "empty_permuted", "resize_"}
)
# Their results do not depend on the values of the tensor that they resemble.
FILLING = {"ones_like": 1, "new_ones": 1, "zeros_like": 0, "new_zeros": 0}
RANDOM_FLOATS = frozenset({"rand", "randn", "normal"})
OVERWRITING = frozenset({"copy_", "fill_", "zero_"})


class ThreadState(threading.local):
    """The state of one thread in a dry run.

    `engine` is the autograd engine, `beneath` a Python kernel that asks for what it hides, `compiled` a function that
    was given to torch.compile.
    """

    def __init__(self) -> None:
        self.engine = self.beneath = self.in_kernel = self.compiled = False
        self.entered: list[Any] = []

    def within(self, name: str, value: bool, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return `function` with `name` of this state set to `value` while it runs."""

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            before = getattr(self, name)
            setattr(self, name, value)
            try:
                return function(*args, **kwargs)
            finally:
                setattr(self, name, before)

        return call


class DryMode(FakeTensorMode):  # type: ignore[misc]
    """The torch mode of a dry run, entered on each thread; it runs every operator in `dispatch`."""

    supports_higher_order_operators = True

    def __init__(self, questions: Questions) -> None:
        self.here = ThreadState()
        super().__init__(allow_non_fake_inputs=True)
        self.questions = questions
        self.kernels = PythonKernels()
        self.allow_meta = True

    @property
    def avoid_device_init(self) -> bool:
        """Return True, so that torch creates no real CUDA tensor."""
        return True

    @property
    def enter_stack(self) -> list[Any]:
        """Return the states that torch stores when the mode is entered; each thread has its own list."""
        return self.here.entered

    @enter_stack.setter
    def enter_stack(self, value: list[Any]) -> None:
        self.here.entered = value

    @property
    def in_kernel_invocation(self) -> bool:
        """Return whether this thread runs an operator on the device `meta`."""
        return self.here.in_kernel

    @in_kernel_invocation.setter
    def in_kernel_invocation(self, value: bool) -> None:
        self.here.in_kernel = value

    def device_for(self, tensor: Any) -> Any:
        """Return the device of a fake `tensor` as C++ sees it.

        While the autograd engine runs, CUDA tensors appear on `meta`, because the engine would request CUDA
        streams.
        """
        if tensor.fake_mode.in_kernel_invocation:
            return META
        return META if self.here.engine and tensor.fake_device.type == "cuda" else tensor.fake_device

    def dispatch(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run one operator on fake tensors, outside the state "inside the autograd engine"."""
        if func is PRIM_DEVICE:
            return self.device_for(args[0])
        if isinstance(func, torch._ops.HigherOrderOperator):
            self.questions.stop(f"the higher-order operator {func}, which runs compiled")
        here, kwargs = self.here, dict(kwargs or {})
        engine, here.engine = here.engine, False
        try:
            if engine and getattr(kwargs.get("device"), "type", None) == "meta":
                # A formula in C++ asked a gradient for its device.
                kwargs["device"] = CUDA
            return self._run(func, types, args, kwargs)
        finally:
            here.engine = engine

    def _run(self, func: Any, types: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        schema = getattr(func, "_schema", None)
        name = str(func) if schema is None else schema.name
        if schema is not None and not self.here.beneath:
            kernel = self.kernels.find(name, schema.overload_name, args, kwargs)
            if kernel is not None:
                with self, torch._C._AutoDispatchBelowAutograd():
                    return kernel(*args, **kwargs)
        if torch.is_inference_mode_enabled() and isinstance(func, torch._ops.OpOverload):
            # Elsewhere operators that are made of others arrive in parts.
            with self:
                result = func.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
        short = name.rpartition("::")[2]
        tensors = find_tensors(args, kwargs)
        known = short not in UNFILLED and all(value_of(tensor) is not None for tensor in tensors)
        if short in SCALARS or func in DATA_DEPENDENT:
            return self._answer(func, short, args, kwargs, tensors, known)
        # Shapes do not depend on a generator, which torch's own formulas refuse.
        without = kwargs | {"generator": None} if "generator" in kwargs else kwargs
        try:
            result = super().dispatch(func, types, args, without)
        except (DataDependentOutputException, DynamicOutputShapeException):
            return self._answer(func, short, args, kwargs, tensors, known)
        strides = true_strides(func, args, kwargs, tensors, result)
        if strides is not None and strides != result.stride():
            with self:
                result = torch.empty_strided(result.shape, strides, dtype=result.dtype, device=result.device)
        results = find_tensors((result,), {})
        if schema is not None:
            if known:
                self._keep_values(func, short, args, kwargs, tensors, results)
            elif schema.is_mutable:
                _forget_written(schema, short, args, kwargs)
            elif short in FILLING and isinstance(result, FakeTensor) and is_worth_keeping(result):
                replace_value(result, FILLING[short])
        for tensor in results:
            if isinstance(tensor, FakeTensor):
                remember_origin(short, args, tensors, tensor)
        return result

    def _keep_values(
        self, func: Any, short: str, args: Any, kwargs: dict[str, Any], tensors: list[Any], results: list[Any]
    ) -> None:
        mutable = func._schema.is_mutable
        # An operator that writes may return nothing, as `_foreach_add_` does.
        if not mutable and not (results and all(map(is_worth_keeping, results))):
            return
        if not tensors and short in RANDOM_FLOATS:
            return
        try:
            computed = compute(func, args, kwargs)
        except Exception:  # an operator that the CPU does not have
            if mutable:
                for tensor in tensors:
                    forget_value(tensor)
            return
        values = (leaf for leaf in pytree.tree_leaves(computed) if isinstance(leaf, torch.Tensor))
        for tensor, value in zip(results, values, strict=False):
            # What was written in place had its value written in place, too.
            if isinstance(tensor, FakeTensor) and not any(tensor is argument for argument in tensors):
                keep_value(tensor, value)

    def _answer(self, func: Any, short: str, args: Any, kwargs: dict[str, Any], tensors: list[Any], known: bool) -> Any:
        """Return the result of an operator that reads data: computed if its inputs are `known`, guessed otherwise."""
        device = next((tensor.fake_device for tensor in tensors if isinstance(tensor, FakeTensor)), CPU)
        if known:
            computed = compute(func, args, kwargs)
            return pytree.tree_map_only(torch.Tensor, lambda value: self._fake(value, device), computed)
        first = tensors[0] if tensors else None
        question = describe_question(short, first)

        def empty(*shape: int, dtype: Any = torch.int64) -> Any:
            with self:
                return torch.empty(*shape, dtype=dtype, device=device)

        guess = guess_result(short, args, first, empty)
        if guess is None:
            self.questions.stop(question)
        other = self.questions.guess(question)
        return guess_result(short, args, first, empty, other) if other else guess

    def _fake(self, value: Any, device: Any) -> Any:
        with self:
            tensor = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=device)
        if is_worth_keeping(tensor):
            keep_value(tensor, value)
        return tensor


def find_tensors(args: Any, kwargs: dict[str, Any]) -> list[Any]:
    """Return the tensors among the arguments of an operator, including those inside lists and dicts."""
    found: list[Any] = []
    for given in (args, kwargs.values()) if kwargs else (args,):
        for argument in given:
            if isinstance(argument, torch.Tensor):
                found.append(argument)
            elif isinstance(argument, list | tuple | dict):
                found += [leaf for leaf in pytree.tree_leaves(argument) if isinstance(leaf, torch.Tensor)]
    return found


def compute(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Call `func` on the CPU with the known values of its tensor arguments."""
    flat, spec = pytree.tree_flatten((args, kwargs))
    real = [
        value_of(leaf) if isinstance(leaf, torch.Tensor) else CPU if isinstance(leaf, torch.device) else leaf
        for leaf in flat
    ]
    args, kwargs = pytree.tree_unflatten(real, spec)
    kwargs.pop("pin_memory", None)
    with real_tensors():
        return func(*args, **kwargs)


def _forget_written(schema: Any, short: str, args: Any, kwargs: dict[str, Any]) -> None:
    for name, tensor in _written(schema, args, kwargs):
        forget_value(tensor)
        if short in OVERWRITING and name == "self" and is_whole(tensor) and is_worth_keeping(tensor):
            replace_value(tensor, args[1] if len(args) > 1 else 0)


def _written(schema: Any, args: Any, kwargs: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the fake tensors that an operator modifies in place, with the names of their parameters."""
    named = ((argument, kwargs[argument.name]) for argument in schema.arguments if argument.name in kwargs)
    for argument, given in itertools.chain(zip(schema.arguments, args, strict=False), named):
        if argument.alias_info is not None and argument.alias_info.is_write:
            for tensor in given if isinstance(given, list | tuple) else (given,):
                if isinstance(tensor, FakeTensor):
                    yield argument.name, tensor
