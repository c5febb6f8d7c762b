"""A small model of Liger's kernels, trained on texts of varied lengths."""

import random

import torch
from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction
from liger_kernel.ops.layer_norm import LigerLayerNormFunction
from liger_kernel.ops.swiglu import LigerSiLUMulFunction
from torch import nn

VOCABULARY, HIDDEN, INNER, LAYERS, STEPS = 4096, 512, 1024, 4, 80


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(HIDDEN)), nn.Parameter(torch.zeros(HIDDEN))
        self.gate, self.up = nn.Linear(HIDDEN, INNER, bias=False), nn.Linear(HIDDEN, INNER, bias=False)
        self.down = nn.Linear(INNER, HIDDEN, bias=False)

    def forward(self, x):
        normal = LigerLayerNormFunction.apply(x, self.weight, self.bias, 1e-6)
        return x + self.down(LigerSiLUMulFunction.apply(self.gate(normal), self.up(normal)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, HIDDEN)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.head = nn.Linear(HIDDEN, VOCABULARY, bias=False)

    def forward(self, tokens):
        logits = self.head(self.blocks(self.embed(tokens)))[:, :-1].reshape(-1, VOCABULARY)
        return LigerCrossEntropyFunction.apply(
            logits, tokens[:, 1:].reshape(-1), None, -100, 0.0, 0.0, "mean", None, False
        )[0]


def main():
    torch.manual_seed(0)
    lengths = random.Random(0)
    model = Model().to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(STEPS):
        tokens = torch.randint(VOCABULARY, (lengths.randrange(1, 9), lengths.randrange(16, 1024)), device="cuda")
        loss = model(tokens)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"{STEPS} steps, loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
