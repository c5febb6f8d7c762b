"""The facts about a size of unknown origin that the rows of the hint table test."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

# Of four axes or more the first is the batch: `(batch, heads, length, dim)`, `(batch, channels, height, width)`.
MANY_AXES = 4


class Side(Enum):
    """A side of an image."""

    HEIGHT = "height"
    WIDTH = "width"


class Toward(Enum):
    """What a size follows: the data of a call, or the model."""

    DATA = "data"
    MODEL = "model"


# A tuple, because it is created and hashed 17,000 times in a check of 230 files: a dataclass takes twice as long.
class AxisContext(NamedTuple):
    """The facts about a size of unknown origin. Builders fill in what they know.

    - `name`: what the size is called. `is_axis` if it is one axis of a tensor, `is_end` if that is the last;
      `side` if it is one side of an image, and the other is beside it.
    - `tensor`, `position`, `rank`: the tensor, the axis, and the number of axes, if known. `folded_after`: how many
      axes precede those that a product folds; `is_rest`: it is the rest of a quotient.
    - `is_weight`: the tensor lives as long as the model; `is_attribute`, since an object creates and keeps it.
      `is_item`: it was taken out of another by a number.
    - `noted`: what a written shape says of the axis. `unpacked`: what the names say together that the shape is unpacked
      into; then its position says nothing.
    - `is_attended`: the last but one axis of queries, keys or values, processed in blocks. `is_described`: the kernel's
      author describes the parameter as a batch, a length or rows.
    - `is_weight_row`: the first of two axes that are called `N, K`.
    - `is_total`: the number of elements of an unknown tensor. `is_from_outside`: a number that a function
      takes, which nothing in the project calls.
    """

    name: str = ""
    tensor: str = ""
    position: int | None = None
    rank: int | None = None
    folded_after: int | None = None
    is_rest: bool = False
    is_weight: bool = False
    is_item: bool = False
    is_attribute: bool = False
    is_length: bool = False
    is_quotient: bool = False
    is_output_width: bool = False
    is_weight_size: bool = False
    side: Side | None = None
    is_beside_heads: bool = False
    is_weight_row: bool = False
    is_covered: bool = False
    is_loaded: bool = False
    is_one_for_some_caller: bool = False
    is_axis: bool = False
    is_end: bool = False
    noted: Toward | None = None
    unpacked: Toward | None = None
    is_described: bool = False
    is_attended: bool = False
    is_total: bool = False
    is_from_outside: bool = False

    @property
    def is_first(self) -> bool:
        """Whether it is the first axis of a tensor, or a product that starts with it."""
        return self.position == 0 or self.folded_after == 0

    @property
    def is_first_of_many(self) -> bool:
        """Whether it is the first of many axes."""
        return self.position == 0 and self.rank is not None and self.rank >= MANY_AXES

    @property
    def is_folded(self) -> bool:
        """Whether an open number of axes is folded into it: all of a tensor, or all behind the first."""
        # Behind batch and channels too, what is folded is as likely a state's or a head's fixed size.
        return self.folded_after is not None and self.folded_after <= (0 if self.is_rest else 1)

    @property
    def is_last(self) -> bool:
        """Whether it is the last of several axes of a tensor."""
        return self.position == -1 or (self.rank is not None and self.position == self.rank - 1 > 0)

    @property
    def is_activation(self) -> bool:
        """Whether nothing marks the tensor as a weight or a part of another."""
        return not (self.is_weight or self.is_item)
