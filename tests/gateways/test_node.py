"""The Node client: its own tests, the usual checks, its package, and its generated code."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
import trustme

from gateways.nodejs import CLIENT, ROOT, built, install, needs_node, run
from rpc.harness import Place, Running, free_port, short_folder

SECONDS = 600
LOOK_UP = """
import { readFileSync } from "node:fs";
import { AskOnce, openAIChat } from "askonce";
const [target, roots, identity] = process.argv.slice(1);
const pem = (path) => (path ? readFileSync(path) : undefined);
const tls = { rootCertificates: pem(roots), privateKey: pem(identity), certificateChain: pem(identity) };
const quiet = { info() {}, warn() {} };
const cache = new AskOnce(target, { tls: roots ? tls : undefined, budgetMs: 20_000, log: quiet });
const body = { temperature: 0, messages: [] };
const served = { provider: "openai", model: "gpt-4o" };
const decision = await cache.lookup(openAIChat(body, served, { tenant: "acme" }));
console.log(decision.bypassReason ?? decision.outcome);
cache.close();
"""


@pytest.fixture(autouse=True)
def node():
    needs_node()


@pytest.mark.timeout(SECONDS)
def test_the_node_tests_pass_and_none_was_left_out():
    tests = sorted(str(path) for path in (built() / "test").glob("*.test.js"))
    printed = run("node", "--test", "--test-reporter=tap", *tests)
    assert re.findall(r"^# (?:skipped|todo|cancelled) [1-9].*", printed, re.MULTILINE) == []
    passed = re.search(r"^# pass (\d+)$", printed, re.MULTILINE)
    assert passed is not None
    assert int(passed[1]) > 500


@pytest.mark.timeout(SECONDS)
def test_the_node_code_is_formatted_and_its_types_are_strict():
    built()  # the compiler holds the types to it
    run("npx", "prettier", "--check", ".")


@pytest.mark.timeout(SECONDS)
def test_the_committed_node_stubs_are_what_the_generator_makes_of_the_contract(tmp_path):
    install(CLIENT)
    run(sys.executable, ".ci/generate_node.py", str(tmp_path), cwd=ROOT)
    made, committed = tmp_path / "client" / "node" / "src" / "gen", CLIENT / "src" / "gen"
    names = {path.relative_to(made) for path in made.rglob("*.ts")}
    assert names == {path.relative_to(committed) for path in committed.rglob("*.ts")}
    for name in names:
        assert (committed / name).read_bytes() == (made / name).read_bytes(), "run `make proto-node`"


@pytest.mark.timeout(SECONDS)
def test_the_package_holds_what_was_built_and_runs_nothing_when_it_is_installed(tmp_path):
    built()
    (package,) = json.loads(
        run("npm", "pack", "--json", "--ignore-scripts", "--pack-destination", str(tmp_path))
    )
    paths = {file["path"] for file in package["files"]}
    assert {"README.md", "dist/esm/index.js", "dist/cjs/index.js", "dist/cjs/package.json"} <= paths
    assert {Path(path).parts[0] for path in paths} == {"README.md", "package.json", "dist"}
    described = json.loads((CLIENT / "package.json").read_text())
    assert {"install", "preinstall", "postinstall", "prepare"}.isdisjoint(described["scripts"])
    assert set(described["dependencies"]) == {"@bufbuild/protobuf", "@grpc/grpc-js"}


def test_no_lock_names_a_registry():
    locks = [CLIENT / "package-lock.json", *Path(__file__).parent.rglob("package-lock.json")]
    tracked = [lock for lock in locks if "node_modules" not in lock.parts]
    assert [lock for lock in tracked if "resolved" in lock.read_text()] == []


@pytest.mark.timeout(SECONDS)
def test_the_node_client_speaks_tls_and_shows_its_certificate():
    built()

    def look_up(*arguments: object) -> str:
        return run("node", "--input-type=module", "-e", LOOK_UP, *map(str, arguments)).strip()

    authority, stranger = trustme.CA(), trustme.CA()
    with short_folder() as folder:
        roots, others, own, theirs, cert = (
            folder / f"{name}.pem" for name in ("ca", "no", "own", "theirs", "cert")
        )
        authority.cert_pem.write_to_path(roots)
        stranger.cert_pem.write_to_path(others)
        authority.issue_cert("gateway").private_key_and_cert_chain_pem.write_to_path(own)
        stranger.issue_cert("gateway").private_key_and_cert_chain_pem.write_to_path(theirs)
        authority.issue_cert("localhost", "127.0.0.1").private_key_and_cert_chain_pem.write_to_path(cert)
        port = free_port()
        tls = {"cert": str(cert), "key": str(cert), "client_ca": str(roots)}
        place = Place(folder, tls=tls, listen=[f"unix://{folder}/s", f"0.0.0.0:{port}"])
        server = Running(place)
        try:
            target = f"localhost:{port}"
            assert look_up(target, roots, own) == "miss"
            assert look_up(target, others, own) == "sidecar_unreachable"
            assert look_up(target, roots, theirs) == "sidecar_unreachable"
            assert look_up(target) == "sidecar_unreachable"
            assert look_up(f"unix://{folder}/s") == "miss"
        finally:
            server.stop()
