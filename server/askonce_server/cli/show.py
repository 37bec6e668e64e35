"""Shows messages of the contract: as JSON for machines, as a table for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any

from google.protobuf import json_format
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from rich.console import Console
from rich.table import Table
from rich.text import Text

from askonce.v1.admin_service_pb2 import DeleteEntryResponse, GetEntryResponse, PurgeResponse
from askonce.v1.decision_pb2 import Candidate, Decision, MatchKind, Outcome, TraceStep, Zone
from askonce.v1.decision_service_pb2 import StoreOutcome, StoreResponse
from askonce.v1.reason_pb2 import BypassReason, DenyReason, RefusalReason
from askonce_server.config.quantities import format_size

Row = tuple[str, str]


def show_json(message: Message) -> None:
    """Print `message` as one line of JSON, with the names of the contract."""
    document = json_format.MessageToDict(message, preserving_proto_field_name=True)
    sys.stdout.write(json.dumps(document) + "\n")


def show_decision(decision: Decision) -> None:
    """Print `decision` as a table."""
    rows = [
        ("outcome", _name(Outcome, decision.outcome) + (" (shadow)" if decision.shadow else "")),
        ("kind", _name(MatchKind, decision.kind)),
        ("reason", _name(BypassReason, decision.bypass_reason) or _name(DenyReason, decision.deny_reason)),
        ("rule", decision.rule_id),
    ]
    rows += [
        ("skipped", f"{_name(MatchKind, skip.matcher)}: {_name(BypassReason, skip.reason)}")
        for skip in decision.skipped
    ]
    if decision.HasField("candidate"):
        rows += _candidate(decision.candidate)
    rows += [
        ("store the answer", "yes" if decision.store_answer else ""),
        ("fill token", f"{len(decision.fill_token)} bytes" if decision.fill_token else ""),
        ("anchor", decision.conversation_anchor),
        ("cache-status", decision.cache_status),
        ("decision", decision.decision_id),
    ]
    rows += [(step.name, _step(step)) for step in decision.trace]
    _print(rows)


def show_purged(purged: PurgeResponse) -> None:
    """Print what a purge covered as a table."""
    gone = moment(purged.rows_gone_by) if purged.HasField("rows_gone_by") else "never: this was a dry run"
    rows = [("unreachable entries", str(purged.entries)), ("rows gone by", gone)]
    left = f"{purged.entries_left} of these dims: under other namespaces or further dims; `--dim` covers them"
    rows.append(("entries left", left if purged.entries_left else ""))
    _print([*rows, ("rules not covered", ", ".join(purged.uncovered_rules))])


def show_deleted(deleted: DeleteEntryResponse) -> None:
    """Print which entries were deleted as a table."""
    rows = [(_name(MatchKind, one.kind), one.entry_id) for one in deleted.entries]
    _print(rows or [("deleted", "nothing: no entry has that id")])


def show_entry(found: GetEntryResponse) -> None:
    """Print what is known of an entry as a table."""
    rows = [("kind", _name(MatchKind, found.kind)), ("rule", found.rule_id)]
    _print([*rows, *_candidate(found.entry), ("body", format_size(found.body_bytes))])


def show_stored(stored: StoreResponse) -> None:
    """Print what became of a Store as a table."""
    rows = [
        ("outcome", _name(StoreOutcome, stored.outcome)),
        ("reason", _name(RefusalReason, stored.refusal_reason)),
    ]
    rows += [("entry", f"{entry.entry_id} ({_name(MatchKind, entry.kind)})") for entry in stored.entries]
    rows += [
        ("expires", moment(stored.expire_time) if stored.HasField("expire_time") else ""),
        ("cache-status", stored.cache_status),
    ]
    _print(rows)


def _candidate(candidate: Candidate) -> list[Row]:
    body = ""
    if candidate.HasField("body"):
        body = f"{format_size(len(candidate.body.data))} of {candidate.body.content_type or 'no media type'}"
    usage = ""
    if candidate.HasField("usage"):
        usage = f"{candidate.usage.input_tokens} in, {candidate.usage.output_tokens} out"
    return [
        ("entry", candidate.entry_id),
        ("similarity", _similarity(candidate)),
        ("scope", candidate.scope_sha7),
        ("age", _seconds(candidate.age)),
        ("fresh for", _seconds(candidate.ttl_left)),
        ("stored", moment(candidate.store_time) if candidate.HasField("store_time") else ""),
        ("source request", candidate.source_request_id),
        ("calls tools", "yes" if candidate.contains_tool_calls else ""),
        ("tokens", usage),
        ("avoided", f"${candidate.cost_avoided_usd:g}" if candidate.HasField("cost_avoided_usd") else ""),
        ("body", body),
    ]


def _similarity(candidate: Candidate) -> str:
    if not candidate.HasField("similarity"):
        return ""
    zone = _name(Zone, candidate.zone).lower()
    said = f"{candidate.similarity:.4f}, {zone} (served at {candidate.threshold:g})"
    if candidate.verifier:
        said += f", {'confirmed' if candidate.verified else 'not confirmed'} by {candidate.verifier}"
    return said


def _print(rows: Iterable[Row]) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, value in rows:
        if value:
            table.add_row(name, Text(value))
    Console(highlight=False).print(table)


def _name(kind: Any, value: int) -> str:
    """Return the name of an enum value without its prefix; nothing for the unspecified one."""
    if value == 0:
        return ""
    descriptor = kind.DESCRIPTOR
    known = descriptor.values_by_number.get(value)
    if known is None:
        return f"unknown ({value})"
    prefix = descriptor.values_by_number[0].name.removesuffix("UNSPECIFIED")
    return str(known.name.removeprefix(prefix))


def name_of(message: Message, field: str) -> str:
    """Return the name of the enum value in `field` without its prefix; nothing for the unspecified one."""
    number = getattr(message, field)
    kind = message.DESCRIPTOR.fields_by_name[field].enum_type
    assert kind is not None
    known = kind.values_by_number.get(number)
    if known is None:
        return f"unknown ({number})"
    prefix = kind.values_by_number[0].name.removesuffix("UNSPECIFIED")
    return str(known.name.removeprefix(prefix)) if number else ""


def _step(step: TraceStep) -> str:
    return f"{step.result} ({step.duration.ToNanoseconds() / 1e6:.3f} ms)".strip()


def _seconds(duration: Duration) -> str:
    return f"{duration.ToNanoseconds() / 1e9:.3f} s"


def moment(timestamp: Timestamp) -> str:
    """Return a time for people."""
    return timestamp.ToDatetime().isoformat(sep=" ", timespec="milliseconds") + " UTC"
