"""The Go client: its own tests, the usual checks, and its generated code."""

from __future__ import annotations

import re
import sys

import pytest

from gateways.golang import CLIENT, ROOT, STATICCHECK, TOOLS, needs_go, race, run

SECONDS = 600


@pytest.fixture(autouse=True)
def go():
    needs_go()


@pytest.mark.timeout(SECONDS)
def test_the_go_tests_pass_and_none_was_left_out():
    printed = run("go", "test", *race(), "-count=1", "-v", "./...")
    skipped = re.findall(r"^\s*--- SKIP: (\S+)", printed, re.MULTILINE)
    assert skipped == []
    assert len(re.findall(r"^--- PASS", printed, re.MULTILINE)) > 30


@pytest.mark.thorough  # `go test` has the checks of vet that are never wrong
def test_go_vet_finds_nothing():
    run("go", "vet", "./...")


@pytest.mark.thorough  # compiling it takes longer than it runs
@pytest.mark.timeout(SECONDS)
def test_staticcheck_finds_nothing():
    run("go", "install", STATICCHECK, GOBIN=str(TOOLS))
    run(str(TOOLS / "staticcheck"), "./...")


def test_the_go_code_is_formatted_and_its_modules_are_tidy():
    assert run("gofmt", "-l", ".") == ""
    run("go", "mod", "tidy", "-diff")


@pytest.mark.timeout(SECONDS)
def test_the_committed_go_stubs_are_what_the_generators_make_of_the_contract(tmp_path):
    run(sys.executable, ".ci/generate_go.py", str(tmp_path), cwd=ROOT)
    made = tmp_path / "client" / "go" / "gen"
    names = {path.relative_to(made) for path in made.rglob("*.go")}
    assert names == {path.relative_to(CLIENT / "gen") for path in (CLIENT / "gen").rglob("*.go")}
    for name in names:
        assert (CLIENT / "gen" / name).read_bytes() == (made / name).read_bytes(), "run `make proto-go`"
