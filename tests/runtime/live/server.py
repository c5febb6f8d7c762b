"""A server of two workers that share a socket and serve their metrics, as such servers do; it knows nothing of us."""

import os
import signal
import socket
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlparse

from kernels import launch
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector


class Handler(BaseHTTPRequestHandler):
    """`/launch?n=10` launches and says which process did; `/metrics` are those of all workers."""

    def do_GET(self):
        asked = urlparse(self.path)
        if asked.path == "/metrics":
            registry = CollectorRegistry()
            MultiProcessCollector(registry)
            body = generate_latest(registry)
        else:
            launch(*map(int, parse_qs(asked.query)["n"]))
            body = str(os.getpid()).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Worker(HTTPServer):
    """Serves what comes to a socket that it shares."""

    def __init__(self, shared):
        super().__init__(shared.getsockname(), Handler, bind_and_activate=False)
        self.socket = shared


def main():
    shared = socket.create_server(("127.0.0.1", 0), backlog=64)
    workers = []
    for _ in range(2):
        worker = os.fork()
        if not worker:
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
            Worker(shared).serve_forever()
        workers.append(worker)

    def stop(*_):
        for worker in workers:
            os.kill(worker, signal.SIGTERM)

    signal.signal(signal.SIGTERM, stop)
    Path(os.environ["PORT_FILE"]).write_text(str(shared.getsockname()[1]))
    for worker in workers:
        os.waitpid(worker, 0)


main()
