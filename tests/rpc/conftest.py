from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from askonce_server import assembly
from clocks import ManualClock
from rpc.harness import Gateway, Running, running, short_folder

_tenants = itertools.count()

RULES = [
    {"id": "off", "match": {"attributes": {"rule": "off"}}, "mode": "off"},
    {"id": "shadow", "match": {"attributes": {"rule": "shadow"}}, "mode": "shadow"},
    {"id": "any-sampling", "match": {"attributes": {"rule": "sampled"}}, "eligibility": {"sampling": "all"}},
    {
        "id": "remote",
        "match": {"attributes": {"rule": "remote"}},
        "eligibility": {"sampling": "all", "remote_content": "allow"},
    },
    {"id": "per-user", "match": {"attributes": {"rule": "per-user"}}, "scope": ["tenant", "user"]},
    {"id": "user-first", "match": {"attributes": {"rule": "user-first"}}, "scope": ["user", "tenant"]},
    {"id": "everybody", "match": {"attributes": {"rule": "everybody"}}, "scope": [], "shared": True},
    {"id": "class", "match": {"attributes": {"rule": "class"}}, "key": {"params": "class"}},
    {
        "id": "ignoring",
        "match": {"attributes": {"rule": "ignoring"}},
        "key": {"ignore_params": ["user", "service_tier"]},
    },
    {"id": "shapes", "match": {"attributes": {"rule": "shapes"}}, "key": {"stream": "shared"}},
    {
        "id": "asked-for",
        "match": {"attributes": {"rule": "asked-for"}},
        "key": {"identity": "target"},
    },
    {
        "id": "fallback",
        "match": {"attributes": {"rule": "fallback"}},
        "key": {"identity": "target"},
        "admission": {"fallback": "store"},
    },
    {"id": "both", "match": {"attributes": {"rule": "both"}}, "key": {"identity": "both"}},
    {
        "id": "strict-answers",
        "match": {"attributes": {"rule": "strict-answers"}},
        "admission": {
            "tool_calls": "refuse",
            "usage": "required",
            "max_body": "4KiB",
            "tool_json": "validate",
            "complete": ["done"],
        },
    },
    {
        "id": "tool-json",
        "match": {"attributes": {"rule": "tool-json"}},
        "admission": {"tool_json": "validate"},
    },
    {
        "id": "bounded",
        "match": {"attributes": {"rule": "bounded"}},
        "eligibility": {"time_sensitive": ["today"], "max_content": "1KiB"},
    },
    {
        "id": "ttl",
        "match": {"attributes": {"rule": "ttl"}},
        "ttl": "100s",
        "min_ttl": "10s",
        "max_ttl": "200s",
    },
    {"id": "exact-only", "match": {"attributes": {"rule": "exact-only"}}, "strategy": ["exact"]},
    {
        "id": "normalized-only",
        "match": {"attributes": {"rule": "normalized-only"}},
        "strategy": ["normalized"],
    },
    {
        "id": "folding",
        "match": {"attributes": {"rule": "folding"}},
        "normalized": {"guard": "off", "case_fold": True},
    },
    {"id": "default"},
]


@pytest.fixture(scope="session")
def server() -> Iterator[Running]:
    """One sidecar for all tests that only need rules: the attribute `rule` picks one of `RULES`."""
    with running(rules=RULES) as started:
        yield started


@pytest.fixture
def gateway(server: Running) -> Gateway:
    return server.gateway


@pytest.fixture
def tenant() -> str:
    """A tenant that no other test uses."""
    return f"tenant-{next(_tenants)}"


@pytest.fixture
def start() -> Iterator[Callable[..., Running]]:
    """Start sidecars with settings of their own; they stop with the test."""
    with ExitStack() as stack:

        def begin(folder: Path | None = None, **settings: Any) -> Running:
            where = folder if folder is not None else stack.enter_context(short_folder())
            return stack.enter_context(running(where, **settings))

        yield begin


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    """The clock of every sidecar that the test starts from now on."""
    manual = ManualClock()
    monkeypatch.setattr(assembly, "BootClock", lambda *_args, **_kw: manual)
    return manual
