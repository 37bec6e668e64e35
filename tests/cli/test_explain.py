"""`askonce explain`: why did this not hit?"""

from __future__ import annotations

import json

import pytest

from rpc.harness import running

BODY = {"model": "gpt-4o", "temperature": 0, "messages": [{"role": "user", "content": "Where is  it?"}]}
SAID = ("--dialect", "openai", "--endpoint", "chat", "--scope", "tenant=marked-tenant")
CONFIG = "rules: [{id: chat, match: {endpoint: chat}, strategy: [exact, normalized], ttl: 15m}]"


@pytest.fixture
def files(tmp_path):
    """Two requests that differ in white space and in a number's spelling, and the rules."""
    other = {**BODY, "temperature": 0.0, "messages": [{"role": "user", "content": "Where is it?"}]}
    for name, document in (("a.json", BODY), ("b.json", other)):
        (tmp_path / name).write_text(json.dumps(document))
    (tmp_path / "askonce.yaml").write_text(CONFIG)
    return "a.json", "b.json"


def test_two_requests_are_compared_by_the_rules_of_a_file(askonce, files):
    ran = askonce("explain", *files, "--config", "askonce.yaml", *SAID)
    assert (ran.code, ran.err) == (0, "")
    told = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert told[0] == "they share the normalized key alone: messages[0].content"
    assert told[1:3] == ["first rule chat", "second rule chat"]
    expected = "material messages[0].content differs only in white space, first at character 9 exact"
    assert expected in told
    assert "material params.temperature 0 ↔ 0.0: the same number, spelt differently none" in told
    assert told[-2:] == ["exact another key: messages[0].content", "normalized the same key"]
    assert "marked-tenant" not in ran.out


def test_a_server_says_the_same_as_its_rules(askonce, files):
    rule = {"id": "chat", "match": {"endpoint": "chat"}, "strategy": ["exact", "normalized"], "ttl": "15m"}
    with running(rules=[rule]) as server:
        asked = askonce("explain", *files, "--admin", server.place.admin, *SAID, "--json")
    alone = askonce("explain", *files, "--config", "askonce.yaml", *SAID, "--json")
    assert json.loads(asked.out) == json.loads(alone.out)


def test_one_request_without_a_server_shows_its_key(askonce, files):
    ran = askonce("explain", files[0], "--config", "askonce.yaml", *SAID, "--json")
    assert [one["matcher"] for one in json.loads(ran.out)["matchers"]] == ["exact", "normalized"]
    assert ran.out == askonce("explain-key", files[0], "--config", "askonce.yaml", *SAID, "--json").out


def test_a_file_may_hold_a_whole_lookup(askonce, files, tmp_path):
    described = {"dialect": "openai", "endpoint": "chat", "body_json": BODY}
    described |= {"served": {"provider": "openai", "model": "gpt-4o"}, "scope": {"tenant": "acme"}}
    for name, namespace in (("one.json", "blue"), ("two.json", "green")):
        lookup = {"descriptor": described, "controls": {"namespace": namespace}}
        (tmp_path / name).write_text(json.dumps(lookup))
    ran = askonce("explain", "one.json", "two.json", "--config", "askonce.yaml", "--json")
    (found,) = json.loads(ran.out)["differences"]
    assert (found["segment"], found["description"]) == ("namespace", "the names differ")


def test_one_request_is_explained_against_the_store_of_a_server(askonce, files, tmp_path):
    rule = {"id": "chat", "match": {"endpoint": "chat"}, "strategy": ["exact"], "ttl": "15m"}
    answer = {"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "Here."}}]}
    (tmp_path / "answer.json").write_text(json.dumps(answer))
    with running(rules=[rule]) as server:
        ran = askonce(
            "store",
            files[0],
            "--body",
            "answer.json",
            "--target",
            server.place.unix,
            *SAID,
            "--finish-reason",
            "stop",
        )
        assert ran.code == 0, ran.err
        hit = askonce("explain", files[0], "--admin", server.place.admin, *SAID)
        missed = askonce("explain", files[1], "--admin", server.place.admin, *SAID)
    assert hit.out.splitlines()[0] == "a Lookup would be served now: exact hit"
    told = [" ".join(line.split()) for line in missed.out.splitlines()]
    assert told[0] == "a miss: it was never stored; the nearest stored answer differs in messages[0]"
    assert told[1] == "request rule chat"
    assert told[2].startswith("exact it was never stored, or so long ago that it is not remembered (")
    assert told[3] == "scope tenant: 1 answer"
    assert told[5].startswith("nearest stored answer 1: ")
    assert told[7] == "material messages[0] the last turn differs exact"
    assert "marked-tenant" not in hit.out + missed.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["a.json"], "say whom to ask: --admin ADDRESS for a server, or --config FILE for its rules alone"),
        (["-", "-", "--config", "askonce.yaml"], "the standard input holds one request"),
        (["gone.json", "b.json", "--config", "askonce.yaml"], "cannot read gone.json: No such file"),
        (["a.json", "b.json", "--config", "gone.yaml", *SAID], "gone.yaml"),
        (["a.json", "b.json", "--config", "askonce.yaml"], "say --dialect and --endpoint"),
        (["a.json", "b.json", "--config", "askonce.yaml", *SAID, "--model", ""], "lookup.descriptor.served"),
    ],
)
def test_what_cannot_be_explained_is_one_line(askonce, files, arguments, says):
    ran = askonce("explain", *arguments)
    assert ran.code in (1, 2)
    assert says in ran.err
    assert ran.err.count("\n") == 1
