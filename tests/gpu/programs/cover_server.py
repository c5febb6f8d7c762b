"""A server of seven kernels with closed key spaces: what a warm-up at one batch does not cover, its source shows.

`warm` makes the warm-up alone, to be recorded dry; `tune` launches what has to be timed on a GPU; `serve` answers POST
requests with `{"lengths": [...], "top_k": true, "top_p": false}` until its input ends, and prints its port once ready;
`answer` answers those in a file.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import torch
import triton
import triton.language as tl

HIDDEN, HEADS, HEAD_DIM, VOCAB = 256, 4, 64, 1000
MAX_BATCH, MAX_LENGTH = 32, 2048


@triton.jit
def embed(tokens, table, out, n_tokens, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    if row < n_tokens:
        cols = tl.arange(0, WIDTH)
        token = tl.load(tokens + row)
        tl.store(out + row * WIDTH + cols, tl.load(table + token * WIDTH + cols))


@triton.jit
def rms_norm(x, weight, out, n_rows, eps, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    if row < n_rows:
        cols = tl.arange(0, WIDTH)
        value = tl.load(x + row * WIDTH + cols).to(tl.float32)
        scale = tl.rsqrt(tl.sum(value * value, axis=0) / WIDTH + eps)
        tl.store(out + row * WIDTH + cols, (value * scale).to(tl.float16) * tl.load(weight + cols))


@triton.autotune(
    configs=[triton.Config({"BLOCK_M": 32}, num_warps=4), triton.Config({"BLOCK_M": 64}, num_warps=4)],
    key=["N", "K"],
    cache_results=True,
)
@triton.jit
def matmul(a, b, out, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        left = tl.load(a + rows[:, None] * K + inner[None, :], mask=rows[:, None] < M, other=0.0)
        right = tl.load(b + inner[:, None] * N + cols[None, :], mask=cols[None, :] < N, other=0.0)
        total += tl.dot(left, right)
    tl.store(
        out + rows[:, None] * N + cols[None, :], total.to(tl.float16), mask=(rows[:, None] < M) & (cols[None, :] < N)
    )


@triton.jit
def rope(x, out, n_rows, length, WIDTH: tl.constexpr, HALF: tl.constexpr):
    row = tl.program_id(0)
    if row < n_rows:
        cols = tl.arange(0, HALF)
        angle = (row % length) * tl.exp2(-cols.to(tl.float32) * (13.0 / HALF))
        first = tl.load(x + row * WIDTH + cols).to(tl.float32)
        second = tl.load(x + row * WIDTH + HALF + cols).to(tl.float32)
        tl.store(out + row * WIDTH + cols, (first * tl.cos(angle) - second * tl.sin(angle)).to(tl.float16))
        tl.store(out + row * WIDTH + HALF + cols, (second * tl.cos(angle) + first * tl.sin(angle)).to(tl.float16))


@triton.jit
def pool(x, lengths, out, length, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0)
    col = tl.program_id(1)
    rows = tl.arange(0, BLOCK)
    kept = rows < tl.load(lengths + at)
    value = tl.load(x + (at * length + rows) * WIDTH + col, mask=kept, other=0.0).to(tl.float32)
    tl.store(out + at * WIDTH + col, (tl.sum(value, axis=0) / tl.load(lengths + at)).to(tl.float16))


@triton.jit
def gate(x, out, n_elements, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n_elements, other=0.0).to(tl.float32)
    tl.store(out + at, (value * tl.sigmoid(value)).to(tl.float16), mask=at < n_elements)


@triton.jit
def sample(
    logits, out, k, p, batch, WIDTH: tl.constexpr, HAS_K: tl.constexpr, HAS_P: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    if row < batch:
        cols = tl.arange(0, BLOCK)
        value = tl.load(logits + row * WIDTH + cols, mask=cols < WIDTH, other=-float("inf")).to(tl.float32)
        if HAS_K:
            value = tl.where(value < tl.load(k + row), -float("inf"), value)
        if HAS_P:
            value = value - tl.load(p + row)
        tl.store(out + row, tl.argmax(value, axis=0))


class Model:
    """One layer of made-up weights."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.table = torch.randn(VOCAB, HIDDEN, device=device, dtype=torch.float16)
        self.norm = torch.ones(HIDDEN, device=device, dtype=torch.float16)
        self.inner = torch.randn(HIDDEN, HIDDEN, device=device, dtype=torch.float16) / 16
        self.head = torch.randn(HIDDEN, VOCAB, device=device, dtype=torch.float16) / 16

    def product(self, x: torch.Tensor, weight: torch.Tensor, rows: int, width: int) -> torch.Tensor:
        out = torch.empty(rows, width, device=self.device, dtype=torch.float16)
        grid = lambda meta: (triton.cdiv(rows, meta["BLOCK_M"]), triton.cdiv(width, 64))  # noqa: E731
        matmul[grid](x, weight, out, rows, width, HIDDEN, BLOCK_N=64, BLOCK_K=32)
        return out

    def answer(self, lengths: list[int], k: torch.Tensor | None = None, p: torch.Tensor | None = None) -> torch.Tensor:
        batch, length = len(lengths), max(lengths)
        if batch > MAX_BATCH or length > MAX_LENGTH:
            raise ValueError("too much for one request")
        n_tokens = batch * length
        tokens = torch.zeros(n_tokens, device=self.device, dtype=torch.int32)
        x = torch.empty(n_tokens, HIDDEN, device=self.device, dtype=torch.float16)
        embed[(n_tokens,)](tokens, self.table, x, n_tokens, WIDTH=HIDDEN)
        normed = torch.empty_like(x)
        rms_norm[(n_tokens,)](x, self.norm, normed, n_tokens, 1e-6, WIDTH=HIDDEN)
        inner = self.product(normed, self.inner, n_tokens, HIDDEN)
        n_rows = n_tokens * HEADS
        turned = torch.empty_like(inner)
        rope[(n_rows,)](inner, turned, n_rows, length, WIDTH=HEAD_DIM, HALF=HEAD_DIM // 2)
        counts = torch.tensor(lengths, device=self.device, dtype=torch.int32)
        pooled = torch.empty(batch, HIDDEN, device=self.device, dtype=torch.float16)
        bucket = min(triton.next_power_of_2(length), MAX_LENGTH)
        pool[(batch, HIDDEN)](turned, counts, pooled, length, WIDTH=HIDDEN, BLOCK=bucket)
        gated = torch.empty_like(pooled)
        gate[(triton.cdiv(batch * HIDDEN, 512),)](pooled, gated, batch * HIDDEN, BLOCK=512)
        logits = self.product(gated, self.head, batch, VOCAB)
        out = torch.empty(batch, device=self.device, dtype=torch.int32)
        sample[(batch,)](logits, out, k, p, batch, WIDTH=VOCAB, HAS_K=k is not None, HAS_P=p is not None, BLOCK=1024)
        return out


def respond(model: Model, request: dict) -> torch.Tensor:
    limits = torch.ones(MAX_BATCH, device=model.device)
    lengths = request["lengths"]
    k = limits if request["top_k"] else None
    p = limits if request["top_p"] else None
    return model.answer(lengths, k, p)


def serve(covered: str | None) -> None:
    import triton_doctor

    model = Model("cuda")
    prewarmed = triton_doctor.prewarm(covered, recorded_only=True) if covered else None
    # What torch does at its first calls is not Triton's: an allocation, a copy in each direction.
    torch.zeros(4, device="cuda", dtype=torch.int32).tolist()
    torch.tensor([1], device="cuda", dtype=torch.int32)
    torch.ones(4, device="cuda")
    torch.cuda.synchronize()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps(respond(model, request).tolist()).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    triton_doctor.warmed_up()
    print(json.dumps({"port": server.server_address[1], "prewarmed": repr(prewarmed)}), flush=True)
    sys.stdin.read()
    server.shutdown()


def warm() -> None:
    limits = torch.ones(MAX_BATCH, device="cuda")
    Model("cuda").answer([MAX_LENGTH] * MAX_BATCH, limits, limits)


def tune() -> None:
    model = Model("cuda")
    x = torch.zeros(64, HIDDEN, device="cuda", dtype=torch.float16)
    model.product(x, model.inner, 64, HIDDEN)
    model.product(x, model.head, 64, VOCAB)


def answer(path: str) -> None:
    model = Model("cuda")
    for request in json.loads(Path(path).read_text(encoding="utf-8")):
        respond(model, request)


def main(mode: str, path: str | None = None) -> None:
    if mode == "serve":
        serve(path)
    elif mode == "answer":
        answer(path)
    elif mode == "tune":
        tune()
    else:
        warm()


if __name__ == "__main__":
    main(*sys.argv[1:])
