"""An MLP under `torch.compile(mode="max-autotune-no-cudagraphs")` with seven batch sizes.

The report of `triton-doctor run max_autotune.py` names the graphs, the guards that made them again and the benchmarks.
"""

import torch
from torch import nn

WIDTH, SIZES = 512, (64, 128, 96, 200, 1, 2048, 77)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down, self.norm = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, x):
        return torch.softmax(self.norm(x + self.down(nn.functional.gelu(self.up(x)))), -1)


def main() -> None:
    """Five calls at each size."""
    torch.manual_seed(0)
    model = torch.compile(Block().cuda().half(), mode="max-autotune-no-cudagraphs")
    with torch.no_grad():
        for size in SIZES:
            x = torch.randn(size, WIDTH, device="cuda", dtype=torch.half)
            for _ in range(5):
                y = model(x)
    torch.cuda.synchronize()
    print(f"{len(SIZES)} sizes, {y.float().sum().item():.3f}")


if __name__ == "__main__":
    main()
