"""Words in names: what a name says about the size, the list or the tensor that bears it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# Words by which people of every library call sizes that follow the data, and sizes that follow the model.
_DATA_WORDS = frozenset(
    "b m t batch batches bs bsz seq seqs seqlen seqlens sl token tokens row rows nrows request requests req "
    "reqs sample samples length lengths len lens ctx slen qlen klen kvlen ntokens nseqs frames images nodes edges "
    "atoms residues rays vertices".split()
)
_HEAD_WORDS = frozenset("h hk hq hv kh kvh nh qh vh head heads nhead nheads".split())
_MODEL_WORDS = _HEAD_WORDS | frozenset(
    "c d e g k v col cols ncols channel channels class classes dim dims dstate expert experts feature features group "
    "groups codebook codebooks hdim headdim hidden hd infeatures outfeatures intermediate layer layers model rank "
    "vocab width window topk world ranks shard shards state states capacity draft drafts spec speculative accept "
    "accepted next ratio ep tp dp cp feat feats filter filters taps".split()
)
# `row_size` is how much there is in a row.
_EXTENT_WORDS = frozenset({"size", "width", "stride", "bytes"})
# `max_batches` is what there is room for; `max_seqlen` the longest of this call.
_COUNT_WORDS = frozenset(
    "batch batches bs bsz reqs requests seqs rows tokens frames images nodes edges atoms residues rays vertices".split()
)
# Things of which each has a row of features: `token_dim` is how many features a token has.
_WIDE_WORDS = frozenset("token row frame node edge atom residue".split())
_ROWS = frozenset({"row", "dim"})  # `row_dim` beside `col_dim` is how many rows there are
_PLAIN_WORDS = frozenset({"dim", "dims"})  # `batch_dim` is the batch, and `token_dim` how wide a token is
_TILE_WORDS = frozenset({"block", "tile", "chunk", "split", "splits", "segment", "segments"})
_WEIGHT_WORDS = frozenset(
    "w weight weights bias biases gamma beta dw db param params parameter parameters lora embedding embeddings "
    "emb cache caches pool code codebook codebooks qweight buffer buffers table tables capacity slots freq freqs "
    "centroid centroids alpha alphas boundaries lut luts".split()
)
# Those that are no cache, and no buffer: what has a batch and a length is not one of them, whatever its name.
_PARAMETER_WORDS = frozenset("w weight weights bias biases gamma beta alpha alphas freq freqs emb".split())
# Tensors with an item for each sequence or token.
_ITEM_WORDS = frozenset("len lens length lengths seqlen seqlens ids positions labels targets tokens".split())
# What a function whose name begins with it takes alone; others take an input beside it: `lora_shrink`, `cache_keys`.
_WORKED_ON_WORDS = frozenset("weight weights param params parameter parameters".split())
_ATTENDED_WORDS = frozenset("q k v query key value queries keys values".split())
# What the last axis of a weight with four axes counts.
_WEIGHT_AXIS_WORDS = frozenset("group groups codebook codebooks kernel filter kw".split())
_WEIGHT_AXES = 4
# As papers call the matrices of a layer: `Wq`, `Wh`.
_MATRIX = re.compile("W[a-z]")
# Lists that are written in a configuration, or that say who takes part.
_SETTING_WORDS = frozenset("eos bos pad stop special expert experts rank ranks device devices group groups".split())
_LISTED_WORDS = frozenset("head heads layer layers".split())
# Of these a model has one or two: `eos_ids`, not `expert_ids`, nor `stop_ids`, which each request may bring.
_MARK_WORDS = frozenset({"eos", "bos"})
_MARKED_WORDS = frozenset("id ids token tokens".split())
# What counts or bounds the parts that a setting makes: `group_sizes`, not `expert_ids`, which has one for each token.
_ONE_EACH_WORDS = frozenset("list count counts sizes offset offsets offs starts ends num".split())
# What was received or gathered is stacked by the rank that it is from, and slices by the parts of a weight.
_FILTER_WORDS = frozenset("k kernel filter weight patch window stride pad padding dilation".split())
_STACKED_WORDS = frozenset("recv received gathered slice slices".split())
_PER = re.compile("_per_", re.IGNORECASE)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[a-z]+")


@lru_cache(maxsize=4096)
def words(name: str) -> frozenset[str]:
    """`maxKvLen_2` -> max, kv, len; `elems_per_token` -> elems: there is one for each of what comes after."""
    return frozenset(word.lower() for word in _WORD.findall(_PER.split(name)[0]))


@lru_cache(maxsize=4096)
def names_data(name: str) -> bool:
    """Whether a name speaks of batch, sequence, tokens or rows."""
    return (
        not (names_room(name) or _names_width(name) or _names_rate(name))
        and bool(_said(name) & _DATA_WORDS)
        and not _said(name) & (_MODEL_WORDS | _TILE_WORDS) - _PLAIN_WORDS
    )


@lru_cache(maxsize=4096)
def names_model(name: str) -> bool:
    """Whether a name speaks of heads, channels, hidden sizes."""
    if names_room(name) or _names_width(name):
        return True
    return bool(_said(name) & _MODEL_WORDS) and not _said(name) & _DATA_WORDS


@lru_cache(maxsize=4096)
def names_room(name: str) -> bool:
    """Whether a name is the most that something has room for."""
    said = words(name)
    return "max" in said and bool(said & _COUNT_WORDS)


def _names_width(name: str) -> bool:
    """Whether a name says how long one row is, or how wide one token."""
    said = words(name)
    is_wide = bool(said & _WIDE_WORDS and said & _PLAIN_WORDS) and said != _ROWS
    return is_wide or ("row" in said and bool(said & _EXTENT_WORDS))


def _names_rate(name: str) -> bool:
    """Whether a name counts what there is of one for each of another: `rows_per_block`, not `max_len_per_seq`."""
    return "_per_" in name.lower() and bool(words(name) & (_COUNT_WORDS | {"row", "token", "block", "blocks"}))


@lru_cache(maxsize=4096)
def names_heads(name: str) -> bool:
    """Whether a name speaks of heads, and not of how wide they are."""
    return bool(_said(name) & _HEAD_WORDS) and not _said(name) & (_DATA_WORDS | _PLAIN_WORDS)


@lru_cache(maxsize=4096)
def names_length(name: str) -> bool:
    """Whether a name speaks of batch, sequence, tokens or rows in a whole word, and of no maximum."""
    return names_data(name) and any(len(word) > 2 for word in words(name) & _DATA_WORDS) and "max" not in words(name)


@lru_cache(maxsize=4096)
def names_of_width(height: str) -> tuple[str, ...]:
    """What the width is called where `height` is an image's: `w` beside `h`, `out_width` beside `out_height`."""
    if words(height) & (_FILTER_WORDS | _TILE_WORDS):
        return ()
    letters = {"h": "w", "H": "W"}
    found = [height.replace(*pair) for pair in (("height", "width"), ("Height", "Width"), ("HEIGHT", "WIDTH"))]
    found += [height[:at] + letters[one] + height[at + 1 :] for at, one in enumerate(height) if one in letters]
    return tuple(one for one in found if one != height)


@lru_cache(maxsize=4096)
def names_part(name: str) -> bool:
    """Whether a name speaks of one part of something that was cut, or of how many parts there are."""
    return bool(_said(name) & _TILE_WORDS)


def names_block(name: str) -> bool:
    """Whether a name is `BT`, `BS` or the like: the block of one axis."""
    return len(name) == 2 and name[0] == "B" and name.isupper()


def _said(name: str) -> frozenset[str]:
    """The words that mean something: a letter where it stands alone or before `_dim`, `M` but not `BLOCK_SIZE_M`."""
    letter, separator, plain = name.partition("_")
    if separator and plain in _PLAIN_WORDS and letter.lower() in _DATA_WORDS | _HEAD_WORDS and len(letter) == 1:
        return frozenset({letter.lower()})
    said = words(name) - {"n", "num", "total", "size"}
    return said if len(said) == 1 else frozenset(word for word in said if len(word) > 1) or words(name)


@lru_cache(maxsize=4096)
def names_weight(name: str) -> bool:
    """Whether a tensor's name says that it lives as long as the model: a weight, a cache, a table from this to that."""
    said = words(name)
    return bool(said & _WEIGHT_WORDS) or ("to" in said and len(said) > 2) or _MATRIX.fullmatch(name) is not None


@lru_cache(maxsize=4096)
def names_parameter(name: str) -> bool:
    """Whether a tensor's name says by its word for a parameter alone that it lives as long as the model."""
    return names_weight(name) and not words(name) & (_WEIGHT_WORDS - _PARAMETER_WORDS)


@lru_cache(maxsize=4096)
def names_weight_gradient(name: str) -> bool:
    """Whether a tensor's name says in a whole word that it is the gradient of a weight: `grad_weight`, `dweight`."""
    said = words(name)
    return bool(said & {"dweight", "dweights", "wgrad"}) or (
        bool(said & {"weight", "weights"}) and bool(said & {"grad", "grads", "gradient", "d"})
    )


@lru_cache(maxsize=4096)
def names_settings(name: str) -> bool:
    """Whether a list's name says that the model, or its set-up, decides how long it is."""
    return bool(words(name) & _SETTING_WORDS)


@lru_cache(maxsize=4096)
def names_list_of_model(name: str) -> bool:
    """Whether a list's name says that it is one of settings, or one of heads or layers."""
    return names_settings(name) or bool(words(name) & _LISTED_WORDS)


@lru_cache(maxsize=4096)
def names_items(name: str) -> bool:
    """Whether a tensor's name says that it has an item for each sequence or token: `seq_lens`, `input_ids`.

    `tokens_per_expert` has one for each expert.
    """
    counts = "num" in words(name) or _names_rate(name)
    return bool(words(name) & _ITEM_WORDS) and not (counts or names_settings(name) or names_weight(name))


@lru_cache(maxsize=4096)
def names_one_for_each_setting(name: str) -> bool:
    """Whether a tensor's name says that it has an item for each expert, group or rank: `group_list`, `eos_ids`."""
    said = words(name)
    return (names_settings(name) and bool(said & _ONE_EACH_WORDS)) or bool(said & _MARK_WORDS and said & _MARKED_WORDS)


@lru_cache(maxsize=4096)
def names_output_gradient(name: str) -> bool:
    """Whether a tensor's name says that it is the gradient of an output: `grad_output`, `dout`, `dy`."""
    said = words(name)
    return bool(said & {"dout", "dy", "do"}) or (
        bool(said & {"grad", "d"}) and bool(said & {"out", "output", "y", "o"})
    )


@lru_cache(maxsize=4096)
def names_mask(name: str) -> bool:
    """Whether a tensor's name says that it is a mask of tokens: `attention_mask`, not `expert_mask`."""
    return bool(words(name) & {"mask", "masks"}) and not _names_setting(name)


def _names_setting(name: str) -> bool:
    return bool(words(name) & (_MODEL_WORDS | _TILE_WORDS | _WEIGHT_WORDS | _SETTING_WORDS))


@lru_cache(maxsize=4096)
def names_attended(name: str) -> bool:
    """Whether a tensor's name says that it holds queries, keys or values: `q`, `key_states`."""
    return bool(words(name) & _ATTENDED_WORDS) and not names_weight(name)


@lru_cache(maxsize=4096)
def names_stack(name: str) -> bool:
    """Whether a tensor's name says that its first axis is the ranks of a group."""
    return bool(words(name) & _STACKED_WORDS)


@lru_cache(maxsize=4096)
def names_pool(name: str) -> bool:
    """Whether the name of an axis counts blocks or pages."""
    return bool(words(name) & {"blocks", "pages", "page"})


@lru_cache(maxsize=4096)
def names_shape(name: str) -> bool:
    """Whether a list's name says that it has an item for each axis of a tensor."""
    return bool(words(name) & {"shape", "strides", "dims", "axes"})


@lru_cache(maxsize=4096)
def names_stride(name: str) -> bool:
    """Whether a name speaks of a stride: the axis that `stride_h` names is the one stepped along, not what it spans."""
    return bool(words(name) & {"stride", "strides", "str"})


@lru_cache(maxsize=4096)
def names_bucket(name: str) -> bool:
    """Whether a size's name says that its author has rounded it already."""
    return bool(words(name) & {"bucket", "buckets", "bucketed", "bucketize"})


@lru_cache(maxsize=4096)
def are_axes_of_weight(names: tuple[str, ...]) -> bool:
    """Whether the names of four axes are those of a weight: the last is that of a group, a codebook or a filter."""
    return len(names) == _WEIGHT_AXES and bool(words(names[-1]) & _WEIGHT_AXIS_WORDS) and not names_data(names[0])


@lru_cache(maxsize=4096)
def names_features(name: str) -> bool:
    """Whether a name speaks of heads, channels or hidden sizes in a whole word: then so do the factors of a product."""
    return names_model(name) and any(len(word) > 3 for word in words(name) & _MODEL_WORDS)


@lru_cache(maxsize=4096)
def works_on_weights(function: str) -> bool:
    """Whether a function's name begins with what lives as long as the model: `weight_norm`, not `bias_gelu`."""
    return bool(words(function.strip("_").partition("_")[0]) & _WORKED_ON_WORDS)


def orthogonalizes(name: str) -> bool:
    """Whether a name says that what bears it makes the gradient of a weight orthogonal, as few algorithms do."""
    return "newton" in name and "schulz" in name


def steps_optimizer(names: Iterable[str]) -> bool:
    """Whether arguments of these names are those of an optimizer's step: state tensors, or a gradient and its rate."""
    said = [words(name) for name in names]
    return any({"exp", "avg"} <= one for one in said) or (
        any(one & {"grad", "grads"} for one in said) and any(one in ({"lr"}, {"learning", "rate"}) for one in said)
    )


@lru_cache(maxsize=4096)
def names_config(name: str) -> bool:
    """Whether a name says that it holds settings."""
    return bool(words(name) & {"config", "cfg", "conf", "args", "options", "opts", "meta", "settings"})
