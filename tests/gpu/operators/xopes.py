"""xopes' lightning attention, recurrences, positions, sums, losses, norms and gates."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from tests.gpu.operators.tensors import DEVICE, HEAD, HEADS, HIDDEN, VOCABULARY, normal, plain

REPOSITORY = "Doraemonzzz/xopes"
COMMIT = "1dfa3df896141398cd1afb92bca5c95ea8dacbac"
WIDE, GROUPS, FEATURES, RANK, TALL = 1024, 4, 128, 16, 8
# Lengths are constexprs of the library's recurrences, and each compiles for a while.
SHAPES = ((1, 16), (2, 33), (3, 100), (5, 256), (6, 512), (2, 777), (4, 1000))


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    return getattr(importlib.import_module(f"xopes.ops.{module}"), name)(*arguments, **more)


def heads(batch: int, length: int) -> torch.Tensor:
    """One of queries, keys and values."""
    return normal(batch, length, HEADS, HEAD)


def decay(*shape: int) -> torch.Tensor:
    """Logarithms of how much of a state is kept."""
    return torch.nn.functional.logsigmoid(normal(*shape, dtype=torch.float32))


def attend(decays: str, batch: int, length: int, *shape: int, **more: object) -> object:
    """Attention that decays in one of the library's ways, forward and backward."""
    made = [heads(batch, length) for _ in range(3)]
    return call("lightning_attn", "lightning_attn_func", *made, decay(*shape), decay_type=decays, **more)


def recur(module: str, name: str, batch: int, length: int, **more: object) -> object:
    """Attention by a recurrence, forward and backward."""
    return call(f"lightning_attn.{module}", name, *(heads(batch, length) for _ in range(3)), **more)


def constant(batch: int, length: int) -> object:
    """One decay for each head."""
    return attend("constant", batch, length, HEADS)


def scalar(batch: int, length: int) -> object:
    """One decay for each head and token."""
    return attend("scalar", batch, length, batch, length, HEADS)


def vector(batch: int, length: int) -> object:
    """One decay for each feature of the keys and each token."""
    made = [heads(batch, length) for _ in range(3)]
    held = decay(batch, length, HEADS, HEAD)
    return call("lightning_attn", "lightning_attn_func", *made, ldk=held, decay_type="vector")


def looped(batch: int, length: int) -> object:
    """Decays of keys and of values, chunk after chunk."""
    made = [heads(batch, length) for _ in range(3)]
    held = {name: decay(batch, length, HEADS, HEAD) for name in ("ldk", "ldv")}
    more = {"use_chunk_loop": True, "decay_type": "vector"}
    return call("lightning_attn", "lightning_attn_func", *made, **held, **more)


def element(batch: int, length: int) -> object:
    """Each feature by itself."""
    made = [normal(batch, length, HIDDEN) for _ in range(3)]
    return call("lightning_attn", "lightning_attn_func", *made, decay(batch, length, HIDDEN), decay_type="element")


def positional(batch: int, length: int) -> object:
    """Queries and keys that are the same at each place."""
    made = normal(HEADS, HEAD), normal(HEADS, HEAD), heads(batch, length)
    return call("lightning_attn", "lightning_attn_func", *made, decay(HEADS), decay_type="positional")


def constant_recurrent(batch: int, length: int) -> object:
    """One decay for each head, token after token."""
    return recur("constant_decay", "lacd_recurrence_triton", batch, length, ld=decay(HEADS))


def scalar_recurrent(batch: int, length: int) -> object:
    """One decay for each head and token, token after token."""
    return recur("scalar_decay", "lasd_recurrence_triton", batch, length, ld=decay(batch, length, HEADS))


def vector_recurrent(batch: int, length: int) -> object:
    """One decay for each feature, token after token."""
    held = decay(batch, length, HEADS, HEAD)
    return recur("vector_decay.lavd_recurrence_triton", "lavd_recurrence_triton", batch, length, ldk=held)


def regression(batch: int, length: int) -> object:
    """Regression on all tokens before, forward and backward."""
    made = [heads(batch, length) for _ in range(3)]
    weights = [normal(batch, length, HEADS) for _ in range(2)]
    return call("kernel_regression", "kernel_regression_func", *made, decay(batch, length, HEADS), *weights)


def inverse(batch: int, length: int) -> object:
    """The values that attention was made of, forward and backward."""
    made = [normal(batch, length, HEADS, HEAD, dtype=torch.float32) for _ in range(3)]
    return call("implicit_attn.inverse_attn", "ilav_recurrence_triton", *made, decay(batch, length, HEADS))


def flip(batch: int, length: int) -> object:
    """Two states that turn pages."""
    made = [plain(batch, length, HEADS, HEAD, dtype=torch.float32) for _ in range(2)]
    kept = torch.sigmoid(plain(batch, length, HEADS, HEAD, dtype=torch.float32))
    return call("page_flip", "page_flip_additive_recurrence_triton", *made, kept)


def additive(batch: int, length: int) -> object:
    """The additive rule, by tokens and by blocks of them."""
    for name in ("additive_rule_recurrence_triton", "additive_rule_block_recurrence_triton"):
        call("additive", name, *(plain(batch, HEADS, length, HEAD) for _ in range(4)))


def forgetting(batch: int, length: int) -> object:
    """Softmax attention that forgets, forward and backward."""
    made = [heads(batch, length) for _ in range(3)]
    return call("flash_attn", "forgetting_attn_fn", *made, decay(batch, length, HEADS))


def products(batch: int, length: int) -> object:
    """One token's attention to factors of `length` cached ones."""
    many, part = 16, [plain(batch, length, HEAD) for _ in range(2)]
    query = plain(batch, 1, many, RANK), plain(batch, 1, RANK, HEAD)
    share = [plain(batch, length, many) for _ in range(2)]
    for way in ("b", "bh", "bn"):
        name = f"tpa_decode_parallel_{way}_triton"
        call("flash_attn.tpa.tpa_decode_triton", name, query[0], *share, query[1], *part)


def gated_output(batch: int, length: int) -> object:
    """Linear attention to all tokens and a gate, forward and backward."""
    made = [normal(batch, HEADS, length, HEAD) for _ in range(4)]
    return call("flao.non_causal", "flao_non_causal_triton", *made)


def cosine(batch: int, length: int) -> object:
    """Positions as angles, forward and backward."""
    return call("lrpe", "lrpe_fn", heads(batch, length), plain(HEADS, HEAD), act="silu")


def rotation(batch: int, length: int) -> object:
    """Positions as rotations after a softmax, forward and backward."""
    made = heads(batch, length), plain(HEADS, HEAD // 2)
    return call("lrpe", "lrpe_fn", *made, act="softmax", dim=-1, lrpe_type="rotate")


def planar(batch: int, length: int) -> object:
    """Positions in images of TALL rows, with and without a cache, forward and backward."""
    tokens = normal(batch, HEADS, TALL * length, HEAD, dtype=torch.float32)
    held = tokens, plain(HEADS, HEAD // 2, dtype=torch.float32)
    kept = call("lrpe.cosine._md", "lrpe_cosine_md_cache_triton", *held, shape=(TALL, length))
    return kept + call("lrpe.cosine._md", "lrpe_cosine_md_triton", *held, shape=(TALL, length))


def sums(batch: int, length: int) -> object:
    """Sums of all tokens before, of a chunk and of its decays, forward and backward."""
    tokens = normal(batch, length, HIDDEN, dtype=torch.float32)
    for name in ("chunk_reverse_cumsum_fn", "chunk_cumsum_reduce_fn"):
        call("cumsum", name, tokens.detach(), dim=1)
    call("cumsum", "chunk_cumsum_decay_fn", tokens.detach())
    return call("cumsum", "cumsum_fn", tokens, dim=1) + call("cumsum", "chunk_cumsum_fn", tokens, dim=1)


def logarithms(batch: int, length: int) -> object:
    """Logarithms of sums of exponents, and of those before each token, forward and backward."""
    call("logsumexp", "lse_recurrence_triton", plain(batch, length, HIDDEN), dim=-1)
    whole = call("logsumexp", "lse_fn", normal(batch, length, HIDDEN), dim=-1)
    tokens = normal(batch, length, HIDDEN, dtype=torch.float32)
    call("logcumsumexp", "lcse_recurrence_triton", tokens.detach(), dim=1)
    return call("logcumsumexp", "lcse_fn", tokens, dim=1)[0].sum() + whole.sum()


def loss(batch: int, length: int) -> object:
    """The loss of all tokens by two kernels, forward and backward."""
    words = torch.zeros(batch * length, device=DEVICE, dtype=torch.int64)
    whole = call("cross_entropy", "cross_entropy_triton", normal(batch * length, VOCABULARY), words)
    made = normal(batch * length, VOCABULARY), words
    return whole + call("cross_entropy", "cross_entropy_fn", *made, label_smoothing=0.1)


def linear_loss(batch: int, length: int) -> object:
    """The loss with the last layer, forward and backward."""
    words = torch.zeros(batch * length, device=DEVICE, dtype=torch.int64)
    made = normal(batch * length, HIDDEN), words, normal(VOCABULARY, HIDDEN)
    return call("linear_cross_entropy", "linear_cross_entropy_fn", *made)


def norm(batch: int, length: int) -> object:
    """Norms of groups after a sum, forward and backward."""
    made = normal(batch, length, HIDDEN), normal(HIDDEN), normal(HIDDEN)
    more = {"dim": HIDDEN, "residual": plain(batch, length, HIDDEN), "num_groups": GROUPS}
    return call("normalize", "group_norm_fn", *made, **more)


def gated_norm(batch: int, length: int) -> object:
    """A norm and a gate, forward and backward."""
    made = normal(batch, length, HIDDEN), normal(HIDDEN)
    return call("normalize", "normalize_fn", *made, gate=normal(batch, length, HIDDEN), gate_act="silu")


def activations(batch: int, length: int) -> object:
    """A sigmoid and a softmax, forward and backward."""
    tokens = normal(batch, length, HIDDEN)
    return call("act", "act_triton", tokens, "sigmoid") + call("act", "act_triton", tokens, "softmax", -1)


def gate(batch: int, length: int) -> object:
    """A gate, its layer and what went past, forward and backward."""
    made = normal(batch, length, WIDE), normal(batch, length, WIDE), normal(HIDDEN, WIDE), normal(HIDDEN)
    return call("gate_linear", "gate_linear_triton", *made, normal(batch, length, HIDDEN), "silu")


def elements(batch: int, length: int) -> object:
    """Tokens mirrored, and times one number each, forward and backward."""
    tokens = normal(batch, length, HIDDEN)
    mirrored = call("householder", "householder_fn", tokens, normal(HIDDEN))
    return call("element_wise_binary_op", "ewbo_fn", mirrored, normal(batch, length), "mul")


def sample(batch: int, length: int) -> object:
    """Some words for each token."""
    made = plain(batch * length, HIDDEN), plain(HIDDEN, VOCABULARY)
    return call("multinomial", "parallel_gumbel_multinomial_triton", *made, 8, output_lse=True)


def outer(batch: int, length: int) -> object:
    """Sums of outer products, forward and backward."""
    made = normal(batch, length, FEATURES), normal(batch, length, HEAD)
    return call("out_product_linear_recurrence", "oplr_ddd_fn", *made, decay(batch, length, FEATURES))


OPERATORS = {
    "constant": constant,
    "scalar": scalar,
    "vector": vector,
    "looped": looped,
    "element": element,
    "positional": positional,
    "constant-recurrent": constant_recurrent,
    "scalar-recurrent": scalar_recurrent,
    "vector-recurrent": vector_recurrent,
    "regression": regression,
    "inverse": inverse,
    "flip": flip,
    "additive": additive,
    "forgetting": forgetting,
    "products": products,
    "gated-output": gated_output,
    "cosine": cosine,
    "rotation": rotation,
    "planar": planar,
    "sums": sums,
    "logarithms": logarithms,
    "loss": loss,
    "linear-loss": linear_loss,
    "norm": norm,
    "gated-norm": gated_norm,
    "activations": activations,
    "gate": gate,
    "elements": elements,
    "sample": sample,
    "outer": outer,
}
