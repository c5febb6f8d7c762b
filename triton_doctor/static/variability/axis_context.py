"""What is known of a size whose origin is out of sight: what the rows of the table of hints look at."""

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


# A tuple, because it is made and hashed 17,000 times in a check of 230 files: as a dataclass that takes twice as long.
class AxisContext(NamedTuple):
    """What is known about a size that has no origin in sight. Builders fill what they know.

    `name` is what the size is called, which `is_axis` where it is one axis of a tensor, and `is_end` where that is the
    last; `side` where the name is that of one side of an image, and the other is beside it. `tensor` names the tensor
    whose axis at `position` it is, of `rank` axes where that is known. `folded_after` is the number of axes in front
    of those whose product it is, `is_rest` where it is the rest of a quotient. `is_weight` where the tensor lives as
    long as the model, `is_item` where it was taken out of another by a number. `noted` is what a shape written beside
    the tensor says of the axis, `unpacked` what the names say together that the function unpacks the shape into; its
    position says nothing then. It `is_attended` where it is the last but one axis of queries, keys or values and
    walked in blocks. It `is_described` where the kernel's author describes the parameter that it is given to as a
    batch, a length or rows. It `is_total` where it counts all elements of a tensor that is out of sight.
    """

    name: str = ""
    tensor: str = ""
    position: int | None = None
    rank: int | None = None
    folded_after: int | None = None
    is_rest: bool = False
    is_weight: bool = False
    is_item: bool = False
    is_length: bool = False
    is_quotient: bool = False
    is_output_width: bool = False
    is_weight_size: bool = False
    side: Side | None = None
    is_beside_heads: bool = False
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

    @property
    def is_first(self) -> bool:
        """Whether it is, or begins with, the first axis of a tensor."""
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
        """Whether nothing says that the tensor is a weight, or a part of another."""
        return not (self.is_weight or self.is_item)
