"""Leaves in the cache what the mask kernel of fixtures/seeds makes of 40 lengths, without a GPU."""

import sys
from pathlib import Path

import torch

from triton_doctor.runtime.compile_target import activate

activate("cuda:90")
sys.path.insert(0, str(Path(__file__).parents[3] / "fixtures" / "seeds"))

from ragged_attention_mask import DRAFT_TOKENS, ragged_mask_kernel  # noqa: E402

for step in range(40):
    bs, longest = 2 + step % 8, 900 + 7 * step
    lengths = torch.full((bs,), longest, dtype=torch.int32)
    mask = torch.empty((bs, DRAFT_TOKENS, longest), dtype=torch.bool)
    ragged_mask_kernel[(bs, DRAFT_TOKENS, 8)](
        mask,
        lengths,
        mask.stride(0),
        stride_mask_qo=mask.stride(1),
        bs=bs,
        max_kv_len_per_req=longest,
        BLOCK=128,
    )
