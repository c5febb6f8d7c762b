"""A mask for a ragged batch of 40 lengths: its sizes as constexprs, as plain arguments, or never specialized.

`ragged_mask.py OUT TARGET constexpr|plain|unspecialized`
"""

import torch
import triton
import triton.language as tl
from where import DEVICE, REST, recorded

BLOCK = 64


def fill(mask_ptr, lengths_ptr, stride_mask_qo, bs, max_kv_len_per_req, BLOCK: tl.constexpr):
    request = tl.program_id(0)
    length = tl.load(lengths_ptr + request)
    for start in range(0, max_kv_len_per_req, BLOCK):
        positions = start + tl.arange(0, BLOCK)
        inside = (positions < max_kv_len_per_req) & (request < bs)
        tl.store(mask_ptr + request * stride_mask_qo + positions, (positions < length).to(tl.int8), mask=inside)


@triton.jit
def constexpr_mask(
    mask_ptr,
    lengths_ptr,
    stride_mask_qo: tl.constexpr,
    bs: tl.constexpr,
    max_kv_len_per_req: tl.constexpr,
    BLOCK: tl.constexpr,
):
    request = tl.program_id(0)
    length = tl.load(lengths_ptr + request)
    for start in range(0, max_kv_len_per_req, BLOCK):
        positions = start + tl.arange(0, BLOCK)
        inside = (positions < max_kv_len_per_req) & (request < bs)
        tl.store(mask_ptr + request * stride_mask_qo + positions, (positions < length).to(tl.int8), mask=inside)


plain_mask = triton.jit(fill)
unspecialized_mask = triton.jit(fill, do_not_specialize=["stride_mask_qo", "bs", "max_kv_len_per_req"])
KERNELS = {"constexpr": constexpr_mask, "plain": plain_mask, "unspecialized": unspecialized_mask}

BATCH = 4
kernel = KERNELS[REST[0]]
with recorded():
    for longest in range(17, 57):
        lengths = torch.tensor([longest, 3, 5, 7], dtype=torch.int32, device=DEVICE)
        mask = torch.zeros(BATCH, longest, dtype=torch.int8, device=DEVICE)
        kernel[(BATCH,)](mask, lengths, mask.stride(0), BATCH, longest, BLOCK=BLOCK)
