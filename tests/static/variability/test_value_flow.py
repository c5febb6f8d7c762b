"""Sizes that pass through functions, lists and wrappers: how often the constexpr that a launch gets is found to change.

Each case is the host code of `ops.py`, with that of `sizes.py` after a line `# sizes.py` where it has two files. What a
launch passes as the first constexpr is asked for: `SIZE` of `kernel`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from triton_doctor.scan_caches import emptying_scan_caches
from triton_doctor.settings import load_settings
from triton_doctor.static.project.analysis.parts import whole_project
from triton_doctor.static.project.database.database import Database
from triton_doctor.static.project.launches.argument_positions import match_positions
from triton_doctor.static.python.printing import spell
from triton_doctor.static.sources.files import find_files
from triton_doctor.static.variability.queries.parameters import parameters

if TYPE_CHECKING:
    from pathlib import Path

PRELUDE = """
from __future__ import annotations
import functools
import math
from dataclasses import dataclass
from typing import NamedTuple
import torch
import triton
import triton.language as tl
from einops import rearrange
from jaxtyping import Float

"""
KERNEL = """
@triton.jit
def kernel(x, SIZE: tl.constexpr):
    tl.store(x + tl.arange(0, 16), SIZE)
"""
CASES = {
    "what functions are called with, and give": {
        "of which there is a second definition": (
            """
            def scale(x):
                return x
            def scale(x):
                kernel[(triton.cdiv(x.shape[0], 64),)](x, x.shape[0])
            def launch(weight):
                scale(weight)
            """,
            "per_model",
        ),
        "of which there is a second definition, called with data": (
            """
            def scale(x):
                return x
            def scale(x):
                kernel[(1,)](x, x.shape[1])
            def launch(x: Float[torch.Tensor, "hidden num_tokens"]):
                scale(x)
            """,
            "per_call",
        ),
        "of either of two tensors, in order": (
            """
            def launch(x: Float[torch.Tensor, "heads num_tokens"], bias, scale: bool):
                if scale:
                    x = x.float() + bias.view(x.shape[0], 1)
                kernel[(1,)](x, torch.topk(x, 8, dim=-1).indices.shape[0])
            """,
            "per_model",
        ),
        "of either of two tensors, of which one axis is the data's": (
            """
            def launch(x: Float[torch.Tensor, "heads num_tokens"], bias, scale: bool):
                if scale:
                    x = x.float() + bias.view(x.shape[0], 1)
                kernel[(1,)](x, torch.sort(x, dim=-1).indices.shape[1])
            """,
            "per_call",
        ),
    },
    "sizes of another file": {
        "a function gives the length": (
            """
            from sizes import length_of
            def launch(x: Float[torch.Tensor, "num_tokens hidden"]):
                n = length_of(x)
                kernel[(1,)](x, n)
            # sizes.py
            def length_of(t):
                return t.shape[0]
            """,
            "per_call",
        ),
        "a function gives several dimensions": (
            """
            from sizes import get_dims
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"], weight):
                M, N, K = get_dims(hidden_states, weight)
                kernel[(1,)](hidden_states, M)
            # sizes.py
            def get_dims(a, b):
                m, k = a.shape
                n, _ = b.shape
                return m, n, k
            """,
            "per_call",
        ),
        "a function gives the width of several dimensions": (
            """
            from sizes import get_dims
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"], weight):
                M, N, K = get_dims(hidden_states, weight)
                kernel[(1,)](hidden_states, N)
            # sizes.py
            def get_dims(a, b):
                m, k = a.shape
                n, _ = b.shape
                return m, n, k
            """,
            "per_model",
        ),
        "the root of a length": (
            """
            from sizes import checkpoint_interval
            def launch(tokens, seq_len):
                kernel[(1,)](tokens, checkpoint_interval(tokens.shape[0]))
            # sizes.py
            import math
            def checkpoint_interval(T):
                return max(1, int(math.sqrt(T)))
            """,
            "per_call",
        ),
        "the power of two of a length": (
            """
            from sizes import padded
            import triton
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                kernel[(1,)](hidden_states, padded(hidden_states.shape[0]))
            # sizes.py
            import triton
            def padded(n):
                return triton.next_power_of_2(n)
            """,
            "logarithmic",
        ),
        "the root of a product of lengths": (
            """
            from sizes import interval
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"], heads: int = 4):
                T = hidden_states.shape[0]
                kernel[(1,)](hidden_states, interval(T, heads))
            # sizes.py
            import math
            def interval(T, K):
                optimal = math.sqrt(T * K)
                return max(1, min(int(optimal), T))
            """,
            "per_call",
        ),
        "a dict of sizes": (
            """
            from sizes import sizes_of
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                sizes = sizes_of(hidden_states)
                kernel[(1,)](hidden_states, sizes["rows"])
            # sizes.py
            def sizes_of(x):
                return {"rows": x.shape[0], "columns": x.shape[1]}
            """,
            "per_call",
        ),
        "a dict of sizes by keyword": (
            """
            from sizes import sizes_of
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                kernel[(1,)](hidden_states, **sizes_of(hidden_states))
            # sizes.py
            def sizes_of(x):
                return dict(SIZE=x.shape[0])
            """,
            "per_call",
        ),
    },
    "roles that change with the call": {
        "rows of tokens in one caller and of weights in another": (
            """
            def product(a, b, M, K):
                kernel[(1,)](a, M)
            def forward(hidden_states: Float[torch.Tensor, "num_tokens hidden"], weight):
                product(hidden_states, weight, hidden_states.shape[0], weight.shape[0])
            def gradient(weight, other):
                product(weight, other, weight.shape[0], other.shape[0])
            """,
            "per_call",
        ),
        "tokens as the reduction in the gradient of the weight": (
            """
            def product(a, b):
                M, K = a.shape
                kernel[(1,)](a, K)
            def forward(hidden_states: Float[torch.Tensor, "num_tokens hidden"], weight):
                product(hidden_states, weight)
            def gradient(grad_output, hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                product(grad_output.t(), hidden_states)
            """,
            "per_call",
        ),
        "sizes as arguments in the gradient of the weight": (
            """
            def product(a, b, M, N, K):
                kernel[(1,)](a, K)
            def forward(hidden_states: Float[torch.Tensor, "num_tokens hidden"], weight):
                num_tokens, hidden = hidden_states.shape
                product(hidden_states, weight, num_tokens, weight.shape[0], hidden)
            def gradient(grad_output, hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                num_tokens, hidden = hidden_states.shape
                product(grad_output, hidden_states, hidden, grad_output.shape[1], num_tokens)
            """,
            "per_call",
        ),
        "through a dispatcher": (
            """
            def product(a, M):
                kernel[(1,)](a, M)
            def dispatch(a, M, fast):
                if fast:
                    return product(a, M)
                return product(a, M)
            def on_weights(weight):
                dispatch(weight, weight.shape[0], True)
            def on_tokens(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                dispatch(hidden_states, hidden_states.shape[0], False)
            """,
            "per_call",
        ),
        "in an autograd function": (
            """
            def product(a, b):
                K = a.shape[-1]
                kernel[(1,)](a, K)
            class Linear(torch.autograd.Function):
                @staticmethod
                def forward(ctx, hidden_states: Float[torch.Tensor, "num_tokens hidden"], weight):
                    ctx.save_for_backward(hidden_states, weight)
                    return product(hidden_states, weight)
                @staticmethod
                def backward(ctx, grad_output):
                    hidden_states, weight = ctx.saved_tensors
                    return product(grad_output, weight), product(grad_output.transpose(0, 1), hidden_states)
            """,
            "per_call",
        ),
    },
    "arguments that are not None": {
        "by an annotation, beside one that may be": (
            """
            def fold(x, offsets=None):
                if offsets is not None:
                    assert x.shape[0] == 1
                batch, num_tokens = x.shape
                kernel[(1,)](x, batch)
            def launch(x: Float[torch.Tensor, "batch hidden"], offsets: torch.Tensor, scale: float | None):
                fold(x, offsets)
            """,
            "fixed",
        ),
        "by an annotation, where none says what may be": (
            """
            def fold(x, offsets=None):
                if offsets is not None:
                    assert x.shape[0] == 1
                batch, num_tokens = x.shape
                kernel[(1,)](x, batch)
            def launch(x: Float[torch.Tensor, "batch hidden"], offsets: torch.Tensor, scale: float):
                fold(x, offsets)
            """,
            "per_call",
        ),
        "unless the annotation says so": (
            """
            def fold(x, offsets=None):
                if offsets is not None:
                    assert x.shape[0] == 1
                batch, num_tokens = x.shape
                kernel[(1,)](x, batch)
            def launch(x: Float[torch.Tensor, "batch hidden"], offsets: Optional[torch.Tensor], scale: float | None):
                fold(x, offsets)
            """,
            "per_call",
        ),
        "unless a caller passes None all the same": (
            """
            def fold(x, offsets=None):
                if offsets is not None:
                    assert x.shape[0] == 1
                batch, num_tokens = x.shape
                kernel[(1,)](x, batch)
            def launch(x: Float[torch.Tensor, "batch hidden"], offsets: torch.Tensor, scale: float | None):
                fold(x, offsets)
            def train(x: Float[torch.Tensor, "batch hidden"]):
                launch(x, None, 1.0)
            """,
            "per_call",
        ),
    },
    "attributes that a model registers": {
        "a buffer": (
            """
            def launch(layer, tokens):
                first(layer.edges, tokens)
            def first(ids, tokens):
                kernel[(triton.cdiv(ids.shape[0], 64),)](ids, ids.shape[0])
            class Layer(torch.nn.Module):
                def __init__(self, ids):
                    super().__init__()
                    self.register_buffer("edges", ids)
            """,
            "per_model",
        ),
        "a list of parameters": (
            """
            def launch(layer, tokens):
                first(layer.edges, tokens)
            def first(ids, tokens):
                kernel[(triton.cdiv(ids.shape[0], 64),)](ids, ids.shape[0])
            class Layer(torch.nn.Module):
                def __init__(self, ids):
                    super().__init__()
                    self.edges = [torch.nn.Parameter(one) for one in ids][0]
            """,
            "per_model",
        ),
        "and that forward sets too": (
            """
            def launch(layer, tokens):
                first(layer.edges, tokens)
            def first(ids, tokens):
                kernel[(triton.cdiv(ids.shape[0], 64),)](ids, ids.shape[0])
            class Layer(torch.nn.Module):
                def __init__(self, ids):
                    super().__init__()
                    self.register_buffer("edges", ids)
                def forward(self, ids):
                    self.edges = ids
            """,
            "per_call",
        ),
        "and that forward registers anew": (
            """
            def launch(layer, tokens):
                first(layer.edges, tokens)
            def first(ids, tokens):
                kernel[(triton.cdiv(ids.shape[0], 64),)](ids, ids.shape[0])
            class Layer(torch.nn.Module):
                def __init__(self, ids):
                    super().__init__()
                    self.register_buffer("edges", ids)
                def forward(self, ids):
                    self.register_buffer("edges", ids)
            """,
            "per_call",
        ),
        "of which another class has a field of that name": (
            """
            def launch(layer, tokens):
                first(layer.edges, tokens)
            def first(ids, tokens):
                kernel[(triton.cdiv(ids.shape[0], 64),)](ids, ids.shape[0])
            class Layer(torch.nn.Module):
                def __init__(self, ids):
                    super().__init__()
                    self.register_buffer("edges", ids)
            class Batch(NamedTuple):
                edges: torch.Tensor
            """,
            "per_call",
        ),
        "and that a call gives under that name": (
            """
            def launch(x):
                found = parts_of(x)
                first(found.edges)
            def first(ids):
                kernel[(triton.cdiv(ids.shape[0], 64),)](ids, ids.shape[0])
            class Layer(torch.nn.Module):
                def __init__(self, ids):
                    super().__init__()
                    self.register_buffer("edges", ids)
            """,
            "per_call",
        ),
        "a number out of a buffer": (
            """
            def launch(layer, x):
                kernel[(1,)](x, int(layer.edges[layer.starts + 1].max().item()))
            class Layer(torch.nn.Module):
                def __init__(self, ids):
                    super().__init__()
                    self.register_buffer("edges", ids)
            """,
            "unknown",
        ),
        "a number out of a parameter, which is trained": (
            """
            def launch(layer, x):
                kernel[(1,)](x, int(layer.edges.max().item()))
            class Layer(torch.nn.Module):
                def __init__(self, ids):
                    super().__init__()
                    self.edges = torch.nn.Parameter(ids)
            """,
            "per_call",
        ),
        "of a layer that each of two loops may have bound": (
            """
            def launch(groups, count):
                for group in groups:
                    if group.is_sum():
                        for layer in group:
                            for part in range(count):
                                ids = layer.edges[part]
                                first(ids)
                    else:
                        for layer in group:
                            first(layer.edges[count])
            def first(ids):
                kernel[(triton.cdiv(ids.shape[0], 64),)](ids, ids.shape[0])
            class Layer(torch.nn.Module):
                def __init__(self, ids):
                    super().__init__()
                    self.edges = torch.nn.ParameterList([torch.nn.Parameter(one) for one in ids])
            """,
            "per_model",
        ),
    },
    "what forward keeps for backward": {
        "a tensor of host numbers that are few": (
            """
            class Scan(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x, scale: bool):
                    sizes = torch.tensor([4 if scale else 8, 2])
                    ctx.save_for_backward(x, sizes)
                    return x
                @staticmethod
                def backward(ctx, dy):
                    x, sizes = ctx.saved_tensors
                    kernel[(1,)](x, sizes[0].item())
            """,
            "few",
        ),
        "a tensor of numbers that were read from data": (
            """
            class Scan(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x, lengths):
                    sizes = torch.tensor([lengths.max().item(), 2])
                    ctx.save_for_backward(x, sizes)
                    return x
                @staticmethod
                def backward(ctx, dy):
                    x, sizes = ctx.saved_tensors
                    kernel[(1,)](x, sizes[0].item())
            """,
            "per_call",
        ),
        "a tensor that something writes before it is kept": (
            """
            class Scan(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x):
                    sizes = torch.tensor([4, 2])
                    count(x, sizes)
                    ctx.save_for_backward(x, sizes)
                    return x
                @staticmethod
                def backward(ctx, dy):
                    x, sizes = ctx.saved_tensors
                    kernel[(1,)](x, sizes[0].item())
            """,
            "per_call",
        ),
        "by static methods that do the work of both": (
            """
            class Scan(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x):
                    return Scan._run(ctx, x)
                @staticmethod
                def _run(ctx, x):
                    sizes = torch.tensor([4, 2])
                    ctx.save_for_backward(x, sizes)
                    return x
                @staticmethod
                def backward(ctx, dy):
                    return Scan._run_back(ctx, dy)
                @staticmethod
                def _run_back(ctx, dy):
                    x, sizes = ctx.saved_tensors
                    kernel[(1,)](x, sizes[0].item())
            """,
            "fixed",
        ),
        "by static methods, of which backward calls none": (
            """
            class Scan(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x):
                    sizes = torch.tensor([4, 2])
                    ctx.save_for_backward(x, sizes)
                    return x
                @staticmethod
                def backward(ctx, dy):
                    return dy
                @staticmethod
                def replay(ctx, dy):
                    x, sizes = ctx.saved_tensors
                    kernel[(1,)](x, sizes[0].item())
            """,
            "per_call",
        ),
        "by a static method that another function calls by its class": (
            """
            class Scan:
                @staticmethod
                def run(x, size):
                    kernel[(1,)](x, size)
            def launch(x: Float[torch.Tensor, "num_tokens hidden"]):
                Scan.run(x, x.shape[0])
            """,
            "per_call",
        ),
    },
    "kernels that are wrapped": {
        "under a condition": (
            """
            if torch.cuda.is_available():
                kernel = triton.autotune(configs=[triton.Config({})], key=[])(kernel)
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                kernel[(1,)](hidden_states, hidden_states.shape[0])
            """,
            "per_call",
        ),
        "by a function that returns its argument": (
            """
            def keep(fn):
                fn.tuned = True
                return fn
            wrapped = keep(kernel)
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                wrapped[(1,)](hidden_states, hidden_states.shape[0])
            """,
            "per_call",
        ),
        "rebound to itself": (
            """
            def autotune(fn):
                return triton.autotune(configs=[triton.Config({})], key=[])(fn)
            kernel = autotune(kernel)
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                kernel[(1,)](hidden_states, hidden_states.shape[0])
            """,
            "per_call",
        ),
        "rebound by something out of sight": (
            """
            from elsewhere import wrap
            kernel = wrap(kernel)
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                kernel[(1,)](hidden_states, hidden_states.shape[0])
            """,
            "per_call",
        ),
        "by a decorator with arguments, as a call": (
            """
            def tuned(keys):
                def decorate(fn):
                    return triton.autotune(configs=[triton.Config({})], key=keys)(fn)
                return decorate
            fast = tuned([])(kernel)
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                fast[(1,)](hidden_states, hidden_states.shape[0])
            """,
            "per_call",
        ),
        "by functools.partial": (
            """
            def run(fn, x):
                fn[(1,)](x, x.shape[0])
            launch = functools.partial(run, kernel)
            def forward(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                launch(hidden_states)
            """,
            "per_call",
        ),
        "as an argument": (
            """
            def run(fn, x):
                fn[(1,)](x, x.shape[0])
            def forward(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                run(kernel, hidden_states)
            """,
            "per_call",
        ),
        "by a factory that returns it": (
            """
            def pick():
                return kernel
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                pick()[(1,)](hidden_states, hidden_states.shape[0])
            """,
            "per_call",
        ),
        "by a cached factory with a choice": (
            """
            @functools.lru_cache
            def pick(fast):
                if fast:
                    return triton.autotune(configs=[triton.Config({})], key=[])(kernel)
                return kernel
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                fn = pick(True)
                fn[(1,)](hidden_states, hidden_states.shape[0])
            """,
            "per_call",
        ),
        "in a dict of kernels": (
            """
            KERNELS = {"sum": kernel}
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"], op):
                KERNELS[op][(1,)](hidden_states, hidden_states.shape[0])
            """,
            "per_call",
        ),
        "in a module of its own": (
            """
            class Op:
                def __init__(self):
                    self.kernel = kernel
                def __call__(self, hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                    self.kernel[(1,)](hidden_states, hidden_states.shape[0])
            """,
            "per_call",
        ),
        "wrapped by a loop over decorators": (
            """
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"], deterministic):
                fn = kernel if deterministic else triton.autotune(configs=[triton.Config({})], key=[])(kernel)
                fn[(1,)](hidden_states, hidden_states.shape[0])
            """,
            "per_call",
        ),
    },
    "lists as arguments": {
        "a list is unpacked": (
            """
            def launch(x, output_size):
                rows, columns = output_size
                kernel[(1,)](x, rows)
            def forward(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                launch(hidden_states, [hidden_states.shape[0], hidden_states.shape[1]])
            """,
            "per_call",
        ),
        "an item of a list of tensors": (
            """
            def launch(tensors: list[torch.Tensor]):
                kernel[(1,)](tensors[0], tensors[0].shape[0])
            def forward(hidden_states: Float[torch.Tensor, "num_tokens hidden"], residual):
                launch([hidden_states, residual])
            """,
            "per_call",
        ),
        "each of a list of tensors": (
            """
            def launch(tensors):
                for tensor in tensors:
                    kernel[(1,)](tensor, tensor.shape[0])
            def forward(hidden_states: Float[torch.Tensor, "num_tokens hidden"], residual):
                launch([hidden_states, residual])
            """,
            "per_call",
        ),
        "the greatest of a list of tensors": (
            """
            def launch(tensors):
                longest = max(t.shape[0] for t in tensors)
                kernel[(1,)](tensors[0], longest)
            def forward(hidden_states: Float[torch.Tensor, "num_tokens hidden"], residual):
                launch([hidden_states, residual])
            """,
            "per_call",
        ),
        "the greatest of a list that nobody passes": (
            """
            def launch(hidden_states: list[Float[torch.Tensor, "num_tokens hidden"]]):
                longest = max(t.shape[0] for t in hidden_states)
                kernel[(1,)](hidden_states[0], longest)
            """,
            "per_call",
        ),
        "the sum of a list of sizes": (
            """
            def launch(tensors):
                sizes = [t.shape[0] for t in tensors]
                kernel[(1,)](tensors[0], sum(sizes))
            def forward(hidden_states: Float[torch.Tensor, "num_tokens hidden"], residual):
                launch([hidden_states, residual])
            """,
            "per_call",
        ),
        "a list joined along the first axis": (
            """
            def launch(tensors):
                joined = torch.cat(tensors, dim=0)
                kernel[(1,)](joined, joined.shape[0])
            def forward(hidden_states: Float[torch.Tensor, "num_tokens hidden"], residual):
                launch([hidden_states, residual])
            """,
            "per_call",
        ),
        "tensors stacked": (
            """
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"], residual):
                stacked = torch.stack([hidden_states, residual])
                kernel[(1,)](stacked, stacked.shape[1])
            """,
            "per_call",
        ),
        "a tensor split by features": (
            """
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                gate, up = torch.split(hidden_states, hidden_states.shape[-1] // 2, dim=-1)
                kernel[(1,)](gate, gate.shape[0])
            """,
            "per_call",
        ),
        "a list of a shape": (
            """
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                shape = list(hidden_states.shape)
                kernel[(1,)](hidden_states, shape[0])
            """,
            "per_call",
        ),
        "a size stored in a list of a shape": (
            """
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"], weight):
                shape = list(hidden_states.shape)
                shape[-1] = weight.shape[0]
                out = torch.empty(shape)
                kernel[(1,)](out, out.shape[0])
            """,
            "per_call",
        ),
        "a shape that has a name is unpacked": (
            """
            def launch(data):
                shape = data.shape
                batch, heads, dim, T = shape
                groups = T // 32
                kernel[(1,)](data, batch * groups)
            """,
            "per_call",
        ),
        "the quotient of divmod": (
            """
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                count, left = divmod(hidden_states.shape[0], 64)
                kernel[(1,)](hidden_states, count)
            """,
            "per_call",
        ),
        "a shape that is mapped": (
            """
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                rows, columns = map(int, hidden_states.shape)
                kernel[(1,)](hidden_states, rows)
            """,
            "per_call",
        ),
        "tensors that are broadcast": (
            """
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"], bias):
                spread, bias = torch.broadcast_tensors(hidden_states, bias)
                kernel[(1,)](spread, spread.shape[0])
            """,
            "per_call",
        ),
        "rows that are picked": (
            """
            def launch(table, rows: Float[torch.Tensor, "num_tokens"]):
                picked = table[rows]
                kernel[(1,)](picked, picked.shape[0])
            """,
            "per_call",
        ),
        "a size stored in a dict": (
            """
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                sizes = {}
                sizes["rows"] = hidden_states.shape[0]
                kernel[(1,)](hidden_states, sizes["rows"])
            """,
            "per_call",
        ),
        "what is unique, and where": (
            """
            def launch(ids):
                unique, places = torch.unique(ids, return_inverse=True)
                kernel[(1,)](unique, unique.shape[0])
            """,
            "per_call",
        ),
        "positions that are not zero": (
            """
            def launch(mask):
                found = mask.nonzero(as_tuple=True)[0]
                kernel[(1,)](found, found.numel())
            """,
            "per_call",
        ),
        "places where a condition holds": (
            """
            def launch(mask):
                rows, columns = torch.where(mask)
                kernel[(1,)](rows, rows.size(0))
            """,
            "per_call",
        ),
        "a size that is unpacked": (
            """
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                rows, columns = hidden_states.size()
                kernel[(1,)](hidden_states, rows)
            """,
            "per_call",
        ),
        "the leading axes multiplied": (
            """
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                *lead, d = hidden_states.shape
                kernel[(1,)](hidden_states, math.prod(lead))
            """,
            "per_call",
        ),
        "the leading axes of a slice multiplied": (
            """
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                kernel[(1,)](hidden_states, math.prod(hidden_states.shape[:-1]))
            """,
            "per_call",
        ),
        "flattened but for the last axis": (
            """
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                kernel[(1,)](hidden_states, hidden_states.flatten(0, -2).shape[0])
            """,
            "per_call",
        ),
        "reshaped to rows": (
            """
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                d = hidden_states.shape[-1]
                kernel[(1,)](hidden_states, hidden_states.reshape(-1, d).shape[0])
            """,
            "per_call",
        ),
        "rearranged to rows": (
            """
            def launch(q: Float[torch.Tensor, "batch seqlen heads dim"]):
                rows = rearrange(q, "b t h d -> (b t) h d")
                kernel[(1,)](q, rows.shape[0])
            """,
            "per_call",
        ),
        "all its items": (
            """
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                kernel[(1,)](hidden_states, torch.numel(hidden_states))
            """,
            "per_call",
        ),
        "sequences by the items of their offsets": (
            """
            def launch(q, cu_seqlens):
                kernel[(1,)](q, cu_seqlens.numel() - 1)
            """,
            "per_call",
        ),
        "sequences by the length of their offsets": (
            """
            def launch(q, cu_seqlens):
                kernel[(1,)](q, len(cu_seqlens) - 1)
            """,
            "per_call",
        ),
        "a list grows in a loop": (
            """
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                sizes = []
                for chunk in hidden_states.chunk(4):
                    sizes.append(chunk.shape[0])
                kernel[(1,)](hidden_states, sizes[0])
            """,
            "per_call",
        ),
        "a list after another": (
            """
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                sizes = [0, *[chunk.shape[0] for chunk in hidden_states.chunk(4)]]
                kernel[(1,)](hidden_states, sizes[1])
            """,
            "per_call",
        ),
        "a list that a call makes longer": (
            """
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                sizes = [64]
                sizes.append(hidden_states.shape[0])
                kernel[(1,)](hidden_states, sizes[1])
            """,
            "per_call",
        ),
        "a second loop of a comprehension": (
            """
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                sizes = [part.shape[0] for size in (1, 2) for part in hidden_states.chunk(size)]
                kernel[(1,)](hidden_states, sizes[0])
            """,
            "per_call",
        ),
        "a tuple returned by a method with a default": (
            """
            def split_sizes(x, parts=2):
                rows = x.shape[0]
                return [rows // parts] * parts
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                first, second = split_sizes(hidden_states)
                kernel[(1,)](hidden_states, first)
            """,
            "per_call",
        ),
    },
    "numbers that are few": {
        "a length divided by a large number": (
            """
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                kernel[(1,)](hidden_states, triton.cdiv(hidden_states.shape[0], 65536))
            """,
            "few",
        ),
        "a length divided by a large name": (
            """
            LARGEST = 64 * 1024
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                kernel[(1,)](hidden_states, triton.cdiv(hidden_states.shape[0], LARGEST))
            """,
            "few",
        ),
        "a step that is clipped": (
            """
            CHUNK = 64
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                total = hidden_states.shape[0]
                for start in range(0, total, CHUNK):
                    stop = min(start + CHUNK, total)
                    kernel[(1,)](hidden_states, stop - start)
            """,
            "few",
        ),
        "a step that is clipped by the model": (
            """
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"], chunk_size: int = 64):
                total = hidden_states.shape[0]
                for start in range(0, total, chunk_size):
                    size = min(chunk_size, total - start)
                    kernel[(1,)](hidden_states, size)
            """,
            "unknown",
        ),
    },
    "axes that two tensors share": {
        "by an assert": (
            """
            def launch(a, hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                assert a.shape[0] == hidden_states.shape[0]
                kernel[(1,)](a, a.shape[0])
            """,
            "per_call",
        ),
        "by a product": (
            """
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"], weight):
                out = hidden_states @ weight.t()
                kernel[(1,)](out, out.shape[0])
            """,
            "per_call",
        ),
        "by an assert of whole shapes": (
            """
            def launch(a, hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                assert a.shape == hidden_states.shape
                kernel[(1,)](a, a.shape[0])
            """,
            "per_call",
        ),
        "by a check of the callee": (
            """
            def check(a, b):
                if a.shape[0] != b.shape[0]:
                    raise ValueError("rows differ")
            def launch(a, hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                check(a, hidden_states)
                kernel[(1,)](a, a.shape[0])
            """,
            "per_call",
        ),
        "by an elementwise operation": (
            """
            def launch(a, hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                out = a + hidden_states
                kernel[(1,)](out, out.shape[0])
            """,
            "per_call",
        ),
        "by an empty one like it": (
            """
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"]):
                out = torch.empty_like(hidden_states)
                kernel[(1,)](out, out.shape[0])
            """,
            "per_call",
        ),
    },
    "flags that hold a test": {
        "inside": (
            """
            def launch(x: Float[torch.Tensor, "num_tokens hidden"], plain):
                n = x.shape[0]
                small = n <= 16
                fused = small and not plain
                if fused:
                    kernel[(1,)](x, n)
            """,
            "few",
        ),
        "a way out": (
            """
            def launch(x: Float[torch.Tensor, "num_tokens hidden"]):
                n = x.shape[0]
                large = n > 16
                if large:
                    raise ValueError(n)
                kernel[(1,)](x, n)
            """,
            "few",
        ),
        "what it speaks of is bound anew": (
            """
            def launch(x: Float[torch.Tensor, "num_tokens hidden"], y: Float[torch.Tensor, "num_tokens hidden"]):
                n = x.shape[0]
                small = n <= 16
                n = y.shape[0]
                if small:
                    kernel[(1,)](x, n)
            """,
            "per_call",
        ),
        "in a loop after it": (
            """
            def launch(x: Float[torch.Tensor, "num_tokens hidden"], ys: list[torch.Tensor]):
                n = x.shape[0]
                small = n <= 16
                for y in ys:
                    if small:
                        kernel[(1,)](x, n)
                    n = x.shape[0] + len(ys)
            """,
            "per_call",
        ),
    },
    "position by position": {
        "zip with a shape": (
            """
            def launch(x: Float[torch.Tensor, "num_tokens hidden"]):
                rows, width = (factor * size for factor, size in zip((2, 4), x.shape, strict=True))
                kernel[(1,)](x, width)
            """,
            "per_model",
        ),
        "zip with a tuple of sizes": (
            """
            def launch(x: Float[torch.Tensor, "num_tokens hidden"]):
                tokens, hidden = x.shape
                width, rows = [2 * size if even else size for even, size in zip((True, False), (hidden, tokens))]
                kernel[(1,)](x, rows)
            """,
            "per_call",
        ),
        "enumerate": (
            """
            def launch(x: Float[torch.Tensor, "num_tokens hidden"]):
                rows, width = [size + axis for axis, size in enumerate(x.shape)]
                kernel[(1,)](x, width)
            """,
            "per_model",
        ),
    },
    "shapes that are unpacked": {
        "as integers": (
            """
            def launch(x):
                B, L, D = map(int, x.shape)
                kernel[(B, triton.cdiv(L, 64))](x, L)
            """,
            "per_call",
        ),
        "as a list of integers": (
            """
            def launch(x):
                B, L, D = [int(size) for size in x.shape]
                kernel[(B, triton.cdiv(L, 64))](x, L)
            """,
            "per_call",
        ),
        "one by one": (
            """
            def launch(x):
                B, L, D = x.shape[0], x.shape[1], x.shape[2]
                kernel[(B,)](x, L)
            """,
            "unknown",
        ),
        "one by one, into what a letter says": (
            """
            def launch(x):
                B, T, D = x.shape[0], x.shape[1], x.shape[2]
                kernel[(B,)](x, T)
            """,
            "per_call",
        ),
        "in a layout that a flag tells": (
            """
            def launch(q, head_first=False):
                if head_first:
                    B, H, T, D = q.shape
                else:
                    B, T, H, D = q.shape
                kernel[(B * H,)](q, T)
            """,
            "per_call",
        ),
        "in a layout that a flag tells, the heads": (
            """
            def launch(q, head_first=False):
                if head_first:
                    B, H, T, D = q.shape
                else:
                    B, T, H, D = q.shape
                kernel[(B * T,)](q, H)
            """,
            "per_model",
        ),
        "of what somebody else computes": (
            """
            from elsewhere import project
            def launch(hidden_states):
                q = project(hidden_states)
                batch, length, heads, dim = q.shape
                kernel[(batch,)](q, length)
            """,
            "per_call",
        ),
        "of a decay that is called w": (
            """
            def launch(w, q):
                B, T, C = w.shape
                kernel[(B,)](w, T)
            """,
            "per_call",
        ),
        "of a cache": (
            """
            def launch(k_cache, q):
                B, T, C = k_cache.shape
                kernel[(B,)](k_cache, T)
            """,
            "unknown",
        ),
        "after all are made contiguous at once": (
            """
            def launch(q, k):
                q, k = q.contiguous(), k.contiguous()
                B, L, D = q.shape
                kernel[(B,)](q, L)
            """,
            "per_call",
        ),
    },
    "integers that a wrapper is given": {
        "the first size of what it allocates": (
            """
            def launch(q, total_q: int, heads: int, dim: int):
                out = torch.empty((total_q, heads, dim), device=q.device)
                kernel[(total_q, heads)](out, total_q)
            """,
            "per_call",
        ),
        "the length among the sizes of what it allocates": (
            """
            def launch(x, local_len, world_size, shard_heads, dim):
                out = torch.empty((world_size, shard_heads, local_len, dim), device=x.device)
                kernel[(1,)](out, local_len)
            """,
            "per_call",
        ),
        "the length among the sizes of a cache": (
            """
            def launch(x, length, world_size, shard_heads, dim):
                k_cache = torch.empty((world_size, shard_heads, length, dim), device=x.device)
                kernel[(1,)](k_cache, length)
            """,
            "unknown",
        ),
        "the first size of a view": (
            """
            def launch(x, batch: int, dim: int):
                x = x.view(batch, -1, dim)
                kernel[(1,)](x, batch)
            """,
            "per_call",
        ),
        "the first size of a weight": (
            """
            def launch(x, n_out: int, dim: int):
                weight = torch.empty((n_out, dim), device=x.device)
                kernel[(n_out,)](weight, n_out)
            """,
            "unknown",
        ),
        "a first size that is a width elsewhere": (
            """
            def launch(x, n: int, m: int):
                transposed = torch.empty((n, m), device=x.device)
                out = torch.empty((m, n), device=x.device)
                kernel[(n,)](out, n)
            """,
            "unknown",
        ),
        "a check refuses any but the rows": (
            """
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"], n: int):
                if hidden_states.shape[0] != n:
                    raise ValueError("rows differ")
                kernel[(1,)](hidden_states, n)
            """,
            "per_call",
        ),
        "an assert of the width": (
            """
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"], n: int):
                assert n == hidden_states.shape[1]
                kernel[(1,)](hidden_states, n)
            """,
            "per_model",
        ),
    },
    "objects that are passed on": {
        "one of two of which one is a setting": (
            """
            class Dense:
                def __init__(self, x):
                    self.rows = x.shape[0]
            class Fixed:
                def __init__(self):
                    self.rows = 128
            def launch(hidden_states: Float[torch.Tensor, "num_tokens hidden"], fixed=False):
                rows = Fixed() if fixed else Dense(hidden_states)
                kernel[(1,)](hidden_states, rows.rows)
            """,
            "unknown",
        ),
    },
}
# What is not followed yet.
MISSED = {
    "in an autograd function",
}
ROWS = [
    pytest.param(
        code,
        expected,
        id=f"{group}: {name}",
        marks=[pytest.mark.xfail(strict=True, reason="not followed yet")] if name in MISSED else [],
    )
    for group, cases in CASES.items()
    for name, (code, expected) in cases.items()
]


@emptying_scan_caches()
def kind_of_size(folder: Path) -> str:
    """How often `SIZE` of `kernel` is found to change."""
    settings = load_settings(folder)
    files = list(find_files([folder], settings, cwd=folder))
    (found,) = parameters(whole_project(Database(files), settings, folder))
    return found.worst.kind.label if found.worst is not None else "unknown"


@pytest.mark.parametrize(("code", "expected"), ROWS)
def test_size_keeps_its_kind_on_the_way_to_the_launch(code: str, expected: str, tmp_path: Path) -> None:
    lines = code.strip("\n").splitlines()
    margin = len(lines[0]) - len(lines[0].lstrip())
    ops, _, sizes = "\n".join(line[margin:] for line in lines).partition("# sizes.py\n")
    (tmp_path / "ops.py").write_text(PRELUDE + KERNEL + ops, encoding="utf-8")
    (tmp_path / "sizes.py").write_text(sizes, encoding="utf-8")

    assert kind_of_size(tmp_path) == expected


STRIDES = """
@triton.jit
def strided(x, y, z, xs0, xs1, ys0, ys1, ys2, zs0, zs1, zs2, SIZE: tl.constexpr):
    tl.store(x + tl.arange(0, 16), SIZE)

def launch(x: Float[torch.Tensor, "num_tokens dim"], y, z):
    strided[(1,)](x, y, z, *x.stride(), *y.stride(), *z.stride(), 16)
"""


@pytest.mark.parametrize(("last", "bound"), [("ys2", ["ys0", "ys1", "ys2", "zs0"]), ("w0", [])])
@emptying_scan_caches()
def test_strides_of_two_tensors_go_to_parameters_that_are_named_alike(
    last: str, bound: list[str], tmp_path: Path
) -> None:
    (tmp_path / "ops.py").write_text(PRELUDE + STRIDES.replace("ys2", last), encoding="utf-8")
    settings = load_settings(tmp_path)
    project = whole_project(Database(list(find_files([tmp_path], settings, cwd=tmp_path))), settings, tmp_path)
    (launch,) = project.launches
    counts = {"x.stride()": 2}

    found = match_positions(launch.launch, launch.kernels[0], lambda starred: counts.get(spell(starred)))

    assert [param for param, _, _ in found if param in ("ys0", "ys1", last, "zs0")] == bound


NAMING = """
@triton.jit
def naming(q, N_CTX, heads, SIZE: tl.constexpr):
    tl.store(q + tl.arange(0, 16), SIZE)

def launch(q):
    q = q.contiguous()
    blocks = triton.cdiv(q.shape[1], 64)
    naming[(blocks,)](q, N_CTX=q.shape[1], heads=q.shape[2], SIZE=blocks)
"""


@pytest.mark.parametrize(
    ("written", "instead", "kind"),
    [("", "", "per_call"), ("N_CTX", "things", "unknown"), ("SIZE", "BLOCK", "unknown")],
)
@emptying_scan_caches()
def test_axis_is_what_another_parameter_of_the_launch_is_called(
    written: str, instead: str, kind: str, tmp_path: Path
) -> None:
    (tmp_path / "ops.py").write_text(PRELUDE + NAMING.replace(written, instead), encoding="utf-8")
    settings = load_settings(tmp_path)
    files = list(find_files([tmp_path], settings, cwd=tmp_path))

    (found,) = parameters(whole_project(Database(files), settings, tmp_path))

    assert (found.worst.kind.label if found.worst is not None else "unknown") == kind


OUT_OF_SIGHT = """
from elsewhere import CONFIGS

@triton.autotune(CONFIGS, key=["n"])
@triton.jit
def tuned(q, norms, n, width, DIM: tl.constexpr, BLOCK: tl.constexpr):
    tl.store(q + tl.arange(0, 16), n)

def launch(q, norms, n, width):
    tuned[(1,)](q, *norms, n, width, DIM=64)
"""


@emptying_scan_caches()
def test_arguments_behind_a_star_end_before_the_first_that_is_given_by_name(tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text(PRELUDE + OUT_OF_SIGHT, encoding="utf-8")
    settings = load_settings(tmp_path)
    project = whole_project(Database(list(find_files([tmp_path], settings, cwd=tmp_path))), settings, tmp_path)
    (launch,) = project.launches

    found = match_positions(launch.launch, launch.kernels[0], lambda _: None)

    assert [(param, spell(expr)) for param, _, expr in found if param in ("n", "width")] == [
        ("n", "n"),
        ("width", "width"),
    ]


READ_OUT = """
@triton.jit
def kernel(out, n: tl.constexpr):
    tl.store(out, n)

def launch(out, lengths):
    rows = lengths.view(-1)
    kernel[(1,)](out, int(rows.max()))
"""


@emptying_scan_caches()
def test_what_is_read_out_of_a_tensor_is_spelled_as_the_user_wrote_it(tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text(PRELUDE + READ_OUT, encoding="utf-8")
    settings = load_settings(tmp_path)
    project = whole_project(Database(list(find_files([tmp_path], settings, cwd=tmp_path))), settings, tmp_path)

    (found,) = parameters(project)

    assert found.worst is not None
    assert found.worst.number.trail[0].step().text == "`int(rows.max())` is read from the data of a tensor"
