"""What every operator's tools ask: metrics, and whether the server is well."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from askonce_server.telemetry.prometheus import Scrapes
from askonce_server.web.routes import Answer, Handler, Request, plain

OPEN = ("/metrics", "/healthz", "/readyz")
"""What says nothing that a page of another site must not read."""


def routes(scrapes: Scrapes, ready: Callable[[], str | None]) -> Mapping[tuple[str, str], Handler]:
    """Return `/metrics`, `/healthz` and `/readyz`; `ready` says what is in the way, or None."""

    def metrics(asked: Request) -> Answer:
        text = scrapes.text(asked.accept)
        return Answer(text.body, text.content_type)

    def healthz(_: Request) -> Answer:
        return plain("200 OK", "the process answers")

    def readyz(_: Request) -> Answer:
        problem = ready()
        return plain("200 OK", "serving") if problem is None else plain("503 Service Unavailable", problem)

    return {("GET", "/metrics"): metrics, ("GET", "/healthz"): healthz, ("GET", "/readyz"): readyz}
