"""An HTTP server whose requests recompile its kernels, on several threads: lengths are constexprs and tuning keys."""

import json
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import urlopen

import torch
import triton
import triton.language as tl

HEADS, WIDTH, REQUESTS, CLIENTS = 8, 64, 90, 4
WARM_LENGTHS = (16, 32, 64, 128)
# Two threads that tune one kernel at once fail: its Autotuner keeps the arguments of the launch on itself.
MODEL = threading.Lock()


@triton.jit
def rotate_kernel(x_ptr, angle_ptr, row_stride, bs, length: tl.constexpr, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    half = tl.arange(0, WIDTH // 2)
    angle = tl.load(angle_ptr + (row % length) * (WIDTH // 2) + half)
    first = tl.load(x_ptr + row * row_stride + half)
    second = tl.load(x_ptr + row * row_stride + WIDTH // 2 + half)
    tl.store(x_ptr + row * row_stride + half, first * tl.cos(angle) - second * tl.sin(angle), mask=row < bs * length)
    tl.store(x_ptr + row * row_stride + WIDTH // 2 + half, second * tl.cos(angle) + first * tl.sin(angle))


@triton.autotune([triton.Config({"BLOCK": block}, num_warps=warps) for block in (256, 512) for warps in (2, 4)], ["n"])
@triton.jit
def gate_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x * tl.sigmoid(x), mask=inside)


def answer(length):
    x = torch.ones(HEADS * length, WIDTH, device="cuda")
    angle = torch.zeros(length, WIDTH // 2, device="cuda")
    rotate_kernel[(HEADS * length,)](x, angle, x.stride(0), HEADS, length=length, WIDTH=WIDTH)
    # Rounded up, so that the tuning key takes few values.
    n = triton.cdiv(x.numel(), 65536) * 65536
    padded = torch.zeros(n, device="cuda")
    padded[: x.numel()] = x.flatten()
    out = torch.empty_like(padded)
    gate_kernel[lambda config: (triton.cdiv(n, config["BLOCK"]),)](padded, out, n)
    return out.sum().item()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        with MODEL:
            body = json.dumps({"sum": answer(int(self.path.removeprefix("/")))}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    for length in WARM_LENGTHS:
        answer(length)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    lengths = random.Random(0)
    asked = [lengths.choice((*WARM_LENGTHS, lengths.randrange(17, 400))) for _ in range(REQUESTS)]

    def ask(length):
        with urlopen(f"http://127.0.0.1:{server.server_port}/{length}", timeout=60) as reply:
            return json.load(reply)["sum"]

    with ThreadPoolExecutor(CLIENTS) as clients:
        sums = list(clients.map(ask, asked))
    server.shutdown()
    print(f"{len(sums)} requests of {len(set(asked))} lengths, {sums[0]:.3f}")


if __name__ == "__main__":
    main()
