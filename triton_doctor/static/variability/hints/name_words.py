"""Words in names: what they suggest about a size, a tensor, a list, a function or the side of an image."""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from triton_doctor.static.variability.hints.axis_context import Side

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_TABLES = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
_WORDS = {name: frozenset[str](table["words"]) for name, table in _TABLES.items()}
# Those that are tested most often, under names.
_DATA_WORDS, _HEAD_WORDS, _TILE_WORDS = _WORDS["data"], _WORDS["heads"], _WORDS["tiles"]
_MODEL_WORDS = _HEAD_WORDS | _WORDS["model"]
_COUNT_WORDS, _PLAIN_WORDS, _WEIGHT_WORDS = _WORDS["counts"], _WORDS["plain"], _WORDS["weights"]
_ROWS = frozenset({"row", "dim"})  # `row_dim` beside `col_dim` is the number of rows
_COUNTS_BLOCKS = re.compile(r"(?:n|nr|num|number)_|(?:num|number)[A-Z]|\w*(?:id|idx|_per_)", re.IGNORECASE)
# Names of weight matrices as in papers: `Wq`, `Wh`.
_MATRIX = re.compile("W[a-z]")
# `S_q`, `L_kv`: how many queries or keys there are, not what one is.
_LENGTH_OF_ATTENDED = re.compile("[STL]_(?:[qk]|kv|[QK]|KV)")
_PER = re.compile("_per_", re.IGNORECASE)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[a-z]+")
_WEIGHT_AXES = 4


@lru_cache(maxsize=4096)
def words(name: str) -> frozenset[str]:
    """Return the words of a name: max, kv, len for `maxKvLen_2`; elems for `elems_per_token`, which counts per item."""
    return frozenset(word.lower() for word in _WORD.findall(_PER.split(name)[0]))


@lru_cache(maxsize=4096)
def names_data(name: str) -> bool:
    """Return whether a name has a word for batch, sequence, tokens or rows."""
    return (
        not (names_room(name) or _names_width(name) or _names_rate(name))
        and bool(_main_words(name) & _DATA_WORDS)
        and not _main_words(name) & (_MODEL_WORDS | _TILE_WORDS) - _PLAIN_WORDS
    )


@lru_cache(maxsize=4096)
def names_model(name: str) -> bool:
    """Return whether a name has a word for heads, channels or hidden sizes."""
    if names_room(name) or _names_width(name):
        return True
    return bool(_main_words(name) & _MODEL_WORDS) and not _main_words(name) & _DATA_WORDS


@lru_cache(maxsize=4096)
def names_room(name: str) -> bool:
    """Return whether a name is that of a capacity."""
    parts = words(name)
    return "max" in parts and bool(parts & _COUNT_WORDS)


@lru_cache(maxsize=4096)
def names_elements(name: str) -> bool:
    """Return whether a name counts the elements of something, and not of each of its parts: `numel`, `n_elements`."""
    is_whole = "_per_" not in name.lower() and not words(name) & (_MODEL_WORDS | _TILE_WORDS | _WORDS["extents"])
    return is_whole and bool(words(name) & _WORDS["elements"])


def _names_width(name: str) -> bool:
    """Return whether a name is that of the length of one row or the width of one token."""
    parts = words(name)
    is_wide = bool(parts & _WORDS["wide"] and parts & _PLAIN_WORDS) and parts != _ROWS
    return is_wide or ("row" in parts and bool(parts & _WORDS["extents"]))


def _names_rate(name: str) -> bool:
    """Return whether a name is that of a rate: `rows_per_block`, not `max_len_per_seq`."""
    return "_per_" in name.lower() and bool(words(name) & (_COUNT_WORDS | {"row", "token", "block", "blocks"}))


@lru_cache(maxsize=4096)
def names_heads(name: str) -> bool:
    """Return whether a name counts heads, and is not their width."""
    return bool(_main_words(name) & _HEAD_WORDS) and not _main_words(name) & (_DATA_WORDS | _PLAIN_WORDS)


@lru_cache(maxsize=4096)
def names_length(name: str) -> bool:
    """Return whether a name has a whole word for batch, sequence, tokens or rows, and is no maximum."""
    return names_data(name) and any(len(word) > 2 for word in words(name) & _DATA_WORDS) and "max" not in words(name)


@lru_cache(maxsize=4096)
def names_nothing_but_length(name: str) -> bool:
    """Return whether a name says batch or sequence length and nothing else: `max_seq_len`, not `draft_seq_len`."""
    parts = words(name)
    return (
        names_data(name)
        and bool(parts & _WORDS["sequences"])
        and parts <= _WORDS["sequences"] | _WORDS["plain_lengths"]
    )


@lru_cache(maxsize=4096)
def names_part(name: str) -> bool:
    """Return whether a name is that of one part of a whole, or of the number of parts."""
    return bool(_main_words(name) & _TILE_WORDS)


def names_size_of_block(name: str) -> bool:
    """Return whether a name is that of the size of a block: `BLOCK_N`, `chunk_size`, but not `n_chunks`."""
    return bool(words(name) & _WORDS["blocks"]) and _COUNTS_BLOCKS.match(name) is None


def names_block(name: str) -> bool:
    """Return whether a name is `BT`, `BS` or similar: the block of one axis."""
    return len(name) == 2 and name[0] == "B" and name.isupper()


def _main_words(name: str) -> frozenset[str]:
    """Return the meaningful words: a letter only alone or before `_dim`, as in `M` but not in `BLOCK_SIZE_M`."""
    letter, separator, plain = name.partition("_")
    if separator and plain in _PLAIN_WORDS and letter.lower() in _DATA_WORDS | _HEAD_WORDS and len(letter) == 1:
        return frozenset({letter.lower()})
    if separator and len(letter) == 1 and _LENGTH_OF_ATTENDED.fullmatch(name):
        return frozenset({"len"})
    parts = words(name) - {"n", "num", "total", "size"}
    return parts if len(parts) == 1 else frozenset(word for word in parts if len(word) > 1) or words(name)


@lru_cache(maxsize=4096)
def names_weight(name: str) -> bool:
    """Return whether a tensor's name says that it lives as long as the model: a weight, a cache, a mapping."""
    parts = words(name)
    return bool(parts & _WEIGHT_WORDS) or ("to" in parts and len(parts) > 2) or _MATRIX.fullmatch(name) is not None


@lru_cache(maxsize=4096)
def names_parameter(name: str) -> bool:
    """Return whether a tensor's name has a word for a parameter, which alone makes it the model's."""
    return names_weight(name) and not words(name) & (_WEIGHT_WORDS - _WORDS["parameters"])


@lru_cache(maxsize=4096)
def names_weight_gradient(name: str) -> bool:
    """Return whether a tensor's name has a whole word for the gradient of a weight: `grad_weight`, `dweight`."""
    parts = words(name)
    return bool(parts & {"dweight", "dweights", "wgrad"}) or (
        bool(parts & {"weight", "weights"}) and bool(parts & {"grad", "grads", "gradient", "d"})
    )


@lru_cache(maxsize=4096)
def names_settings(name: str) -> bool:
    """Return whether a list's name says that the model or its setup decides its length."""
    return bool(words(name) & _WORDS["settings"])


@lru_cache(maxsize=4096)
def names_list_of_model(name: str) -> bool:
    """Return whether a list's name says that it holds settings, or an item for each head or layer."""
    return names_settings(name) or bool(words(name) & _WORDS["listed"])


@lru_cache(maxsize=4096)
def names_items(name: str) -> bool:
    """Return whether a tensor's name says that it has an item for each sequence or token: `seq_lens`, `input_ids`.

    `tokens_per_expert` has one for each expert.
    """
    counts = "num" in words(name) or _names_rate(name)
    return bool(words(name) & _WORDS["items"]) and not (counts or names_settings(name) or names_weight(name))


@lru_cache(maxsize=4096)
def names_one_for_each_setting(name: str) -> bool:
    """Return whether a tensor's name says that it has an item for each expert, group or rank: `group_list`."""
    parts = words(name)
    return (names_settings(name) and bool(parts & _WORDS["each"])) or bool(
        parts & _WORDS["marks"] and parts & _WORDS["marked"]
    )


@lru_cache(maxsize=4096)
def names_output_gradient(name: str) -> bool:
    """Return whether a tensor's name says that it is the gradient of an output: `grad_output`, `dout`, `dy`."""
    parts = words(name)
    return bool(parts & {"dout", "dy", "do"}) or (
        bool(parts & {"grad", "d"}) and bool(parts & {"out", "output", "y", "o"})
    )


@lru_cache(maxsize=4096)
def names_mask(name: str) -> bool:
    """Return whether a tensor's name says that it is a mask of tokens: `attention_mask`, not `expert_mask`."""
    return bool(words(name) & _WORDS["masks"]) and not _names_setting(name)


def _names_setting(name: str) -> bool:
    return bool(words(name) & (_MODEL_WORDS | _TILE_WORDS | _WEIGHT_WORDS | _WORDS["settings"]))


@lru_cache(maxsize=4096)
def names_attended(name: str) -> bool:
    """Return whether a tensor's name says that it holds queries, keys or values: `q`, `key_states`."""
    return bool(words(name) & _WORDS["attended"]) and not names_weight(name)


@lru_cache(maxsize=4096)
def names_stack(name: str) -> bool:
    """Return whether a tensor's name says that its first axis is the ranks of a group."""
    return bool(words(name) & _WORDS["stacked"])


@lru_cache(maxsize=4096)
def names_pool(name: str) -> bool:
    """Return whether the name of an axis counts blocks, pages or the lines of a cache."""
    parts = words(name)
    return bool(parts & {"blocks", "pages", "page"}) or (
        "cache" in parts and bool(parts & {"lines", "slots", "entries"})
    )


@lru_cache(maxsize=4096)
def names_page_size(name: str) -> bool:
    """Return whether the name of an axis is the size of a block or page of a pool: `block_size`, `page_size`."""
    parts = words(name)
    return "size" in parts and bool(parts & {"block", "page"})


@lru_cache(maxsize=4096)
def names_shape(name: str) -> bool:
    """Return whether a list's name says that it has an item for each axis of a tensor."""
    return bool(words(name) & _WORDS["shapes"])


@lru_cache(maxsize=4096)
def names_stride(name: str) -> bool:
    """Return whether a name is a stride: `stride_h` steps along the axis h; it is not its length."""
    return bool(words(name) & _WORDS["strides"])


@lru_cache(maxsize=4096)
def names_bucket(name: str) -> bool:
    """Return whether a size's name says that it is rounded already."""
    return bool(words(name) & _WORDS["buckets"])


@lru_cache(maxsize=4096)
def names_features(name: str) -> bool:
    """Return whether a name has a whole word for heads, channels or hidden sizes, as each factor of a product does."""
    return names_model(name) and any(len(word) > 3 for word in words(name) & _MODEL_WORDS)


@lru_cache(maxsize=4096)
def names_config(name: str) -> bool:
    """Return whether a name says that it holds settings."""
    return bool(words(name) & _WORDS["configs"])


@lru_cache(maxsize=4096)
def are_axes_of_weight(names: tuple[str, ...]) -> bool:
    """Return whether four axis names are those of a weight: the last is a group, a codebook or a filter."""
    return len(names) == _WEIGHT_AXES and bool(words(names[-1]) & _WORDS["weight_axes"]) and not names_data(names[0])


@lru_cache(maxsize=4096)
def works_on_weights(function: str) -> bool:
    """Return whether a function's name begins with a word for weights: `weight_norm`, not `bias_gelu`."""
    return bool(words(function.strip("_").partition("_")[0]) & _WORDS["worked_on"])


def orthogonalizes(name: str) -> bool:
    """Return whether a path or name speaks of the iteration that makes the gradient of a weight orthogonal."""
    return "newton" in name and "schulz" in name


def steps_optimizer(names: Iterable[str]) -> bool:
    """Return whether the arguments are those of an optimizer's step: its state, or a gradient and a learning rate."""
    parts = [words(name) for name in names]
    return any({"exp", "avg"} <= words for words in parts) or (
        any(words & {"grad", "grads"} for words in parts)
        and any(words in ({"lr"}, {"learning", "rate"}) for words in parts)
    )


_WIDTHS = {"height": "width", "Height": "Width", "HEIGHT": "WIDTH", "h": "w", "H": "W"}


@lru_cache(maxsize=4096)
def names_of_width(height: str) -> tuple[str, ...]:
    """Return the names of a width beside the height `height`: `w` for `h`, `out_width` for `out_height`."""
    return _other_sides(height, _WIDTHS)


def names_of_height(width: str) -> tuple[str, ...]:
    """Return the names of a height beside the width `width`: `h` for `w`."""
    return _other_sides(width, {wide: high for high, wide in _WIDTHS.items()})


def _other_sides(side: str, others: Mapping[str, str]) -> tuple[str, ...]:
    if words(side) & _WORDS["filters"] or names_part(side):
        return ()
    found = [side.replace(word, other) for word, other in others.items() if len(word) > 1]
    found += [side[:at] + others[letter] + side[at + 1 :] for at, letter in enumerate(side) if letter in others]
    return tuple(name for name in found if name != side)


@lru_cache(maxsize=4096)
def others_of(name: str) -> tuple[tuple[Side, tuple[str, ...]], ...]:
    """Return the sides that an axis called `name` may be, each with the names of the other one."""
    every = ((Side.HEIGHT, names_of_width(name)), (Side.WIDTH, names_of_height(name)))
    return tuple((side, others) for side, others in every if others)
