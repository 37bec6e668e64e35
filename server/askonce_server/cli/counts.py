"""Asks a server what it counted, and shows it once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from askonce.v1.admin_service_pb2 import GetStatsRequest, GetStatsResponse
from askonce.v1.admin_service_pb2_grpc import AdminServiceStub
from askonce_server.cli import admin
from askonce_server.cli.connect import call, channel_to
from askonce_server.cli.failure import misused
from askonce_server.cli.figures import show_stats
from askonce_server.cli.said import Talk
from askonce_server.config.quantities import parse_time

Read = Callable[[], GetStatsResponse]


def stats_of(rule: str, since: str | None, *, now: datetime | None = None) -> GetStatsRequest:
    """Return the request that the options ask for. Raises Failed."""
    request = GetStatsRequest(rule_id=rule)
    if since is not None:
        request.since.FromDatetime(_moment(since, now or datetime.now(UTC)))
    return request


def stats(request: GetStatsRequest, talk: Talk, *, token_env: str) -> int:
    """Show what was counted. Raises Failed."""
    return admin.send("GetStats", request, show_stats, talk, token_env)


@contextmanager
def reading(request: GetStatsRequest, talk: Talk, *, token_env: str) -> Iterator[Read]:
    """Yield what asks the server anew each time, over one connection; it raises Failed."""
    token = os.environ.get(token_env, "")
    metadata = [("authorization", f"Bearer {token}")] if token else []
    seconds = talk.timeout.total_seconds()
    with channel_to(str(talk.target), talk.tls) as (address, channel):
        stub = AdminServiceStub(channel)  # type: ignore[no-untyped-call]
        yield lambda: call(address, lambda: stub.GetStats(request, timeout=seconds, metadata=metadata))


def _moment(text: str, now: datetime) -> datetime:
    """Return the time of `24h`, so long ago, or of `2026-03-01T09:00Z`; without a zone it is in UTC."""
    try:
        return now - parse_time(text)
    except ValueError as no_time:
        try:
            told = datetime.fromisoformat(text)
        except ValueError:
            if text[:4].isdigit() and "-" in text:
                raise misused(f"--since is no time: {text!r}; write 2026-03-01T09:00Z") from None
            raise misused(f"--since {no_time}") from None
    return told.replace(tzinfo=UTC) if told.tzinfo is None else told.astimezone(UTC)
