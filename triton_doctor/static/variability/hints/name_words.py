"""Words in names: what they suggest about a size, a tensor, a list, a function or the side of an image."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from triton_doctor.static.variability.hints.axis_context import Side

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Words used across libraries for sizes that follow the data, and for sizes that follow the model.
_DATA_WORDS = frozenset(
    "b m t batch batches bs bsz seq seqs seqlen seqlens sl token tokens row rows nrows request requests req "
    "reqs sample samples length lengths len lens ctx slen qlen klen kvlen ntokens nseqs frames images nodes edges "
    "atoms residues rays vertices spatial".split()
)
_HEAD_WORDS = frozenset("h hk hq hv kh kvh nh qh vh head heads nhead nheads".split())
_MODEL_WORDS = _HEAD_WORDS | frozenset(
    "c d e g k v col cols ncols channel channels class classes dim dims dstate expert experts feature features group "
    "groups codebook codebooks hdim headdim hidden hd infeatures outfeatures intermediate layer layers model rank "
    "vocab width window topk world ranks shard shards state states capacity draft drafts spec speculative accept "
    "accepted next ratio ep tp dp cp feat feats filter filters taps".split()
)
# `row_size` is the extent of a row.
_EXTENT_WORDS = frozenset({"size", "width", "stride", "bytes"})
# `max_batches` is a capacity; `max_seqlen` is the longest of this call.
_COUNT_WORDS = frozenset(
    "batch batches bs bsz reqs requests seqs rows tokens frames images nodes edges atoms residues rays vertices".split()
)
_ELEMENT_WORDS = frozenset("numel numels nelement nelem nelems elem elems element elements".split())
# Items that each have a row of features: `token_dim` is the number of features of a token.
_WIDE_WORDS = frozenset("token row frame node edge atom residue".split())
_ROWS = frozenset({"row", "dim"})  # `row_dim` beside `col_dim` is the number of rows
_PLAIN_WORDS = frozenset({"dim", "dims"})  # `batch_dim` is the batch, and `token_dim` the width of a token
_BLOCK_WORDS = frozenset({"block", "tile", "chunk"})
_COUNTS_BLOCKS = re.compile(r"(?:n|nr|num|number)_|(?:num|number)[A-Z]|\w*(?:id|idx|_per_)", re.IGNORECASE)
_TILE_WORDS = frozenset({"block", "tile", "chunk", "split", "splits", "segment", "segments"})
_WEIGHT_WORDS = frozenset(
    "w weight weights bias biases gamma beta dw db param params parameter parameters lora embedding embeddings "
    "emb cache caches pool code codebook codebooks qweight buffer buffers table tables capacity slots freq freqs "
    "centroid centroids alpha alphas boundaries lut luts".split()
)
# Weight words without caches and buffers: a tensor with a batch and a length is none of these, whatever its name.
_PARAMETER_WORDS = frozenset("w weight weights bias biases gamma beta alpha alphas freq freqs emb".split())
# Words for tensors with an item for each sequence or token.
_ITEM_WORDS = frozenset("len lens length lengths seqlen seqlens ids positions labels targets tokens".split())
_ATTENDED_WORDS = frozenset("q k v query key value queries keys values".split())
# Names of weight matrices as in papers: `Wq`, `Wh`.
_MATRIX = re.compile("W[a-z]")
# Words for lists from a configuration, or of participants.
_SETTING_WORDS = frozenset("eos bos pad stop special expert experts rank ranks device devices group groups".split())
_LISTED_WORDS = frozenset("head heads layer layers".split())
# Tokens of which a model has one or two: `eos_ids`, but not `stop_ids`, which a request may add to.
_MARK_WORDS = frozenset({"eos", "bos"})
_MARKED_WORDS = frozenset("id ids token tokens".split())
# Words for lists with one item for each part of a setting: `group_sizes`, but not `expert_ids`, which has one for each
# token.
_ONE_EACH_WORDS = frozenset("list count counts sizes offset offsets offs starts ends num".split())
# Received or gathered tensors are stacked by rank, slices by the parts of a weight.
_STACKED_WORDS = frozenset("recv received gathered slice slices".split())
# `max_seqlen_q`, `batch_size`: these words and no others.
_SEQUENCE_WORDS = frozenset("seq sequence seqlen seqlens batch bsz".split())
_PLAIN_LENGTH_WORDS = frozenset("len length max n num total size q k kv".split())
# `S_q`, `L_kv`: how many queries or keys there are, not what one is.
_LENGTH_OF_ATTENDED = re.compile("[STL]_(?:[qk]|kv|[QK]|KV)")
_PER = re.compile("_per_", re.IGNORECASE)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[a-z]+")


@lru_cache(maxsize=4096)
def words(name: str) -> frozenset[str]:
    """Return the words of a name: max, kv, len for `maxKvLen_2`; elems for `elems_per_token`, which counts per item
    after it.
    """
    return frozenset(word.lower() for word in _WORD.findall(_PER.split(name)[0]))


@lru_cache(maxsize=4096)
def names_data(name: str) -> bool:
    """Return whether a name has a word for batch, sequence, tokens or rows."""
    return (
        not (names_room(name) or _names_width(name) or _names_rate(name))
        and bool(_said(name) & _DATA_WORDS)
        and not _said(name) & (_MODEL_WORDS | _TILE_WORDS) - _PLAIN_WORDS
    )


@lru_cache(maxsize=4096)
def names_model(name: str) -> bool:
    """Return whether a name has a word for heads, channels or hidden sizes."""
    if names_room(name) or _names_width(name):
        return True
    return bool(_said(name) & _MODEL_WORDS) and not _said(name) & _DATA_WORDS


@lru_cache(maxsize=4096)
def names_room(name: str) -> bool:
    """Return whether a name is that of a capacity."""
    said = words(name)
    return "max" in said and bool(said & _COUNT_WORDS)


@lru_cache(maxsize=4096)
def names_elements(name: str) -> bool:
    """Whether a name counts the elements of something, and not of each of its parts: `numel`, `n_elements`."""
    is_whole = "_per_" not in name.lower() and not words(name) & (_MODEL_WORDS | _TILE_WORDS | _EXTENT_WORDS)
    return is_whole and bool(words(name) & _ELEMENT_WORDS)


def _names_width(name: str) -> bool:
    """Return whether a name is that of the length of one row or the width of one token."""
    said = words(name)
    is_wide = bool(said & _WIDE_WORDS and said & _PLAIN_WORDS) and said != _ROWS
    return is_wide or ("row" in said and bool(said & _EXTENT_WORDS))


def _names_rate(name: str) -> bool:
    """Return whether a name is that of a rate: `rows_per_block`, not `max_len_per_seq`."""
    return "_per_" in name.lower() and bool(words(name) & (_COUNT_WORDS | {"row", "token", "block", "blocks"}))


@lru_cache(maxsize=4096)
def names_heads(name: str) -> bool:
    """Return whether a name counts heads, and is not their width."""
    return bool(_said(name) & _HEAD_WORDS) and not _said(name) & (_DATA_WORDS | _PLAIN_WORDS)


@lru_cache(maxsize=4096)
def names_length(name: str) -> bool:
    """Return whether a name has a whole word for batch, sequence, tokens or rows, and is no maximum."""
    return names_data(name) and any(len(word) > 2 for word in words(name) & _DATA_WORDS) and "max" not in words(name)


@lru_cache(maxsize=4096)
def names_nothing_but_length(name: str) -> bool:
    """Return whether a name says batch or sequence length and nothing else: `max_seq_len`, not `draft_seq_len`."""
    said = words(name)
    return names_data(name) and bool(said & _SEQUENCE_WORDS) and said <= _SEQUENCE_WORDS | _PLAIN_LENGTH_WORDS


@lru_cache(maxsize=4096)
def names_part(name: str) -> bool:
    """Return whether a name is that of one part of a whole, or of the number of parts."""
    return bool(_said(name) & _TILE_WORDS)


def names_size_of_block(name: str) -> bool:
    """Return whether a name is that of the size of a block: `BLOCK_N`, `chunk_size`, but not `n_chunks`."""
    return bool(words(name) & _BLOCK_WORDS) and _COUNTS_BLOCKS.match(name) is None


def names_block(name: str) -> bool:
    """Return whether a name is `BT`, `BS` or similar: the block of one axis."""
    return len(name) == 2 and name[0] == "B" and name.isupper()


def _said(name: str) -> frozenset[str]:
    """Return the meaningful words: a letter only alone or before `_dim`, as in `M` but not in `BLOCK_SIZE_M`."""
    letter, separator, plain = name.partition("_")
    if separator and plain in _PLAIN_WORDS and letter.lower() in _DATA_WORDS | _HEAD_WORDS and len(letter) == 1:
        return frozenset({letter.lower()})
    if separator and len(letter) == 1 and _LENGTH_OF_ATTENDED.fullmatch(name):
        return frozenset({"len"})
    said = words(name) - {"n", "num", "total", "size"}
    return said if len(said) == 1 else frozenset(word for word in said if len(word) > 1) or words(name)


@lru_cache(maxsize=4096)
def names_weight(name: str) -> bool:
    """Return whether a tensor's name says that it lives as long as the model: a weight, a cache, a mapping."""
    said = words(name)
    return bool(said & _WEIGHT_WORDS) or ("to" in said and len(said) > 2) or _MATRIX.fullmatch(name) is not None


@lru_cache(maxsize=4096)
def names_parameter(name: str) -> bool:
    """Return whether a tensor's name has a word for a parameter, which alone makes it the model's."""
    return names_weight(name) and not words(name) & (_WEIGHT_WORDS - _PARAMETER_WORDS)


@lru_cache(maxsize=4096)
def names_weight_gradient(name: str) -> bool:
    """Return whether a tensor's name has a whole word for the gradient of a weight: `grad_weight`, `dweight`."""
    said = words(name)
    return bool(said & {"dweight", "dweights", "wgrad"}) or (
        bool(said & {"weight", "weights"}) and bool(said & {"grad", "grads", "gradient", "d"})
    )


@lru_cache(maxsize=4096)
def names_settings(name: str) -> bool:
    """Return whether a list's name says that the model or its setup decides its length."""
    return bool(words(name) & _SETTING_WORDS)


@lru_cache(maxsize=4096)
def names_list_of_model(name: str) -> bool:
    """Return whether a list's name says that it holds settings, or an item for each head or layer."""
    return names_settings(name) or bool(words(name) & _LISTED_WORDS)


@lru_cache(maxsize=4096)
def names_items(name: str) -> bool:
    """Return whether a tensor's name says that it has an item for each sequence or token: `seq_lens`, `input_ids`.

    `tokens_per_expert` has one for each expert.
    """
    counts = "num" in words(name) or _names_rate(name)
    return bool(words(name) & _ITEM_WORDS) and not (counts or names_settings(name) or names_weight(name))


@lru_cache(maxsize=4096)
def names_one_for_each_setting(name: str) -> bool:
    """Return whether a tensor's name says that it has an item for each expert, group or rank: `group_list`."""
    said = words(name)
    return (names_settings(name) and bool(said & _ONE_EACH_WORDS)) or bool(said & _MARK_WORDS and said & _MARKED_WORDS)


@lru_cache(maxsize=4096)
def names_output_gradient(name: str) -> bool:
    """Return whether a tensor's name says that it is the gradient of an output: `grad_output`, `dout`, `dy`."""
    said = words(name)
    return bool(said & {"dout", "dy", "do"}) or (
        bool(said & {"grad", "d"}) and bool(said & {"out", "output", "y", "o"})
    )


@lru_cache(maxsize=4096)
def names_mask(name: str) -> bool:
    """Return whether a tensor's name says that it is a mask of tokens: `attention_mask`, not `expert_mask`."""
    return bool(words(name) & {"mask", "masks"}) and not _names_setting(name)


def _names_setting(name: str) -> bool:
    return bool(words(name) & (_MODEL_WORDS | _TILE_WORDS | _WEIGHT_WORDS | _SETTING_WORDS))


@lru_cache(maxsize=4096)
def names_attended(name: str) -> bool:
    """Return whether a tensor's name says that it holds queries, keys or values: `q`, `key_states`."""
    return bool(words(name) & _ATTENDED_WORDS) and not names_weight(name)


@lru_cache(maxsize=4096)
def names_stack(name: str) -> bool:
    """Return whether a tensor's name says that its first axis is the ranks of a group."""
    return bool(words(name) & _STACKED_WORDS)


@lru_cache(maxsize=4096)
def names_pool(name: str) -> bool:
    """Return whether the name of an axis counts blocks, pages or the lines of a cache."""
    said = words(name)
    return bool(said & {"blocks", "pages", "page"}) or ("cache" in said and bool(said & {"lines", "slots", "entries"}))


@lru_cache(maxsize=4096)
def names_page_size(name: str) -> bool:
    """Return whether the name of an axis is the size of a block or page of a pool: `block_size`, `page_size`."""
    said = words(name)
    return "size" in said and bool(said & {"block", "page"})


@lru_cache(maxsize=4096)
def names_shape(name: str) -> bool:
    """Return whether a list's name says that it has an item for each axis of a tensor."""
    return bool(words(name) & {"shape", "strides", "dims", "axes"})


@lru_cache(maxsize=4096)
def names_stride(name: str) -> bool:
    """Return whether a name is a stride: `stride_h` steps along the axis h; it is not its length."""
    return bool(words(name) & {"stride", "strides", "str"})


@lru_cache(maxsize=4096)
def names_bucket(name: str) -> bool:
    """Return whether a size's name says that it is rounded already."""
    return bool(words(name) & {"bucket", "buckets", "bucketed", "bucketize"})


@lru_cache(maxsize=4096)
def names_features(name: str) -> bool:
    """Return whether a name has a whole word for heads, channels or hidden sizes, as each factor of a product does."""
    return names_model(name) and any(len(word) > 3 for word in words(name) & _MODEL_WORDS)


@lru_cache(maxsize=4096)
def names_config(name: str) -> bool:
    """Return whether a name says that it holds settings."""
    return bool(words(name) & {"config", "cfg", "conf", "args", "options", "opts", "meta", "settings"})


# A function whose name begins with one of these takes only weights; others take an input too: `lora_shrink`,
# `cache_keys`.
_WORKED_ON_WORDS = frozenset("weight weights param params parameter parameters".split())
# Words for the last axis of a weight with four axes.
_WEIGHT_AXIS_WORDS = frozenset("group groups codebook codebooks kernel filter kw".split())
_WEIGHT_AXES = 4


@lru_cache(maxsize=4096)
def are_axes_of_weight(names: tuple[str, ...]) -> bool:
    """Return whether four axis names are those of a weight: the last is a group, a codebook or a filter."""
    return len(names) == _WEIGHT_AXES and bool(words(names[-1]) & _WEIGHT_AXIS_WORDS) and not names_data(names[0])


@lru_cache(maxsize=4096)
def works_on_weights(function: str) -> bool:
    """Return whether a function's name begins with a word for weights: `weight_norm`, not `bias_gelu`."""
    return bool(words(function.strip("_").partition("_")[0]) & _WORKED_ON_WORDS)


def orthogonalizes(name: str) -> bool:
    """Return whether a path or name speaks of the iteration that makes the gradient of a weight orthogonal."""
    return "newton" in name and "schulz" in name


def steps_optimizer(names: Iterable[str]) -> bool:
    """Return whether the arguments are those of an optimizer's step: its state, or a gradient and a learning rate."""
    said = [words(name) for name in names]
    return any({"exp", "avg"} <= one for one in said) or (
        any(one & {"grad", "grads"} for one in said) and any(one in ({"lr"}, {"learning", "rate"}) for one in said)
    )


_WIDTHS = {"height": "width", "Height": "Width", "HEIGHT": "WIDTH", "h": "w", "H": "W"}
# Sides of a filter, and how it moves, are the model's.
_FILTER_WORDS = frozenset("k kernel filter weight patch window stride pad padding dilation".split())


@lru_cache(maxsize=4096)
def names_of_width(height: str) -> tuple[str, ...]:
    """Return the names of a width beside the height `height`: `w` for `h`, `out_width` for `out_height`."""
    return _other_sides(height, _WIDTHS)


def names_of_height(width: str) -> tuple[str, ...]:
    """Return the names of a height beside the width `width`: `h` for `w`."""
    return _other_sides(width, {wide: high for high, wide in _WIDTHS.items()})


def _other_sides(side: str, others: Mapping[str, str]) -> tuple[str, ...]:
    if words(side) & _FILTER_WORDS or names_part(side):
        return ()
    found = [side.replace(one, other) for one, other in others.items() if len(one) > 1]
    found += [side[:at] + others[one] + side[at + 1 :] for at, one in enumerate(side) if one in others]
    return tuple(one for one in found if one != side)


@lru_cache(maxsize=4096)
def others_of(name: str) -> tuple[tuple[Side, tuple[str, ...]], ...]:
    """Return the sides that an axis called `name` may be, each with the names of the other one."""
    every = ((Side.HEIGHT, names_of_width(name)), (Side.WIDTH, names_of_height(name)))
    return tuple((side, others) for side, others in every if others)
