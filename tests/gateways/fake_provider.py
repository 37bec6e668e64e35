"""A provider for tests and demos, like OpenAI's and Anthropic's APIs: `python fake_provider.py [PORT]`.

It prints its address, answers `POST /v1/chat/completions`, `/v1/responses`, `/v1/embeddings` and
`/v1/messages`, streaming and not, and ends with its standard input. Every answer is another one: it says
which call it was. Only the standard library is needed.

What it does otherwise is said by `POST /control`, for the calls that come after it:

    {"model": "gpt-4o",          for calls of this model; left out, for all
     "status": 500,              answers with this status and an error
     "latency": 0.2,             waits so many seconds before it answers
     "pace": 0.01,               and so many between the events of a stream
     "linger": 5,                and so many before it ends a stream whose last event is sent
     "finish": "length",         ends with this finish reason, as an answer that was cut or filtered
     "cut_after": 3,             breaks off after so many events, or in the middle of a document
     "error_after": 3,           sends an error into the stream after so many events, and ends it
     "redirect": "http://…",     sends the caller elsewhere
     "tool_call": true}          calls the first tool of the request

`{}` undoes it all. `GET /calls` returns what was asked, in order: `[{"path", "model", "headers", "body"}]`,
and `DELETE /calls` forgets it.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gateways import fake_answers as answers

APIS: dict[str, tuple[Any, Any]] = {
    "/v1/chat/completions": (answers.chat, answers.chat_frames),
    "/v1/responses": (answers.response, answers.response_frames),
    "/v1/embeddings": (answers.embeddings, None),
    "/v1/messages": (answers.message, answers.message_frames),
}


class FakeProvider(ThreadingHTTPServer):
    """The provider's state: how it behaves and what it was asked. Counts every call, failed ones too."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.lock = threading.Lock()
        self.behaviours: dict[str, dict[str, Any]] = {}
        self.calls: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def behave(self, model: str = "", **behaviour: Any) -> None:
        """Answer later calls of `model`, or of all models, in another way; without any, as usual."""
        with self.lock:
            if not model and not behaviour:
                self.behaviours.clear()
            self.behaviours[model] = behaviour

    def behaviour(self, model: str) -> dict[str, Any]:
        with self.lock:
            return {**self.behaviours.get("", {}), **self.behaviours.get(model, {})}

    def count(self, call: dict[str, Any]) -> int:
        """Remember a call and return its number, from 1."""
        with self.lock:
            self.calls.append(call)
            return len(self.calls)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a caller that has gone; anything else is a bug of the test's."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    server: FakeProvider
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    _errors: ClassVar[dict[int, str]] = {429: "rate_limit_error", 400: "invalid_request_error"}

    def log_message(self, *_: Any) -> None:
        """Keep silent."""

    def do_GET(self) -> None:
        with self.server.lock:
            told = list(self.server.calls)
        self.send(200, told)

    def do_DELETE(self) -> None:
        with self.server.lock:
            self.server.calls.clear()
        self.send(200, {})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = json.loads(raw or b"{}")
        if self.path == "/control":
            self.server.behave(**body)
            self.send(200, {})
        elif self.path.partition("?")[0] in APIS:
            self.answer(body)
        else:
            self.send(404, {"error": {"message": "there is no such path", "type": "not_found_error"}})

    def answer(self, body: dict[str, Any]) -> None:
        model = str(body.get("model", ""))
        headers = {name.lower(): value for name, value in self.headers.items()}
        number = self.server.count({"path": self.path, "model": model, "headers": headers, "body": body})
        how = self.server.behaviour(model)
        time.sleep(how.get("latency", 0))
        if status := how.get("status"):
            kind = self._errors.get(status, "api_error")
            error = {"type": kind, "message": f"call {number} fails", "param": None, "code": None}
            self.send(status, {"type": "error", "error": error})
            return
        if place := how.get("redirect"):
            self.send(307, {}, Location=place)
            return
        make, frames = APIS[self.path.partition("?")[0]]
        options = {}
        if frames is not None:
            calls = bool(how.get("tool_call") and body.get("tools"))
            options = {"finish": how.get("finish", ""), "call": calls}
        document = make(body, number, **options)
        if body.get("stream"):
            self.stream(frames(document, body), how)
        else:
            self.send(200, document, cut="cut_after" in how)

    def send(self, status: int, document: Any, *, cut: bool = False, **headers: str) -> None:
        """Send a document, or half of it."""
        raw = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.send_header("X-Request-Id", f"fake-{len(self.server.calls)}")
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw[: len(raw) // 2] if cut else raw)
        self.close_connection = self.close_connection or cut

    def stream(self, frames: Iterator[str], how: dict[str, Any]) -> None:
        """Send a stream, chunk by chunk, as far as it goes."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, frame in enumerate(frames):
            if number == how.get("cut_after"):
                self.close_connection = True
                return
            if number == how.get("error_after"):
                self.chunk(answers.frame({"type": "error", "error": {"message": "overloaded"}}, "error"))
                break
            self.chunk(frame)
            time.sleep(how.get("pace", 0))
        time.sleep(how.get("linger", 0))
        self.wfile.write(b"0\r\n\r\n")

    def chunk(self, text: str) -> None:
        raw = text.encode()
        self.wfile.write(b"%x\r\n%b\r\n" % (len(raw), raw))
        self.wfile.flush()


if __name__ == "__main__":
    provider = FakeProvider(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    print(provider.url, flush=True)  # noqa: T201 -- its only word, for whoever started it
    sys.stdin.read()
