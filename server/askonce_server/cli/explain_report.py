"""Explains requests by the rules of a file or by a server, and shows it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from askonce.v1.admin_service_pb2 import (
    Difference,
    ExplainedRequest,
    ExplainedScope,
    ExplainRequest,
    ExplainResponse,
    NearAnswer,
)
from askonce.v1.decision_pb2 import MatchKind
from askonce_server.cli import admin, request
from askonce_server.cli.configured import configuration
from askonce_server.cli.failure import misused
from askonce_server.cli.said import STANDARD_STREAM, Said, Talk
from askonce_server.cli.show import moment, name_of, show_json
from askonce_server.config.convert import core_rules
from askonce_server.core.errors import MalformedRequest
from askonce_server.rpc import convert, explaining
from askonce_server.service.explain import compare_requests


def wanted(first: str, second: str | None, said: Said, namespace: str) -> ExplainRequest:
    """Return the question about the requests in these files. Raises Failed."""
    if first == second == STANDARD_STREAM:
        raise misused("the standard input holds one request: name a file for the other")
    asked = ExplainRequest(lookup=request.lookup(request.read(first), said, namespace))
    if second is not None:
        asked.other.CopyFrom(request.lookup(request.read(second), said, namespace))
    return asked


def by_rules(asked: ExplainRequest, file: Path, environ: Mapping[str, str], *, as_json: bool) -> int:
    """Compare two requests under the rules of `file`, and show it. Raises Failed."""
    rules = core_rules(configuration(file, environ))
    try:
        found = compare_requests(convert.asked(asked.lookup), convert.asked(asked.other), rules)
    except MalformedRequest as malformed:
        raise misused(str(malformed)) from None
    (show_json if as_json else show)(explaining.compared(found))
    return 0


def by_server(asked: ExplainRequest, talk: Talk, *, token_env: str) -> int:
    """Ask a server, and show what it says. Raises Failed."""
    return admin.send("Explain", asked, show, talk, token_env)


def show(explained: ExplainResponse) -> None:
    """Print an explanation for people."""
    console = Console(highlight=False)
    console.print(Text(explained.summary, style="bold"))
    two = explained.HasField("other")
    _sides(console, explained, two=two)
    if two:
        console.print()
        _differences(console, explained.differences)
        _keys(console, explained)
    else:
        _whereabouts(console, explained)
        for number, one in enumerate(explained.nearest, start=1):
            _nearest(console, one, number)
    if explained.differences_left_out:
        console.print(Text("… and more differences", style="dim"))


def _whereabouts(console: Console, explained: ExplainResponse) -> None:
    table = _table()
    for one in explained.whereabouts:
        name = name_of(one, "matcher").lower()
        table.add_row(name, Text(f"{one.description} ({one.entry_id[:7]})"))
    if explained.HasField("scope"):
        table.add_row("scope", Text(_scope(explained.scope)))
    if table.row_count:
        console.print(table)


def _scope(scope: ExplainedScope) -> str:
    said = ", ".join(scope.dims) or "shared by all"
    if scope.namespace:
        said += ", in a namespace"
    said += f": {scope.answers} answer{'' if scope.answers == 1 else 's'}" + (
        ", the newest that were looked at" if scope.bounded else ""
    )
    if scope.HasField("last_purge"):
        said += f"; last purge ({scope.last_purge_of}) at {moment(scope.last_purge)}"
    return said


def _nearest(console: Console, one: NearAnswer, number: int) -> None:
    entry = one.entries[0].entry_id[:7] if one.entries else "gone"
    said = f"nearest stored answer {number}: {entry}, rule {one.rule_id}, stored {moment(one.store_time)}"
    if not one.compared:
        said += "; an older version stored it, so that nothing can be compared"
    elif not one.differences:
        said += "; nothing that is known tells it apart"
    console.print()
    console.print(Text(said))
    _differences(console, one.differences)


def _sides(console: Console, explained: ExplainResponse, *, two: bool) -> None:
    table = _table()
    sides = [("first" if two else "request", explained.lookup)]
    sides += [("second", explained.other)] if two else []
    for name, side in sides:
        table.add_row(name, Text("\n".join(_side(side))))
    console.print(table)


def _side(side: ExplainedRequest) -> Iterable[str]:
    yield f"rule {side.rule_id}" if side.rule_id else "no rule"
    if side.bypass_reason:
        yield f"never looked up: {name_of(side, 'bypass_reason').lower()}"
    for skip in side.skipped:
        yield f"no key for {name_of(skip, 'matcher').lower()}: {name_of(skip, 'reason').lower()}"
    for cause in side.causes:
        yield f"{cause.path} {cause.description}"


def _differences(console: Console, found: Iterable[Difference]) -> None:
    table = Table("segment", "where", "what", "keys apart", box=None, pad_edge=False, header_style="dim")
    for one in found:
        kinds = ", ".join(MatchKind.Name(kind).removeprefix("MATCH_KIND_").lower() for kind in one.matchers)
        table.add_row(one.segment, Text(one.path), Text(one.description, overflow="fold"), kinds or "none")
    if table.row_count:
        console.print(table)


def _keys(console: Console, explained: ExplainResponse) -> None:
    table = _table()
    for one in explained.keys:
        table.add_row(name_of(one, "matcher").lower(), Text(one.description))
    if table.row_count:
        console.print()
        console.print(table)


def _table() -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    return table
