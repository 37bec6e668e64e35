"""What the page asks the server: JSON, made by what answers GetStats, GetEntry and Explain too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final
from urllib.parse import parse_qs

import orjson

from askonce_server.core.errors import MalformedRequest
from askonce_server.ports import StoreUnavailable
from askonce_server.rpc import convert, pasted
from askonce_server.rpc.admin import AdminServicer
from askonce_server.rpc.explaining import compared
from askonce_server.rpc.plain import plain
from askonce_server.rpc.status import NotFound
from askonce_server.service.explain import ExplainService
from askonce_server.service.recent import RecentDecisions
from askonce_server.web.overview import OverviewReport, decision
from askonce_server.web.pacing import Pacer
from askonce_server.web.routes import Answer, Handler, Request

JSON: Final = "application/json"
ENTRIES: Final = "/api/entry/"
_MOST_DECISIONS: Final = 512
_DECISIONS: Final = 100
_MOST_SINCE_SECONDS: Final = 30 * 86_400
_EXPLAINS_AT_ONCE: Final = 5
_SECONDS_AN_EXPLAIN: Final = 1.0
_STATUSES: Final[Mapping[type[Exception], str]] = {
    MalformedRequest: "400 Bad Request",
    NotFound: "404 Not Found",
    StoreUnavailable: "503 Service Unavailable",
}


class Refused(Exception):
    """The request is not answered: with a status line, and a sentence for whoever sent it."""

    def __init__(self, status: str, message: str) -> None:
        """Keep both."""
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Who knows what the page asks."""

    overview: OverviewReport
    recent: RecentDecisions
    admin: AdminServicer
    explain: ExplainService


class Api:
    """Answers the page. A request's body has at most `max_request` bytes."""

    def __init__(self, sources: Sources, *, max_request: int) -> None:
        self._sources = sources
        self._max_request = max_request
        self._explaining = Lock()
        """One at a time: a large one takes seconds, and Lookups want the processor too."""
        self._explains = Pacer(most=_EXPLAINS_AT_ONCE, seconds=_SECONDS_AN_EXPLAIN)

    def routes(self) -> Mapping[tuple[str, str], Handler]:
        """Return who answers what lies below `/api`."""
        return {
            ("GET", "/api/stats"): _in_json(self._stats),
            ("GET", "/api/decisions"): _in_json(self._decisions),
            ("GET", f"{ENTRIES}*"): _in_json(self._entry),
            ("POST", "/api/explain"): _in_json(self._explain),
        }

    def _stats(self, asked: Request) -> Any:
        return self._sources.overview.told(_number(asked, "since_seconds", most=_MOST_SINCE_SECONDS))

    def _decisions(self, asked: Request) -> Any:
        most = _number(asked, "limit", most=_MOST_DECISIONS)
        latest = self._sources.recent.latest(_DECISIONS if most is None else most)
        return {"decisions": [decision(one) for one in latest]}

    def _entry(self, asked: Request) -> Any:
        return plain(self._sources.admin.entry(asked.path.removeprefix(ENTRIES)))

    def _explain(self, asked: Request) -> Any:
        document = _document(asked, most=self._max_request)
        if not self._explains.take() or not self._explaining.acquire(blocking=False):
            raise Refused("429 Too Many Requests", "too many at once: try again in a moment")
        try:
            first, second = (
                convert.asked(pasted.lookup(document.get(name), name)) for name in ("lookup", "other")
            )
            return plain(compared(self._sources.explain.compare(first, second)))
        finally:
            self._explaining.release()


def _in_json(answer: Callable[[Request], Any]) -> Handler:
    def answered(asked: Request) -> Answer:
        try:
            return _json(answer(asked))
        except Refused as refused:
            return _json({"error": str(refused)}, refused.status)
        except tuple(_STATUSES) as error:
            return _json(_told(error), _STATUSES[type(error)])

    return answered


def _json(value: Any, status: str = "200 OK") -> Answer:
    return Answer(orjson.dumps(value), content_type=JSON, status=status)


def _told(error: Exception) -> dict[str, Any]:
    if isinstance(error, MalformedRequest):
        wrong = [{"field": one.field, "description": one.description} for one in error.violations]
        return {"error": "the request is malformed", "violations": wrong}
    return {"error": str(error)}


def _number(asked: Request, name: str, *, most: int) -> int | None:
    """Return a number of the query, None when it is not there. Raises Refused."""
    values = parse_qs(asked.query, keep_blank_values=True).get(name)
    if values is None:
        return None
    text = values[-1]
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(most)) and int(text) <= most):
        raise Refused("400 Bad Request", f"{name} must be a number from 0 to {most}")
    return int(text)


def _document(asked: Request, *, most: int) -> Mapping[str, Any]:
    """Return the JSON object that was sent. Raises Refused.

    A page of another site can make a browser send forms and texts, but no JSON without being let.
    """
    if asked.content_type.partition(";")[0].strip().lower() != JSON:
        raise Refused("415 Unsupported Media Type", f"the body must be {JSON}")
    if len(asked.body) > most:
        raise Refused("413 Content Too Large", f"max_request allows {most} bytes")
    try:
        document = orjson.loads(asked.body)
    except ValueError:
        raise Refused("400 Bad Request", "the body is not JSON") from None
    if not isinstance(document, dict) or document.keys() - {"lookup", "other"}:
        raise Refused("400 Bad Request", "the body must be an object of lookup and other")
    return document
