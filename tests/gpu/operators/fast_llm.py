"""Fast-LLM's losses, norms, rotations, gates, experts, copies and optimizer."""

from __future__ import annotations

import importlib
import operator
import sys
from types import ModuleType
from typing import Any

import torch

from tests.gpu.operators.tensors import ANY, DEVICE, HEAD, HEADS, HIDDEN, VOCABULARY, counts, plain

REPOSITORY = "ServiceNow/Fast-LLM"
COMMIT = "7d61a1ba2047814955f8acc1cde7bc10a68fa198"
BARE = ("fast_llm", "fast_llm.engine", "fast_llm.engine.config_utils", "fast_llm.functional", "fast_llm.core")
EXPERTS, CHOSEN, WIDE = 8, 2, 1024
SHAPES_OF = {"experts": ANY[1:]}


class Checks:
    """Checks that find nothing."""

    def __getattr__(self, name: str) -> Any:
        return lambda *given, **named: None


def stand_in(name: str, **held: object) -> None:
    """Import `held` instead of a module that is written for Python 3.12."""
    made = sys.modules[f"fast_llm.{name}"] = ModuleType(f"fast_llm.{name}")
    made.__dict__.update(held)


def prepare() -> None:
    """Import what the kernels' modules need of those around them."""
    if "fast_llm.utils" not in sys.modules:
        decorate = {"try_decorate": lambda get: lambda *given, **named: get()(*given, **named), "InvalidObject": object}
        stand_in("utils", Assert=Checks(), div=operator.floordiv, log=print, **decorate)
        losses = {"reduce_losses": lambda losses, divisor, *_: losses.sum() / divisor}
        stand_in("functional.utils", wrap_forward_backward=lambda *_: None, **losses)
        # What an optimizer knows of a weight.
        stand_in("tensor", param_get_and_unset_is_zero=lambda weight: weight.param_grad_is_zero)
        sys.modules["fast_llm.tensor"].__dict__["accumulate_gradient"] = lambda *_: None


def call(module: str, name: str, *arguments: object, **more: object) -> Any:
    """Call a function of the library."""
    prepare()
    return getattr(importlib.import_module(f"fast_llm.functional.triton.{module}"), name)(*arguments, **more)


def config(name: str) -> Any:
    """What is named in the library's configuration."""
    prepare()
    return getattr(importlib.import_module("fast_llm.functional.config"), name)


def logits(batch: int, length: int) -> torch.Tensor:
    """One for each word and token."""
    return plain(batch * length, VOCABULARY)


def words(batch: int, length: int) -> torch.Tensor:
    """A word for each token."""
    return torch.zeros(batch * length, device=DEVICE, dtype=torch.int64)


def numbers(batch: int, length: int) -> torch.Tensor:
    """A number for each token."""
    return plain(batch * length, dtype=torch.float32)


def labels(batch: int, length: int) -> object:
    """The loss of words."""
    made = logits(batch, length), words(batch, length), None
    return call("entropy_loss", "triton_entropy_loss_forward_backward", *made, grad_output=1.0)[0]


def distilled(batch: int, length: int) -> object:
    """The loss of another model's words, and the distance to them."""
    name, more = "triton_entropy_loss_forward_backward", {"target_format": config("TargetFormat").logits}
    mask = torch.ones(batch * length, device=DEVICE, dtype=torch.bool)
    made = logits(batch, length), logits(batch, length), mask
    call("entropy_loss", name, *made, grad_output=1.0, **more)
    for kind in ("forward_kl", "reverse_kl"):
        more["entropy_loss_type"] = getattr(config("EntropyLossType"), kind)
        call("entropy_loss", name, *made, grad_output=1.0, temperature=2.0, **more)
    return None


def bounded(batch: int, length: int) -> object:
    """The loss that bounds logits."""
    return call("z_loss", "triton_z_loss_forward_backward", logits(batch, length), None, grad_output=1.0)[0]


def grouped(batch: int, length: int) -> object:
    """The loss of a policy, by tokens."""
    made = logits(batch, length), words(batch, length), numbers(batch, length), numbers(batch, length)
    return call("grpo_loss", "triton_grpo_loss_forward_backward", *made, grad_output=1.0)[0]


def sequences(batch: int, length: int) -> object:
    """The loss of a policy, by sequences."""
    made = logits(batch, length), words(batch, length), numbers(batch, length), numbers(batch, length)
    documents = torch.arange(batch, device=DEVICE).repeat_interleave(length)
    many = torch.full((batch * length,), length, device=DEVICE)
    name, count = "triton_gspo_loss_forward_backward", float(batch * length)
    return call("gspo_loss", name, *made, documents, batch, count, many, grad_output=1.0)[0]


def fused(batch: int, length: int) -> object:
    """Two losses at once."""
    made = logits(batch, length), words(batch, length), None, 1.0, None, float(batch * length)
    call("monolithic_loss", "triton_monolithic_loss_forward_backward", *made, ce=(1.0,), z=(None, 1.0))
    return None


def weights(*shape: int) -> torch.Tensor:
    """Weights with a place for their gradient."""
    made = plain(*shape).requires_grad_()
    vars(made).update(grad_buffer=torch.empty_like(made), param_grad_is_zero=True)
    return made


def norm(batch: int, length: int) -> object:
    """All tokens' norms with and without a bias, forward and backward."""
    for bias in (None, weights(HIDDEN)):
        tokens = plain(batch * length, HIDDEN).requires_grad_()
        _, held = call(
            "normalization", "triton_normalization_forward", tokens, weights(HIDDEN), bias, 1e-5, True, False
        )
        call("normalization", "triton_normalization_backward", plain(batch * length, HIDDEN), held)
    return None


def rotary(batch: int, length: int) -> object:
    """Positions as rotations, there and back."""
    angles = plain(batch * length, HEAD, dtype=torch.float32)
    for backward in (False, True):
        call("rotary", "triton_rotary_", plain(batch * length, HEADS, HEAD), angles, backward=backward)
    return None


def gate(batch: int, length: int) -> object:
    """A gate and an activation, forward and backward."""
    for gated, name in ((True, "silu"), (False, "gelu")):
        tokens = plain(batch * length, WIDE * (1 + gated)).requires_grad_()
        kind = getattr(config("ActivationType"), name)
        _, held = call("mlp", "triton_mlp_activation_forward", tokens, gated, kind)
        call("mlp", "triton_mlp_activation_backward", plain(batch * length, WIDE), held, True)
    return None


def experts(batch: int, length: int) -> object:
    """Tokens to their experts, through layers of these, and back."""
    tokens = batch * length
    chosen = (torch.arange(tokens * CHOSEN, device=DEVICE) % EXPERTS).view(tokens, CHOSEN)
    held = call("sparse_copy", "get_sparse_map", chosen, EXPERTS, use_triton=True)
    scores = plain(tokens, CHOSEN)
    sparse, kept = call("sparse_copy", "copy_dense_to_sparse_forward", plain(tokens, HIDDEN), held)
    linear = importlib.import_module("fast_llm.functional.triton.sparse_linear")
    sparse = sparse.detach().requires_grad_()
    inner = linear.OutputSparseLinear.apply(sparse, plain(HIDDEN, EXPERTS * WIDE).requires_grad_(), held)
    outer = linear.InputSparseLinear.apply(inner, plain(EXPERTS * WIDE, HIDDEN).requires_grad_(), held)
    call("sparse_copy", "copy_dense_to_sparse_backward", plain(*sparse.shape), kept)
    _, kept = call("sparse_copy", "copy_sparse_to_dense_forward", outer.detach(), scores, held)
    call("sparse_copy", "copy_sparse_to_dense_backward", plain(tokens, HIDDEN), kept)
    return outer


def dense(batch: int, length: int) -> object:
    """A product of matrices."""
    return call("sparse_linear", "dense_matmul", plain(batch * length, HIDDEN), plain(HIDDEN, WIDE))


def copies(batch: int, length: int) -> object:
    """Tokens copied, added and filled."""
    tokens, other = plain(batch, length, HIDDEN), plain(batch, length, HIDDEN)
    call("pointwise", "triton_copy", tokens, other, use_triton=True)
    call("pointwise", "triton_fill", other, 0, use_triton=True)
    return call("pointwise", "triton_add", tokens, other, use_triton=True)


def adam(_batch: int, _length: int) -> object:
    """One step of the optimizer."""
    made = [plain(VOCABULARY * HIDDEN, dtype=torch.float32) for _ in range(4)]
    held = counts([0], torch.int64), torch.ones(1, device=DEVICE)
    call("adam", "triton_adam", *made, *held, 1e-3, 0.9, 0.95, 4, 0.1, 1e-5, use_triton=True)
    return None


OPERATORS = {
    "labels": labels,
    "distilled": distilled,
    "bounded": bounded,
    "grouped": grouped,
    "sequences": sequences,
    "fused": fused,
    "norm": norm,
    "rotary": rotary,
    "gate": gate,
    "experts": experts,
    "dense": dense,
    "copies": copies,
    "adam": adam,
}
