"""Posts JSON to one URL, again where that may help, and never beyond a deadline."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass

import urllib3
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    NewConnectionError,
    ProtocolError,
    TimeoutError,  # noqa: A004 - the base of all its time-outs
)

from askonce_server.calls.bounded import bounded_pool, ends_by
from askonce_server.calls.errors import CallFailed
from askonce_server.ports import OverBudget

_CHUNK_BYTES = 65536
_FIRST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 1.0
_WORTH_ANOTHER_TRY = frozenset({429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Answer:
    """What a service said."""

    status: int
    body: bytes
    retry_after_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PostLimits:
    """What calls may take."""

    timeout_seconds: float
    """How long one try may take."""
    retries: int
    """How many tries may follow the first."""
    connections: int
    """How many are kept."""
    most_bytes: int
    """Of the body of an answer."""


class Post:
    """Posts bodies to `url`. Safe to call from any thread; connections are kept and shared."""

    def __init__(self, url: str, *, headers: Mapping[str, str], limits: PostLimits) -> None:
        """Keep the settings."""
        self._url = url
        self._headers = dict(headers)
        self._limits = limits
        self._pool = bounded_pool(connections=limits.connections)

    def __call__(self, body: bytes, *, deadline: float) -> Answer:
        """Return the first answer that another try could not better; its status may be any.

        Raises OverBudget when the `deadline` (of `time.monotonic`) comes first, and CallFailed when there
        is no answer. No error holds anything of `body`, of the answer or of a header.
        """
        for attempt in range(self._limits.retries + 1):
            pause = _pause_seconds(attempt)
            try:
                answer = self._once(body, deadline=deadline)
            except _NoConnection as lost:
                failed = CallFailed(str(lost))
            else:
                if answer.status not in _WORTH_ANOTHER_TRY:
                    return answer
                failed = CallFailed(f"the service answered {answer.status}")
                pause = max(pause, answer.retry_after_seconds)
            if attempt == self._limits.retries or time.monotonic() + pause >= deadline:
                break
            time.sleep(pause)
        raise failed

    def close(self) -> None:
        """Let go of the connections."""
        self._pool.clear()

    def _once(self, body: bytes, *, deadline: float) -> Answer:
        begun = time.monotonic()
        limit = min(self._limits.timeout_seconds, deadline - begun)
        if limit <= 0:
            raise OverBudget("the deadline had passed before the service was asked")
        try:
            return self._exchange(body, limit=limit, until=begun + limit)
        except (NewConnectionError, ProtocolError) as error:  # the first of them is a TimeoutError too
            raise _NoConnection(f"no connection: {type(error).__name__}") from error
        except TimeoutError as error:
            if limit < self._limits.timeout_seconds:
                raise OverBudget("the service had not answered by the deadline") from error
            if isinstance(error, ConnectTimeoutError):
                raise _NoConnection("no connection within the timeout") from error
            raise CallFailed(f"the service did not answer in {limit:g} s") from error
        except HTTPError as error:
            raise CallFailed(f"the call failed: {type(error).__name__}") from error

    def _exchange(self, body: bytes, *, limit: float, until: float) -> Answer:
        with ends_by(until):
            response = self._pool.request(
                "POST",
                self._url,
                body=body,
                headers=self._headers,
                timeout=urllib3.Timeout(connect=limit, read=limit),
                retries=False,
                redirect=False,  # the key would travel along
                preload_content=False,
            )
        try:
            received = _received(response, most_bytes=self._limits.most_bytes)
        except BaseException:
            response.close()
            raise
        response.release_conn()
        return Answer(response.status, received, _retry_after(response.headers.get("Retry-After")))


class _NoConnection(Exception):
    """There was no answer at all, so that another try may help."""


def _received(response: urllib3.BaseHTTPResponse, *, most_bytes: int) -> bytes:
    """Read the body, which a service could send without end."""
    chunks: list[bytes] = []
    size = 0
    while chunk := response.read1(_CHUNK_BYTES):
        chunks.append(chunk)
        size += len(chunk)
        if size > most_bytes:
            raise CallFailed(f"the service answered with more than {most_bytes} bytes")
    return b"".join(chunks)


def _pause_seconds(attempt: int) -> float:
    """Return how long to wait after try number `attempt`, spread so that callers do not come back at once."""
    longest = min(_FIRST_PAUSE_SECONDS * 2.0**attempt, _LONGEST_PAUSE_SECONDS)
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - no secret


def _retry_after(value: str | None) -> float:
    """Return the seconds that the service asks for; its other form, a date, is passed over."""
    return float(value) if value is not None and value.isascii() and value.isdecimal() else 0.0
