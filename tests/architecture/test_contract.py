"""The contract and what is generated from it."""

from __future__ import annotations

import re
import subprocess
import sys
from enum import EnumMeta
from pathlib import Path

import pytest

from architecture.repository import CLIENT, ROOT, SERVER
from askonce.v1 import decision_pb2, decision_service_pb2, reason_pb2
from askonce_server.core import reasons

PROTOS = sorted((ROOT / "proto").rglob("*.proto"))
PROTOGEN = ROOT / ".venv" / "protogen" / "bin" / "python"
STUBS = ("*_pb2.py", "*_pb2.pyi", "*_pb2_grpc.py")


def stubs(folder):
    """Read every stub below a folder."""
    paths = [path for pattern in STUBS for path in folder.rglob(pattern)]
    return {path.relative_to(folder): path.read_bytes() for path in paths}


@pytest.mark.skipif(not PROTOGEN.exists(), reason="no generator in .venv/protogen: `make test` makes it")
def test_the_committed_stubs_are_what_the_generator_makes_of_the_contract(tmp_path):
    command = [str(PROTOGEN), str(ROOT / ".ci" / "generate.py"), str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    for source_root in (CLIENT, SERVER):
        made = stubs(tmp_path / source_root.relative_to(ROOT))
        assert made, source_root
        assert stubs(source_root) == made, "run `make proto`"


def test_every_contract_file_has_its_stubs():
    for path in PROTOS:
        package = path.relative_to(ROOT / "proto").with_suffix("")
        root = CLIENT if package.parts[0] == "askonce" else SERVER
        assert (root / f"{package}_pb2.py").exists()
        assert (root / f"{package}_pb2_grpc.py").exists() is package.name.endswith("_service")


def buf(*arguments):
    command = [str(Path(sys.executable).parent / "buf"), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_contract_is_linted():
    buf("lint", "proto")


def test_the_contract_is_formatted():
    buf("format", "--diff", "--exit-code", "proto")


def test_the_contract_imports_only_itself_and_two_well_known_types():
    known = {"google/protobuf/duration.proto", "google/protobuf/timestamp.proto"}
    for path in PROTOS:
        imports = set(re.findall(r'^import "(.+)";', path.read_text(encoding="utf-8"), re.MULTILINE))
        assert {name for name in imports if not name.startswith("askonce/v1/")} <= known, path


ENUMS: list[tuple[EnumMeta, object, str]] = [
    (reasons.BypassReason, reason_pb2.BypassReason, "BYPASS_REASON"),
    (reasons.DenyReason, reason_pb2.DenyReason, "DENY_REASON"),
    (reasons.RefusalReason, reason_pb2.RefusalReason, "REFUSAL_REASON"),
    (reasons.Matcher, decision_pb2.MatchKind, "MATCH_KIND"),
    (reasons.Outcome, decision_pb2.Outcome, "OUTCOME"),
    (reasons.Mode, decision_service_pb2.CacheMode, "CACHE_MODE"),
]


@pytest.mark.parametrize(
    ("ours", "contract", "prefix"), ENUMS, ids=lambda value: getattr(value, "__name__", None)
)
def test_the_cores_enums_are_those_of_the_contract(ours, contract, prefix):
    numbers = {f"{prefix}_{member.name}": member.value for member in ours}
    assert numbers | {f"{prefix}_UNSPECIFIED": 0} == dict(contract.items())


def test_every_reason_of_a_descriptor_has_a_refusal_of_the_same_name():
    """A Store by descriptor is refused for what a Lookup would have bypassed for."""
    about_matchers = {"WHITESPACE_SIGNIFICANT", "HISTORY_TOO_LONG", "NO_EMBEDDABLE_TEXT", "TEXT_TOO_LONG"}
    about_matchers |= {"EMBEDDING_MISSING", "EMBEDDER_FAILED", "PARTITION_LOADING", "OVER_BUDGET"}
    about_matchers |= {"PARTITION_TOO_LARGE"}
    never_at_a_store = {"CALLER_BYPASS"}
    names = {reason.name for reason in reasons.BypassReason} - about_matchers - never_at_a_store
    assert names <= {reason.name for reason in reasons.RefusalReason}
