"""Products of tensors: matrix products, batched ones, and `einsum`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triton_doctor.static.python.ir import Const
from triton_doctor.static.variability.models.torch_arguments import AnyTensor, tensor_at
from triton_doctor.static.variability.values import tensors, views
from triton_doctor.static.variability.values.lattice import UNKNOWN, AbstractNumber, Variability, data_margin
from triton_doctor.static.variability.values.values import Tensor

if TYPE_CHECKING:
    from triton_doctor.static.python.ir import Call
    from triton_doctor.static.variability.interpreter.interpreter import Interpreter
    from triton_doctor.static.variability.values.program_point import ProgramPoint


def multiplied(left: AnyTensor, right: AnyTensor, *, is_linear: bool = False) -> Tensor | None:
    """Return a matrix product: the first operand with its last axis replaced by the columns of the second."""
    count = tensors.rank(right)
    if count == 1 and not is_linear:
        found = views.with_axes(left, -1, (), replaced=True)
    else:
        columns = tensors.axis_at(right, 0 if is_linear else -1)
        found = views.with_axes(left, -1, (columns,), replaced=True)
    return found._replace(contiguous=True, moved=None) if found is not None else None


def batched_alike(product: Tensor, other: AnyTensor) -> Tensor:
    """Return the product of two batches of matrices of equal count; a weight's count is preferred."""
    batch = _shared(tensors.axis_at(product, 0), tensors.axis_at(other, 0))
    return views.with_axes(product, 0, (batch,), replaced=True) or product


def _shared(one: AbstractNumber, other: AbstractNumber) -> AbstractNumber:
    """Return the length of an axis that two tensors share: the known one, or the one that is PER_MODEL."""
    if one.kind is not other.kind and Variability.UNKNOWN in (one.kind, other.kind):
        return other if one.kind is Variability.UNKNOWN else one
    return min(one, other, key=data_margin) if one.suggests_model or other.suggests_model else one


def contracted(interpreter: Interpreter, call: Call, point: ProgramPoint) -> Tensor:
    """Return `einsum("bnd,de->bne", x, w)`."""
    match call.args:
        case (Const(str(pattern)), *operands):
            inputs, arrow, output = pattern.replace(" ", "").partition("->")
        case _:
            return Tensor(open=UNKNOWN)
    lengths: dict[str, AbstractNumber] = {}
    for letters, operand in zip(inputs.split(","), operands, strict=False):
        tensor = tensor_at(interpreter, operand, point)
        if tensor is not None and letters.isalpha():
            whole = views.of_rank(tensor, len(letters))
            for position, letter in enumerate(letters):
                found = tensors.axis_at(whole, position)
                lengths[letter] = _shared(lengths[letter], found) if letter in lengths else found
    if not arrow or "." in output:
        return Tensor(open=UNKNOWN)
    return Tensor(front=tuple(lengths.get(letter, UNKNOWN) for letter in output), contiguous=True)
