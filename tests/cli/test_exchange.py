"""`askonce lookup` and `askonce store` against a server."""

import base64
import json

import grpc
import pytest

from askonce.v1 import decision_pb2, decision_service_pb2, reason_pb2

BODY = b'{"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}], "temperature": 0, "n": 1e0}'
OPENAI_CHAT = ("--dialect", "openai", "--endpoint", "chat")
NO_FIELD = 'Message type "askonce.v1.RequestDescriptor" has no field named'
DESCRIPTOR = {
    "dialect": "anthropic",
    "endpoint": "messages",
    "served": {"provider": "anthropic", "model": "claude"},
    "stream": False,
    "scope": {"tenant": "acme"},
    "parts": {
        "messages": [{"role": "user", "content": "h\u00e9"}],
        "system": "Be brief",
        "tools": None,
        "params": base64.b64encode(b'{"max_tokens": 5}').decode(),
    },
}


def write(tmp_path, name, content):
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return str(file)


def lookup(askonce, server, *arguments, **more):
    return askonce("lookup", *arguments, "--target", server.target, **more)


class TestTheRequest:
    def test_a_body_is_sent_byte_for_byte_and_names_its_model(self, askonce, server, tmp_path):
        ran = lookup(
            askonce, server, write(tmp_path, "b.json", BODY), *OPENAI_CHAT, "--scope", "tenant=acme=1"
        )
        (asked,) = server.asked
        assert (ran.code, ran.err) == (0, "")
        assert asked.descriptor.body_json == BODY
        assert (asked.descriptor.served.provider, asked.descriptor.served.model) == ("openai", "gpt-4o")
        assert dict(asked.descriptor.scope) == {"tenant": "acme=1"}
        assert not asked.descriptor.HasField("stream")

    def test_options_count_more_than_the_file(self, askonce, server):
        options = [
            "--provider",
            "azure-eu",
            "--model",
            "gpt-4o-eu",
            "--stream",
            "--version-pin",
            "guardrail=7",
        ]
        options += ["--header", "anthropic-beta=x", "--attribute", "app=support", "--personalized"]
        lookup(askonce, server, *OPENAI_CHAT, *options, stdin=BODY)
        described = server.asked[0].descriptor
        assert (described.served.provider, described.served.model) == ("azure-eu", "gpt-4o-eu")
        assert described.stream is True
        assert dict(described.versions) == {"guardrail": "7"}
        assert dict(described.headers) == {"anthropic-beta": "x"}
        assert dict(described.attributes) == {"app": "support"}
        assert described.personalized is True

    def test_a_descriptor_may_hold_content_as_json(self, askonce, server, tmp_path):
        lookup(askonce, server, write(tmp_path, "d.json", DESCRIPTOR), "--model", "claude-2")
        described = server.asked[0].descriptor
        assert json.loads(described.parts.messages) == [{"role": "user", "content": "h\u00e9"}]
        assert described.parts.system == b'"Be brief"'
        assert described.parts.tools == b""
        assert described.parts.params == b'{"max_tokens": 5}'
        assert described.served.model == "claude-2"
        assert described.HasField("stream")

    def test_a_descriptor_may_hold_a_body_as_json_or_base64(self, askonce, server, tmp_path):
        head = {"dialect": "openai", "endpoint": "chat"}
        for name, body in (
            ("body_json", {"model": "m"}),
            ("bodyJson", base64.b64encode(b'{"model":"m"}').decode()),
        ):
            lookup(askonce, server, write(tmp_path, "d.json", {**head, name: body}))
        assert [asked.descriptor.body_json for asked in server.asked] == [b'{"model":"m"}'] * 2

    @pytest.mark.parametrize("text", ["French", "MTIz!", "aGVsbG8=", ""])
    def test_a_system_prompt_that_looks_like_base64_is_text(self, askonce, server, tmp_path, text):
        parts = {"messages": [], "system": text}
        lookup(askonce, server, write(tmp_path, "d.json", {"dialect": "x", "endpoint": "y", "parts": parts}))
        assert json.loads(server.asked[0].descriptor.parts.system) == text

    def test_controls(self, askonce, server):
        options = ["--mode", "read-only", "--ttl", "15m", "--max-age", "1h", "--min-fresh", "1500ms"]
        lookup(
            askonce,
            server,
            *OPENAI_CHAT,
            *options,
            "--namespace",
            "n",
            "--omit-body",
            "--trace",
            "--anchor",
            stdin=BODY,
        )
        (asked,) = server.asked
        assert asked.controls.mode == decision_service_pb2.CACHE_MODE_READ_ONLY
        assert (asked.controls.ttl.seconds, asked.controls.max_age.seconds) == (900, 3600)
        assert (asked.controls.min_fresh.seconds, asked.controls.min_fresh.nanos) == (1, 500_000_000)
        assert (asked.controls.namespace, asked.omit_body, asked.trace, asked.anchor) == (
            "n",
            True,
            True,
            True,
        )

    @pytest.mark.parametrize(
        ("stdin", "options", "line"),
        [
            (b"{", (), "the request is not JSON at byte 1"),
            (
                BODY,
                (),
                "the request is a provider's body: say --dialect and --endpoint, for example openai and chat",
            ),
            (
                b'{"dialect": "x", "dialct": 1}',
                (),
                f'the request is no descriptor: {NO_FIELD} "dialct" at "RequestDescriptor"',
            ),
            (
                b'{"dialect": "x", "scope": {"a": "1", "a": "2"}}',
                (),
                "the request names 'a' twice in one object",
            ),
            (
                b'{"dialect": "x", "parts": {"params": {"seed": 1e999}}}',
                (),
                "the request holds a number that is none in JSON (NaN, or beyond a double)",
            ),
        ],
    )
    def test_what_cannot_be_sent_is_one_line(self, askonce, server, stdin, options, line):
        ran = lookup(askonce, server, *options, stdin=stdin)
        assert (ran.code, ran.err) == (2, f"askonce: {line}\n")
        assert server.asked == []

    def test_a_broken_body_is_the_servers_to_judge(self, askonce, server):
        lookup(askonce, server, *OPENAI_CHAT, "--model", "m", stdin=b'{"a": 1, "a": NaN')
        assert server.asked[0].descriptor.body_json == b'{"a": 1, "a": NaN'

    def test_a_missing_file_is_one_line(self, askonce, server):
        ran = lookup(askonce, server, "none.json")
        assert (ran.code, ran.err) == (1, "askonce: cannot read none.json: No such file or directory\n")


class TestTheDecision:
    @pytest.fixture
    def hit(self, server):
        decision = server.decision
        decision.outcome = decision_pb2.OUTCOME_HIT
        decision.kind = decision_pb2.MATCH_KIND_EXACT
        decision.rule_id = "[bold]default"
        decision.cache_status = "askonce; hit; ttl=60"
        candidate = decision.candidate
        candidate.entry_id = "ab" * 32
        candidate.age.seconds = 3
        candidate.ttl_left.nanos = -5_000_000
        candidate.usage.input_tokens = 7
        candidate.body.data = b'{"answer": 1}'
        candidate.body.content_type = "application/json"
        return server

    def test_people_see_a_table(self, askonce, hit):
        ran = lookup(askonce, hit, *OPENAI_CHAT, stdin=BODY)
        shown = dict(line.rstrip().split("  ", 1) for line in ran.out.splitlines())
        shown = {name: value.strip() for name, value in shown.items()}
        assert shown == {
            "outcome": "HIT",
            "kind": "EXACT",
            "rule": "[bold]default",
            "entry": "ab" * 32,
            "age": "3.000 s",
            "fresh for": "-0.005 s",
            "tokens": "7 in, 0 out",
            "body": "13B of application/json",
            "cache-status": "askonce; hit; ttl=60",
        }

    def test_machines_see_json(self, askonce, hit):
        ran = lookup(askonce, hit, *OPENAI_CHAT, "--json", stdin=BODY)
        shown = json.loads(ran.out)
        assert ran.out.count("\n") == 1
        assert (shown["outcome"], shown["rule_id"]) == ("OUTCOME_HIT", "[bold]default")
        assert base64.b64decode(shown["candidate"]["body"]["data"]) == b'{"answer": 1}'

    def test_a_body_can_be_written_out(self, askonce, hit, tmp_path):
        assert lookup(askonce, hit, *OPENAI_CHAT, "--body-out", "-", stdin=BODY).raw == b'{"answer": 1}'
        lookup(askonce, hit, *OPENAI_CHAT, "--body-out", str(tmp_path / "out"), stdin=BODY)
        assert (tmp_path / "out").read_bytes() == b'{"answer": 1}'
        ran = lookup(askonce, hit, *OPENAI_CHAT, "--body-out", "/no/such/folder", stdin=BODY)
        assert (ran.code, ran.err) == (
            1,
            "askonce: cannot write /no/such/folder: No such file or directory\n",
        )

    def test_what_is_not_there_is_not_written(self, askonce, server, tmp_path):
        (tmp_path / "token").write_text("old")
        options = ["--body-out", "-", "--fill-token-out", "token"]
        ran = lookup(askonce, server, *OPENAI_CHAT, *options, stdin=BODY)
        assert (ran.code, ran.out) == (0, "")
        assert ran.err == (
            "askonce: the decision has no fill token, so token is not written\n"
            "askonce: the decision has no body, so - is not written\n"
        )
        assert (tmp_path / "token").read_text() == "old"

    def test_reasons_skips_and_steps_are_shown(self, askonce, server):
        decision = server.decision
        decision.outcome = 99
        decision.bypass_reason = reason_pb2.BYPASS_REASON_SCOPE_MISSING
        decision.skipped.add(
            matcher=decision_pb2.MATCH_KIND_NORMALIZED, reason=reason_pb2.BYPASS_REASON_WHITESPACE_SIGNIFICANT
        )
        decision.trace.add(name="match exact", result="no entry").duration.nanos = 2_000_000
        decision.trace.add(name="read generations").duration.nanos = 5_000
        decision.shadow = True
        out = lookup(askonce, server, *OPENAI_CHAT, stdin=BODY).out
        lines = [" ".join(line.split()) for line in out.splitlines()]
        assert lines == [
            "outcome unknown (99) (shadow)",
            "reason SCOPE_MISSING",
            "skipped NORMALIZED: WHITESPACE_SIGNIFICANT",
            "match exact no entry (2.000 ms)",
            "read generations (0.005 ms)",
        ]


class TestTheStore:
    def test_a_fill_token_goes_from_lookup_to_store(self, askonce, server, tmp_path):
        server.decision.fill_token = bytes(range(256))
        token, body = str(tmp_path / "token"), write(tmp_path, "a.json", b'{"answer": 1}')
        lookup(askonce, server, *OPENAI_CHAT, "--fill-token-out", token, stdin=BODY)
        ran = askonce("store", "--fill-token-file", token, "--body", body, "--target", server.target)
        assert ran.code == 0
        assert server.asked[1].fill_token == bytes(range(256))
        assert server.asked[1].response.body == b'{"answer": 1}'

    def test_what_is_unsaid_stays_unsaid(self, askonce, server, tmp_path):
        body = write(tmp_path, "a.json", b"x")
        askonce("store", "-", *OPENAI_CHAT, "--body", body, "--target", server.target, stdin=BODY)
        (asked,) = server.asked
        assert asked.descriptor.body_json == BODY
        assert asked.response == decision_service_pb2.UpstreamResponse(
            body=b"x", content_type="application/json", status_code=200
        )
        assert not asked.HasField("ttl")

    def test_everything_can_be_said(self, askonce, server, tmp_path):
        request = write(tmp_path, "r.json", BODY)
        options = ["--status", "201", "--content-type", "text/event-stream", "--finish-reason", "stop"]
        options += [
            "--finish-reason",
            "length",
            "--stream-complete",
            "--input-tokens",
            "3",
            "--cost-usd",
            "0",
        ]
        options += [
            "--tool-calls",
            "--refused",
            "--source-request-id",
            "r1",
            "--ttl",
            "2m",
            "--namespace",
            "n",
        ]
        askonce(
            "store", request, *OPENAI_CHAT, "--body", "-", *options, "--target", server.target, stdin=b"x"
        )
        (asked,) = server.asked
        assert asked.response == decision_service_pb2.UpstreamResponse(
            body=b"x",
            content_type="text/event-stream",
            status_code=201,
            finish_reasons=["stop", "length"],
            stream_complete=True,
            usage=decision_pb2.Usage(input_tokens=3),
            cost_usd=0,
            contains_tool_calls=True,
            refused=True,
            source_request_id="r1",
        )
        assert asked.response.HasField("cost_usd")
        assert (asked.ttl.seconds, asked.namespace) == (120, "n")

    def test_a_refusal_is_shown_and_exits_with_1(self, askonce, server):
        server.stored = decision_service_pb2.StoreResponse(
            outcome=decision_service_pb2.STORE_OUTCOME_REFUSED,
            refusal_reason=reason_pb2.REFUSAL_REASON_TRUNCATED,
        )
        ran = askonce("store", "/dev/null", *OPENAI_CHAT, "--body", "/dev/null", "--target", server.target)
        assert ran.code == 1
        assert [" ".join(line.split()) for line in ran.out.splitlines()] == [
            "outcome REFUSED",
            "reason TRUNCATED",
        ]

    def test_entries_are_shown(self, askonce, server):
        server.stored.entries.add(kind=decision_pb2.MATCH_KIND_EXACT, entry_id="cd" * 32)
        server.stored.expire_time.seconds = 1_700_000_000
        out = askonce(
            "store", "-", *OPENAI_CHAT, "--body", "/dev/null", "--target", server.target, stdin=BODY
        ).out
        assert [" ".join(line.split()) for line in out.splitlines()] == [
            "outcome STORED",
            f"entry {'cd' * 32} (EXACT)",
            "expires 2023-11-14 22:13:20.000 UTC",
        ]

    def test_a_token_that_is_none_is_one_line(self, askonce, server, tmp_path):
        token = write(tmp_path, "token", b"no token")
        ran = askonce("store", "--fill-token-file", token, "--body", "/dev/null", "--target", server.target)
        assert (ran.code, ran.err) == (2, f"askonce: {token} holds no fill token: it is not base64\n")


class TestFailure:
    def test_an_unreachable_server(self, askonce, tmp_path):
        ran = askonce("lookup", *OPENAI_CHAT, "--target", f"unix://{tmp_path}/none.sock", stdin=BODY)
        assert ran.code == 1
        assert ran.err.startswith(
            f"askonce: cannot reach unix://{tmp_path}/none.sock: is `askonce serve` running there?"
        )
        assert ran.err.count("\n") == 1

    def test_what_is_no_address(self, askonce):
        ran = askonce("lookup", *OPENAI_CHAT, "--target", "sidecar", stdin=BODY)
        assert (ran.code, ran.err) == (
            2,
            "askonce: target 'sidecar' needs a port, as in 127.0.0.1:50051, or unix:///path for a socket\n",
        )

    @pytest.mark.parametrize(
        ("code", "exit_code", "line"),
        [
            (grpc.StatusCode.INVALID_ARGUMENT, 2, "INVALID_ARGUMENT: descriptor.scope: too long; bad"),
            (grpc.StatusCode.RESOURCE_EXHAUSTED, 1, "RESOURCE_EXHAUSTED: descriptor.scope: too long; bad"),
            (grpc.StatusCode.DEADLINE_EXCEEDED, 1, "no answer from {target} in time: see --timeout"),
        ],
    )
    def test_a_server_that_refuses_the_call(self, askonce, server, code, exit_code, line):
        server.abort = (code, "descriptor.scope: too long;\n  bad")
        ran = lookup(askonce, server, *OPENAI_CHAT, stdin=BODY)
        assert (ran.code, ran.err) == (exit_code, f"askonce: {line.format(target=server.target)}\n")

    def test_the_target_may_come_from_the_environment(self, askonce, server, monkeypatch):
        monkeypatch.setenv("ASKONCE_TARGET", server.target)
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
        assert askonce("lookup", *OPENAI_CHAT, stdin=BODY).code == 0
        assert len(server.asked) == 1
