"""Paths and who answers them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from askonce_server.service.faults import FaultLog

TEXT = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Request:
    """What a caller asks."""

    method: str
    path: str
    query: str
    accept: str
    content_type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """What it is told."""

    body: bytes
    content_type: str = TEXT
    status: str = "200 OK"
    headers: tuple[tuple[str, str], ...] = ()


Handler = Callable[[Request], Answer]
_ALWAYS = (
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)


def plain(status: str, text: str) -> Answer:
    """Return an answer that is a line of text."""
    return Answer(f"{text}\n".encode(), status=status)


class Routes:
    """A WSGI application of handlers by path; each says which method it takes.

    Callers must name this listener itself, so that no page of another site can read it through its visitor's
    browser under a name of its own: by an address, as `localhost`, or by one of `hosts`; the paths in
    `open_to` answer to every name. A fault is logged, and told without its text.
    """

    def __init__(
        self,
        table: Mapping[tuple[str, str], Handler],
        *,
        faults: FaultLog,
        hosts: Iterable[str] = (),
        open_to: Iterable[str] = (),
    ) -> None:
        self._table = table
        self._faults = faults
        self._hosts = {"localhost", *hosts}
        self._paths = {path for _, path in table}
        self._open = frozenset(open_to)

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        """Answer one request."""
        answer = self._answer(environ)
        headers = [
            ("Content-Type", answer.content_type),
            ("Content-Length", str(len(answer.body))),
            ("Cache-Control", "no-store"),
            *_ALWAYS,
            *answer.headers,
        ]
        start(answer.status, headers)
        return [b"" if environ["REQUEST_METHOD"] == "HEAD" else answer.body]

    def _answer(self, environ: dict[str, Any]) -> Answer:
        method, path = environ["REQUEST_METHOD"], environ.get("PATH_INFO", "/")
        if path not in self._open and not self._is_ours(environ.get("HTTP_HOST", "")):
            return plain("421 Misdirected Request", "this name is not known here: add it to telemetry.hosts")
        handler = self._table.get(("GET" if method == "HEAD" else method, path)) or self._below(method, path)
        if handler is None:
            known = path in self._paths
            status = "405 Method Not Allowed" if known else "404 Not Found"
            return plain(status, "there is nothing here" if not known else "not by this method")
        asked = Request(
            method,
            path,
            environ.get("QUERY_STRING", ""),
            environ.get("HTTP_ACCEPT", ""),
            environ.get("CONTENT_TYPE", ""),
            environ["wsgi.input"].read(),
        )
        try:
            return handler(asked)
        except Exception as fault:
            self._faults.record(f"web {path}", fault)
            return plain("500 Internal Server Error", "something failed inside; see the log")

    def _below(self, method: str, path: str) -> Handler | None:
        """Return the handler of the folder that `path` lies in."""
        folder = path[: path.rfind("/") + 1]
        return self._table.get((method, f"{folder}*")) if folder != path else None

    def _is_ours(self, host: str) -> bool:
        name = host.rpartition(":")[0] if ":" in host and not host.endswith("]") else host
        name = name.strip("[]").lower()
        if name in self._hosts:
            return True
        try:
            ip_address(name)
        except ValueError:
            return False
        return True
