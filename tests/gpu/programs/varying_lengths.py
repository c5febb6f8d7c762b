"""Liger's kernels in a loop with batches and lengths that vary; the report of a run names `bs` of `_triton_rope`.

`triton-doctor run -o lengths.jsonl varying_lengths.py`, then `triton-doctor report lengths.jsonl`.
"""

import torch
from liger_kernel.ops.rms_norm import LigerRMSNormFunction
from liger_kernel.ops.rope import LigerRopeFunction
from liger_kernel.ops.swiglu import LigerSiLUMulFunction

HEADS, WIDTH, STEPS = 8, 64, 20


def main() -> None:
    """Each step has a batch and a length of its own, forward and backward."""
    torch.manual_seed(0)
    weight = torch.ones(HEADS * WIDTH, device="cuda", requires_grad=True)
    for step in range(STEPS):
        batch, length = 1 + step % 5, 64 + 7 * step
        x = torch.randn(batch, length, HEADS * WIDTH, device="cuda", requires_grad=True)
        normal = LigerRMSNormFunction.apply(x, weight, 1e-6)
        q, k = (normal.view(batch, length, HEADS, WIDTH).transpose(1, 2) for _ in range(2))
        angles = torch.randn(1, length, WIDTH, device="cuda")
        q, k = LigerRopeFunction.apply(q, k, angles.cos(), angles.sin())
        (LigerSiLUMulFunction.apply(normal, x).sum() + q.sum() + k.sum()).backward()
    torch.cuda.synchronize()
    print(f"{STEPS} steps")


if __name__ == "__main__":
    main()
