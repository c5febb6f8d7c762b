"""A model under torch.compile, with a Triton kernel of its own in the middle."""

import torch
import triton
import triton.language as tl
from torch import nn

HIDDEN, STEPS = 256, 30


@triton.jit
def scale_kernel(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(out_ptr + offsets, factor * tl.load(x_ptr + offsets, mask=inside), mask=inside)


def scale(x, factor):
    out = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), factor, BLOCK=1024)
    return out


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, HIDDEN)

    def forward(self, x):
        return torch.softmax(self.second(scale(torch.nn.functional.gelu(self.first(x)), 0.5)), dim=-1).sum()


def main():
    torch.manual_seed(0)
    model = torch.compile(Model().to("cuda"))
    with torch.no_grad():
        for step in range(STEPS):
            total = model(torch.randn(8 + 8 * (step % 5), HIDDEN, device="cuda"))
        eager = scale(torch.ones(64, device="cuda"), 2.0)
    print(f"{STEPS} steps, {total.item():.3f}, {eager.sum().item():.0f}")


if __name__ == "__main__":
    main()
