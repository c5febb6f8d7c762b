"""Kernels of Liger 0.8.5, forward and backward, at 12 shapes: batch and length vary, the model stays.

`liger.py OUT TARGET layer_norm|fused_add_rms_norm|poly_norm|rope|group_norm`
"""

import torch
from where import DEVICE, REST, recorded

HIDDEN, HEADS, HEAD = 512, 8, 64
SHAPES = [
    (1, 1),
    (2, 7),
    (3, 17),
    (4, 33),
    (5, 48),
    (6, 64),
    (8, 100),
    (1, 128),
    (2, 256),
    (3, 513),
    (4, 777),
    (2, 1024),
]


def tensor(*shape):
    return torch.randn(shape, device=DEVICE, requires_grad=True)


def layer_norm(batch, length):
    from liger_kernel.ops.layer_norm import LigerLayerNormFunction

    LigerLayerNormFunction.apply(tensor(batch, length, HIDDEN), weight, bias, 1e-6).sum().backward()


def fused_add_rms_norm(batch, length):
    from liger_kernel.ops.fused_add_rms_norm import LigerFusedAddRMSNormFunction

    x, residual = tensor(batch, length, HIDDEN), tensor(batch, length, HIDDEN)
    y, s = LigerFusedAddRMSNormFunction.apply(x, residual, weight, 1e-6, 0.0, "llama", False)
    (y.sum() + s.sum()).backward()


def poly_norm(batch, length):
    from liger_kernel.ops.poly_norm import LigerPolyNormFunction

    LigerPolyNormFunction.apply(tensor(batch, length, HIDDEN), three, one, 1e-6, False).sum().backward()


def rope(batch, length):
    from liger_kernel.ops.rope import LigerRopeFunction

    q, k = tensor(batch, HEADS, length, HEAD), tensor(batch, HEADS, length, HEAD)
    angles = torch.randn(1, length, HEAD, device=DEVICE)
    turned = LigerRopeFunction.apply(q, k, angles.cos(), angles.sin())
    (turned[0].sum() + turned[1].sum()).backward()


def group_norm(batch, length):
    from liger_kernel.ops.group_norm import LigerGroupNormFunction

    LigerGroupNormFunction.apply(tensor(batch, HEADS, length), eight, eights, HEADS, HEADS, 1e-6).sum().backward()


weight, bias, three, one = tensor(HIDDEN), tensor(HIDDEN), tensor(3), tensor()
eight, eights = tensor(HEADS), tensor(HEADS)
step = {
    "layer_norm": layer_norm,
    "fused_add_rms_norm": fused_add_rms_norm,
    "poly_norm": poly_norm,
    "rope": rope,
    "group_norm": group_norm,
}[REST[0]]
with recorded():
    for batch, length in SHAPES:
        step(batch, length)
