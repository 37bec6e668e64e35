"""An embedder that a test holds the strings of, and an embeddings service that answers by a script."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from askonce_server.ports import Embedded

Answering = Callable[["Handler"], None]


def soon(seconds: float = 30.0) -> float:
    return time.monotonic() + seconds


class FakeEmbedder:
    """Does what `work` does with each text, and remembers which texts it was given."""

    name = "fake"
    dim = 4
    fingerprint = bytes(32)
    max_tokens: int | None = 7

    def __init__(self, work: Callable[[str], Any] = lambda text: None) -> None:
        self.work = work
        self.texts: list[str] = []
        self.threads: set[str] = set()
        self.closed = False

    def close(self) -> None:
        self.closed = True

    def embed(self, text: str, *, deadline: float) -> Embedded:
        self.texts.append(text)
        self.threads.add(threading.current_thread().name)
        self.work(text)
        return Embedded(np.array([len(text), 0, 0, 0], dtype=np.float32), tokens=len(text), cost_usd=None)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are sent apart
    server: Service
    asked: Any = None
    """What the body said."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        service, self.asked = self.server, json.loads(body)
        with service.lock:
            service.asked.append((self.path, dict(self.headers), self.asked))
            service.peers.add(self.client_address)
            answering = service.script.pop(0) if len(service.script) > 1 else service.script[0]
        answering(self)

    def log_message(self, *args: Any) -> None:
        pass


class Service(ThreadingHTTPServer):
    """Answers the first call by the first step of its script, and so on; the last step stays."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, *script: Answering) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = list(script)
        self.asked: list[tuple[str, dict[str, str], Any]] = []
        self.peers: set[Any] = set()
        self.lock = threading.Lock()
        self.released = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1/embeddings"

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # callers that hang up are part of the tests


@contextmanager
def serving(*script: Answering) -> Iterator[Service]:
    service = Service(*script)
    thread = threading.Thread(target=service.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield service
    finally:
        service.released.set()
        service.shutdown()
        thread.join()
        service.server_close()


def says(status: int, body: bytes, **headers: str) -> Answering:
    def answer(handler: Handler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def gives(values: Any, tokens: int | None = 3) -> Answering:
    answer: dict[str, Any] = {"object": "list", "data": [{"index": 0, "embedding": values}]}
    if tokens is not None:
        answer["usage"] = {"prompt_tokens": tokens, "total_tokens": tokens}
    return says(200, json.dumps(answer).encode())


def waits(then: Answering) -> Answering:
    """Answer like `then`, but only when the test is over."""

    def answer(handler: Handler) -> None:
        handler.server.released.wait(10)
        then(handler)

    return answer


def drips(handler: Handler) -> None:
    """Send one byte at a time, always before a single read would give up."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    for _ in range(2000):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        if handler.server.released.wait(0.005):
            return


def hangs_up(handler: Handler) -> None:
    """Close with a reset instead of an answer."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.close_connection = True
    handler.connection.close()


def closed_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port: int = unused.getsockname()[1]
        return port
