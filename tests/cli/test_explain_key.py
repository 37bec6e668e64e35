"""`askonce explain-key` shows the key that a Lookup would derive."""

import json
import subprocess
import sys

ARGUMENTS = ["--dialect", "openai", "--endpoint", "chat", "--model", "gpt-4o"]


def explain(body: str, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "askonce_server", "explain-key", *ARGUMENTS, *more]
    return subprocess.run(command, input=body, capture_output=True, text=True, check=False)


def document(body: str, *more: str) -> dict:
    done = explain(body, "--json", *more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


BODY = '{"temperature": 0, "messages": [{"role": "user", "content": "hi  there"}]}'
SPELT_ANEW = '{"messages": [{"content": "hi  there", "role": "user"}], "temperature": 0.0}'


def test_it_shows_every_segment_of_every_matcher():
    explained = document(BODY, "--scope", "tenant=acme")
    exact, normalized = explained["matchers"]
    names = [segment["name"] for segment in exact["fingerprint_segments"]]
    assert names == ["dialect", "endpoint", "provider", "model", "profile", "material", "stream"]
    assert exact["fingerprint_segments"][5]["value"] == (
        '{"messages":[{"content":"hi  there","role":"user"}],"params":{"temperature":0}}'
    )
    assert '"hi there"' in normalized["fingerprint_segments"][5]["value"]
    assert exact["entry_id"] != normalized["entry_id"]
    assert len(bytes.fromhex(exact["entry_id"])) == 32


def test_two_spellings_of_one_request_have_one_key():
    first = document(BODY, "--scope", "tenant=acme")
    second = document(SPELT_ANEW, "--scope", "tenant=acme")
    assert first == second


def test_without_material_no_prompt_is_printed():
    done = explain(BODY, "--scope", "tenant=acme", "--json", "--no-material")
    assert "hi  there" not in done.stdout
    assert "hi there" not in done.stdout


def test_a_request_without_a_key_says_why():
    assert document(BODY)["bypass_reason"] == "scope_missing"
    skipped = document(BODY.replace("hi  there", "- a"), "--scope", "tenant=acme")["matchers"][1]
    assert skipped == {"matcher": "normalized", "skipped": "whitespace_significant"}


def test_a_malformed_request_is_one_line_and_exit_1():
    done = explain("{", "--scope", "tenant=acme")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "not JSON" in done.stderr
