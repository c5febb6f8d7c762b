"""The table of hints: what suggests that a size follows the data, or the model.

A builder describes a size as an `AxisContext`. `apply_hints` returns the rows that apply, and `weigh` decides: does the
size follow the data, the model, or stay undecided? Hints toward the data must outweigh those toward the model, since a
wrong finding costs more than a missing one: a single data hint of weight 1 decides nothing, a single model hint does.

To add a hint, add a row. If no field of `AxisContext` tells when it applies, add a field and fill it in one builder.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from triton_doctor.static.variability.hints.axis_context import AxisContext, Side, Toward
from triton_doctor.static.variability.hints.name_words import (
    names_data,
    names_elements,
    names_items,
    names_length,
    names_mask,
    names_model,
    names_nothing_but_length,
    names_one_for_each_setting,
    names_output_gradient,
    names_pool,
    names_size_of_block,
    names_stack,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

# The weight that data hints need at least, and again for each unit of weight of model hints.
EVIDENCE = 2
# Bound once for speed: before Python 3.12, access to an enum member is ten times as slow.
_DATA = Toward.DATA


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hint:
    """A row of the table. `says` completes "data, because ..."; `example` is code in which the hint applies to `n`.

    `in_words` if it relies on text that the author wrote for readers, which nothing checks.
    """

    name: str
    toward: Toward
    weight: int = 1
    says: str
    example: str
    in_words: bool = False
    applies: Callable[[AxisContext], bool]


class AppliedHint(NamedTuple):
    """A hint with the line where it was seen, if there is one."""

    hint: Hint
    path: str | None
    line: int | None


# The names of rows that other modules look for.
WEIGHT, ATTRIBUTE, UNPACKED = "kept with the model", "kept in an attribute", "unpacked shape"
FIRST_AXIS, LAST_AXIS, TOTAL, COVERED = "first axis", "last axis", "number of elements", "covered by programs"

HINTS: tuple[Hint, ...] = (
    Hint(
        name=FIRST_AXIS,
        toward=Toward.DATA,
        says="the first axis of a tensor is often the batch",
        example="n = x.shape[0]",
        applies=lambda axis: axis.is_first and axis.is_activation,
    ),
    Hint(
        name="first of many axes",
        toward=Toward.DATA,
        says="of four axes or more the first is the batch",
        example="n, heads, length, dim = x.shape",
        applies=lambda axis: axis.is_first_of_many and axis.is_activation,
    ),
    Hint(
        name="folded axes",
        toward=Toward.DATA,
        says="a view folds an open number of axes into it",
        example="n = x.view(-1, width).shape[0]",
        applies=lambda axis: axis.is_folded and axis.is_activation,
    ),
    Hint(
        name="name",
        toward=Toward.DATA,
        says="its name speaks of batch, sequence, tokens or rows",
        example="n_tokens = x.shape[1]",
        applies=lambda axis: names_data(axis.name),
    ),
    Hint(
        name="beside the heads",
        toward=Toward.DATA,
        says="of four axes it is neither the batch, nor the heads, nor the last: the length",
        example="batch, heads, n, dim = q.shape",
        applies=lambda axis: axis.is_beside_heads,
    ),
    Hint(
        name="axis named for a length",
        toward=Toward.DATA,
        says="its name spells out a batch, a length or rows",
        example="seq_len = x.shape[1]",
        applies=lambda axis: axis.is_axis and not axis.is_end and names_length(axis.name),
    ),
    Hint(
        name="length from outside",
        toward=Toward.DATA,
        says="nothing in the project passes it, and its name says batch or sequence length and no more",
        example="def run(x, max_seq_len):",
        applies=lambda axis: axis.is_from_outside and names_nothing_but_length(axis.name),
    ),
    Hint(
        name="height of an image",
        toward=Toward.DATA,
        says="it is bound beside the width of an image",
        example="batch, channels, h, w = x.shape",
        applies=lambda axis: axis.side is Side.HEIGHT,
    ),
    Hint(
        name="one for each sequence",
        toward=Toward.DATA,
        says="the tensor has an item for each sequence or token",
        example="n = seq_lens.shape[0]",
        applies=lambda axis: axis.is_first and axis.is_activation and names_items(axis.tensor),
    ),
    Hint(
        name="gradient of an output",
        toward=Toward.DATA,
        says="it is the first axis of the gradient of an output: its batch, or its rows",
        example="n = grad_output.shape[0]",
        applies=lambda axis: axis.is_first and axis.is_activation and names_output_gradient(axis.tensor),
    ),
    Hint(
        name=COVERED,
        toward=Toward.DATA,
        says="the grid spans it, or the kernel walks it in blocks or bounds its offsets by it",
        example="kernel[(triton.cdiv(n, 64),)](x, n)",
        applies=lambda axis: axis.is_covered,
    ),
    Hint(
        name="queries and keys in blocks",
        toward=Toward.DATA,
        says="behind batch and heads of queries, keys or values, it is divided into blocks: the length",
        example="kernel[(triton.cdiv(q.shape[2], 64), q.shape[0])](q, q.shape[2])",
        applies=lambda axis: axis.is_attended,
    ),
    Hint(
        name="row of a mask",
        toward=Toward.DATA,
        weight=2,
        says="it is the last axis of a mask, of queries by keys or of tokens: the length",
        example="n = attention_mask.shape[-1]",
        applies=lambda axis: axis.is_activation and axis.is_last and names_mask(axis.tensor),
    ),
    Hint(
        name=TOTAL,
        toward=Toward.DATA,
        says="it counts all elements of a tensor",
        example="n_elements = batch * channels",
        applies=lambda axis: axis.is_total or names_elements(axis.name),
    ),
    Hint(
        name="replaced by loaded data",
        toward=Toward.DATA,
        says="the kernel replaces it by a number that it loads",
        example="n = tl.load(lengths + i)",
        applies=lambda axis: axis.is_loaded,
    ),
    Hint(
        name="length of a list",
        toward=Toward.DATA,
        says="it is the length of a list, or the greatest of its items",
        example="n = len(requests)",
        applies=lambda axis: axis.is_length,
    ),
    Hint(
        name="shape note",
        toward=Toward.DATA,
        weight=2,
        says="a shape written beside the tensor names the axis as a batch, a length or rows",
        example="x: torch.Tensor,  # (heads, n_tokens, dim)",
        in_words=True,
        applies=lambda axis: axis.noted is Toward.DATA,
    ),
    Hint(
        name=UNPACKED,
        toward=Toward.DATA,
        weight=2,
        says="the shape is spelled with names among which this one is a batch or a length",
        example="batch, n, dim = x.shape",
        applies=lambda axis: axis.unpacked is Toward.DATA,
    ),
    Hint(
        name="description",
        toward=Toward.DATA,
        weight=2,
        says="the kernel's author describes the parameter as a batch, a length or rows",
        example="n: tl.constexpr,  # number of tokens",
        in_words=True,
        applies=lambda axis: axis.is_described,
    ),
    Hint(
        name=LAST_AXIS,
        toward=Toward.MODEL,
        says="the last axis of a tensor is often the features",
        example="n = x.shape[-1]",
        applies=lambda axis: axis.is_last and not names_mask(axis.tensor),
    ),
    Hint(
        name="name",
        toward=Toward.MODEL,
        says="its name speaks of heads, channels, hidden sizes or settings",
        example="head_dim = x.shape[1]",
        applies=lambda axis: names_model(axis.name) and not (axis.is_length or axis.side),
    ),
    Hint(
        name="shape note",
        toward=Toward.MODEL,
        weight=2,
        says="a shape written beside the tensor names the axis as heads, channels or a setting",
        example="x: torch.Tensor,  # (n_experts, tokens, dim)",
        in_words=True,
        applies=lambda axis: axis.noted is Toward.MODEL,
    ),
    Hint(
        name=UNPACKED,
        toward=Toward.MODEL,
        says="the shape is spelled with names among which this one is heads, channels or a setting",
        example="n_experts, tokens, dim = x.shape",
        applies=lambda axis: axis.unpacked is Toward.MODEL,
    ),
    Hint(
        name=WEIGHT,
        toward=Toward.MODEL,
        weight=2,
        says="the tensor lives as long as the model: a weight, a cache, a table",
        example="n = weight.shape[0]",
        applies=lambda axis: axis.is_weight and not axis.is_attribute,
    ),
    Hint(
        name=ATTRIBUTE,
        toward=Toward.MODEL,
        weight=2,
        says="an object creates the tensor once and keeps it: a weight, a buffer, a table",
        example="n = self.edges.shape[0]",
        applies=lambda axis: axis.is_attribute,
    ),
    Hint(
        name="one for each of a setting",
        toward=Toward.MODEL,
        says="the tensor has an item for each expert, group or rank",
        example="n = group_sizes.shape[0]",
        applies=lambda axis: axis.is_first and names_one_for_each_setting(axis.tensor),
    ),
    Hint(
        name="stacked by rank",
        toward=Toward.MODEL,
        says="what was received or gathered has an item for each rank of a group",
        example="n = gathered.shape[0]",
        applies=lambda axis: axis.is_first and names_stack(axis.tensor),
    ),
    Hint(
        name="width of an output",
        toward=Toward.MODEL,
        says="it is the last axis of a tensor that the function allocates",
        example="n = weight_t.shape[0]; y = torch.empty((m, n))",
        applies=lambda axis: axis.is_output_width and not names_data(axis.name),
    ),
    Hint(
        name="row of a weight",
        toward=Toward.MODEL,
        says="the shape is spelled `N, K`, as that of a weight in a product of matrices",
        example="N, K = b.shape",
        applies=lambda axis: axis.is_weight_row,
    ),
    Hint(
        name="named a block",
        toward=Toward.MODEL,
        says="its name is that of the size of a block",
        example="BLOCK_N = q.shape[2]",
        applies=lambda axis: axis.is_axis and names_size_of_block(axis.name),
    ),
    Hint(
        name="size of a weight",
        toward=Toward.MODEL,
        weight=2,
        says="the function allocates the gradient of a weight with it, behind the first axis",
        example="n = segments.shape[0] - 1; grad_weight = torch.empty((c_out, n, c_in))",
        applies=lambda axis: axis.is_weight_size,
    ),
    Hint(
        name="quotient of axes",
        toward=Toward.MODEL,
        says="the quotient of two axes, such as query heads by key heads, lasts as the model does",
        example="n = q.shape[1] // k.shape[1]",
        applies=lambda axis: axis.is_quotient,
    ),
    Hint(
        name="rest of an item",
        toward=Toward.MODEL,
        says="it is what is left of one item of several",
        example="n = tensors[0].numel()",
        applies=lambda axis: axis.is_item and axis.folded_after is not None,
    ),
    Hint(
        name="blocks of a pool",
        toward=Toward.MODEL,
        says="its name counts blocks, pages or lines, as of a cache that is allocated once",
        example="n_pages = k_cache.shape[0]",
        applies=lambda axis: axis.is_axis and names_pool(axis.name),
    ),
    Hint(
        name="one for some caller",
        toward=Toward.MODEL,
        says="some caller passes a tensor with one item along it",
        example="run(x.unsqueeze(0))",
        applies=lambda axis: axis.is_one_for_some_caller,
    ),
)


@lru_cache(maxsize=4096)
def _applying(context: AxisContext) -> tuple[Hint, ...]:
    return tuple(hint for hint in HINTS if hint.applies(context))


def apply_hints(context: AxisContext, path: str | None, line: int | None) -> frozenset[AppliedHint]:
    """Return the hints that apply to `context`, which is known from `line` of `path`."""
    return frozenset([AppliedHint(hint, path, line) for hint in _applying(context)])


def common_hints(opinions: Iterable[frozenset[AppliedHint]]) -> frozenset[AppliedHint]:
    """Return the hints of a size that is one of several: data hints that all share, and all model hints."""
    every = list(opinions)
    rows = [{applied_hint.hint for applied_hint in applied} for applied in every]
    return frozenset(
        applied_hint
        for applied in every
        for applied_hint in applied
        if applied_hint.hint.toward is Toward.MODEL or all(applied_hint.hint in shared for shared in rows)
    )


class Weights(NamedTuple):
    """The total weights of hints toward the data and toward the model."""

    data: int
    model: int


@lru_cache(maxsize=8192)
def weights(applied: frozenset[AppliedHint]) -> Weights:
    """Return the weights of `applied`; a hint seen on several lines counts once."""
    data = model = 0
    for hint in {applied_hint.hint for applied_hint in applied}:
        if hint.toward is _DATA:
            data += hint.weight
        else:
            model += hint.weight
    return Weights(data, model)


def weight_needed(model: int) -> int:
    """Return the weight that data hints need against model hints of the weight `model`."""
    return EVIDENCE * (1 + model)


@lru_cache(maxsize=8192)
def weigh(applied: frozenset[AppliedHint]) -> Toward | None:
    """Return what `applied` decide; None if undecided."""
    found = weights(applied)
    if found.data >= weight_needed(found.model):
        return Toward.DATA
    return Toward.MODEL if found.model > found.data else None


def pool_hints(opinions: Sequence[frozenset[AppliedHint]]) -> frozenset[AppliedHint]:
    """Combine the hints of several sizes (`opinions`) into those of a size that is computed from them.

    If the hints of some sizes alone say that the size follows the input data, only these hints are returned. Otherwise
    the sizes that are undecided count: all their hints towards data, and the hints towards the model that all of them
    have.
    """
    if len(opinions) <= 1:
        return opinions[0] if opinions else frozenset()
    sides = [weigh(applied) for applied in opinions]
    decided = Toward.DATA if Toward.DATA in sides else None
    chosen = [applied for applied, side in zip(opinions, sides, strict=True) if side is decided] or opinions
    shared = [{applied_hint.hint for applied_hint in applied} for applied in chosen]
    return frozenset(
        applied_hint
        for applied in chosen
        for applied_hint in applied
        if decided or applied_hint.hint.toward is Toward.DATA or all(applied_hint.hint in hints for hints in shared)
    )
