"""The methods of `AdminService`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import grpc

from askonce.v1 import admin_service_pb2, decision_pb2
from askonce_server.core.keys import KEY_SCHEMA
from askonce_server.core.rules import Rule
from askonce_server.ports import Embedder, EmbedderFailed, EntryStore
from askonce_server.rpc import encode
from askonce_server.rpc.handlers import Gate, Method, handler, parse
from askonce_server.rpc.purging import entry_id, purge_target
from askonce_server.rpc.stats import StatsReport
from askonce_server.rpc.status import NotFound
from askonce_server.service.admin import AdminService
from askonce_server.service.faults import FaultLog

SERVICE = "askonce.v1.AdminService"
_NO_ENTRY = "no entry has that id: it expired, was evicted, purged or deleted, or never was"


class AdminServicer:
    """Tells operators what the server is and what it counted."""

    def __init__(  # noqa: PLR0913 - the composition root passes each by name
        self,
        *,
        version: str,
        store: EntryStore,
        upkeep: AdminService,
        rules: Callable[[], Sequence[Rule]],
        embedders: Sequence[tuple[str, Embedder]],
        stats: StatsReport,
        faults: FaultLog,
        explain: Method,
    ) -> None:
        self._version = version
        self._store = store
        self._upkeep = upkeep
        self._rules = rules
        self._embedders = embedders
        """Each behind the name of its kind."""
        self._stats = stats
        self._faults = faults
        self._explain = explain

    def handler(self, gate: Gate) -> grpc.GenericRpcHandler:
        """Return the service's handler, whose calls go through `gate`."""
        return handler(
            SERVICE,
            {
                "GetServerInfo": self.get_server_info,
                "GetStats": self.get_stats,
                "GetEntry": self.get_entry,
                "DeleteEntry": self.delete_entry,
                "Purge": self.purge,
                "Explain": self._explain,
            },
            faults=self._faults,
            gate=gate,
        )

    def info_handler(self, gate: Gate) -> grpc.GenericRpcHandler:
        """Return the handler of GetServerInfo alone, for the gateways' listeners.

        A client has to know which rules may embed: it leaves those out of the batches it makes by itself.
        """
        return handler(SERVICE, {"GetServerInfo": self.get_server_info}, faults=self._faults, gate=gate)

    def get_entry(self, raw: bytes, _context: grpc.ServicerContext) -> bytes:
        """Answer GetEntry: what is known of an entry, without its body."""
        return self.entry(parse(admin_service_pb2.GetEntryRequest, raw).entry_id).SerializeToString()

    def entry(self, named: str) -> admin_service_pb2.GetEntryResponse:
        """Return what is known of the entry with that id in hex. Raises MalformedRequest, NotFound."""
        found = self._upkeep.entry(entry_id(named))
        if found is None:
            raise NotFound(_NO_ENTRY)
        return admin_service_pb2.GetEntryResponse(
            kind=decision_pb2.MatchKind.Name(found.key.matcher.value),
            entry=decision_pb2.Candidate(**encode.entry(found, now_ms=self._upkeep.now_ms())),
            rule_id=found.answer.rule_id,
            body_bytes=found.body_bytes,
        )

    def delete_entry(self, raw: bytes, _context: grpc.ServicerContext) -> bytes:
        """Answer DeleteEntry: the entries of the same Store go together."""
        request = parse(admin_service_pb2.DeleteEntryRequest, raw)
        deleted = self._upkeep.delete(entry_id(request.entry_id))
        response = admin_service_pb2.DeleteEntryResponse()
        for key in deleted:
            response.entries.add(kind=key.matcher.value, entry_id=key.entry_id.hex())
        return response.SerializeToString()

    def purge(self, raw: bytes, _context: grpc.ServicerContext) -> bytes:
        """Answer Purge: at once, in every worker, and for good."""
        request = parse(admin_service_pb2.PurgeRequest, raw)
        purged = self._upkeep.purge(purge_target(request), dry_run=request.dry_run)
        response = admin_service_pb2.PurgeResponse(
            entries=purged.entries,
            uncovered_rules=purged.uncovered_rules,
            entries_left=purged.entries_left,
        )
        if purged.rows_gone_by_ms:
            response.rows_gone_by.FromMilliseconds(purged.rows_gone_by_ms)
        return response.SerializeToString()

    def get_server_info(self, raw: bytes, _context: grpc.ServicerContext) -> bytes:
        """Answer GetServerInfo."""
        parse(admin_service_pb2.GetServerInfoRequest, raw)
        response = admin_service_pb2.GetServerInfoResponse(
            version=self._version,
            key_schema=KEY_SCHEMA,
            store_serving=self._store.problem() is None,
        )
        for rule in self._rules():
            summary: Any = response.rules.add(id=rule.id, mode=rule.mode.value, scope=rule.scope)
            summary.strategy.extend(matcher.value for matcher in rule.strategy)
            summary.ttl.FromMilliseconds(rule.ttl_ms)
        for kind, embedder in self._embedders:
            response.embedders.add(
                name=embedder.name, kind=kind, dimensions=embedder.dim, fingerprint=_fingerprint(embedder)
            )
        return response.SerializeToString()

    def get_stats(self, raw: bytes, _context: grpc.ServicerContext) -> bytes:
        """Answer GetStats: counts since the server started, or since a time, of all rules or of one."""
        request = parse(admin_service_pb2.GetStatsRequest, raw)
        return self._stats.response(request).SerializeToString()


def _fingerprint(embedder: Embedder) -> str:
    try:
        return embedder.fingerprint.hex()
    except EmbedderFailed:
        return ""  # unknown until its service has given a first vector
