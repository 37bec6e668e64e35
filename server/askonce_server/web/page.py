"""The page for operators: files that are shipped beside this module, and nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from askonce_server.web.routes import Answer, Handler, Request

FOLDER: Final = Path(__file__).parent / "static"
_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""No script or style but its own files, no request to anybody else, no frame of another site around it."""
_HEADERS: Final = (
    ("Content-Security-Policy", POLICY),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), geolocation=(), microphone=()"),
)


def page_routes() -> Mapping[tuple[str, str], Handler]:
    """Return `/` and the files that it loads, read once."""
    answers = {
        f"/static/{path.name}": Answer(path.read_bytes(), _TYPES[path.suffix], headers=_HEADERS)
        for path in sorted(FOLDER.iterdir())
        if path.suffix in _TYPES
    }
    table: dict[tuple[str, str], Handler] = {("GET", path): _giving(one) for path, one in answers.items()}
    table["GET", "/"] = table["GET", "/static/index.html"]
    return table


def _giving(answer: Answer) -> Handler:
    def give(_: Request) -> Answer:
        return answer

    return give
