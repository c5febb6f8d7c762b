"""flag-gems' operators in torch's place, made again from what its truth has: the program that recorded it is gone.

All is called through torch, with inputs that flag-gems makes as well, forward alone: the truth has no backward kernel.
The lengths are those of Liger's truth; the batches are among those that give this one's sizes of blocks.
"""

from __future__ import annotations

import os
from functools import cache, wraps
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from tests.benchmarks.packages import CACHE
from tests.gpu.operators.tensors import DEVICE

if TYPE_CHECKING:
    from collections.abc import Callable

    Call = Callable[[int, int], object]

ONE_PROCESS = True
SHAPES = (
    (1, 1),
    (1, 7),
    (3, 17),
    (2, 33),
    (6, 48),
    (4, 64),
    (5, 100),
    (8, 128),
    (8, 256),
    (1, 513),
    (2, 777),
    (1, 1024),
)
HEADS, HEAD, HIDDEN, VOCABULARY = 8, 64, 512, 1000
CHANNELS, GROUPS = 16, 8


@cache
def enable() -> None:
    """Have flag-gems' kernels run in place of torch's, and keep what it generates out of the home folder."""
    os.environ["GEMS_VENDOR"] = "nvidia"  # else it asks nvidia-smi
    os.environ["FLAGGEMS_CACHE_DIR"] = str(CACHE / "flag-gems-generated")
    keep_first_config()
    import flag_gems

    flag_gems.enable()


def keep_first_config() -> None:
    """Have every tuner keep its first config, as in the truth. flag-gems makes tuners of its own kind."""
    from triton.runtime import Autotuner

    original = Autotuner.__init__

    def cut(self: Autotuner, fn: object, arg_names: object, configs: list[object], *rest: Any, **named: Any) -> None:
        original(self, fn, arg_names, configs[:1], *rest, **named)

    Autotuner.__init__ = cut


def with_gems(call: Call) -> Call:
    """`call`, once flag-gems is enabled."""

    @wraps(call)
    def enabled(batch: int, length: int) -> object:
        enable()
        return call(batch, length)

    return enabled


def of(apply: Callable[[torch.Tensor], object]) -> Call:
    """Call `apply` with activations: batch, length, hidden."""
    return lambda batch, length: apply(torch.randn(batch, length, HIDDEN, device=DEVICE))


def of_two(apply: Callable[[torch.Tensor, torch.Tensor], object]) -> Call:
    """Call `apply` with two activations of the same shape."""

    def call(batch: int, length: int) -> object:
        shape = batch, length, HIDDEN
        return apply(torch.randn(shape, device=DEVICE), torch.randn(shape, device=DEVICE))

    return call


def of_channels(apply: Callable[[torch.Tensor], object], channels: int) -> Call:
    """Call `apply` with a signal: batch, channels, length."""
    return lambda batch, length: apply(torch.randn(batch, channels, length, device=DEVICE))


def of_logits(apply: Callable[[torch.Tensor], object]) -> Call:
    """Call `apply` with the logits of the next token: batch, vocabulary."""
    return lambda batch, length: apply(torch.randn(batch, VOCABULARY, device=DEVICE))


def tokens(batch: int, length: int) -> torch.Tensor:
    """Tokens of a batch. flag-gems has no `randint`."""
    return torch.randint(0, VOCABULARY, (batch, length), device=DEVICE)


def weight(*shape: int) -> torch.Tensor:
    """A parameter of a layer, without a gradient."""
    return torch.randn(shape, device=DEVICE)


def batch_norm(x: torch.Tensor) -> object:
    return functional.batch_norm(x, weight(CHANNELS), weight(CHANNELS), weight(CHANNELS), weight(CHANNELS))


def group_norm(x: torch.Tensor) -> object:
    return functional.group_norm(x, x.shape[1] // GROUPS, weight(x.shape[1]), weight(x.shape[1]))


def convolve(x: torch.Tensor) -> object:
    """Convolve `x` with zeros on both sides."""
    return functional.conv1d(functional.pad(x, (2, 2)), weight(CHANNELS, CHANNELS, 3))


def attend(batch: int, length: int) -> object:
    query, key, value = (torch.randn(batch, HEADS, length, HEAD, device=DEVICE, dtype=torch.bfloat16) for _ in range(3))
    return functional.scaled_dot_product_attention(query, key, value, is_causal=True)


def scores(batch: int, length: int) -> object:
    query, key = (torch.randn(batch, length, HEAD, device=DEVICE) for _ in range(2))
    return torch.bmm(query, key.transpose(1, 2))


def triangle(batch: int, length: int) -> object:
    return torch.randn(batch, length, length, device=DEVICE).triu(1)


def look_up(batch: int, length: int) -> object:
    return functional.embedding(tokens(batch, length), weight(VOCABULARY, HIDDEN))


def cross_entropy(batch: int, length: int) -> object:
    logits = torch.randn(batch * length, VOCABULARY, device=DEVICE)
    return functional.cross_entropy(logits, tokens(batch, length).view(-1))


def gather(batch: int, length: int) -> object:
    x = torch.randn(batch, length, HIDDEN, device=DEVICE)
    return x.gather(-1, torch.randint(0, HIDDEN, (batch, length, 8), device=DEVICE))


def index_put(batch: int, length: int) -> object:
    x = torch.randn(batch, length, HIDDEN, device=DEVICE)
    x[torch.randint(0, batch, (batch,), device=DEVICE)] = torch.randn(batch, length, HIDDEN, device=DEVICE)
    return x


def index_select(batch: int, length: int) -> object:
    x = torch.randn(batch, length, HIDDEN, device=DEVICE)
    return x.index_select(1, torch.arange(length, device=DEVICE))


def isin(batch: int, length: int) -> object:
    return torch.isin(tokens(batch, length), tokens(1, 10))


def kron(batch: int, length: int) -> object:
    return torch.kron(torch.randn(batch, 4, device=DEVICE), torch.randn(4, length, device=DEVICE))


def resize(batch: int, length: int) -> object:
    return functional.interpolate(torch.randn(batch, 3, length, 8, device=DEVICE), scale_factor=2.0)


def unique(batch: int, length: int) -> object:
    return torch.unique(tokens(batch, length))


OPERATORS = {
    name: with_gems(call)
    for name, call in {
        "add": of_two(torch.add),
        "sub": of_two(torch.sub),
        "mul": of(lambda x: x * weight(HIDDEN)),
        "div": of_two(torch.div),
        "scale": of(lambda x: x * 2.0),
        "gelu": of(functional.gelu),
        "silu": of(functional.silu),
        "where": of_two(lambda x, y: torch.where(x > 0, x, y)),
        "masked-fill": of(lambda x: x.masked_fill(x > 0, 0.0)),
        "to-half": of(lambda x: x.half()),
        "contiguous": of(lambda x: x.transpose(1, 2).contiguous()),
        "gather": gather,
        "repeat": of(lambda x: x.repeat(1, 2, 1)),
        "index-put": index_put,
        "linear": of(lambda x: functional.linear(x, weight(HIDDEN, HIDDEN))),
        "linear-bias": of(lambda x: functional.linear(x, weight(HIDDEN, HIDDEN), weight(HIDDEN))),
        "bmm": scores,
        "attention": attend,
        "amax": of(lambda x: x.amax(-1)),
        "max": of(lambda x: x.max(-1)),
        "argmax": of(lambda x: x.argmax(-1)),
        "mean": of(lambda x: x.mean(1)),
        "sum": of(lambda x: x.sum(-1)),
        "sum-all": of(torch.sum),
        "var-mean": of(lambda x: torch.var_mean(x, -1)),
        "norm": of(lambda x: torch.linalg.vector_norm(x, dim=-1)),
        "softmax": of(lambda x: x.softmax(-1)),
        "log-softmax": of(lambda x: x.log_softmax(-1)),
        "layer-norm": of(lambda x: functional.layer_norm(x, (HIDDEN,), weight(HIDDEN), weight(HIDDEN))),
        "group-norm": of_channels(group_norm, GROUPS * GROUPS),
        "batch-norm": of_channels(batch_norm, CHANNELS),
        "conv1d": of_channels(convolve, CHANNELS),
        "upsample": resize,
        "dropout": of(lambda x: functional.dropout(x, 0.1)),
        "embedding": look_up,
        "cross-entropy": cross_entropy,
        "multinomial": of_logits(lambda x: torch.multinomial(x.softmax(-1), 1)),
        "cumsum": of(lambda x: x.cumsum(1)),
        "cummin": of(lambda x: x.cummin(-1)),
        "sort": of(lambda x: x.sort(-1)),
        "topk": of(lambda x: x.topk(8, -1)),
        "cat": of_two(lambda x, y: torch.cat([x, y], 1)),
        "stack": of_two(lambda x, y: torch.stack([x, y])),
        "arange": lambda batch, length: torch.arange(length, device=DEVICE),
        "ones": lambda batch, length: torch.ones(batch, length, HIDDEN, device=DEVICE),
        "zeros": lambda batch, length: torch.zeros(batch, length, HIDDEN, device=DEVICE),
        "full": lambda batch, length: torch.full((batch, length, HIDDEN), 2.0, device=DEVICE),
        "triu": triangle,
        "index-select": index_select,
        "isin": isin,
        "kron": kron,
        "masked-select": of(lambda x: x.masked_select(x > 0)),
        "nonzero": of(lambda x: (x > 0).nonzero()),
        "unique": unique,
    }.items()
}
