"""Imports go one way; a package that nobody placed fails."""

from __future__ import annotations

import sys

import pytest

from architecture.repository import CLIENT, SERVER, modules

LAYERS: dict[str, set[str]] = {
    "__main__": {"cli"},
    "cli": {
        "app",
        "assembly",
        "config",
        "core",
        "demo",
        "healthcheck",
        "ports",
        "rpc",
        "service",
        "supervisor",
        "truth",
        "upkeep",
    },
    "workers": {"config", "rpc"},
    "reloading": {"config", "core", "ports"},
    "needs": {"config", "rpc"},
    "rpc": {"core", "ports", "service", "telemetry"},
    "service": {"core", "dialects", "ports", "storage", "truth"},
    "dialects": {"core"},
    "store": {"clock", "core", "ports", "storage"},
    "index": {"core", "ports"},
    "embed": {"calls", "core", "ports"},
    "verify": {"calls", "core", "ports"},
    "calls": {"ports"},
    "truth": {"core", "ports"},
    "clock": {"core", "ports"},
    "telemetry": {"core", "ports", "service"},
    "web": {"core", "ports", "rpc", "service", "telemetry"},
    "config": {"core"},
    "healthcheck": {"config"},
    "ports": {"core"},
    "core": set(),
    "demo": set(),
    "storage": set(),
}
"""What each part of the server may import of the others."""
COMPOSERS = {"app", "assembly", "showing", "supervisor", "upkeep", "watching", "worker"}
"""What wires the parts and may import all: the server's life, adapters, several workers, a store alone."""
FACTORIES = {(f"askonce_server.{name}.factory", "config") for name in ("embed", "store", "verify")}
"""An adapter is built from its settings, which hold values alone."""
ADAPTERS = {"store", "index", "embed", "verify", "telemetry"}
THIRD_PARTY_OF_CORE = {"jiter", "orjson"}
# fmt: off
PURE = {
    "__future__", "abc", "array", "base64", "bisect", "collections", "contextlib", "dataclasses", "decimal",
    "enum", "fnmatch", "fractions", "functools", "hashlib", "heapq", "hmac", "itertools", "json", "math",
    "operator", "re", "statistics", "string", "struct", "types", "typing", "unicodedata",
}
# fmt: on
"""What of the standard library knows neither time, chance, files, processes nor the network."""


def layer(name):
    """Return the part of the server that a module belongs to, or None when it is not the server's."""
    package, _, rest = name.partition(".")
    return rest.partition(".")[0] if package == "askonce_server" and rest else None


def arrows():
    """Yield who imports which other part."""
    for module in modules(SERVER):
        mine = layer(module.name)
        for name in module.imports():
            other = layer(name)
            known = other in LAYERS or other in COMPOSERS
            if mine and other and other != mine and (known or name.count(".") != 1):
                yield module, mine, other


def test_every_part_of_the_server_has_its_place():
    parts = {layer(module.name) for module in modules(SERVER)} - {None, *COMPOSERS}
    assert parts - set(LAYERS) == set(), "say in LAYERS what the new part may import"


def test_imports_go_one_way():
    wrong = {
        f"{module.shown} imports {other}"
        for module, mine, other in arrows()
        if mine not in COMPOSERS and other not in LAYERS[mine] and (module.name, other) not in FACTORIES
    }
    assert wrong == set()


def test_the_layers_have_no_cycle():
    done: set[str] = set()
    while rest := {name for name in LAYERS if name not in done}:
        free = {name for name in rest if LAYERS[name] - {*COMPOSERS, name} <= done}
        assert free, rest
        done |= free


def test_only_the_composition_root_names_concrete_adapters():
    named = {mine for _, mine, other in arrows() if other in ADAPTERS - {"telemetry"}}
    assert named <= COMPOSERS


def test_the_core_imports_nothing_of_ours_and_nothing_that_does_io():
    wrong = set()
    for module in modules(SERVER):
        if layer(module.name) != "core":
            continue
        for name in module.imports():
            top = name.partition(".")[0]
            ours = top in ("askonce", "askonce_server") and layer(name) != "core"
            if ours or (top != "askonce_server" and top not in PURE | THIRD_PARTY_OF_CORE):
                wrong.add(f"{module.shown} imports {name}")
    assert wrong == set()


TRANSPORT = {"grpc", "grpc_health", "grpc_reflection"}


@pytest.mark.parametrize(
    ("library", "homes"),
    [
        *((name, {"app", "cli", "rpc"}) for name in sorted(TRANSPORT)),
        ("google", {"cli", "rpc", "store"}),
        ("lmdb", {"store"}),
        ("faiss", {"index"}),
        ("onnxruntime", {"embed"}),
        ("tokenizers", {"embed"}),
        ("urllib3", {"calls"}),
        ("opentelemetry", {"telemetry", "rpc"}),
        ("pydantic", {"config"}),
        ("yaml", {"config"}),
        ("typer", {"cli"}),
        ("rich", {"cli"}),
    ],
)
def test_each_library_has_its_home(library, homes):
    users = {
        layer(module.name)
        for module in modules(SERVER)
        for name in module.imports()
        if name.split(".")[0] == library
    }
    assert users - {None} <= homes


OPTIONAL = ("askonce.trace_context", "opentelemetry.propagate")
"""What the client uses where the program has imported it."""


def test_the_client_knows_nothing_of_the_server():
    wrong = {
        f"{module.shown} imports {name}"
        for module in modules(CLIENT)
        if "examples" not in str(module.shown).split("/")  # which use other libraries too
        for name in module.imports()
        if name.split(".")[0] not in sys.stdlib_module_names | {"askonce", "grpc", "google"}
        and (module.name, name) != OPTIONAL
    }
    assert wrong == set()


def test_nothing_imports_a_source_root_as_a_package():
    """From the repository's root `server` and `client` would load modules twice."""
    wrong = {
        f"{module.shown} imports {name}"
        for root in (SERVER, CLIENT)
        for module in modules(root)
        for name in module.imports()
        if name.split(".")[0] in ("server", "client")
    }
    assert wrong == set()
    assert not (SERVER / "__init__.py").exists()
    assert not (CLIENT / "__init__.py").exists()
